"""Runs sweeps, prints their tables and manages their records, in the folder with
`sweeps` and `analysis`.

`infoscope`, `python -m infoscope` and the targets of the Makefile are the same.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import click

from infoscope.command_line import (
    BAD_INPUT,
    FAILED,
    command,
    ends_with_this,
    is_taken,
    option,
    run_command,
    sweep_options,
)
from infoscope.errors import InvalidInput
from infoscope.tracking.registry import module_of, registered, require_module

SMALL_PROFILE = "smoke"
WORDS = "--words"  # its value is split into further words as a shell would do
PROGRAMS = {  # modules that declare a COMMAND, and descriptions
    "measure": (
        "analysis.measure",
        "estimate the mutual information of two variables of your own data",
    ),
    "disentangle": (
        "analysis.disentangle",
        "find the column of a code of your own in which each factor is",
    ),
    "represent": (
        "analysis.represent",
        "measure the information in a representation of your own data",
    ),
    "screen": (
        "analysis.screen",
        "find the columns of your own table that depend on a target or on each other",
    ),
    "labels": (
        "analysis.labels",
        "find the wrong labels of your own data, and count them",
    ),
    "report": (
        "analysis.report",
        "write one page with all tables and figures of a profile",
    ),
    "docs-results": (
        "analysis.docs_results",
        "write docs/results: tables next to the published ones, a leaderboard",
    ),
}
TABLE = "print and save a table of a sweep from the runs in MLflow"
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def main(words: Sequence[str] | None = None) -> int:
    """The exit status: 0, 1 (something failed), 2 (bad input) or 130 (interrupted)."""
    words = list(sys.argv[1:] if words is None else words)
    if words[:1] == [WORDS]:
        try:
            words = [*words[2:], *shlex.split(words[1])]
        except ValueError as error:
            print(
                f"error: ARGS must be words as in a shell, got {words[1]!r}: "
                f"{str(error).lower()}",
                file=sys.stderr,
            )
            return BAD_INPUT
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    # a console script does not search the working folder
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return run_command(
        Tasks("infoscope", commands=own_commands(), help=__doc__), words, "infoscope"
    )


class Tasks(click.Group):
    """All tasks; the module of a program is imported when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [*self.commands, *PROGRAMS]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in PROGRAMS:
            return super().get_command(context, name)
        module, _ = PROGRAMS[name]
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            place = os.getcwd()
            raise InvalidInput(
                f"there is no {module} in {place}; run this command in the folder "
                "with the Makefile"
            )
        return command_of(module)

    def format_commands(
        self, context: click.Context, formatter: click.HelpFormatter
    ) -> None:
        rows = [(name, task.help or "") for name, task in self.commands.items()]
        rows += [(name, text) for name, (_, text) in PROGRAMS.items()]
        with formatter.section("Tasks"):
            formatter.write_dl(rows)


