"""Run sweeps, print their tables, look after their record: in the folder that holds `sweeps` and `analysis`.

`infoscope`, `python -m infoscope` and the targets of the Makefile are the same.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from types import SimpleNamespace

import click

from infoscope.command_line import (
    ANALYSES,
    BAD_INPUT,
    FAILED,
    SWEEPS,
    command,
    command_of,
    declared,
    ended,
    ended_with_this,
    is_taken,
    module_of,
    names,
    option,
    sweep_options,
    sweeps_in_order,
)
from infoscope.errors import InvalidInput

TRIED = "smoke"  # a profile that only tries whether things run
WORDS = "--words"  # before a text of further words, as a shell would split it
PROGRAMS = {  # each declares its COMMAND
    "measure": "analysis.measure",
    "represent": "analysis.represent",
    "screen": "analysis.screen",
    "report": "analysis.report",
    "docs-results": "analysis.docs_results",
    "audit": "analysis.sample_estimators.audit",
    "drill": "infra.drill.rounds",
    "environments": "infra.environments",
    "scale": "infra.scale",
}
TOLD = {
    "sweep": "run a sweep, record it in MLflow, print its table",
    "table": "print and save a table, of a sweep from what MLflow holds",
    "sweep-all": "run every sweep and print its table, then a line for each",
    "measure": "measure what two sides of your own data share: one table, one plot, one run in MLflow",
    "represent": "what a representation of your own holds, where and for whom: a page, a heat map, one run",
    "screen": "which columns of your own table depend on a target or on each other: a page, a figure, one run",
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
    "environments": "measure what pip install infoscope brings, for each Python and extra",
    "scale": "measure how time and memory grow with rows, columns and cells",
}
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def main(words: Sequence[str] | None = None) -> int:
    """The exit status: 0, 1 (something failed), 2 (bad input, said in a sentence) or 130 (interrupted)."""
    words = list(sys.argv[1:] if words is None else words)
    if words[:1] == [WORDS]:
        try:
            words = [*words[2:], *shlex.split(words[1])]
        except ValueError as error:
            print(f"error: ARGS is {words[1]!r}, in which there is {str(error).lower()}; close it", file=sys.stderr)
            return BAD_INPUT
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if os.getcwd() not in sys.path:  # a console script does not look in the folder where it is given
        sys.path.insert(0, os.getcwd())
    return ended(Tasks("infoscope", commands=_own(), help=__doc__), words, "infoscope")


class Tasks(click.Group):
    """All tasks; the module of one is imported when it is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(TOLD)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in PROGRAMS:
            return super().get_command(context, name)
        if importlib.util.find_spec(PROGRAMS[name].partition(".")[0]) is None:
            raise InvalidInput(f"there is no {PROGRAMS[name]} in {os.getcwd()}; give this command where infoscope's "
                               "Makefile is")  # fmt: skip
        return command_of(PROGRAMS[name])

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Tasks"):
            formatter.write_dl(list(TOLD.items()))


