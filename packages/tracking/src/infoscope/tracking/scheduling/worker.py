"""What happens on a worker: one pack of cells is trained by the sweep's trial, which reports through a `Report`."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE
from pyarrow.lib import ArrowException

from infoscope.errors import InvalidInput, OutOfRange
from infoscope.tracking import notes
from infoscope.tracking.checks import (
    NAME_LENGTH,
    free_name,
    metric_name,
    metric_step,
    metric_value,
    plain_name,
    shown,
    storable_text,
    stored_text,
)
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.environment import machine_tags
from infoscope.tracking.models import write_model
from infoscope.tracking.record import COMPLETE, FAILED, SYSTEM, Record, RecordUnwritable, storable
from infoscope.tracking.sending.checkpoint import Checkpoint
from infoscope.tracking.sending.live import Live
from infoscope.tracking.sending.publish import header_tags, publish_all
from infoscope.tracking.store.store import (
    CONSTANTS,
    CURVES,
    NO_FIGURES,
    Store,
    constants_of,
    first_line,
    without_password,
)
from infoscope.tracking.sweep import Cell, Pack, Report, canonical

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

CHECKPOINT_SECONDS = float(os.environ.get("INFOSCOPE_CHECKPOINT_SECONDS", 20))
PATIENCE_SECONDS = 1800.0  # of a worker whose records the driver cannot see, with a store that does not answer
ROUNDING = 1e-9  # of a fraction that a trial has summed up
INVOCATION = "invocation"  # a file in the driver's folder of records, with the id of its run
PROGRESS = "progress/"
FRACTION, METRIC = f"{PROGRESS}fraction", PROGRESS + "{}"  # under a search: how far a run got, and what it is judged by
JUDGED = "judged"  # what Tune calls that: the sweep's own name of it could be one of Tune's


@dataclass(frozen=True)
class Assignment:
    """What a driver gives a trial: by key the cells and the tags of their runs; the folder of records; its part.

    again: whether there was an attempt at these cells before. invocation: the id of the driver's run, which lies in
    its folder of records.
    """

    cells: Mapping[str, Cell]
    tags: Mapping[str, Mapping[str, str]]
    store: Store
    records: Path
    device: str
    cost: float
    again: bool = False
    invocation: str = ""

    @property
    def elsewhere(self) -> bool:
        """Whether the records are on another disk than the driver's."""
        try:
            return (self.records / INVOCATION).read_text() != self.invocation
        except FileNotFoundError:
            return True

    @property
    def checkpoint(self) -> Path:
        """Named by the cells: an interrupted pack is packed the same way again, because none of its cells has ended."""
        digest = hashlib.sha256("|".join([self.device, *self.cells]).encode()).hexdigest()
        return self.records / f"{digest[:16]}.checkpoint"


def _timed(method: Callable[..., None]) -> Callable[..., None]:
    """Counts what a method takes among the seconds that a report has cost."""

    @functools.wraps(method)
    def timed(self: RecordedReport, *args: Any, **settings: Any) -> None:
        began = time.perf_counter()
        try:
            method(self, *args, **settings)
        finally:
            self.seconds += time.perf_counter() - began

    return timed


