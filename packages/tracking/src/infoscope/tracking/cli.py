"""The tasks of the command line that need MLflow: sweeps, their cells, models, and the
MLflow UI.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mlflow.exceptions import MlflowException

from infoscope.command_line import (
    FAILED,
    INTERRUPTED,
    command,
    ends_with_this,
    is_taken,
    run_command,
    sentence,
    sweep_options,
)
from infoscope.errors import InvalidInput, Unavailable
from infoscope.tracking.cell_folder import COMPLETE, STOPPED
from infoscope.tracking.checks import plain_name, without_password
from infoscope.tracking.driver import run
from infoscope.tracking.home import outbox
from infoscope.tracking.recorded import runs
from infoscope.tracking.registry import module_of
from infoscope.tracking.status import lines, status
from infoscope.tracking.store import gather_statistics, plain_cell, tracking_uri
from infoscope.tracking.sweep import AnyCell, Sweep, plain, varying
from infoscope.tracking.sync import sync
from infoscope.tracking.tags import CELL, FRACTION, METRIC
from infoscope.tracking.watch import Summary

_UI_SETTINGS = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_ENABLE_AI_GATEWAY": "false",
    # otherwise its shell tool would run on this machine
    "MLFLOW_ENABLE_ASSISTANT_SANDBOX": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
MAX_TRIALS = 20  # of a search that are printed
MAX_KINDS = 10  # of failures that are printed
_NO_RUNS = (
    "there are no runs yet; run a sweep first, such as `make sweep-critic-capacity`"
)


def main(sweep: Sweep, words: Sequence[str] | None = None) -> None:
    """Runs the command line of your own sweep; exits with 0, 1 (cells failed), 2 (bad
    input) or 130 (interrupted).

    Parameters
    ----------
    sweep
        The sweep of the module that is run as a program.
    words
        Arguments; None: the arguments of the process.
    """
    module = sys.modules["__main__"]
    # workers import its functions by its real name
    if sweep.trial.__module__ == "__main__" and module.__spec__:
        sweep = importlib.import_module(module.__spec__.name).SWEEP

    def call(arguments: SimpleNamespace) -> int:
        status, _ = _run(
            sweep, arguments.profile, arguments.set, arguments.gpus_per_pack
        )
        return status

    own_command = command(sweep.name, call, sweep_options(), module.__doc__)
    sys.exit(run_command(own_command, words))


def run_sweep(
    module: str, profile: str, settings: Mapping[str, str], gpus: float | None
) -> tuple[int, str]:
    """Runs the sweep of a module; returns the exit status and the label of its runs,
    empty if none has finished.
    """
    return _run(importlib.import_module(module).SWEEP, profile, settings, gpus)


def _run(
    sweep: Sweep, profile: str, settings: Mapping[str, str], gpus: float | None
) -> tuple[int, str]:
    try:
        summary = run(sweep, profile, settings, gpus)
    except (MlflowException, ConnectionError) as error:
        raise Unavailable(
            f"the tracking store or the Ray cluster failed: {sentence(error)}"
        ) from error
    except FileNotFoundError:
        raise
    except OSError as error:  # such as a full disk
        raise Unavailable(
            f"{sentence(error)}; the same command continues from here"
        ) from error
    except KeyboardInterrupt:
        print("interrupted: the same command continues from here", file=sys.stderr)
        raise
    print(describe(summary), file=sys.stderr)
    has_runs = summary.completed or summary.stopped or summary.skipped
    label = summary.profile if has_runs else ""
    if label and sweep.search and not module_of(sweep.name, "TABLES"):
        print(trials_table(sweep, label))
    if summary.unfinished:
        return INTERRUPTED, label
    if summary.failures or summary.unsent:
        return FAILED, label
    return 0, label


def describe(summary: Summary) -> str:
    """The result of a sweep in a few lines."""
    name = f"{summary.sweep} ({summary.profile})"
    if summary.skipped == summary.cells:
        lines = [
            f"{name}: all {summary.cells} cells are already recorded, nothing to run"
        ]
    else:
        counts = {
            "completed": summary.completed,
            "stopped early": summary.stopped,
            "failed": len(summary.failures),
            "already recorded": summary.skipped,
            "not finished": summary.unfinished,
        }
        parts = ", ".join(
            f"{count} {state}" for state, count in counts.items() if count
        )
        lines = [f"{name}: {parts} of {summary.cells} cells in {summary.seconds:.0f} s"]
    lines += _failures(summary.failures)
    if summary.unfinished:
        lines.append("interrupted: the same command continues from here")
    if summary.unsent:
        where = outbox() / summary.sweep
        lines.append(
            f"{len(summary.unsent)} cells are not in MLflow yet, but in {where} of "
            "the machine that computed them: the "
            "same command or `make sweep-sync` sends them from there"
        )
    return "\n".join(lines)


def trials_table(sweep: Sweep, label: str) -> str:
    """The best trials of a search as a table, complete ones before those that were
    stopped early.
    """
    assert sweep.search is not None
    judged = METRIC.format(sweep.search.metric)
    # to pyright, a mask of a frame may give a column
    trials: Any = runs(sweep.name, label, finished=False)
    trials = trials[trials["outcome"].isin([COMPLETE, STOPPED])]
    is_rising = sweep.search.mode == "min"
    trials = trials.sort_values(
        ["outcome", judged], ascending=[True, is_rising], ignore_index=True
    )
    trials.index += 1
    fields = varying(plain_cell(tags[CELL]) for tags in trials["tags"])
    shown = trials[[*fields, judged, FRACTION, "outcome"]].head(MAX_TRIALS)
    return shown.to_string(float_format="{:.4g}".format)


def _failures(failures: Sequence[tuple[AnyCell, str]]) -> list[str]:
    """One line for each kind of failure: errors that differ in numbers and keys of
    cells only.
    """
    kinds = defaultdict(list)
    for cell, error in failures:
        first = error.splitlines()[0] if error else ""
        kind = re.sub(r"\b[0-9a-f]{16}\b|\d[\d.,]*", "0", first)
        kinds[kind].append((cell, first))
    lines = []
    for members in kinds.values():
        cell, error = members[0]
        count = f"{len(members)} cells, such as " if len(members) > 1 else ""
        lines.append(f"failed: {count}{plain(cell)}: {error}")
    rest = len(lines) - MAX_KINDS
    if rest <= 0:
        return lines
    return [*lines[:MAX_KINDS], f"... and {rest} other kinds, in the runs in MLflow"]


def save_runs(arguments: SimpleNamespace) -> None:
    """Writes the finished cells of each experiment to a file."""
    from infoscope.tracking.archive.format import SUFFIX
    from infoscope.tracking.archive.saving import save

    for name in arguments.experiments:
        path = (
            Path(arguments.to).expanduser()
            / f"{plain_name('the name of an experiment', name)}{SUFFIX}"
        )
        print(save(name, path, arguments.profile), flush=True)


def load_runs(arguments: SimpleNamespace) -> None:
    """Loads the runs of files into the tracking store and prints the commands for their
    tables.
    """
    from infoscope.tracking.archive.format import ascii_text, read_archive
    from infoscope.tracking.archive.loading import load

    # all are valid, or none is loaded
    archives = [read_archive(Path(file).expanduser()) for file in arguments.files]
    for archive in archives:
        print(load(archive))
        commands = ["make ui"]
        if module_of(archive.experiment, "TABLES"):
            labels = [
                shlex.quote(ascii_text(label)) for label in sorted(archive.labels)
            ]
            commands = [
                f"make table-{archive.experiment} PROFILE={label}" for label in labels
            ]
        for shown in commands:
            print(f"  to see them: {shown}", flush=True)


def sync_records(arguments: SimpleNamespace) -> int:
    """Sends the cells that are not in MLflow yet; returns FAILED if some could not be
    sent.
    """
    folder = Path(arguments.records).expanduser() if arguments.records else None
    synced = sync(arguments.sweeps, folder)
    print(*(synced or ["nothing to send"]), sep="\n")
    return FAILED if any(sweep.unsent for sweep in synced) else 0


def print_status(arguments: SimpleNamespace) -> int:
    """Prints how many cells of each sweep are done and missing. InvalidInput if none
    can be counted.
    """
    statuses = status(arguments.sweeps, arguments.profile, arguments.set)
    if not statuses:
        print(_NO_RUNS)
        return 0
    print("\n".join(lines(statuses)))
    if all(sweep.cells is None for sweep in statuses):
        raise InvalidInput(f"the cells of the sweeps are not known: {statuses[0].note}")
    return 0


def promote_model(arguments: SimpleNamespace) -> None:
    """Registers a model of a run under an alias, and prints its address."""
    from infoscope.tracking.promote import promote

    print(promote(arguments.run, arguments.alias, arguments.model, arguments.name))
    if arguments.package:
        print(
            importlib.import_module("analysis.packaged_reader").package(arguments.run)
        )


def serve_ui(port: int) -> int:
    """Serves the MLflow UI on the runs of the working folder until Ctrl-C, at the
    loopback address only.

    Returns the exit status. Raises LookupError if there are no runs.
    """
    uri = tracking_uri()
    if uri.startswith(("http://", "https://")):
        print(f"the runs are on a tracking server: open {without_password(uri)}")
        return 0
    if uri.startswith("sqlite:///") and not os.path.exists(
        uri.removeprefix("sqlite:///")
    ):
        raise LookupError(_NO_RUNS)
    for name, value in _UI_SETTINGS.items():
        os.environ.setdefault(name, value)
    # every user of the machine could read it among the arguments
    os.environ["MLFLOW_BACKEND_STORE_URI"] = uri
    gather_statistics(uri)
    # with several workers every request would wait 40 ms
    command = [
        "-m",
        "mlflow",
        "server",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--workers",
        "1",
    ]
    with subprocess.Popen([sys.executable, *command]) as server, ends_with_this(server):
        try:
            while server.poll() is None and not is_taken(port):
                time.sleep(0.2)
            if server.poll() is None:
                print(
                    f"MLflow UI at http://127.0.0.1:{port} (Ctrl-C ends it)", flush=True
                )
            return FAILED if server.wait() else 0
        finally:
            server.terminate()
