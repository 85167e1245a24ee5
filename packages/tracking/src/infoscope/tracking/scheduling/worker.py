"""What happens on a worker: one pack of cells is trained by the sweep's trial, which reports through a `Report`."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE
from pyarrow.lib import ArrowException

from infoscope.errors import Conflict, InvalidInput, OutOfRange
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
from infoscope.tracking.sending.flush import Flusher, header_tags
from infoscope.tracking.sending.identity import lies_beside
from infoscope.tracking.store.store import CONSTANTS, CURVES, Store, first_line, without_password
from infoscope.tracking.sweep import Cell, Pack, Report, canonical

CHECKPOINT_SECONDS = float(os.environ.get("INFOSCOPE_CHECKPOINT_SECONDS", 20))
PATIENCE_SECONDS = 1800.0  # of a worker whose records the driver cannot see, with a store that does not answer
TOLD = frozenset(  # under what this package and Tune tell of a trial: a metric would be taken for it
    [
        "fraction",
        "pack",
        "pack_seconds",
        "failed",
        "errors",
        "final",
        "run_ids",
        "aside",
        "recording_seconds",
        "own_seconds",
        "config",
        "date",
        "done",
        "checkpoint_dir_name",
        "episodes_total",
        "experiment_tag",
        "hostname",
        "iterations_since_restore",
        "node_ip",
        "pid",
        "should_checkpoint",
        "time_since_restore",
        "time_this_iter_s",
        "time_total_s",
        "timestamp",
        "timesteps_since_restore",
        "timesteps_total",
        "training_iteration",
        "trial_id",
    ]
)
ROUNDING = 1e-9  # of a fraction that a trial has summed up
FRACTION, METRIC = "progress/fraction", "progress/{}"  # under a search: how far a run got, and what it is judged by


@dataclass(frozen=True)
class Assignment:
    """What a driver gives a trial: by key the cells, earlier runs and tags; the folder of records; its part."""

    cells: Mapping[str, Cell]
    run_ids: Mapping[str, str]
    tags: Mapping[str, Mapping[str, str]]
    store: Store
    records: Path
    device: str
    host: str  # the driver's machine
    cost: float
    identity: str = ""  # of the driver's working tree

    @property
    def elsewhere(self) -> bool:
        """Whether the records are on another disk or machine than the driver's."""
        if platform.node() != self.host:
            return True
        return bool(self.identity) and not lies_beside(self.records, self.identity)

    @property
    def checkpoint(self) -> Path:
        """Named by the cells: an interrupted pack is packed the same way again, because none of its cells has ended."""
        digest = hashlib.sha256("|".join([self.device, *self.cells]).encode()).hexdigest()
        return self.records / f"{digest[:16]}.checkpoint"


