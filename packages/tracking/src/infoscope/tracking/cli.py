"""Programs that the command line calls: a sweep, the MLflow UI, what looks after the record."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from mlflow.exceptions import MlflowException

from infoscope._arguments import BAD_INPUT, FAILED, INTERRUPTED, add_sweep_options, assignments
from infoscope._modules import ANALYSES, module_of
from infoscope.tracking.checks import plain_name
from infoscope.tracking.scheduling.cluster import RayNotStarted
from infoscope.tracking.scheduling.driver import SweepBusy, run
from infoscope.tracking.scheduling.watch import Summary
from infoscope.tracking.sending.flush import told_aside
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.status import lines, status
from infoscope.tracking.store.client import connect, without_password
from infoscope.tracking.store.store import StoreUnreachable, first_line, gather_statistics, home, tracking_uri
from infoscope.tracking.store.ui import links
from infoscope.tracking.sweep import Sweep

_UNUSED_BY_THE_UI = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_ENABLE_AI_GATEWAY": "false",
    "MLFLOW_ENABLE_ASSISTANT_SANDBOX": "true",  # or its shell tool would run on this machine
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


def main(sweep: Sweep, words: Sequence[str] | None = None) -> None:
    """Command line of a sweep; exits 0, 1 (cells failed), 2 (bad input) or 130 (interrupted)."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    add_sweep_options(parser, sweep.profiles)
    arguments = parser.parse_args(words)
    try:
        settings = assignments(arguments.set)
        summary = run(_importable(sweep), arguments.profile, settings, arguments.gpus_per_pack)
    except (ValueError, FileNotFoundError, SweepBusy, StoreUnreachable, RayNotStarted) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except (MlflowException, ConnectionError) as error:
        print(f"error: the tracking store or the Ray cluster failed: {first_line(error)}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except OSError as error:  # such as a full disk
        print(f"error: {first_line(error)}; the same command goes on from here", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here", file=sys.stderr)
        sys.exit(INTERRUPTED)
    print(describe(summary), file=sys.stderr)
    print(summary.profile)  # the label under which the runs are recorded: what an analysis asks for
    sys.exit(INTERRUPTED if summary.unfinished else FAILED if summary.failures or summary.unsent else 0)


def _importable(sweep: Sweep) -> Sweep:
    """The same sweep out of its module's real name instead of `__main__`, so that workers import its functions."""
    specification = sys.modules["__main__"].__spec__
    if sweep.trial.__module__ != "__main__" or specification is None:
        return sweep
    return importlib.import_module(specification.name).SWEEP


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
    if summary.tracking_share is not None:
        lines.append(f"recording took {100 * summary.tracking_share:.1f} % of the trials' time")
    for cell, error in summary.failures[:10]:
        lines.append(f"failed: {cell}: {error}")
    if len(summary.failures) > 10:
        lines.append(f"... and {len(summary.failures) - 10} more; their runs in MLflow hold the tracebacks")
    if summary.aside:
        lines.append(told_aside(summary.aside))
    if summary.unfinished:
        lines.append("interrupted: the same command goes on from here")
    if summary.unsent:
        where = home() / "records" / summary.sweep
        here = {key for key in summary.unsent if (where / key).exists()}
        if here:
            lines.append(f"{len(here)} cells are in {where} but not in MLflow yet: the same command sends them")
        if away := len(summary.unsent) - len(here):
            lines.append(
                f"{away} cells are on the machines that ran them but not in MLflow: there, `make sweep-sync "
                f'ARGS="--records {where.parent}"` sends them; else the same command here runs them again'
            )
    return "\n".join(lines)


def exported(run_id: str, model: str | None) -> None:
    """Exports a logged model as a program, and prints its address; exits with 2 where that cannot be."""
    from infoscope.tracking.export import export

    with _bad_input():
        print(export(run_id, model))


def promoted(run_id: str, alias: str, model: str | None, name: str | None) -> None:
    """Registers a logged model under an alias, and prints its address; exits with 2 where that cannot be."""
    from infoscope.tracking.promote import promote

    with _bad_input():
        print(promote(run_id, alias, model, name))


def found_runs(where: str, show: str, csv: str | None) -> None:
    """Prints the runs of all sweeps that match an MLflow filter; exits with 2 on bad input, 1 when there are none."""
    from infoscope.tracking.store.find import asked, find

    with _bad_input():
        found = find(where)
        titles = {name: f"{name} [{unit}]" for name, unit in found.attrs["units"].items()}
        chosen = ["sweep", "run_id", "profile", *asked(where), *filter(None, show.split(","))]
        if unknown := [name for name in chosen if name not in found and len(found)]:
            raise ValueError(f"none of these runs has {', '.join(unknown)}")
        if csv:
            found.drop(columns="tags").rename(columns=titles).to_csv(csv, index=False)
    if found.empty:
        print("no finished run matches", file=sys.stderr)
        sys.exit(FAILED)
    print(found[list(dict.fromkeys(chosen))].rename(columns=titles).to_string(index=False, max_rows=60))
    print(f"{len(found)} runs; other information is in nats", file=sys.stderr)


def saved_runs(experiments: Sequence[str], folder: str, profile: str | None, tables: bool, curves: bool) -> None:
    """Writes the finished cells of experiments into a file each; exits with 2 on bad input."""
    from infoscope.tracking.archive.lines import SUFFIX
    from infoscope.tracking.archive.saving import save

    with _bad_input():
        for name in experiments:
            path = Path(folder).expanduser() / f"{plain_name('the name of an experiment', name)}{SUFFIX}"
            print(save(name, path, profile, tables, curves), flush=True)


def loaded_runs(files: Sequence[str]) -> None:
    """Adds the runs of files to the tracking store and prints the commands for their tables; exits 2 on bad input."""
    from infoscope.tracking.archive.lines import opened, printable
    from infoscope.tracking.archive.loading import load

    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")  # of every run
    with _bad_input():
        for archive in [opened(Path(file).expanduser()) for file in files]:
            print(load(archive, _progress(archive.experiment)))
            table = module_of(archive.experiment, ANALYSES)
            labels = [shlex.quote(printable(label)) for label in sorted(archive.labels)]
            shown = [f"make table-{archive.experiment} PROFILE={label}" for label in labels]
            print(*(f"  to look: {command}" for command in (shown if table else ["make ui"])), sep="\n", flush=True)


def _progress(name: str, every: float = 20.0) -> Callable[[int, int], None]:
    last = time.monotonic()

    def tell(done: int, count: int) -> None:
        nonlocal last
        if time.monotonic() - last >= every and done < count:
            last = time.monotonic()
            print(f"{name}: {done:,} of {count:,} cells are in the store", file=sys.stderr)

    return tell


def sync_records(sweeps: Sequence[str], folder: str | None) -> None:
    """Sends what dead processes left behind; exits with 1 where something stays, with 2 on bad input."""
    with _bad_input():
        synced = sync(sweeps, Path(folder).expanduser() if folder else None)
    for one in synced:
        print(one)
    if not synced:
        print("nothing to send")
    sys.exit(FAILED if any(one.left for one in synced) else 0)


def show_status(sweeps: Sequence[str], profile: str, settings: Mapping[str, str]) -> None:
    """Prints how many cells of each sweep are done and missing; exits with 2 on bad input or if none can be counted."""
    with _bad_input():
        found = status(sweeps, profile, settings)
    print("\n".join(lines(found)) if found else "no runs yet; run a sweep first, such as `make sweep-critic-capacity`")
    if found and all(one.cells is None for one in found):
        print(f"error: no sweep says which cells it has: {found[0].note}", file=sys.stderr)
        sys.exit(BAD_INPUT)


@contextlib.contextmanager
def _bad_input() -> Iterator[None]:
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    try:
        yield
    except (LookupError, TypeError, ValueError, OSError, SweepBusy, StoreUnreachable, MlflowException) as error:
        print(f"error: {first_line(error)}", file=sys.stderr)
        sys.exit(BAD_INPUT)


def ui(port: int) -> None:
    """Replaces this process by the MLflow UI on the runs of the working tree, on the loopback address only."""
    uri = tracking_uri()
    if uri.startswith(("http://", "https://")):
        print(f"the runs are on a tracking server: open {without_password(uri)}")
        return
    if uri.startswith("sqlite:///") and not os.path.exists(uri.removeprefix("sqlite:///")):
        print("error: no runs yet; run a sweep first, such as `make sweep-critic-capacity`", file=sys.stderr)
        sys.exit(BAD_INPUT)
    for name, value in _UNUSED_BY_THE_UI.items():
        os.environ.setdefault(name, value)
    os.environ["MLFLOW_BACKEND_STORE_URI"] = uri  # not as an argument, which every user of the machine can read
    address = f"http://127.0.0.1:{port}"
    gather_statistics(uri)
    print(f"MLflow UI on {address} (Ctrl-C ends it)")
    with contextlib.suppress(MlflowException):  # the server itself says what is wrong
        pages = dict(links(connect(uri).search_experiments(), address))
        for name, page in pages.items():
            print(f"  {name:<{max(map(len, pages))}}  {page}")
    sys.stdout.flush()
    # one worker: with several, every request waits 40 ms
    command = ["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    os.execv(sys.executable, [sys.executable, *command])
