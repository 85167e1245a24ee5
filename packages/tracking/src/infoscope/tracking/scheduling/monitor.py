"""Follows the trials of an invocation: shows progress, and publishes records that workers could not."""

from __future__ import annotations

import itertools
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infoscope.tracking.record import COMPLETE, FAILED, STOPPED, Record, records
from infoscope.tracking.scheduling.dispatch import Dispatch
from infoscope.tracking.scheduling.progress import Progress
from infoscope.tracking.scheduling.worker import Assignment
from infoscope.tracking.sending.publish import header_tags, publish_all
from infoscope.tracking.store.store import first_line, is_finished
from infoscope.tracking.sweep import AnyCell, plain
from infoscope.tracking.tags import PARENT

log = logging.getLogger(__name__)

MACHINE_DIED = "its node has died"  # in Ray's message about a worker's death
_RETRY_SECONDS = 30.0  # without requests by the closing thread after the store has not answered


@dataclass
class Summary:
    """The result of an invocation, in numbers of cells.

    failures: failed cells with the last line of their errors. unsent: keys of recorded cells not in MLflow yet.
    refused: the sweep was ended, because the first cells reported what cannot be recorded.
    """

    sweep: str
    profile: str
    cells: int
    skipped: int
    completed: int = 0
    stopped: int = 0
    failures: list[tuple[AnyCell, str]] = field(default_factory=list)
    unsent: set[str] = field(default_factory=set)
    refused: bool = False
    seconds: float = 0.0

    @property
    def unfinished(self) -> int:
        return self.cells - self.skipped - self.completed - self.stopped - len(self.failures)

    @property
    def status(self) -> str:
        return "KILLED" if self.unfinished else "FAILED" if self.failures else "FINISHED"


