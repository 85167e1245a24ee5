"""Claims of living processes to cells of an experiment.

MLflow has no compare-and-set, so a claim takes two steps: an invocation asks (in the request that makes its run), reads
the others, holds, and reads again. It gives way to a holder found at the first reading, and to a lower id at either. Of
two concurrent claims at least one is seen, provided that reads follow writes. An invocation silent for SILENT_SECONDS
is taken for dead and its cells are free; cells finished twice count once (see `duplicates`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import sys
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime

from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from infoscope.tracking.checks import NAME_LENGTH, clipped
from infoscope.tracking.record import milliseconds
from infoscope.tracking.sending.identity import own_tags
from infoscope.tracking.store.store import Store, first_line, skipped
from infoscope.tracking.tags import ALIVE, CELLS, CLAIM, DRIVER, IDENTITY, PROFILE

log = logging.getLogger(__name__)

ALIVE_SECONDS = 20.0  # between two signs of life
SHORT_SECONDS = 3 * ALIVE_SECONDS  # of silence, after which one may be dead
SILENT_SECONDS = 300.0  # of silence, after which one is taken for dead
# the same for an invocation of an earlier version, which gave a sign every minute: from this folder, from elsewhere
EARLIER_SECONDS, EARLIER_SILENT_SECONDS = 180.0, 900.0
POLL_SECONDS = 1.0
ASKS, HOLDS = "asks", "holds"
KEYS = 400  # to a tag


class SweepBusy(RuntimeError):
    """Another process runs the same cells."""


def seconds_silent(run: Run) -> float | None:
    """How long ago an invocation said last that it lives; None when its run does not tell."""
    told = run.data.tags.get(ALIVE)
    if told is None:
        return None
    if not re.fullmatch("[0-9]{1,16}", told):
        skipped(run, f"its tag {ALIVE} is {told[:60]!r}, which is no time in milliseconds")
        return None
    return (milliseconds() - int(told)) / 1000


def is_own(run: Run, own: Mapping[str, str]) -> bool:
    """Whether a run was made from this working tree, as its identity says, or in an earlier version's runs its name."""
    tags = run.data.tags
    return tags[IDENTITY] == own[IDENTITY] if IDENTITY in tags else tags.get(DRIVER) == own[DRIVER]


def is_dead(run: Run, own: Mapping[str, str]) -> bool:
    """Whether nobody works any more on an invocation's cells; the caller holds this folder's lock of the sweep.

    A foreign invocation without a heartbeat is never treated as dead.
    """
    silent = seconds_silent(run)
    if not is_own(run, own):
        return silent is not None and silent >= _patience(run)
    if IDENTITY not in run.data.tags:
        return silent is None or silent >= EARLIER_SECONDS
    return run.data.tags.get(DRIVER) == own[DRIVER] or silent is None or silent >= SHORT_SECONDS


def may_live(run: Run | None) -> bool:
    """Whether a run is an invocation's that is open, and has said of late that it lives."""
    if run is None or run.info.status != "RUNNING" or CELLS not in run.data.tags:
        return False
    silent = seconds_silent(run)
    return silent is not None and silent < _patience(run)


def _patience(run: Run) -> float:
    """Seconds of silence after which an invocation of another working tree is taken for dead."""
    return SILENT_SECONDS if IDENTITY in run.data.tags else EARLIER_SILENT_SECONDS


def packed(keys: Collection[str]) -> dict[str, str]:
    """Keys as tags of a run."""
    ordered = sorted(keys)
    parts = [ordered[begin : begin + KEYS] for begin in range(0, len(ordered), KEYS)]
    return {f"{CLAIM}.{n}": urlsafe_b64encode(bytes.fromhex("".join(part))).decode() for n, part in enumerate(parts)}


def claimed(run: Run) -> set[str]:
    """The keys that an invocation claims; none where it does not say."""
    keys = set()
    for name, text in run.data.tags.items():
        if name.startswith(f"{CLAIM}."):
            try:
                found = urlsafe_b64decode(text).hex()
            except ValueError:
                skipped(run, f"its tag {name} holds no keys")
                continue
            keys |= {found[begin : begin + 16] for begin in range(0, len(found), 16)}
    return keys


