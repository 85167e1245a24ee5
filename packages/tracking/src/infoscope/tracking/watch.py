"""Follows the trials of an invocation: counts ended cells and shows the progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infoscope.tracking.cell_folder import COMPLETE, FAILED, STOPPED
from infoscope.tracking.screen import Screen
from infoscope.tracking.sweep import AnyCell
from infoscope.tracking.trial import Bundle, Ended

MAX_SHOWN = 5  # failures that are shown while the sweep runs


@dataclass
class Summary:
    """The result of an invocation, in numbers of cells.

    Attributes
    ----------
    sweep, profile
        The name of the sweep, and the label of the cells.
    cells, skipped
        All cells, and those that were recorded before.
    completed, stopped
        Cells that were completed, and that were stopped early.
    failures
        Failed cells with their errors.
    unsent
        Keys of unsent cells.
    seconds
        Duration of the invocation.
    """

    sweep: str
    profile: str
    cells: int
    skipped: int
    completed: int = 0
    stopped: int = 0
    failures: list[tuple[AnyCell, str]] = field(default_factory=list)
    unsent: set[str] = field(default_factory=set)
    seconds: float = 0.0

    @property
    def ended(self) -> int:
        return self.completed + self.stopped + len(self.failures)

    @property
    def unfinished(self) -> int:
        return self.cells - self.skipped - self.ended

    @property
    def status(self) -> str:
        """MLflow's status of the parent run."""
        if self.unfinished:
            return "KILLED"
        return "FAILED" if self.failures else "FINISHED"


class Watch:
    """Counts the ended cells of an invocation in `summary`.

    unsettled: the ends of cells, by key, that have no outcome in their folder: stopped
    early, or without a worker. settle: called with each such end until it returns True.
    """

    def __init__(
        self, summary: Summary, screen: Screen, settle: Callable[[Ended], bool]
    ):
        self.summary = summary
        self._screen = screen
        self._settle = settle
        self._cells = summary.unfinished
        self._ended: set[str] = set()
        # by trial, of the cells of its present pack
        self._partly_done: dict[str, float] = {}
        self.unsettled: dict[str, Ended] = {}

    def report(self, trial: str, bundle: Bundle, result: Mapping[str, Any]) -> None:
        """Takes a message of a trial: its progress, or the end of a pack."""
        fraction = result.get("fraction", 0.0)
        self._partly_done[trial] = fraction * result.get("cells", 1)
        for fields in result.get("ended", ()):
            ended = Ended(*fields)
            self._count(ended, bundle)
            self._partly_done[trial] = 0.0
            self.summary.unsent.discard(ended.key)
        self.summary.unsent.update(result.get("unsent", ()))
        self._show()

    def close(self, trial: str, bundle: Bundle, error: str = "") -> None:
        """Takes the end of a trial. Cells without an outcome were stopped by the
        scheduler (no error), or lost their worker.
        """
        outcome = FAILED if error else STOPPED
        for key in bundle.cells.keys() - self._ended:
            ended = Ended(key, outcome, error)
            self.unsettled[key] = ended
            self._count(ended, bundle)
        self._partly_done.pop(trial, None)
        self._show()

    def _count(self, ended: Ended, bundle: Bundle) -> None:
        if ended.key in self._ended:
            return
        self._ended.add(ended.key)
        if ended.outcome == COMPLETE:
            self.summary.completed += 1
        elif ended.outcome == STOPPED:
            self.summary.stopped += 1
        else:
            self.summary.failures.append((bundle.cells[ended.key], ended.error))
            if len(self.summary.failures) <= MAX_SHOWN:
                last = ended.error.splitlines()[-1] if ended.error else ""
                where = (
                    ""
                    if ended.key in self.unsettled
                    else "; its run in MLflow has traceback.txt"
                )
                self._screen.say(f"failed: {bundle.names[ended.key]}: {last}{where}")

    def _show(self) -> None:
        self.unsettled = {
            key: ended
            for key, ended in self.unsettled.items()
            if not self._settle(ended)
        }
        summary = self.summary
        parts = [f"{summary.ended} of {self._cells} cells done"]
        if summary.failures:
            parts.append(f"{len(summary.failures)} failed")
        if summary.stopped:
            parts.append(f"{summary.stopped} stopped early")
        done = summary.ended + sum(self._partly_done.values())
        self._screen.progress(min(done, self._cells), self._cells, ", ".join(parts))

    def callback(self) -> Any:
        """The object that passes Ray Tune's events to this watch."""
        from ray import tune

        watch = self

        class Callback(tune.Callback):
            # Tune pickles its callbacks for a restore, which is not used
            def __reduce__(self) -> tuple:
                return tune.Callback, ()

            def on_trial_result(
                self,
                iteration: int,
                trials: list,
                trial: Any,
                result: dict,
                **info: Any,
            ) -> None:
                watch.report(trial.trial_id, trial.config["bundle"], result)

            def on_trial_complete(
                self, iteration: int, trials: list, trial: Any, **info: Any
            ) -> None:
                watch.close(trial.trial_id, trial.config["bundle"])

            def on_trial_error(
                self, iteration: int, trials: list, trial: Any, **info: Any
            ) -> None:
                lines = Path(trial.error_file).read_text().strip().splitlines() or [
                    "the worker process died"
                ]
                watch.close(trial.trial_id, trial.config["bundle"], lines[-1])

        return Callback()