class Monitor:
    """Follows the packs of the trials; publishes on a thread. dispatch: None if Tune repeats failed trials."""

    def __init__(self, progress: Progress, summary: Summary, dispatch: Dispatch | None = None):
        self.progress, self.summary, self.dispatch = progress, summary, dispatch
        self.closer = ThreadPoolExecutor(1, "infoscope-close")
        self.open: dict[int, Assignment] = {}
        self._next: dict[int, int] = {}  # by pack, the next one of its trial
        self._seconds: dict[int, float] = {}  # by pack, its duration at the last report
        self._store_down_until = 0.0

    def begin(self, assignments: Mapping[int, Assignment]) -> None:
        """Notes that these packs, by number, are a trial now, in this order."""
        self.open.update(assignments)
        self._next.update(itertools.pairwise(assignments))
        for number, assignment in assignments.items():
            self.progress.add(number, len(assignment.cells), assignment.cost)

    def started(self, numbers: Sequence[int]) -> None:
        """Notes that a worker has begun a trial of these packs."""
        number = next((number for number in numbers if number in self.open), None)
        if number is not None:
            self.progress.begin(number)

    def callback(self) -> Any:
        from ray import tune

        monitor = self

        class Callback(tune.Callback):
            def __reduce__(self) -> tuple:  # Tune pickles its callbacks for a restore, which is not used
                return tune.Callback, ()

            def on_trial_start(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
                monitor.started(trial.config["packs"])

            def on_trial_result(self, iteration: int, trials: list, trial: Any, result: dict, **info: Any) -> None:
                monitor.result(result)

            def on_trial_complete(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
                monitor.end(trial.config["packs"])

            def on_trial_error(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
                monitor.end(trial.config["packs"], Path(trial.error_file).read_text().strip() or "the worker died")

        return Callback()

    def stopper(self) -> Any:
        """What ends all trials once reports are refused."""
        from ray import tune

        monitor = self

        class Stopper(tune.Stopper):
            def __reduce__(self) -> tuple:  # as of the callback
                return tune.Stopper, ()

            def __call__(self, trial_id: str, result: dict) -> bool:
                return False

            def stop_all(self) -> bool:
                return monitor.summary.refused

        return Stopper()

    def result(self, result: Mapping[str, Any]) -> None:
        """Takes a trial's report on one of its packs: its progress, or at the end its result."""
        number = result.get("pack")
        if number not in self.open:
            return
        self._seconds[number] = result["pack_seconds"]
        if "final" not in result:
            self.progress.advance(number, result["fraction"])
            return
        if self.dispatch:
            self.dispatch.ended(number, result["pack_seconds"])
        errors, final, sent = (dict(result[name]) for name in ("errors", "final", "run_ids"))
        outcomes = {key: FAILED if key in errors else COMPLETE for key in self.open[number].cells}
        self._ended(number, outcomes, errors, final, sent)
        if result.get("refused") and not self.summary.completed:
            self.summary.refused = True
        if self._next.get(number) in self.open:
            self.progress.begin(self._next[number])

    def end(self, numbers: Sequence[int], error: str | None = None) -> None:
        """Ends a trial of these packs. The first unfinished one was stopped, or has lost its worker (`error`)."""
        for number in numbers:
            self._end_if_recorded(number)
        if self.summary.refused and self.dispatch is None:
            return  # the rest of the search is not run
        undone = lost = [number for number in numbers if number in self.open]
        if self.dispatch:
            died = None if error is None else "machine" if MACHINE_DIED in error else "worker"
            lost = self.dispatch.undone(undone, died)
            for number in set(undone) - set(lost):
                self.open.pop(number)
                self.progress.back(number)
        for number in lost:
            cells = self.open[number].cells
            outcomes = dict.fromkeys(cells, STOPPED if error is None else FAILED)
            self._ended(
                number, outcomes, {} if error is None else dict.fromkeys(cells, error.splitlines()[-1]), {}, None
            )

    def _end_if_recorded(self, number: int) -> None:
        """Ends an open pack whose cells all have an outcome on this disk: its worker died before its report."""
        if number not in self.open:
            return
        assignment = self.open[number]
        endings = {key: found[-1].ending() for key in assignment.cells if (found := self._attempts(assignment, key))}
        if len(endings) < len(assignment.cells) or None in endings.values():
            return
        if self.dispatch:
            self.dispatch.ended(number, self._seconds.get(number, 0.0))
        outcomes = {key: ending["outcome"] for key, ending in endings.items()}
        errors = {key: ending["error"] for key, ending in endings.items() if ending["outcome"] == FAILED}
        self._ended(number, outcomes, errors, {}, {})

    @staticmethod
    def _attempts(assignment: Assignment, key: str) -> list[Record]:
        """The records on this disk of this invocation's attempts at a cell, oldest first."""
        found = records(assignment.records, key)
        return [one for one in found if one.header().get("tags", {}).get(PARENT) == assignment.tags[key].get(PARENT)]

    def _ended(
        self,
        number: int,
        outcomes: Mapping[str, str],
        errors: Mapping[str, str],
        final: Mapping[str, Mapping[str, float]],
        sent: Mapping[str, str] | None,
    ) -> None:
        assignment = self.open.pop(number)
        counts = Counter(outcomes.values())
        self.summary.completed += counts[COMPLETE]
        self.summary.stopped += counts[STOPPED]
        self.summary.failures += [(assignment.cells[key], error) for key, error in errors.items()]
        self._seconds.pop(number, None)
        self.progress.ended(number, assignment.cells, final, len(errors))
        self.closer.submit(self._close, assignment, outcomes, errors, sent)

    def _close(
        self,
        assignment: Assignment,
        outcomes: Mapping[str, str],
        errors: Mapping[str, str],
        sent: Mapping[str, str] | None,
    ) -> None:
        left = assignment.cells.keys() - (sent or {}).keys()
        try:
            here = [self._record(assignment, key, outcomes[key], errors.get(key), sent) for key in sorted(left)]
            if left and time.monotonic() > self._store_down_until:
                published, failed = publish_all(filter(None, here), assignment.store)
                left -= published.keys()
                self._store_down_until = time.monotonic() + _RETRY_SECONDS if failed else 0.0
            if STOPPED in outcomes.values():
                assignment.checkpoint.unlink(missing_ok=True)
        except Exception as error:  # such as a full disk
            log.warning("the runs of cells %s are not closed yet (%s)", ", ".join(assignment.cells), first_line(error))
        self.summary.unsent -= assignment.cells.keys()  # some may be of an earlier invocation
        self.summary.unsent |= left

    @staticmethod
    def _record(
        assignment: Assignment, key: str, outcome: str, error: str | None, sent: Mapping[str, str] | None
    ) -> Record | None:
        """The record of a cell on this disk, with an outcome; None if a worker has it on its own disk.

        The run that a worker has opened on another machine, before it was stopped or died, is ended.
        """
        found = Monitor._attempts(assignment, key)
        if not found and sent is not None:
            return None
        record = found[-1] if found else Record.of(assignment.records, key)
        if not found:
            values = plain(assignment.cells[key])
            record.begin(values, header_tags(key, values, assignment.tags[key]))
            run = assignment.store.run_of(key)
            if run and not is_finished(run) and run.data.tags.get(PARENT) == assignment.invocation:
                record.note_run(run.info.run_id)
        if record.ending() is None:
            record.end(outcome, error)
        return record

    def finish(self) -> None:
        self.closer.shutdown(wait=True)