class Tables(click.Group):
    """The tables of all analyses; the module of one is imported when it is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return names(ANALYSES)

    def get_command(self, context: click.Context, name: str) -> click.Command:
        return command_of(declared(name, ANALYSES, "table"))

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Tables"):
            formatter.write_text(", ".join(self.list_commands(context)))


def _own() -> dict[str, click.Command]:
    """The commands that are declared here."""
    run = click.Argument(["run"])
    model = option("model", help="which of its models, where it has several")
    profile, settings, gpus = sweep_options()
    declarations = {
        "sweep": (_sweep, [click.Argument(["name"]), profile, settings, gpus]),
        "sweep-all": (_sweep_all, [profile, settings, gpus]),
        "status": ("infoscope.tracking.cli:show_status", [click.Argument(["sweeps"], nargs=-1), profile, settings]),
        "sync": ("infoscope.tracking.cli:sync_records", [
            click.Argument(["sweeps"], nargs=-1),
            option("records", metavar="FOLDER", help="records that a worker left on its own disk"),
        ]),
        "export": (_export, [run, model]),
        "runs": ("infoscope.tracking.cli:found_runs", [
            option("where", default="", metavar="FILTER", help='such as "metrics.`mse_bits2` < 0.1"'),
            option("show", default="", metavar="COLUMNS", help="these too, by comma; what FILTER names is shown"),
            option("csv", metavar="FILE", help="write every column there, units in the header"),
        ]),
        "runs-save": ("infoscope.tracking.cli:saved_runs", [
            click.Argument(["experiments"], nargs=-1, required=True),
            option("profile", help="only the cells under this label (default: all)"),
            option("to", default="docs/results/runs", metavar="FOLDER", help="(default: docs/results/runs)"),
            option("tables", is_flag=True, help="with tables and arrays up to 256 KiB each"),
            option("curves", is_flag=True, help="with all points of curves, not the newest"),
        ]),
        "runs-load": ("infoscope.tracking.cli:loaded_runs", [click.Argument(["files"], nargs=-1, required=True)]),
        "promote": (_promote, [
            run,
            option("alias", required=True, help="such as champion: MODEL=NAME@champion is then this one"),
            model,
            option("name", help="of the registered model (default: SWEEP-MODEL)"),
            option("package", is_flag=True, help="make this reader the one that estimate uses"),
        ]),
        "ui": (_ui, [option("port", type=click.IntRange(1, 65535), default=5000, help="(default: 5000)")]),
    }  # fmt: skip
    found = {name: command(name, call, params, TOLD[name]) for name, (call, params) in declarations.items()}
    return found | {"table": Tables("table", help=TOLD["table"])}


def _sweep(given: SimpleNamespace) -> int:
    """Runs a sweep and prints its table, if it has one; the exit status of the sweep, or FAILED of its table."""
    module = declared(given.name, SWEEPS, "sweep")
    print(f"{given.name}: loading", file=sys.stderr, flush=True)  # torch and MLflow take seconds
    from infoscope.tracking.cli import run_sweep

    status, label = run_sweep(module, given.profile, given.set, given.gpus_per_pack)
    table = module_of(given.name, ANALYSES)
    if table and status <= FAILED and ended(command_of(table), ["--profile", label]):
        status = FAILED
    if status == 0 and given.profile == TRIED:
        so_far = f"; `make table-{given.name}` prints what is done so far" if table else ""
        print(
            f"\n{TRIED} is a small trial. The whole: `make sweep-{given.name}`, which says how long it takes and "
            f"may be stopped at any time{so_far}.",
            file=sys.stderr,
        )
    return status


def _sweep_all(given: SimpleNamespace) -> int:
    """Each in a process of its own."""
    if not names(SWEEPS):
        declared("", SWEEPS, "sweep")  # says that there are none here
    words = ["--profile", given.profile, "--set", " ".join(f"{name}={text}" for name, text in given.set.items())]
    words += [] if given.gpus_per_pack is None else ["--gpus-per-pack", str(given.gpus_per_pack)]
    summary, failed = [], False
    for name in sweeps_in_order():
        print(f"\n== {name}", flush=True)
        began = time.monotonic()
        status = _run(["sweep", name, *words])
        failed = failed or status != 0
        summary.append(f"{'FAILED' if status else 'done  '}  {name}, {time.monotonic() - began:.0f} s")
    print("", *summary, sep="\n", flush=True)
    return FAILED if failed else 0


def _run(words: Sequence[str]) -> int:
    """The exit status of a task in its own process."""
    with subprocess.Popen([sys.executable, "-m", "infoscope", *words]) as process, ended_with_this(process):
        return process.wait()


def _export(given: SimpleNamespace) -> None:
    from infoscope.tracking.export import export

    print(export(given.run, given.model))


def _promote(given: SimpleNamespace) -> None:
    from infoscope.tracking.promote import promote

    print(promote(given.run, given.alias, given.model, given.name))
    if given.package:
        print(importlib.import_module("analysis.packaged_reader").package(given.run))


def _ui(given: SimpleNamespace) -> int:
    if is_taken(given.port):
        raise InvalidInput(f"port must be free, got {given.port}, at which another program listens")
    from infoscope.tracking.cli import ui

    return ui(given.port)


if __name__ == "__main__":
    sys.exit(main())
