"""Heartbeat of an invocation, a tag of its run: it shows others whether anybody still works on its open runs.

The lock of a sweep's folder excludes a second driver in the same working folder. Drivers on several machines may run
the same cells: the first complete run of a cell counts, later ones are deleted (`publish`).
"""

from __future__ import annotations

import contextlib
import logging
import platform
import re
import threading
from collections.abc import Callable, Iterator

from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from infoscope.errors import Unavailable
from infoscope.tracking.record import home, milliseconds
from infoscope.tracking.store.store import Store, first_line, warn_skipped
from infoscope.tracking.tags import ALIVE, CELLS, DRIVER

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 20.0  # between two heartbeats
SILENT_SECONDS = 300.0  # without a heartbeat, after which an invocation is taken for dead


class SweepBusy(Unavailable):
    """Another process runs the same sweep in this working folder."""


def own_tags() -> dict[str, str]:
    """The tag of runs that are made from here: machine and folder."""
    return {DRIVER: f"{platform.node()}:{home()}".replace("'", "")}


def is_own(run: Run) -> bool:
    """Whether a run was made from this working folder."""
    return run.data.tags.get(DRIVER) == own_tags()[DRIVER]


def seconds_silent(run: Run) -> float | None:
    """Seconds since the last heartbeat of an invocation; None if its run has none."""
    heartbeat = run.data.tags.get(ALIVE)
    if heartbeat is None:
        return None
    if not re.fullmatch("[0-9]{1,16}", heartbeat):
        warn_skipped(run, f"its tag {ALIVE} is {heartbeat[:60]!r}, which is no time in milliseconds")
        return None
    return (milliseconds() - int(heartbeat)) / 1000


def is_dead(run: Run) -> bool:
    """Whether nobody works on an invocation's cells any more; the caller holds this folder's lock of the sweep.

    A foreign invocation without a heartbeat is never treated as dead.
    """
    silent = seconds_silent(run)
    return is_own(run) or silent is not None and silent >= SILENT_SECONDS


def may_live(run: Run | None) -> bool:
    """Whether a run is an open invocation with a recent heartbeat."""
    if run is None or run.info.status != "RUNNING" or CELLS not in run.data.tags:
        return False
    silent = seconds_silent(run)
    return silent is not None and silent < SILENT_SECONDS


@contextlib.contextmanager
def heartbeat(store: Store, run_id: str, action: Callable[[], None]) -> Iterator[None]:
    """Sends heartbeats of this invocation while inside, and calls `action` after each."""
    finished = threading.Event()

    def beat() -> None:
        while not finished.wait(HEARTBEAT_SECONDS):
            try:
                store.client.set_tag(run_id, ALIVE, str(milliseconds()))
                action()
            except MlflowException as error:
                log.info("the heartbeat of run %s was not sent (%s)", run_id, first_line(error))

    threading.Thread(target=beat, daemon=True, name="infoscope-heartbeat").start()
    try:
        yield
    finally:
        finished.set()
