"""Run sweeps, print their tables, look after their record: in the folder that holds `sweeps` and `analysis`.

`infoscope` and `python -m infoscope` are the same. Sweeps and analyses are known by their files, and each runs in a
process of its own: a wrong word is answered before torch, MLflow and Ray are loaded, which takes seconds.

`infoscope make` reads its target and settings from environment variables; no shell interprets them.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import itertools
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from infoscope._arguments import BAD_INPUT, FAILED, INTERRUPTED, add_profile, add_sweep_options, assignments
from infoscope._modules import ANALYSES, SWEEPS, module_of, names, options_of, source_of, sweeps_in_order
from infoscope.errors import InvalidInput, OutOfRange, UnknownName, UnreadableFile

TERMINATED = 143
TRIED = "smoke"  # a profile that only tries whether things run
PROGRAMS = {
    "measure": "analysis.measure",
    "advise": "analysis.measure",  # its former name, for one release
    "represent": "analysis.represent",
    "report": "analysis.report",
    "docs-results": "analysis.docs_results",
    "audit": "analysis.sample_estimators.audit",
    "drill": "infra.drill",
    "scale": "infra.scale",
}
FILE = ("DATA", "X", "GROUPS", "CONTINUOUS", "DISCRETE", "ANGLES")  # variables of tasks on a person's own file
OWN = (*FILE, "Y", "METHODS")  # of `make measure`
REPRESENTED = (*FILE, "TARGETS", "DOMAIN", "ITEMS")
ON_FILES = {"measure": OWN, "advise": OWN, "represent": REPRESENTED}
OF_SWEEPS = ("PROFILE", "SET")
OF_MODELS = ("PROFILE", "MODEL", "DATA")
TAKEN = ON_FILES | {
    **dict.fromkeys(("sweep-all", "sweep-status"), OF_SWEEPS),
    **dict.fromkeys(("table-partition", "table-representations"), OF_MODELS),
    **dict.fromkeys(("report", "runs-save"), OF_SWEEPS[:1]),
    "ui": ("PORT",),
}
MAKES = ("ARGS", "PYTHON", "READY", "SHELL")  # variables of make that no task refuses
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def main(words: Sequence[str] | None = None) -> int:
    """The exit status: 0, 1 (something failed), 2 (bad input, said in a sentence) or 130 (interrupted)."""
    words = list(sys.argv[1:] if words is None else words)
    try:
        given = _read(words_of_make(os.environ) if words == ["make"] else words)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        return given.call(given) or 0
    except KeyboardInterrupt:
        return INTERRUPTED


def words_of_make(environment: Mapping[str, str]) -> list[str]:
    """The words of the target TASK from the environment, with ARGS split as in a shell. Raises ValueError for bad
    words.
    """
    task, profile, settings, port, more = (
        environment.get(name, "") for name in ("TASK", "PROFILE", "SET", "PORT", "ARGS")
    )
    try:
        rest = shlex.split(more)
    except ValueError as error:
        raise OutOfRange(f"ARGS is {more!r}, in which there is {str(error).lower()}; close it") from None
    under, written = ["--profile", profile], environment.get("GIVEN", "").split()

    def given(*names: str) -> list[str]:
        return [word for name in names if environment.get(name) for word in (f"--{name.lower()}", environment[name])]

    targets = {
        **{own: [own, *given(*taken)] for own, taken in ON_FILES.items()},
        "audit": ["audit"],
        "docs-results": ["docs-results"],
        "drill": ["drill"],
        "export-model": ["export"],
        "promote": ["promote"],
        "report": ["report", *under],
        "runs-load": ["runs-load"],
        "runs-save": ["runs-save", *(under if "PROFILE" in written else [])],
        "scale": ["scale"],
        "sweep-all": ["sweep-all", *under, "--set", settings],
        "sweep-status": ["status", *under, "--set", settings],
        "sweep-sync": ["sync"],
        "table-partition": ["table", "partition", *under, *given("MODEL", "DATA")],
        "table-representations": ["table", "representations", *under, *given("MODEL", "DATA")],
    }
    kind, _, name = task.partition("-")
    by_kind = () if task in targets else {"sweep": OF_SWEEPS, "table": OF_SWEEPS[:1]}.get(kind, ())
    _require_taken(task, written, TAKEN.get(task, by_kind))
    if task == "ui":
        return ["ui", "--port", port, *rest]
    if task in targets:
        return targets[task] + rest
    return [kind, name, *under, *(["--set", settings] if kind == "sweep" else []), *rest]


def _require_taken(task: str, names: Sequence[str], taken: Sequence[str]) -> None:
    """Raises ValueError for a name that the task does not take. Settings of others have a _: RAY_ADDRESS."""
    for name in names:
        if name not in (*taken, *MAKES) and ("_" not in name or _nearest(name, taken)):
            like = _nearest(name, taken)
            meant = f"; did you mean {like}=?" if like else ""
            listed = f"{', '.join(taken)} and ARGS" if taken else "ARGS alone"
            raise ValueError(f"make {task} takes {listed}, got {name}={meant}")


def _nearest(name: str, names: Sequence[str]) -> str:
    return next(iter(difflib.get_close_matches(name.upper(), names, n=1, cutoff=0.7)), "")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{message}; `{self.prog} --help` says what it takes")


def _read(words: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="infoscope", description=__doc__.partition("\n\n`infoscope make`")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    tasks = parser.add_subparsers(metavar="TASK", required=True)
    own = {
        task: tasks.add_parser(task, help=told, description=told)
        for task, told in {
            "sweep": "run a sweep, record it in MLflow, print its table",
            "table": "print and save a table, of a sweep from what MLflow holds",
            "sweep-all": "run every sweep and print its table, then a line for each",
            "measure": "measure what two sides of your own data share: one table, one plot, one run in MLflow",
            "advise": "the former name of measure, which it runs",
            "represent": "what a representation of your own holds, where and for whom: a page, a heat map, one run",
            "report": "one page of every table and figure of a profile",
            "docs-results": "write the pages of docs/results: tables beside the published ones, a leaderboard",
            "audit": "put estimators of MI, ours and installed ones, through what must not change an estimate",
            "status": "show how many cells of each sweep are done, and how many are not",
            "sync": "send what dead processes left behind, close their runs",
            "runs": "find runs of all sweeps by an MLflow filter, as a table with units",
            "runs-save": "finished cells as a file, to keep beside the results or to carry to another store",
            "runs-load": "add the runs of such files to the store: their cells count as done",
            "promote": "register a logged model under an alias, with a card that says what it is",
            "export": "export a logged model as a program that is served without infoscope",
            "ui": "open the MLflow UI on the runs, on this machine only",
            "drill": "strike sweeps by real faults and check that nothing is lost",
            "scale": "measure how time and memory grow with rows, columns, cells and nodes",
        }.items()
    }
    own["sweep"].add_argument("name", metavar="NAME", help=", ".join(names(SWEEPS)))
    add_sweep_options(own["sweep"])
    own["table"].add_argument("name", metavar="NAME", help=", ".join(names(ANALYSES)))
    own["table"].epilog = "Further words are the table's own: `infoscope table NAME --help` says which."
    add_sweep_options(own["sweep-all"])
    for task in ("status", "sync"):
        own[task].add_argument("sweeps", nargs="*", metavar="SWEEP", help="all that have been run, if none is named")
    add_profile(own["status"])
    own["sync"].add_argument("--records", metavar="FOLDER", help="records that a worker left on its own disk")
    own["export"].add_argument("run", metavar="RUN", help="the id of the run that logged the model")
    own["export"].add_argument("--model", metavar="NAME", help="which of its models, where it has several")
    own["runs"].add_argument("--where", default="", metavar="FILTER", help='such as "metrics.`mse_bits2` < 0.1"')
    own["runs"].add_argument("--show", default="", metavar="COLUMNS", help="these too, by comma; what FILTER names is")
    own["runs"].add_argument("--csv", metavar="FILE", help="write every column there, units in the header")
    own["runs-save"].add_argument("experiments", nargs="+", metavar="EXPERIMENT", help="such as critic-capacity")
    own["runs-save"].add_argument("--profile", help="only the cells under this label (default: all)")
    own["runs-save"].add_argument("--to", default="docs/results/runs", metavar="FOLDER", help="(default: %(default)s)")
    own["runs-save"].add_argument("--tables", action="store_true", help="with tables and arrays up to 256 KiB each")
    own["runs-save"].add_argument("--curves", action="store_true", help="with all points of curves, not the newest")
    own["runs-load"].add_argument("files", nargs="+", metavar="FILE", help="of runs-save")
    own["promote"].add_argument("run", metavar="RUN", help="the id of the run that logged the model")
    own["promote"].add_argument("--alias", required=True, help="such as champion: MODEL=NAME@champion is then this one")
    own["promote"].add_argument("--model", metavar="NAME", help="which of its models, where it has several")
    own["promote"].add_argument("--name", help="of the registered model (default: SWEEP-MODEL)")
    own["promote"].add_argument("--package", action="store_true", help="make this reader the one that estimate uses")
    own["ui"].add_argument("--port", type=_port, default=5000, help="(default: 5000)")
    calls = {"sweep": _sweep_alone, "sweep-all": _sweep_all, "status": _status, "sync": _sync, "export": _export}
    calls |= {"promote": _promote, "runs": _runs, "runs-save": _runs_save, "runs-load": _runs_load, "ui": _ui}
    for task, call in calls.items():
        own[task].set_defaults(call=call)

    task = next(iter(words), "")
    if task and not task.startswith("-") and task not in own:
        raise UnknownName(f"task must be one of {', '.join(own)}, got {task!r}")
    if task in ON_FILES:
        _require_file(words)
    if task in PROGRAMS:
        return _replacement(PROGRAMS[task], task, words[1:])
    if task == "table" and len(words) > 1:
        given = parser.parse_args(words[:2])
        return _replacement(_declared(given.name, ANALYSES, "table"), f"table {given.name}", words[2:])
    given, unknown = parser.parse_known_args(words)
    if unknown:
        own.get(task, parser).error(f"{' '.join(unknown)} is not understood")
    assignments(getattr(given, "set", ""))
    if task == "sweep":
        _declared(given.name, SWEEPS, "sweep")
    elif task == "sweep-all":
        _valid(SWEEPS, "sweep")
    return given


def _require_file(words: Sequence[str]) -> None:
    name = next((after for word, after in itertools.pairwise(words) if word == "--data"), "")
    if Path(name).suffix and not Path(name).exists():
        raise UnreadableFile(f"DATA must be a file that can be read, got {name!r}: No such file or directory.")


def _replacement(module: str, task: str, words: Sequence[str]) -> argparse.Namespace:
    """A call that puts a module in the place of this process. Raises ValueError for an option that it does not have."""
    if not source_of(module).exists():
        raise ValueError(f"there is no {module} in {Path.cwd()}; give this command where infoscope's Makefile is")
    known = options_of(module)
    for word in words:
        name = word.partition("=")[0]
        if known and name.startswith("--") and " " not in word and not any(one.startswith(name) for one in known):
            raise UnknownName(f"{task} has no option {name}; it has {', '.join(known)}")
    return argparse.Namespace(call=lambda given: os.execv(sys.executable, [sys.executable, "-m", module, *words]))


def _declared(name: str, package: str, kind: str) -> str:
    valid = _valid(package, kind)
    if name.replace("_", "-") not in valid:
        raise UnknownName(f"{kind} must be one of {', '.join(valid)}, got {name!r}")
    return module_of(name, package)


def _valid(package: str, kind: str) -> list[str]:
    if valid := names(package):
        return valid
    raise ValueError(f"there are no {kind}s in {Path.cwd()}; give this command where infoscope's Makefile is")


def _port(text: str) -> int:
    if not (text.isdecimal() and 0 < int(text) < 65536):
        raise argparse.ArgumentTypeError(f"port must be a number from 1 to 65535, got {text!r}")
    return int(text)


def _sweep(given: argparse.Namespace) -> int:
    """Runs a sweep and prints its table, if it has one; the exit status of the sweep, or FAILED of its table."""
    words = ["--profile", given.profile, "--set", given.set]
    if given.gpus_per_pack is not None:
        words += ["--gpus-per-pack", str(given.gpus_per_pack)]
    status, printed = _run(module_of(given.name), words)
    table = module_of(given.name, ANALYSES)
    if status > FAILED or not printed or not table:
        return status
    label = printed.splitlines()[-1]  # under which the runs are recorded
    return FAILED if _run(table, ["--profile", label], captured=False)[0] else status


def _sweep_alone(given: argparse.Namespace) -> int:
    status = _sweep(given)
    if status == 0 and given.profile == TRIED:
        so_far = f"; `make table-{given.name}` prints what is done so far" if module_of(given.name, ANALYSES) else ""
        print(
            f"\n{TRIED} is a small trial. The whole: `make sweep-{given.name}`, which says how long it takes and "
            f"may be stopped at any time{so_far}.",
            file=sys.stderr,
        )
    return status


def _sweep_all(given: argparse.Namespace) -> int:
    summary, failed = [], False
    for name in sweeps_in_order():
        print(f"\n== {name}", flush=True)
        began = time.monotonic()
        status = _sweep(argparse.Namespace(**vars(given) | {"name": name}))
        failed = failed or status != 0
        summary.append(f"{'FAILED' if status else 'done  '}  {name}, {time.monotonic() - began:.0f} s")
    print("", *summary, sep="\n", flush=True)
    return FAILED if failed else 0


def _run(module: str, words: Sequence[str], captured: bool = True) -> tuple[int, str]:
    """The exit status of a module in its own process and, if captured, its output; KeyboardInterrupt after Ctrl-C."""
    command, interrupted = [sys.executable, "-m", module, *words], False
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE if captured else None, text=True) as process:
            while True:
                try:
                    printed = process.communicate()[0] or ""
                    break
                except KeyboardInterrupt:
                    interrupted = True
                except SystemExit:  # this process alone was told to end
                    process.terminate()
                    raise
    finally:
        signal.signal(signal.SIGTERM, before)
    if interrupted:
        raise KeyboardInterrupt
    return (process.returncode if process.returncode >= 0 else 128 - process.returncode), printed.strip()


def _terminated(*_: object) -> NoReturn:
    sys.exit(TERMINATED)


def _status(given: argparse.Namespace) -> None:
    _here()
    from infoscope.tracking.cli import show_status

    show_status(given.sweeps, given.profile, assignments(given.set))


def _sync(given: argparse.Namespace) -> None:
    from infoscope.tracking.cli import sync_records

    sync_records(given.sweeps, given.records)


def _export(given: argparse.Namespace) -> None:
    from infoscope.tracking.cli import exported

    exported(given.run, given.model)


def _promote(given: argparse.Namespace) -> int:
    from infoscope.tracking.cli import promoted

    promoted(given.run, given.alias, given.model, given.name)
    return _run("analysis.packaged_reader", [given.run], captured=False)[0] if given.package else 0


def _runs(given: argparse.Namespace) -> None:
    from infoscope.tracking.cli import found_runs

    found_runs(given.where, given.show, given.csv)


def _runs_save(given: argparse.Namespace) -> None:
    from infoscope.tracking.cli import saved_runs

    saved_runs(given.experiments, given.to, given.profile, given.tables, given.curves)


def _here() -> None:
    """Lets the sweeps be imported: a console script does not look in the folder where it is given."""
    if importlib.util.find_spec(SWEEPS) is None:
        sys.path.insert(0, os.getcwd())


def _runs_load(given: argparse.Namespace) -> None:
    _here()
    from infoscope.tracking.cli import loaded_runs

    loaded_runs(given.files)


def _ui(given: argparse.Namespace) -> None:
    from infoscope.tracking.cli import ui

    ui(given.port)


if __name__ == "__main__":
    sys.exit(main())