class Tables(click.Group):
    """The tables of all analyses; the module of a table is imported when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(registered("TABLES"))

    def get_command(self, context: click.Context, name: str) -> click.Command:
        return command_of(require_module(name, "TABLES"))

    def format_commands(
        self, context: click.Context, formatter: click.HelpFormatter
    ) -> None:
        with formatter.section("Tables"):
            formatter.write_text(", ".join(self.list_commands(context)))


def command_of(module: str) -> click.Command:
    """The command that a module declares."""
    declared = importlib.import_module(module)
    if hasattr(declared, "COMMAND"):
        return declared.COMMAND
    return declared.ANALYSIS.command(declared.__doc__)


def own_commands() -> dict[str, click.Command]:
    """The commands that are declared here, by name."""
    cli = "infoscope.tracking.cli"
    profile, settings, gpus = sweep_options()
    sweeps = click.Argument(["sweeps"], nargs=-1)
    run = click.Argument(["run"])
    model = option("model", help="name of the model, if the run has several")
    commands = [
        command("sweep", _sweep, [
            click.Argument(["name"]), profile, settings, gpus,
            option("offline", metavar="FOLDER", help="compute here, without Ray and MLflow, for a later `sync`"),
        ], "run a sweep, record it in MLflow, print its table"),
        Tables("table", help=TABLE),
        command("sweep-all", _sweep_all, [profile, settings, gpus],
                "run every sweep and print its table, then one line for each"),
        command("status", f"{cli}:print_status", [sweeps, profile, settings],
                "print how many cells of each sweep are done and how many are missing"),
        command("sync", f"{cli}:sync_records", [
            sweeps, option("records", metavar="FOLDER", help="cells of an offline run or a worker's own disk"),
        ], "send cells that are not in MLflow yet, and close the runs of ended processes"),
        command("runs-save", f"{cli}:save_runs", [
            click.Argument(["experiments"], nargs=-1, required=True),
            option("profile", help="only cells with this label (default: all)"),
            option("to", default="docs/results/runs", metavar="FOLDER", help="(default: docs/results/runs)"),
        ], "save finished cells to a file, as part of the results or for another store"),
        command("runs-load", f"{cli}:load_runs", [click.Argument(["files"], nargs=-1, required=True)],
                "load the runs of such files into the store, where their cells count "
                "as done"),
        command("promote", f"{cli}:promote_model", [
            run,
            option("alias", required=True, help="alias, such as champion: MODEL=NAME@champion is then this model"),
            model,
            option("name", help="name of the registered model (default: SWEEP-MODEL)"),
            option("package", is_flag=True, help="make this reader the one that estimate uses"),
        ], "register a logged model under an alias, with a model card"),
        command("ui", _ui, [option("port", type=click.IntRange(1, 65535), default=5000, help="(default: 5000)")],
                "open the MLflow UI on the runs, on this machine only"),
    ]  # fmt: skip
    return {task.name: task for task in commands}


def _sweep(arguments: SimpleNamespace) -> int:
    """Runs a sweep and prints its table; returns the exit status of the sweep, or
    FAILED if the table fails.
    """
    module = require_module(arguments.name)
    if arguments.offline:
        from infoscope.tracking.offline import run_offline

        sweep = importlib.import_module(module).SWEEP
        return run_offline(
            sweep,
            arguments.profile,
            Path(arguments.offline).expanduser(),
            arguments.set,
        )
    # importing torch and MLflow takes seconds
    print(f"{arguments.name}: loading", file=sys.stderr, flush=True)
    from infoscope.tracking.cli import run_sweep

    status, label = run_sweep(
        module, arguments.profile, arguments.set, arguments.gpus_per_pack
    )
    table = module_of(arguments.name, "TABLES") if label else None
    words = ["--profile", label]
    if arguments.set:
        words = ["--profile", arguments.profile, "--set", _as_words(arguments.set)]
    if table and status <= FAILED and run_command(command_of(table), words):
        status = FAILED
    if status == 0 and arguments.profile == SMALL_PROFILE:
        so_far = ""
        if table:
            so_far = f"; `make table-{arguments.name}` then prints the finished part"
        print(
            f"\n{SMALL_PROFILE} is a small test. `make sweep-{arguments.name}` runs "
            "the whole sweep. It prints the "
            f"remaining time and can be stopped at any time{so_far}.",
            file=sys.stderr,
        )
    return status


def _sweep_all(arguments: SimpleNamespace) -> int:
    """Runs each sweep in its own process."""
    sweeps = registered("SWEEPS")
    if not sweeps:
        require_module("")  # raises: there are none
    words = ["--profile", arguments.profile, "--set", _as_words(arguments.set)]
    if arguments.gpus_per_pack is not None:
        words += ["--gpus-per-pack", str(arguments.gpus_per_pack)]
    summary = []
    failed = False
    for name in sweeps:
        print(f"\n== {name}", flush=True)
        began = time.monotonic()
        status = _run(["sweep", name, *words])
        seconds = time.monotonic() - began
        failed = failed or status != 0
        outcome = "FAILED" if status else "done  "
        summary.append(f"{outcome}  {name}, {seconds:.0f} s")
    print("", *summary, sep="\n", flush=True)
    return FAILED if failed else 0


def _as_words(settings: Mapping[str, str]) -> str:
    """Settings as the value of --set."""
    return " ".join(f"{name}={text}" for name, text in settings.items())


def _run(words: Sequence[str]) -> int:
    """The exit status of a task that runs in its own process."""
    with (
        subprocess.Popen([sys.executable, "-m", "infoscope", *words]) as process,
        ends_with_this(process),
    ):
        return process.wait()


def _ui(arguments: SimpleNamespace) -> int:
    if is_taken(arguments.port):
        raise InvalidInput(
            f"port must be free, got {arguments.port}, which another program uses"
        )
    from infoscope.tracking.cli import serve_ui

    return serve_ui(arguments.port)


if __name__ == "__main__":
    sys.exit(main())
