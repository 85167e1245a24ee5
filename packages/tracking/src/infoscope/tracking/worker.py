"""What happens on a worker: one pack of cells is trained by the sweep's trial, which reports through a `Report`."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from infoscope.tracking.environment import machine_tags
from infoscope.tracking.flush import Flusher, header_tags
from infoscope.tracking.models import write_model
from infoscope.tracking.record import COMPLETE, FAILED, Record
from infoscope.tracking.store import Store
from infoscope.tracking.sweep import Cell, Pack

CHECKPOINT_SECONDS = float(os.environ.get("INFOSCOPE_CHECKPOINT_SECONDS", 20))
SEND_PATIENCE_SECONDS = 60.0
FRACTION, METRIC = "progress/fraction", "progress/{}"  # under a search: how far a run got, and what it is judged by


@dataclass(frozen=True)
class Assignment:
    """What the driver hands to a trial: by key the cells, their earlier runs and their tags; where to record; what part
    of the work it is.
    """

    cells: Mapping[str, Cell]
    run_ids: Mapping[str, str]
    tags: Mapping[str, Mapping[str, str]]
    store: Store
    records: Path
    device: str
    host: str  # the driver's machine
    cost: float

    @property
    def checkpoint(self) -> Path:
        """Named by the cells: an interrupted pack is packed the same way again, because none of its cells has ended."""
        digest = hashlib.sha256("|".join([self.device, *self.cells]).encode()).hexdigest()
        return self.records / f"{digest[:16]}.checkpoint"


class Report:
    """How a trial reports. Everything goes to the local record of the cell first; a thread carries it to MLflow from
    there.

    seconds: how long the trial has waited for its reports. final: by key, the last value of every metric. errors: by
    key, of the cells that failed on their own. last: what the last report of progress told.
    """

    def __init__(self, assignment: Assignment, tell: Callable[[dict[str, float]], None], metric: str | None = None):
        self._assignment, self._tell, self._metric = assignment, tell, metric
        self._records = {_identity(cell): Record(assignment.records / key) for key, cell in assignment.cells.items()}
        self._told = self._saved = time.monotonic()
        self.seconds = 0.0
        self.final: dict[str, dict[str, float]] = {}
        self.errors: dict[str, str] = {}
        self.last: dict[str, float] = {}

    @property
    def records(self) -> list[Record]:
        return list(self._records.values())

    def metrics(self, cell: Cell, values: Mapping[str, float], step: int = 0) -> None:
        """Numbers of a cell at a step. A curve is a name reported at many steps (keep it to some hundreds; see
        `table`).
        """
        began = time.perf_counter()
        record = self._records[_identity(cell)]
        record.metrics(values, step)
        self.final.setdefault(record.key, {}).update(values)
        self.seconds += time.perf_counter() - began

    def table(self, cell: Cell, name: str, columns: Mapping[str, np.ndarray]) -> None:
        """A table of a cell, such as a value per step, as the artifact NAME.parquet."""
        began = time.perf_counter()
        pd.DataFrame(columns).to_parquet(self._records[_identity(cell)].files / f"{name}.parquet", index=False)
        self.seconds += time.perf_counter() - began

    def arrays(self, cell: Cell, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Arrays of a cell, such as the items a model is to be evaluated on, as the artifact NAME.npz (compressed).
        Raises TypeError for an array of Python objects, which could only be stored as a pickle.
        """
        began = time.perf_counter()
        for key, array in arrays.items():
            if np.asarray(array).dtype.hasobject:
                raise TypeError(f"array {key!r} of {name} holds Python objects; give numbers or fixed-width strings")
        np.savez_compressed(self._records[_identity(cell)].files / f"{name}.npz", **arrays)
        self.seconds += time.perf_counter() - began

    def model(
        self, cells: Sequence[Cell], name: str, module: torch.nn.Module, example: Mapping[str, np.ndarray]
    ) -> None:
        """A trained model, shown at the runs of all the cells that share its training; see `models.write_model`."""
        began = time.perf_counter()
        owner = self._records[_identity(cells[0])]
        write_model(module, example, owner.model_folder(name))
        for cell in cells:
            self._records[_identity(cell)].append({"model": name, "owner": owner.key})
        self.seconds += time.perf_counter() - began

    def progress(self, fraction: float, **metrics: float) -> None:
        """How much of the pack is done, in [0, 1], with the metrics a scheduler decides by. Returns quickly; call it
        often. Under a search, a scheduler hears of every hundredth of the work, and may end the trial in this call.

        Raises ValueError when the search's metric is not among the metrics.
        """
        now, before = time.monotonic(), self.last.get("fraction", -1.0)
        if self._metric is None:
            if now - self._told > 1.0:
                self._told = now
                self._tell({"fraction": fraction, **metrics})
            return
        if self._metric not in metrics:
            raise ValueError(f"report.progress is given {sorted(metrics)}; the search decides by {self._metric!r}")
        if fraction < 1 and fraction - before < 0.01:
            return
        self.last = {"fraction": fraction, **metrics}
        judged = {FRACTION: fraction, METRIC.format(self._metric): metrics[self._metric]}
        for record in self.records:
            record.metrics(judged, round(1000 * fraction))
        if fraction < 1:  # what is done shall not be stopped: `work` tells the end when everything is recorded
            self._tell(self.last)

    @contextlib.contextmanager
    def member(self, cell: Cell) -> Iterator[None]:
        """What is done for one cell of the pack only: an exception inside fails this cell, and the others go on."""
        try:
            yield
        except Exception as raised:
            record = self._records[_identity(cell)]
            self.errors[record.key] = f"{type(raised).__name__}: {raised}"
            _write_traceback([record])

    def save(self, state: Callable[[], Mapping[str, Any]]) -> None:
        """Keeps what `state()` gives, tensors and plain values, from which `restore` continues; now and then, not at
        every call.
        """
        now = time.monotonic()
        if now - self._saved < CHECKPOINT_SECONDS:
            return
        self._saved = now
        path = self._assignment.checkpoint
        temporary = path.with_suffix(".tmp")
        torch.save(state(), temporary)
        temporary.replace(path)

    def restore(self) -> Mapping[str, Any] | None:
        """The state last saved for this pack by a process that did not finish; None when there is none."""
        path = self._assignment.checkpoint
        return torch.load(path, weights_only=True, map_location="cpu") if path.exists() else None


