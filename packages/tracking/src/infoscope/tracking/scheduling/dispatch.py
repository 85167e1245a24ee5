"""Which packs go into the next trial, and what becomes of unfinished ones.

A trial costs about 0.1 s and some memory: short packs share one, as many as the measured durations allow.
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

TRIAL_SECONDS = 10.0  # what several packs together should take, and after which a trial begins no other
MOST_PACKS = 100
FINISHED = "FINISHED"  # Ray Tune's word for no more trials
_RECENT = 16  # the longest of so many packs is what the next may take
_WORKER_DEATHS = 2  # so often may a pack's worker die, then the pack has failed
MACHINE_DEATHS = 10  # ... with its machine, which is rarely the pack's fault


class PackedAssignments:
    """The assignments of a trial; small and with a short name, because Tune copies and prints every configuration."""

    def __init__(self, assignments: dict[int, Assignment]):
        self._packed, self._count = zlib.compress(pickle.dumps(assignments)), len(assignments)

    def assignments(self) -> dict[int, Assignment]:
        return pickle.loads(zlib.decompress(self._packed))  # made by this process's driver

    def __repr__(self) -> str:
        return f"<{self._count} packs>"


class Dispatch:
    """The packs of an invocation by number, the costliest first.

    shares: of a GPU, by pack; only packs with the same share are a trial. slots: how many trials run at once.
    alone: every pack gets a trial of its own, whatever it takes, and none comes back: Tune tries such a trial again.
    """

    def __init__(self, shares: Sequence[float], slots: int, alone: bool = False):
        self.shares, self.slots, self.alone = shares, slots, alone
        self._waiting = list(range(len(shares)))
        heapify(self._waiting)
        self._held: set[int] = set()
        self.returned: set[int] = set()  # packs that a trial has begun, maybe, and not ended
        self._deaths: Counter[tuple[int, str]] = Counter()
        self._seconds: deque[float] = deque(maxlen=_RECENT)

    @property
    def done(self) -> bool:
        return not self._waiting and not self._held

    def take(self) -> list[int]:
        """The packs of the next trial in order; none when trials hold all that is left."""
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
        """How many packs the next trial gets: few enough that the others are not left without work near the end."""
        if self.alone or not self._seconds:
            return 1
        longest = max(max(self._seconds), TRIAL_SECONDS / MOST_PACKS)
        return max(1, min(int(TRIAL_SECONDS / longest), len(self._waiting) // (4 * self.slots)))

    def ended(self, number: int, seconds: float) -> None:
        """A pack is done, and has taken so long."""
        self._held.discard(number)
        self._seconds.append(seconds)

    def undone(self, numbers: Sequence[int], died: str | None) -> list[int]:
        """Requeues the packs that a trial has not ended; returns those that failed because their trial died too often.

        died: "worker", "machine", or None when the trial itself has left them to others.
        """
        failed: list[int] = []
        if died and numbers:
            self._deaths[numbers[0], died] += 1
            if self._deaths[numbers[0], died] >= (MACHINE_DEATHS if died == "machine" else _WORKER_DEATHS):
                failed = [numbers[0]]
        self._held.difference_update(numbers)
        self.returned.update(numbers)
        for number in numbers:
            if number not in failed:
                heappush(self._waiting, number)
        return failed

    def suggest(self, config: Callable[[list[int]], dict[str, Any]]) -> dict[str, Any] | str | None:
        """The configuration of Ray Tune's next trial, None while trials hold all that is left, or FINISHED."""
        if self.done:
            return FINISHED
        numbers = self.take()
        return config(numbers) if numbers else None


def searcher(
    suggest: Callable[[str], dict[str, Any] | str | None],
    ended: Callable[[str, dict[str, Any], bool], None] = lambda trial_id, result, error: None,
) -> Any:
    """The searcher that Ray Tune asks for trials.

    suggest: trial id -> a configuration, None for later, or FINISHED. ended: takes trial id, last result, whether the
    trial failed.
    """
    from ray.tune.search import Searcher

    class Suggestions(Searcher):
        def __reduce__(self) -> tuple:  # Tune writes its searcher down for a restore, which is not how we resume
            return Searcher, ()

        def set_search_properties(self, metric: str | None, mode: str | None, config: dict, **spec: Any) -> bool:
            return True

        def suggest(self, trial_id: str) -> Any:
            return suggest(trial_id)

        def on_trial_complete(self, trial_id: str, result: dict | None = None, error: bool = False) -> None:
            ended(trial_id, result or {}, error)

        def save(self, checkpoint_path: str) -> None:
            """Nothing to keep: a restart begins from what MLflow holds."""

    return Suggestions()


def run_packs(
    handout: PackedAssignments,
    run: Callable[[Assignment, Callable[[dict[str, Any]], None]], None],
    tell: Callable[..., None],
) -> None:
    """Runs one pack after another on a worker, and leaves the rest to other trials once it has taken long enough."""
    assignments = handout.assignments()
    start = time.monotonic()
    for number, assignment in assignments.items():
        began = time.monotonic()
        if began - start > TRIAL_SECONDS:
            return

        def tell_of(told: dict[str, Any], number: int = number, began: float = began) -> None:
            # dicts as pairs: of every number in a dict Tune keeps statistics, under the name of each cell
            plain = {name: tuple(value.items()) if isinstance(value, dict) else value for name, value in told.items()}
            tell({"pack": number, "pack_seconds": time.monotonic() - began, **plain})

        run(assignment, tell_of)
