"""Signs of life of an invocation, in its run: by them others tell whether its open runs are anybody's still.

The lock of a sweep's folder keeps a second driver out of the same working tree. Drivers of several machines may run the
same cells: the first complete run of a cell counts, later ones are dropped (`publish`).
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
from infoscope.tracking.store.store import Store, first_line, skipped
from infoscope.tracking.tags import ALIVE, CELLS, DRIVER

log = logging.getLogger(__name__)

ALIVE_SECONDS = 20.0  # between two signs of life
SILENT_SECONDS = 300.0  # of silence, after which one is taken for dead


class SweepBusy(Unavailable):
    """Another process runs the same sweep in this working tree."""


def own_tags() -> dict[str, str]:
    """What the runs that are made from here say of it: its machine and folder."""
    return {DRIVER: f"{platform.node()}:{home()}".replace("'", "")}


def is_own(run: Run) -> bool:
    """Whether a run was made from this working tree."""
    return run.data.tags.get(DRIVER) == own_tags()[DRIVER]


def seconds_silent(run: Run) -> float | None:
    """How long ago an invocation said last that it lives; None when its run does not tell."""
    told = run.data.tags.get(ALIVE)
    if told is None:
        return None
    if not re.fullmatch("[0-9]{1,16}", told):
        skipped(run, f"its tag {ALIVE} is {told[:60]!r}, which is no time in milliseconds")
        return None
    return (milliseconds() - int(told)) / 1000


def is_dead(run: Run) -> bool:
    """Whether nobody works any more on an invocation's cells; the caller holds this folder's lock of the sweep.

    One from elsewhere that gives no signs of life is never taken for dead.
    """
    silent = seconds_silent(run)
    return is_own(run) or silent is not None and silent >= SILENT_SECONDS


def may_live(run: Run | None) -> bool:
    """Whether a run is an invocation's that is open, and has said of late that it lives."""
    if run is None or run.info.status != "RUNNING" or CELLS not in run.data.tags:
        return False
    silent = seconds_silent(run)
    return silent is not None and silent < SILENT_SECONDS


@contextlib.contextmanager
def alive(store: Store, run_id: str, beside: Callable[[], None]) -> Iterator[None]:
    """Says now and then that this invocation lives, and calls `beside`."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(ALIVE_SECONDS):
            try:
                store.client.set_tag(run_id, ALIVE, str(milliseconds()))
                beside()
            except MlflowException as error:
                log.info("no sign of life at run %s (%s)", run_id, first_line(error))

    threading.Thread(target=beat, daemon=True, name="infoscope-alive").start()
    try:
        yield
    finally:
        over.set()