def _identity(cell: Cell) -> tuple:
    return tuple(sorted(cell.items()))


@functools.cache
def _flusher(store: Store) -> Flusher:
    """One per worker process and store: actors are reused from trial to trial."""
    return Flusher(store)


def work(
    trial: Callable[[Pack, Report], None],
    assignment: Assignment,
    tell: Callable[[dict[str, Any]], None],
    metric: str | None = None,
) -> None:
    """Runs one trial and tells the driver how it went. An exception of the trial is an outcome, not a crash.

    metric: by which a search decides, of those that `Report.progress` is given.
    """
    if assignment.device == "cpu":
        torch.set_num_threads(1)  # two trials with two threads each wait for one another on two cores
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    report = Report(assignment, tell, metric)
    machine = machine_tags(assignment.device)
    for record, (key, cell) in zip(report.records, assignment.cells.items(), strict=True):
        record.begin(cell, header_tags(key, cell, assignment.tags[key] | machine), assignment.run_ids.get(key))
    flusher = _flusher(assignment.store)
    sending = flusher.seconds
    flusher.add(report.records)

    began = time.perf_counter()
    errors = _attempt(trial, assignment, report)
    if metric and not report.last:
        missed = f"ValueError: the trial never called report.progress, by whose {metric!r} the search decides"
        errors = {key: missed for key in assignment.cells} | errors
    seconds = time.perf_counter() - began
    for record in report.records:
        error = errors.get(record.key)
        record.end(FAILED if error else COMPLETE, error)
    assignment.checkpoint.unlink(missing_ok=True)

    run_ids = flusher.drain(SEND_PATIENCE_SECONDS)
    if platform.node() != assignment.host:  # the driver cannot see these records; it closes the runs by their ids
        for record in report.records:
            if record.key in run_ids:
                record.remove()
    tell(
        {
            **report.last,
            "fraction": 1.0,
            "failed": bool(errors),
            "errors": errors,
            "final": report.final,
            "run_ids": run_ids,
            "recording_seconds": report.seconds + flusher.seconds - sending,
            "own_seconds": seconds - report.seconds,
        }
    )


def _attempt(trial: Callable[[Pack, Report], None], assignment: Assignment, report: Report) -> dict[str, str]:
    """Runs the trial; by key, the errors of the cells that failed: their own, or the one that ended the trial."""
    try:
        trial(Pack(tuple(assignment.cells.values()), assignment.device), report)
    except Exception as raised:
        others = [record for record in report.records if record.key not in report.errors]
        _write_traceback(others)
        error, shared = f"{type(raised).__name__}: {raised}", len(assignment.cells)
        error += f" (in a trial that {shared} cells share)" if shared > 1 else ""
        return {record.key: error for record in others} | report.errors
    return report.errors


def _write_traceback(records: Iterable[Record]) -> None:
    text = traceback.format_exc()
    for record in records:
        (record.files / "traceback.txt").write_text(text)
