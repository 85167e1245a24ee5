"""Programs that the command line calls: a sweep, the MLflow UI, what looks after the record."""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

from mlflow.exceptions import MlflowException

from infoscope.command_line import (
    ANALYSES,
    FAILED,
    INTERRUPTED,
    command,
    ended,
    ended_with_this,
    is_taken,
    module_of,
    sentence,
    sweep_options,
)
from infoscope.errors import InvalidInput, Unavailable
from infoscope.tracking.checks import plain_name
from infoscope.tracking.record import home, records
from infoscope.tracking.scheduling.driver import run
from infoscope.tracking.scheduling.watch import Summary
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.status import lines, status
from infoscope.tracking.store.client import connect, without_password
from infoscope.tracking.store.store import gather_statistics, tracking_uri
from infoscope.tracking.store.ui import links
from infoscope.tracking.sweep import Sweep

_UNUSED_BY_THE_UI = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_ENABLE_AI_GATEWAY": "false",
    "MLFLOW_ENABLE_ASSISTANT_SANDBOX": "true",  # or its shell tool would run on this machine
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


def main(sweep: Sweep, words: Sequence[str] | None = None) -> None:
    """Command line of a sweep of your own; exits 0, 1 (cells failed), 2 (bad input) or 130 (interrupted)."""
    module = sys.modules["__main__"]
    if sweep.trial.__module__ == "__main__" and module.__spec__:  # workers import its functions by its real name
        sweep = importlib.import_module(module.__spec__.name).SWEEP

    def call(given: SimpleNamespace) -> int:
        return _run(sweep, given.profile, given.set, given.gpus_per_pack)[0]

    sys.exit(ended(command(sweep.name, call, sweep_options(), module.__doc__), words))


def run_sweep(module: str, profile: str, settings: Mapping[str, str], gpus: float | None) -> tuple[int, str]:
    """Runs the sweep of a module; its exit status, and the label under which its runs are recorded."""
    return _run(importlib.import_module(module).SWEEP, profile, settings, gpus)


def _run(sweep: Sweep, profile: str, settings: Mapping[str, str], gpus: float | None) -> tuple[int, str]:
    try:
        summary = run(sweep, profile, settings, gpus)
    except (MlflowException, ConnectionError) as error:
        raise Unavailable(f"the tracking store or the Ray cluster failed: {sentence(error)}") from error
    except FileNotFoundError:
        raise
    except OSError as error:  # such as a full disk
        raise Unavailable(f"{sentence(error)}; the same command goes on from here") from error
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here", file=sys.stderr)
        raise
    print(describe(summary), file=sys.stderr)
    if summary.unfinished:
        return INTERRUPTED, summary.profile
    return FAILED if summary.failures or summary.unsent else 0, summary.profile


def describe(summary: Summary) -> str:
    """The summary that a person needs after a sweep, in a few lines."""
    lines = []
    if summary.skipped == summary.cells:
        lines.append(
            f"{summary.sweep} ({summary.profile}): all {summary.cells} cells are already recorded, nothing to run"
        )
    else:
        counts = {"completed": summary.completed, "stopped early": summary.stopped, "failed": len(summary.failures)}
        counts |= {"already recorded": summary.skipped, "not finished": summary.unfinished}
        told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        lines.append(f"{summary.sweep} ({summary.profile}): {told} of {summary.cells} cells in {summary.seconds:.0f} s")
    for cell, error in summary.failures[:10]:
        lines.append(f"failed: {cell}: {error}")
    if len(summary.failures) > 10:
        lines.append(f"... and {len(summary.failures) - 10} more; their runs in MLflow hold the tracebacks")
    if summary.unfinished:
        lines.append("interrupted: the same command goes on from here")
    if summary.unsent:
        where = home() / "records" / summary.sweep
        here = summary.unsent & {record.key for record in records(where)}
        if here:
            lines.append(f"{len(here)} cells are in {where} but not in MLflow yet: the same command sends them")
        if away := len(summary.unsent) - len(here):
            lines.append(
                f"{away} cells are on the machines that ran them but not in MLflow: there, `make sweep-sync "
                f'ARGS="--records {where.parent}"` sends them; else the same command here runs them again'
            )
    return "\n".join(lines)