class RecordedReport(Report):
    """The report of a trial on a worker: writes to the cell's local record, which is published at its end.

    seconds: waiting for reports. final: by key, the last value of every metric. errors: by key, of failed cells.
    settled: whether it is recorded from what the attempt goes on.
    """

    def __init__(
        self,
        assignment: Assignment,
        tell: Callable[[dict[str, float]], None],
        metric: str | None = None,
        data: Callable[[Cell], Sequence[DataSet]] = lambda cell: (),
    ):
        self._tell, self._metric, self._data, self._cells = tell, metric, data, assignment.cells
        self._records = {key: Record.of(assignment.records, key) for key in assignment.cells}
        self._keys = {canonical(cell): key for key, cell in assignment.cells.items()}
        self._known = {id(cell): key for key, cell in assignment.cells.items()}  # quicker than by value
        self.checkpoint = Checkpoint(assignment.checkpoint, assignment.store, assignment.again)
        self._told, self._save_from = time.monotonic(), time.perf_counter() + CHECKPOINT_SECONDS
        self.seconds = 0.0
        self.final: dict[str, dict[str, float]] = {}
        self._notes = {key: tags[MLFLOW_RUN_NOTE] for key, tags in assignment.tags.items() if MLFLOW_RUN_NOTE in tags}
        self.errors: dict[str, str] = {}
        self.last: dict[str, float] = {}
        self._begun = self.settled = False

    @property
    def records(self) -> list[Record]:
        return list(self._records.values())

    def _record(self, cell: Cell) -> Record:
        key = self._known.get(id(cell)) or self._keys.get(canonical(cell))
        if key is None:
            raise InvalidInput(f"{shown(cell)} is no cell of this pack")
        self._begin_afresh()
        return self._records[key]

    def _begin_afresh(self) -> None:
        """Nothing of an earlier attempt counts, unless `restore` has taken it up before."""
        if not self._begun:
            self._begun = True
            self.checkpoint.discard()
            self._record_data()

    def _record_data(self) -> None:
        for key, record in self._records.items():
            if found := self._data(self._cells[key]):
                record.append({"datasets": [one.entry for one in found]})
        self.settled = True

    @_timed
    def metrics(self, cell: Cell, values: Mapping[str, float], step: int = 0) -> None:
        values = _checked(cell, values)
        self._record(cell).metrics(values, metric_step(step))

    @_timed
    def curve(self, cell: Cell, values: Mapping[str, float], step: int) -> None:
        values = {metric_name(CURVES + name): value for name, value in _checked(cell, values).items()}
        self._record(cell).metrics(values, metric_step(step))

    @_timed
    def constants(self, cell: Cell, values: Mapping[str, float]) -> None:
        values = {name: storable(value) for name, value in _checked(cell, values).items()}
        record = self._record(cell)
        known, told = _told_so_far(record)[1] | values, {}
        for place in {name.rpartition("/")[0] for name in values}:
            here = {name.rpartition("/")[2]: one for name, one in known.items() if name.rpartition("/")[0] == place}
            told[f"{CONSTANTS} {place}".strip()] = json.dumps(here)
        record.append({"tags": told})

    def end(self, record: Record, error: str | None) -> None:
        """Ends the record of a cell, with what its run's description and the driver are told of it."""
        with record.writing():  # it may not be there
            metrics, constants = _told_so_far(record)
        shown = {name: value for name, value in metrics.items() if not name.startswith(PROGRESS)}
        self.final[record.key] = {name.removeprefix(CURVES): value for name, value in shown.items()}
        if note := self._notes.get(record.key):
            figures = {name: value for name, value in metrics.items() if not name.startswith(NO_FIGURES)}
            told = storable_text(notes.with_results(note, figures, constants, error))
            record.append({"tags": {MLFLOW_RUN_NOTE: told}})
        record.end(FAILED if error else COMPLETE, error)

    @_timed
    def table(self, cell: Cell, name: str, columns: Mapping[str, np.ndarray]) -> None:
        with self._record(cell).file(f"{plain_name('the name of a table', name)}.parquet") as path:
            try:
                pd.DataFrame(columns).to_parquet(path, index=False)
            except (ValueError, TypeError, ArrowException) as error:  # surrogates, mixed types, unequal lengths
                raise ValueError(f"table {name} cannot be stored: {first_line(error)}") from error

    @_timed
    def arrays(self, cell: Cell, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        plain_name("the name of arrays", name)
        for key, array in arrays.items():
            stored_text(f"the name of an array of {name}", key, NAME_LENGTH)
            if key in ("file", "allow_pickle") or key.endswith(".npy"):
                raise ValueError(f"the name of an array of {name} is {key!r}, for which NumPy has another use")
            if np.asarray(array).dtype.hasobject:
                raise TypeError(f"array {key!r} of {name} holds Python objects; give numbers or fixed-width strings")
        with self._record(cell).file(f"{name}.npz") as path, open(path, "wb") as file:
            np.savez_compressed(file, **arrays)

    @_timed
    def model(
        self, cells: Sequence[Cell], name: str, module: torch.nn.Module, example: Mapping[str, np.ndarray]
    ) -> None:
        owner, *others = map(self._record, cells)
        with owner.writing():
            write_model(module, example, owner.model_folder(name))
        for record in (owner, *others):
            record.append({"model": name, "owner": owner.key})

    def progress(self, fraction: float, **metrics: float) -> None:
        if not -ROUNDING <= fraction <= 1 + ROUNDING:
            raise OutOfRange(f"the fraction that is done must be a number from 0 to 1, got {shown(fraction)}.")
        fraction = min(max(float(fraction), 0.0), 1.0)
        now, before = time.monotonic(), self.last.get("fraction", -1.0)
        if self._metric is None:
            if now - self._told > 1.0:
                self._told = now
                self._tell({"fraction": fraction})
            return
        if self._metric not in metrics:
            raise InvalidInput(f"report.progress is given {sorted(metrics)}; the search decides by {self._metric!r}")
        value = metric_value(self._metric, metrics[self._metric])
        if fraction < 1 and fraction - before < 0.01:
            return
        self.last = {"fraction": fraction, JUDGED: value}
        self._begin_afresh()
        for record in self.records:
            record.metrics({FRACTION: fraction, METRIC.format(self._metric): value}, round(1000 * fraction))
        if fraction < 1:  # what is done shall not be stopped: `work` tells the end when everything is recorded
            self._tell(self.last)

    @contextlib.contextmanager
    def member(self, cell: Cell) -> Iterator[None]:
        try:
            yield
        except Exception as raised:
            record = self._record(cell)
            self.errors[record.key] = _told(raised)
            _write_traceback([record])

    @_timed
    def save(self, state: Callable[[], Mapping[str, Any]]) -> None:
        began = time.perf_counter()
        if began < self._save_from:
            return
        self._begin_afresh()
        reported = {record.key: record.packed() for record in self.records}
        self.checkpoint.save({"state": state(), "errors": self.errors}, reported)
        now = time.perf_counter()
        self._save_from = now + max(CHECKPOINT_SECONDS, 50 * (now - began))  # at most a fiftieth of the time

    def restore(self) -> Mapping[str, Any] | None:
        kept = None if self._begun else self.checkpoint.restore()
        if kept is None:
            self._begin_afresh()
            return None
        self._begun = self.settled = True
        state, reported = kept
        for key, record in self._records.items():
            record.take_up(reported[key])
        self.errors |= state["errors"]  # a member that failed before it stays so
        return state["state"]


@functools.cache
def live(store: Store) -> Live:
    """One per worker process and store: actors are reused from trial to trial."""
    return Live(store)


def work(
    trial: Callable[[Pack, Report], None],
    assignment: Assignment,
    tell: Callable[[dict[str, Any]], None],
    metric: str | None = None,
    data: Callable[[Cell], Sequence[DataSet]] = lambda cell: (),
) -> None:
    """Runs one trial and reports it to the driver; an exception of the trial is an outcome. metric: of the search."""
    if assignment.device == "cpu":
        _one_thread()
    start = time.perf_counter()
    report = RecordedReport(assignment, tell, metric, data)
    shown = live(assignment.store)
    sending = shown.seconds
    errors = _begin(assignment, report)

    began = time.perf_counter()
    if not errors:
        shown.follow(report.records, report.checkpoint, lambda: report.settled)
        try:
            errors = _attempt(trial, assignment, report)
        finally:
            shown.stop()
    if metric and not report.last:
        missed = f"ValueError: the trial never called report.progress, by whose {metric!r} the search decides"
        errors = {key: missed for key in assignment.cells} | errors
    seconds, sent_meanwhile = time.perf_counter() - began, shown.seconds - sending
    _end(report, errors)
    # what lies here, the driver can send later
    there = [record for record in report.records if record.exists()]  # missing where the disk is full
    run_ids, left = publish_all(there, assignment.store, patience=PATIENCE_SECONDS * assignment.elsewhere)
    for key, error in left.items():
        log.warning("not sent yet: cell %s (%s)", key, first_line(error))
    if not any(error.startswith(RecordUnwritable.__name__) for error in errors.values()):  # else it goes on from there
        report.checkpoint.discard()
    around = time.perf_counter() - start - seconds  # in which the next trial could run
    tell(
        {
            **report.last,
            "fraction": 1.0,
            "failed": bool(errors),
            "errors": errors,
            "final": report.final,
            "run_ids": run_ids,
            "recording_seconds": around + report.seconds + sent_meanwhile,
            "own_seconds": seconds - report.seconds,
        }
    )


def _one_thread() -> None:
    """Two trials with two threads each wait for one another on two cores."""
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # of what is loaded later
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _begin(assignment: Assignment, report: RecordedReport) -> dict[str, str]:
    machine = machine_tags(assignment.device)
    with contextlib.suppress(OSError):  # which the records tell of; see `store.made_home`
        assignment.records.parents[1].mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        for record, (key, cell) in zip(report.records, assignment.cells.items(), strict=True):
            record.begin(cell, header_tags(key, cell, assignment.tags[key] | machine))
    except RecordUnwritable as error:
        return dict.fromkeys(assignment.cells, f"{type(error).__name__}: {error}")
    return {}


def _told_so_far(record: Record) -> tuple[dict[str, float], dict[str, float]]:
    """The last value of every metric of a record, and its constants."""
    metrics, constants = dict[str, float](), dict[str, float]()
    for entry, _ in record.entries():
        metrics |= entry.get("metrics", {})
        for tag, told in entry.get("tags", {}).items():
            if tag.startswith(CONSTANTS):
                constants |= constants_of(tag, told)
    return metrics, constants


def _checked(cell: Cell, values: Mapping[str, float]) -> dict[str, float]:
    found = {}
    for name, value in values.items():
        free_name("the name of a metric", metric_name(name), cell)
        if name.startswith(CURVES):
            raise ValueError(f"the name of a metric is {name!r}; {CURVES!r} is put before those of report.curve alone")
        if name.startswith(SYSTEM):
            raise ValueError(f"the name of a metric is {name!r}; {SYSTEM!r} is before what is told of the machine")
        found[name] = metric_value(name, value)
    return found


def _end(report: RecordedReport, errors: dict[str, str]) -> None:
    for record in report.records:
        try:
            report.end(record, errors.get(record.key))
        except RecordUnwritable as full:
            errors[record.key] = f"{type(full).__name__}: {full}"


def _attempt(trial: Callable[[Pack, Report], None], assignment: Assignment, report: RecordedReport) -> dict[str, str]:
    """Runs the trial; by key, the errors of the cells that failed: their own, or the one that ended the trial."""
    try:
        trial(Pack(tuple(assignment.cells.values()), assignment.device), report)
        report._begin_afresh()  # of a trial that has reported nothing
    except SystemExit:  # Tune has stopped the trial; the driver sets the outcome, but sees no records of other machines
        if assignment.elsewhere:
            publish_all(report.records, assignment.store)
        raise
    except Exception as raised:
        with contextlib.suppress(Exception):  # of the data as well, without which the trial may have failed
            report._begin_afresh()
        others = [record for record in report.records if record.key not in report.errors]
        _write_traceback(others)
        error, shared = _told(raised), len(assignment.cells)
        error += f" (in a trial that {shared} cells share)" if shared > 1 else ""
        return {record.key: error for record in others} | report.errors
    return report.errors


def _told(raised: Exception) -> str:
    """What an exception is and says; MLflow's say the address that did not answer, with its password."""
    return storable_text(without_password(f"{type(raised).__name__}: {raised}"))


def _write_traceback(records: Iterable[Record]) -> None:
    text = storable_text(without_password(traceback.format_exc()))
    for record in records:
        with contextlib.suppress(RecordUnwritable), record.file("traceback.txt") as path:
            path.write_text(text)
