"""Follows the trials of an invocation: shows progress, and closes the runs of a trial that has ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from mlflow.entities import RunTag
from mlflow.exceptions import MlflowException

from infoscope.tracking.flush import STATUS, close_all
from infoscope.tracking.progress import Progress
from infoscope.tracking.record import FAILED, STOPPED, Record
from infoscope.tracking.store import OUTCOME, Store
from infoscope.tracking.sweep import Cell
from infoscope.tracking.worker import Assignment


@dataclass
class Summary:
    """How an invocation went. Cells are counted; `failures` holds each failed cell with the last line of its error,
    `unsent` the keys of cells that are recorded but that MLflow does not hold yet."""

    sweep: str
    profile: str
    cells: int
    skipped: int
    completed: int = 0
    stopped: int = 0
    failures: list[tuple[Cell, str]] = field(default_factory=list)
    unsent: set[str] = field(default_factory=set)
    seconds: float = 0.0
    tracking_share: float | None = None

    @property
    def unfinished(self) -> int:
        return self.cells - self.skipped - self.completed - self.stopped - len(self.failures)

    @property
    def status(self) -> str:
        return "KILLED" if self.unfinished else "FAILED" if self.failures else "FINISHED"


class Watch:
    """Follows the trials, which name their assignment by its place in `assignments`; a search adds to them as it goes.
    Runs are closed on a thread of their own.
    """

    def __init__(self, assignments: list[Assignment], progress: Progress, summary: Summary):
        self.assignments, self.progress, self.summary = assignments, progress, summary
        self.closer = ThreadPoolExecutor(1, "infoscope-close")
        self.final: dict[str, dict[str, Any]] = {}
        self.ended: set[str] = set()
        self.recording_seconds = self.own_seconds = 0.0

    def callback(self) -> Any:
        from ray import tune

        watch = self

        class Callback(tune.Callback):
            def __reduce__(self) -> tuple:  # Tune writes its callbacks down for a restore, which is not how we resume
                return tune.Callback, ()

            def on_trial_result(self, iteration: int, trials: list, trial: Any, result: dict, **info: Any) -> None:
                watch.result(trial, result)

            def on_trial_complete(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
                watch.end(trial, STOPPED)

            def on_trial_error(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
                watch.end(trial, FAILED)

        return Callback()

    def result(self, trial: Any, result: dict[str, Any]) -> None:
        if "final" in result:
            self.final[trial.trial_id] = result
        self._advance(trial, result.get("fraction", 0.0))

    def _advance(self, trial: Any, fraction: float) -> None:
        self.progress.advance(trial.trial_id, fraction, self.assignments[trial.config["pack"]].cost)

    def end(self, trial: Any, without_result: str) -> None:
        """A trial is over: by its own account, or stopped by the scheduler, or dead with its worker."""
        if trial.trial_id in self.ended:
            return
        self.ended.add(trial.trial_id)
        cells = self.assignments[trial.config["pack"]].cells
        result = self.final.get(trial.trial_id, {})
        errors = result.get("errors", {})
        if not result and without_result == FAILED:
            errors = dict.fromkeys(cells, (trial.error_msg or "the worker died").strip().splitlines()[-1])
        self.summary.failures += [(cells[key], error) for key, error in errors.items()]
        if result:
            self.summary.completed += len(cells) - len(errors)
        else:
            self.summary.stopped += len(cells) - len(errors)
        self.recording_seconds += result.get("recording_seconds", 0.0)
        self.own_seconds += result.get("own_seconds", 0.0)
        self._advance(trial, 1.0)
        self.progress.ended(cells, result.get("final", {}), len(errors))
        stopped = not result and not errors
        self.closer.submit(self._close, trial.config["pack"], errors, result.get("run_ids", {}), stopped)

    def _close(self, pack: int, errors: Mapping[str, str], run_ids: Mapping[str, str], stopped: bool) -> None:
        """Ends what a trial left behind. A record without an outcome is of a trial whose worker could not write one."""
        began, assignment = time.thread_time(), self.assignments[pack]
        here = [Record(assignment.records / key) for key in assignment.cells]
        here = [record for record in here if record.exists()]
        for record in here:
            if record.ending() is None:
                record.end(STOPPED if stopped else FAILED, errors.get(record.key))
        if stopped:
            assignment.checkpoint.unlink(missing_ok=True)  # nobody goes on from it
        self.summary.unsent |= {record.key for record, _ in close_all(here, assignment.store, otherwise="FAILED")}
        for key in set(assignment.cells) - {record.key for record in here}:
            if not self._close_remote(key, run_ids.get(key), stopped, assignment.store):
                self.summary.unsent.add(key)
        self.recording_seconds += time.thread_time() - began

    def _close_remote(self, key: str, run_id: str | None, stopped: bool, store: Store) -> bool:
        """Ends the run of a cell that was recorded on another machine's disk; False if it was not sent from there.

        A worker that was stopped by a scheduler has not said so, nor sent the last seconds of its curves.
        """
        try:
            run = store.run_of(key) if stopped else store.run(run_id)
            if run is None:
                return False
            outcome = STOPPED if stopped else run.data.tags.get(OUTCOME)
            if not outcome:
                return False
            store.client.log_batch(run.info.run_id, tags=[RunTag(OUTCOME, outcome)])
            store.client.set_terminated(run.info.run_id, STATUS[outcome])
        except MlflowException:
            return False
        return True

    def finish(self) -> None:
        self.closer.shutdown(wait=True)

    def tracking_share(self) -> float | None:
        """Recording as a share of recording and the trials' own work, in [0, 1]: the time that the trials waited for
        their reports, and the processor time of sending, on workers and driver.
        """
        total = self.recording_seconds + self.own_seconds
        return self.recording_seconds / total if total else None