def found_runs(given: SimpleNamespace) -> int:
    """Prints the runs of all sweeps that match an MLflow filter; the exit status: FAILED where there are none."""
    from infoscope.tracking.store.find import asked, find

    found = find(given.where)
    titles = {name: f"{name} [{unit}]" for name, unit in found.attrs["units"].items()}
    chosen = ["sweep", "run_id", "profile", *asked(given.where), *filter(None, given.show.split(","))]
    if unknown := [name for name in chosen if name not in found and len(found)]:
        raise InvalidInput(f"none of these runs has {', '.join(unknown)}")
    if given.csv:
        found.drop(columns="tags").rename(columns=titles).to_csv(given.csv, index=False)
    if found.empty:
        print("no finished run matches", file=sys.stderr)
        return FAILED
    print(found[list(dict.fromkeys(chosen))].rename(columns=titles).to_string(index=False, max_rows=60))
    print(f"{len(found)} runs; other information is in nats", file=sys.stderr)
    return 0


def saved_runs(given: SimpleNamespace) -> None:
    """Writes the finished cells of experiments into a file each."""
    from infoscope.tracking.archive.lines import SUFFIX
    from infoscope.tracking.archive.saving import save

    for name in given.experiments:
        path = Path(given.to).expanduser() / f"{plain_name('the name of an experiment', name)}{SUFFIX}"
        print(save(name, path, given.profile, given.tables, given.curves), flush=True)


def loaded_runs(given: SimpleNamespace) -> None:
    """Adds the runs of files to the tracking store and prints the commands for their tables."""
    from infoscope.tracking.archive.lines import opened, printable
    from infoscope.tracking.archive.loading import load

    for archive in [opened(Path(file).expanduser()) for file in given.files]:
        print(load(archive))
        table = module_of(archive.experiment, ANALYSES)
        labels = [shlex.quote(printable(label)) for label in sorted(archive.labels)]
        shown = [f"make table-{archive.experiment} PROFILE={label}" for label in labels]
        print(*(f"  to look: {command}" for command in (shown if table else ["make ui"])), sep="\n", flush=True)


def sync_records(given: SimpleNamespace) -> int:
    """Sends what dead processes left behind; the exit status: FAILED where something stays."""
    synced = sync(given.sweeps, Path(given.records).expanduser() if given.records else None)
    print(*(synced or ["nothing to send"]), sep="\n")
    return FAILED if any(one.left for one in synced) else 0


def show_status(given: SimpleNamespace) -> int:
    """Prints how many cells of each sweep are done and missing. InvalidInput where none can be counted."""
    found = status(given.sweeps, given.profile, given.set)
    print("\n".join(lines(found)) if found else "no runs yet; run a sweep first, such as `make sweep-critic-capacity`")
    if found and all(one.cells is None for one in found):
        raise InvalidInput(f"no sweep says which cells it has: {found[0].note}")
    return 0


def ui(port: int) -> int:
    """Serves the MLflow UI on the runs of the working tree until Ctrl-C, on the loopback address only.

    The exit status; LookupError where there are no runs.
    """
    uri = tracking_uri()
    if uri.startswith(("http://", "https://")):
        print(f"the runs are on a tracking server: open {without_password(uri)}")
        return 0
    if uri.startswith("sqlite:///") and not os.path.exists(uri.removeprefix("sqlite:///")):
        raise LookupError("no runs yet; run a sweep first, such as `make sweep-critic-capacity`")
    for name, value in _UNUSED_BY_THE_UI.items():
        os.environ.setdefault(name, value)
    os.environ["MLFLOW_BACKEND_STORE_URI"] = uri  # not as an argument, which every user of the machine can read
    gather_statistics(uri)
    address, pages = f"http://127.0.0.1:{port}", dict[str, str]()
    with contextlib.suppress(MlflowException):  # the server itself says what is wrong
        pages = dict(links(connect(uri).search_experiments(), address))
    shown = [f"  {name:<{max(map(len, pages))}}  {page}" for name, page in pages.items()]
    # one worker: with several, every request waits 40 ms
    command = ["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    with subprocess.Popen([sys.executable, *command]) as server, ended_with_this(server):
        try:
            while server.poll() is None and not is_taken(port):
                time.sleep(0.2)
            if server.poll() is None:
                print("\n".join([f"MLflow UI on {address} (Ctrl-C ends it)", *shown]), flush=True)
            return FAILED if server.wait() else 0
        finally:
            server.terminate()
