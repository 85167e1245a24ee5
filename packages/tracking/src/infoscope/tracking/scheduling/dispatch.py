"""Which packs go into the next trial, and which unfinished packs run again.

A trial costs about 0.1 s and some memory, so short packs share a trial, as many as their measured durations allow.
"""

from __future__ import annotations

import pickle
import time
import zlib
from collections import Counter, deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from infoscope.tracking.scheduling.worker import Assignment

TRIAL_SECONDS = 10.0  # intended duration of a trial with several packs; later it begins no other pack
MAX_PACKS = 100  # in a trial
FINISHED = "FINISHED"  # Ray Tune's word for no more trials
_RECENT = 16  # latest packs, of which the longest predicts the duration of the next
_MAX_WORKER_DEATHS = 2  # after which the pack has failed
MAX_MACHINE_DEATHS = 10  # after which the pack has failed, though the machine is rarely its fault


class PackedAssignments:
    """The assignments of a trial in a compact form, because Tune copies and prints every configuration."""

    def __init__(self, assignments: dict[int, Assignment]):
        self._packed, self._count = zlib.compress(pickle.dumps(assignments)), len(assignments)

    def assignments(self) -> dict[int, Assignment]:
        return pickle.loads(zlib.decompress(self._packed))  # made by this process's driver

    def __repr__(self) -> str:
        return f"<{self._count} packs>"


class Dispatch:
    """The packs of an invocation by number, the costliest first.

    shares: the share of a GPU by pack; packs of a trial have the same share. slots: number of trials that run at once.
    alone: every pack has its own trial and none is queued again, because Tune repeats such a trial itself.
    """

    def __init__(self, shares: Sequence[float], slots: int, alone: bool = False):
        self.shares, self.slots, self.alone = shares, slots, alone
        self._waiting = list(range(len(shares)))
        heapify(self._waiting)
        self._held: set[int] = set()
        self.returned: set[int] = set()  # packs that a trial may have begun and has not ended
        self._deaths: Counter[tuple[int, str]] = Counter()
        self._seconds: deque[float] = deque(maxlen=_RECENT)

    @property
    def done(self) -> bool:
        return not self._waiting and not self._held

    def take(self) -> list[int]:
        """The packs of the next trial in order; empty while other trials hold all remaining packs."""
        taken: list[int] = []
        size = self._size()
        while self._waiting and len(taken) < size:
            if taken and self.shares[self._waiting[0]] != self.shares[taken[0]]:
                break
            taken.append(heappop(self._waiting))
        if not self.alone:
            self._held.update(taken)
        return taken

    def _size(self) -> int:
        """The number of packs of the next trial, small enough to keep all slots busy near the end."""
        if self.alone or not self._seconds:
            return 1
        longest = max(max(self._seconds), TRIAL_SECONDS / MAX_PACKS)
        return max(1, min(int(TRIAL_SECONDS / longest), len(self._waiting) // (4 * self.slots)))

    def ended(self, number: int, seconds: float) -> None:
        """Notes that a pack is done, and its duration."""
        self._held.discard(number)
        self._seconds.append(seconds)

    def undone(self, numbers: Sequence[int], died: str | None) -> list[int]:
        """Queues the packs again that a trial has not ended; returns those that failed because it died too often.

        died: "worker", "machine", or None if the trial has left the packs to other trials.
        """
        failed: list[int] = []
        if died and numbers:
            self._deaths[numbers[0], died] += 1
            if self._deaths[numbers[0], died] >= (MAX_MACHINE_DEATHS if died == "machine" else _MAX_WORKER_DEATHS):
                failed = [numbers[0]]
        self._held.difference_update(numbers)
        self.returned.update(numbers)
        for number in numbers:
            if number not in failed:
                heappush(self._waiting, number)
        return failed

    def suggest(self, config: Callable[[list[int]], dict[str, Any]]) -> dict[str, Any] | str | None:
        """The configuration of the next trial; None while other trials hold all remaining packs; or FINISHED."""
        if self.done:
            return FINISHED
        numbers = self.take()
        return config(numbers) if numbers else None


def searcher(
    suggest: Callable[[str], dict[str, Any] | str | None],
    ended: Callable[[str, dict[str, Any], bool], None] = lambda trial_id, result, error: None,
) -> Any:
    """A Ray Tune searcher that proposes trials.

    suggest: trial id -> a configuration, None for later, or FINISHED. ended: called with the trial id, its last result
    and whether it failed.
    """
    from ray.tune.search import Searcher

    class Suggestions(Searcher):
        def __reduce__(self) -> tuple:  # Tune pickles its searcher for a restore, which is not used
            return Searcher, ()

        def set_search_properties(self, metric: str | None, mode: str | None, config: dict, **spec: Any) -> bool:
            return True

        def suggest(self, trial_id: str) -> Any:
            return suggest(trial_id)

        def on_trial_complete(self, trial_id: str, result: dict | None = None, error: bool = False) -> None:
            ended(trial_id, result or {}, error)

        def save(self, checkpoint_path: str) -> None:
            """Nothing to save: a restart begins from the runs in MLflow."""

    return Suggestions()


def run_packs(
    handout: PackedAssignments,
    run: Callable[[Assignment, Callable[[dict[str, Any]], None]], None],
    send: Callable[..., None],
) -> None:
    """Runs one pack after another on a worker; after TRIAL_SECONDS the rest is left to other trials."""
    assignments = handout.assignments()
    start = time.monotonic()
    for number, assignment in assignments.items():
        began = time.monotonic()
        if began - start > TRIAL_SECONDS:
            return

        def send_result(result: dict[str, Any], number: int = number, began: float = began) -> None:
            # dicts as pairs, because Tune keeps statistics of every number in a dict
            plain = {name: tuple(value.items()) if isinstance(value, dict) else value for name, value in result.items()}
            send({"pack": number, "pack_seconds": time.monotonic() - began, **plain})

        run(assignment, send_result)