class RecordedReport(Report):
    """The report of a trial on a worker: writes to the cell's local record, which a thread sends to MLflow.

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
        self._records = {key: Record(assignment.records / key) for key in assignment.cells}
        self._keys = {canonical(cell): key for key, cell in assignment.cells.items()}
        self._known = {id(cell): key for key, cell in assignment.cells.items()}  # quicker than by value
        first = self.records[0]
        run_id = assignment.run_ids.get(first.key)
        self.checkpoint = Checkpoint(assignment.checkpoint, assignment.store, first, run_id)
        self._told, self._save_from = time.monotonic(), time.perf_counter() + CHECKPOINT_SECONDS
        self.seconds = 0.0
        self.final: dict[str, dict[str, float]] = {}
        self._constants: dict[str, dict[str, float]] = {}
        self._courses: dict[str, dict[str, notes.Course]] = {}  # by cell and name of the curve
        self._notes = {key: tags[MLFLOW_RUN_NOTE] for key, tags in assignment.tags.items() if MLFLOW_RUN_NOTE in tags}
        self.errors: dict[str, str] = {}
        self.last: dict[str, float] = {}
        self._begun = self.settled = False
        self._reported: dict[str, dict[str, Any]] = {key: {"steps": {}, "models": []} for key in assignment.cells}

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
            self.checkpoint.path.unlink(missing_ok=True)
            for record in self.records:
                record.clear()
            self._record_data()

    def _record_data(self) -> None:
        began = time.perf_counter()
        for key, record in self._records.items():
            if found := self._data(self._cells[key]):
                record.append({"datasets": [one.entry for one in found]})
        self.settled = True
        self.seconds += time.perf_counter() - began

    def _note(self, record: Record, values: Mapping[str, float], step: int) -> None:
        record.metrics(values, step)
        steps = self._reported[record.key]["steps"]
        for name, value in values.items():
            if name not in steps or steps[name][0] <= step:
                steps[name] = [step, value]

    def metrics(self, cell: Cell, values: Mapping[str, float], step: int = 0) -> None:
        began = time.perf_counter()
        values = _checked(cell, values)
        record = self._record(cell)
        self._note(record, values, metric_step(step))
        self.final.setdefault(record.key, {}).update(values)
        self.seconds += time.perf_counter() - began

    def curve(self, cell: Cell, values: Mapping[str, float], step: int) -> None:
        began = time.perf_counter()
        values = _checked(cell, values)
        record = self._record(cell)
        self._note(record, {metric_name(CURVES + name): value for name, value in values.items()}, metric_step(step))
        self.final.setdefault(record.key, {}).update(values)
        courses = self._courses.setdefault(record.key, {})
        for name, value in values.items():
            courses.setdefault(name, notes.Course()).add(step, value)
        self.seconds += time.perf_counter() - began

    def constants(self, cell: Cell, values: Mapping[str, float]) -> None:
        began = time.perf_counter()
        values = {name: storable(value) for name, value in _checked(cell, values).items()}
        record = self._record(cell)
        self._constants.setdefault(record.key, {}).update(values)
        self._tag_constants(record, values)
        self.seconds += time.perf_counter() - began

    def _tag_constants(self, record: Record, names: Iterable[str]) -> None:
        known, places = self._constants[record.key], {name.rpartition("/")[0] for name in names}
        told = {
            f"{CONSTANTS} {place}".strip(): json.dumps(
                {name.rpartition("/")[2]: value for name, value in known.items() if name.rpartition("/")[0] == place}
            )
            for place in places
        }
        record.append({"tags": told})

    def _describe(self, key: str, error: str | None) -> None:
        header = self._notes.get(key)
        if header is not None:
            courses = self._courses.get(key, {})
            found = {name: value for name, value in self.final.get(key, {}).items() if name not in courses}
            told = notes.with_results(header, found, self._constants.get(key, {}), error, courses)
            self._records[key].append({"tags": {MLFLOW_RUN_NOTE: storable_text(told)}})

    def table(self, cell: Cell, name: str, columns: Mapping[str, np.ndarray]) -> None:
        began = time.perf_counter()
        with self._record(cell).file(f"{plain_name('the name of a table', name)}.parquet") as path:
            try:
                pd.DataFrame(columns).to_parquet(path, index=False)
            except (ValueError, TypeError, ArrowException) as error:  # surrogates, mixed types, unequal lengths
                raise ValueError(f"table {name} cannot be stored: {first_line(error)}") from error
        self.seconds += time.perf_counter() - began

    def arrays(self, cell: Cell, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        began = time.perf_counter()
        plain_name("the name of arrays", name)
        for key, array in arrays.items():
            stored_text(f"the name of an array of {name}", key, NAME_LENGTH)
            if key in ("file", "allow_pickle") or key.endswith(".npy"):
                raise ValueError(f"the name of an array of {name} is {key!r}, for which NumPy has another use")
            if np.asarray(array).dtype.hasobject:
                raise TypeError(f"array {key!r} of {name} holds Python objects; give numbers or fixed-width strings")
        with self._record(cell).file(f"{name}.npz") as path, open(path, "wb") as file:
            np.savez_compressed(file, **arrays)
        self.seconds += time.perf_counter() - began

    def model(
        self, cells: Sequence[Cell], name: str, module: torch.nn.Module, example: Mapping[str, np.ndarray]
    ) -> None:
        began = time.perf_counter()
        owner, *others = map(self._record, cells)
        write_model(module, example, owner.model_folder(name))
        for record in (owner, *others):
            record.append({"model": name, "owner": owner.key})
            self._reported[record.key]["models"].append(name)
        self.seconds += time.perf_counter() - began

    def progress(self, fraction: float, **metrics: float) -> None:
        if not -ROUNDING <= fraction <= 1 + ROUNDING:
            raise OutOfRange(f"the fraction that is done must be a number from 0 to 1, got {shown(fraction)}.")
        fraction = min(max(float(fraction), 0.0), 1.0)
        if reserved := TOLD & metrics.keys():
            raise Conflict(f"report.progress is given {sorted(reserved)}, names that have another use; choose others")
        metrics = {metric_name(name): metric_value(name, value) for name, value in metrics.items()}
        now, before = time.monotonic(), self.last.get("fraction", -1.0)
        if self._metric is None:
            if now - self._told > 1.0:
                self._told = now
                self._tell({"fraction": fraction, **metrics})
            return
        if self._metric not in metrics:
            raise InvalidInput(f"report.progress is given {sorted(metrics)}; the search decides by {self._metric!r}")
        if fraction < 1 and fraction - before < 0.01:
            return
        self.last = {"fraction": fraction, **metrics}
        judged = {FRACTION: fraction, METRIC.format(self._metric): metrics[self._metric]}
        self._begin_afresh()
        for record in self.records:
            self._note(record, judged, round(1000 * fraction))
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

    def save(self, state: Callable[[], Mapping[str, Any]]) -> None:
        began = time.perf_counter()
        if began < self._save_from:
            return
        self._begin_afresh()
        files = {record.key: sorted(path.name for path in record.files.iterdir()) for record in self.records}
        reported = {key: told | {"files": files[key]} for key, told in self._reported.items()}
        courses = {key: {name: asdict(one) for name, one in of.items()} for key, of in self._courses.items()}
        told = {"final": self.final, "constants": self._constants, "courses": courses}
        kept = {"state": state(), "errors": self.errors, "reported": reported, "told": told}
        self.checkpoint.save(kept, self.records)
        now = time.perf_counter()
        self._save_from = now + max(CHECKPOINT_SECONDS, 50 * (now - began))  # at most a fiftieth of the time
        self.seconds += now - began

    def restore(self) -> Mapping[str, Any] | None:
        kept = None if self._begun else self.checkpoint.restore()
        if kept is None or "reported" not in kept:  # of an earlier version, which did not say what belongs to it
            self._begin_afresh()
            return None
        self._begun = True
        for record in self.records:
            told = kept["reported"][record.key]
            record.resume(told)
            self._reported[record.key] |= {name: told[name] for name in ("steps", "models")}
        self.errors |= kept["errors"]  # a member that failed before it stays so
        told = kept.get("told", {})
        self.final = told.get("final", {}) | self.final
        self._constants = told.get("constants", {}) | self._constants
        for key, of in told.get("courses", {}).items():
            self._courses[key] = {name: notes.Course(**one) for name, one in of.items()} | self._courses.get(key, {})
        for record in self.records:
            if record.key in self._constants:
                self._tag_constants(record, self._constants[record.key])
        self._record_data()
        return kept["state"]


@functools.cache
def _flusher(store: Store) -> Flusher:
    """One per worker process and store: actors are reused from trial to trial."""
    return Flusher(store)


def work(
    trial: Callable[[Pack, Report], None],
    assignment: Assignment,
    tell: Callable[[dict[str, Any]], None],
    metric: str | None = None,
    data: Callable[[Cell], Sequence[DataSet]] = lambda cell: (),
) -> None:
    """Runs one trial and reports it to the driver; an exception of the trial is an outcome. metric: of the search."""
    if assignment.device == "cpu":
        torch.set_num_threads(1)  # two trials with two threads each wait for one another on two cores
    start = time.perf_counter()
    report = RecordedReport(assignment, tell, metric, data)
    flusher = _flusher(assignment.store)
    sending = flusher.seconds
    errors = _begin(assignment, report)

    began = time.perf_counter()
    if not errors:
        flusher.follow(report.records, report.checkpoint, lambda: report.settled)
        errors = _attempt(trial, assignment, report)
    if metric and not report.last:
        missed = f"ValueError: the trial never called report.progress, by whose {metric!r} the search decides"
        errors = {key: missed for key in assignment.cells} | errors
    seconds, sent_meanwhile = time.perf_counter() - began, flusher.seconds - sending
    _end(report, errors)
    elsewhere = assignment.elsewhere
    run_ids = flusher.drain(PATIENCE_SECONDS if elsewhere else 0.0)  # what lies here, the driver can send later
    if not any(error.startswith(RecordUnwritable.__name__) for error in errors.values()):  # else it goes on from there
        report.checkpoint.remove(run_ids.get(report.checkpoint.record.key))
    aside = {record.key: count for record in report.records if (count := record.aside())}
    if elsewhere:  # the driver closes the runs by their ids
        for record in report.records:
            if record.key in run_ids:
                with record.lock():
                    record.remove()
    around = time.perf_counter() - start - seconds  # in which the next trial could run
    tell(
        {
            **report.last,
            "fraction": 1.0,
            "failed": bool(errors),
            "errors": errors,
            "final": report.final,
            "run_ids": run_ids,
            "aside": aside,
            "recording_seconds": around + report.seconds + sent_meanwhile,
            "own_seconds": seconds - report.seconds,
        }
    )


def _begin(assignment: Assignment, report: RecordedReport) -> dict[str, str]:
    machine = machine_tags(assignment.device)
    with contextlib.suppress(OSError):  # which the records tell of; see `store.made_home`
        assignment.records.parents[1].mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        for record, (key, cell) in zip(report.records, assignment.cells.items(), strict=True):
            record.begin(cell, header_tags(key, cell, assignment.tags[key] | machine), assignment.run_ids.get(key))
    except RecordUnwritable as error:
        return dict.fromkeys(assignment.cells, f"{type(error).__name__}: {error}")
    return {}


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
            error = errors.get(record.key)
            report._describe(record.key, error)
            record.end(FAILED if error else COMPLETE, error)
        except RecordUnwritable as full:
            errors[record.key] = f"{type(full).__name__}: {full}"


def _attempt(trial: Callable[[Pack, Report], None], assignment: Assignment, report: RecordedReport) -> dict[str, str]:
    """Runs the trial; by key, the errors of the cells that failed: their own, or the one that ended the trial."""
    try:
        trial(Pack(tuple(assignment.cells.values()), assignment.device), report)
        report._begin_afresh()  # of a trial that has reported nothing
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
