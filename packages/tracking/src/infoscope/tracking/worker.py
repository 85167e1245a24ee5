"""What happens on a worker: one pack of cells is trained by the sweep's trial, which reports through a `Report`."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Assignment:
    """What the driver hands to a trial: by key the cells, their earlier runs and their tags; where to record."""

    cells: Mapping[str, Cell]
    run_ids: Mapping[str, str]
    tags: Mapping[str, Mapping[str, str]]
    store: Store
    records: Path
    device: str
    host: str  # the driver's machine

    @property
    def checkpoint(self) -> Path:
        """Named by the cells: an interrupted pack is packed the same way again, because none of its cells has ended."""
        digest = hashlib.sha256("|".join([self.device, *self.cells]).encode()).hexdigest()
        return self.records / f"{digest[:16]}.checkpoint"


class Report:
    """How a trial reports. Everything goes to the local record of the cell first; a thread carries it to MLflow from
    there.
    """

    def __init__(self, assignment: Assignment, tell: Callable[[dict[str, float]], None], every_report: bool):
        self._assignment, self._tell, self._every_report = assignment, tell, every_report
        self._records = {_identity(cell): Record(assignment.records / key) for key, cell in assignment.cells.items()}
        self._told = self._saved = time.monotonic()
        self.seconds = 0.0
        self.final: dict[str, dict[str, float]] = {}

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
        often.
        """
        now = time.monotonic()
        if self._every_report or now - self._told > 1.0:
            self._told = now
            self._tell({"fraction": fraction, **metrics})

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
    every_report: bool = False,
) -> None:
    """Runs one trial and tells the driver how it went. An exception of the trial is an outcome, not a crash."""
    began = time.perf_counter()
    if assignment.device == "cpu":
        torch.set_num_threads(1)  # two trials with two threads each wait for one another on two cores
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    report = Report(assignment, tell, every_report)
    machine = machine_tags(assignment.device)
    for record, (key, cell) in zip(report.records, assignment.cells.items(), strict=True):
        record.begin(cell, header_tags(key, cell, assignment.tags[key] | machine), assignment.run_ids.get(key))
    flusher = _flusher(assignment.store)
    sending = flusher.seconds
    flusher.add(report.records)

    error = None
    try:
        trial(Pack(tuple(assignment.cells.values()), assignment.device), report)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
        _write_traceback(report.records)
    for record in report.records:
        record.end(FAILED if error else COMPLETE, error)
    assignment.checkpoint.unlink(missing_ok=True)

    draining = time.perf_counter()
    run_ids = flusher.drain(SEND_PATIENCE_SECONDS)
    if platform.node() != assignment.host:  # the driver cannot see these records; it closes the runs by their ids
        for record in report.records:
            if record.key in run_ids:
                record.remove()
    now = time.perf_counter()
    tell(
        {
            "fraction": 1.0,
            "error": error,
            "final": report.final,
            "run_ids": run_ids,
            "tracking_seconds": report.seconds + (flusher.seconds - sending) + now - draining,
            "trial_seconds": now - began,
        }
    )


def _write_traceback(records: Iterable[Record]) -> None:
    text = traceback.format_exc()
    for record in records:
        (record.files / "traceback.txt").write_text(text)