class Claim:
    """The claim of an invocation to cells, as its run in MLflow.

    own: from `own_tags`. lost: a sentence on who took the cells over. beside: also recorded with every heartbeat.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        tags: Mapping[str, str],
        keys: Collection[str],
        own: Mapping[str, str] | None = None,
    ):
        self.store, self.keys, self.own, self.lost = store, set(keys), own or own_tags(), ""
        self._sweep, self._label = name, tags.get(PROFILE)
        about = {CELLS: str(len(self.keys)), CLAIM: ASKS, ALIVE: str(milliseconds())}
        asked = dict(tags) | self.own | about | packed(self.keys)
        title = clipped(f"{name} {self._label}", NAME_LENGTH)
        run = store.client.create_run(store.experiment_id, run_name=title, tags=asked)
        self.run_id = run.info.run_id
        self.beside: Callable[[], None] = lambda: None
        self._over = threading.Event()
        self._main = threading.current_thread() is threading.main_thread()

    def hold(self) -> None:
        """Returns when the cells are this invocation's. Raises SweepBusy when a living one has them."""
        self._give_way(at_first=True)
        self.store.client.set_tag(self.run_id, CLAIM, HOLDS)
        self._give_way(at_first=False)

    def _give_way(self, at_first: bool) -> None:
        """Returns when nobody is there any more to whom this claim gives way."""
        first: dict[str, str] = {}
        deadline, told = time.monotonic() + EARLIER_SILENT_SECONDS, False
        while others := self.others():
            before = [run for run in others if run.info.run_id < self.run_id]
            holding = [run for run in others if run.data.tags.get(CLAIM) != ASKS and (at_first or run in before)]
            for run in holding:
                signs = first.setdefault(run.info.run_id, run.data.tags.get(ALIVE, ""))
                if self._lives(run) or signs != run.data.tags.get(ALIVE, ""):
                    raise SweepBusy(self._sentence(run))
            if not holding and not before:
                return
            if time.monotonic() > deadline:
                raise SweepBusy(self._sentence((holding or before)[0]))
            if holding and not told:
                told = True
                print(
                    f"{self._sweep}: {_who(holding[0])} has these cells and has been silent for "
                    f"{seconds_silent(holding[0]) or 0:.0f} s; waiting until it speaks or is taken for dead",
                    file=sys.stderr,
                )
            time.sleep(POLL_SECONDS)

    def _lives(self, run: Run) -> bool:
        """Whether that is sure at once: of one from here it is not, because this process has the lock."""
        return not is_own(run, self.own) and (seconds_silent(run) or 0) < SHORT_SECONDS

    def others(self) -> list[Run]:
        """The living invocations that claim some of the same cells, or the same profile where they record no keys."""
        found = self.store.search(f"attributes.status = 'RUNNING' and tags.`{CELLS}` != ''")
        return [run for run in found if run.info.run_id != self.run_id and self._overlaps(run) and self._may_live(run)]

    def _overlaps(self, run: Run) -> bool:
        if CLAIM not in run.data.tags:
            return run.data.tags.get(PROFILE) == self._label
        return bool(claimed(run) & self.keys)

    def _may_live(self, run: Run) -> bool:
        silent = seconds_silent(run)
        if run.data.tags.get(CLAIM) == ASKS and silent is not None and silent >= SHORT_SECONDS:
            return False  # it has died before it began
        return silent is not None and not is_dead(run, self.own)

    def _sentence(self, run: Run) -> str:
        since = datetime.fromtimestamp((run.info.start_time or 0) / 1000, UTC)
        shared = len(claimed(run) & self.keys)
        what = f"{shared} of these {len(self.keys)} cells" if CLAIM in run.data.tags else f"profile {self._label}"
        return (
            f"sweep {self._sweep} is being run by {_who(run)} since {since:%Y-%m-%d %H:%M} UTC, which has {what} (its "
            f"last sign of life is {max(0.0, seconds_silent(run) or 0):.0f} s old); wait for it, stop it there, or run "
            f"other cells; if its machine is gone, the same command works when it has been silent for "
            f"{_patience(run):.0f} s"
        )

    @contextlib.contextmanager
    def alive(self) -> Iterator[None]:
        """Says now and then that this process lives: on a machine that is not seen again, nobody else can tell."""
        thread = threading.Thread(target=self._beat, daemon=True, name="infoscope-alive")
        thread.start()
        try:
            yield
        finally:
            self._over.set()

    def _beat(self) -> None:
        while not self._over.wait(ALIVE_SECONDS):
            try:
                self.sign()
                self.beside()
            except MlflowException as error:
                log.info("no sign of life at run %s (%s)", self.run_id, first_line(error))

    def sign(self) -> None:
        """One sign of life. When somebody has closed the run meanwhile, to whom this process looked dead, it is opened
        again; unless another process has the cells now: then this one stops as after Ctrl-C, and `lost` says why.
        """
        client = self.store.client
        client.set_tag(self.run_id, ALIVE, str(milliseconds()))
        if client.get_run(self.run_id).info.status == "RUNNING" or self._over.is_set():
            return
        client.update_run(self.run_id, status="RUNNING")
        if others := self.others():
            client.set_terminated(self.run_id, "KILLED")
            self.lost = (
                f"sweep {self._sweep} was taken over by {_who(others[0])}, because this process had not been heard of "
                "for long; what it has recorded is kept"
            )
            self._over.set()
            log.error("%s", self.lost)
            if self._main:
                os.kill(os.getpid(), signal.SIGTERM)  # which ends it as an interrupt, see `cluster`

    def release(self) -> None:
        """Removes the keys from the closed run, and from a second run that the store made of it."""
        self._over.set()
        for run in self.store.search(f"attributes.status = 'RUNNING' and tags.`{CLAIM}` = '{ASKS}'"):
            if run.info.run_id != self.run_id and is_dead(run, self.own):
                self.store.end(run.info.run_id, "KILLED")
                self.store.client.delete_run(run.info.run_id)
        for name in packed(self.keys):
            self.store.client.delete_tag(self.run_id, name)

    def withdraw(self) -> None:
        """There is nothing to run: the invocation leaves no trace."""
        self._over.set()
        with contextlib.suppress(MlflowException):  # closed, it keeps nobody away
            self.store.client.set_terminated(self.run_id, "KILLED")
            self.store.client.delete_run(self.run_id)


def _who(run: Run) -> str:
    return run.data.tags.get(DRIVER) or f"run {run.info.run_id}"


@contextlib.contextmanager
def claim(store: Store, name: str, tags: Mapping[str, str], keys: Collection[str]) -> Iterator[Claim]:
    """The claim to some cells, held and kept alive. Raises SweepBusy when a living process has some of them."""
    mine = Claim(store, name, tags, keys)
    with mine.alive():
        try:
            mine.hold()
        except BaseException:
            mine.withdraw()
            raise
        yield mine
