"""The work of a worker: the sweep's trial runs one pack of cells and reports through a `Report`."""

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
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE
from pyarrow.lib import ArrowException

from infoscope.errors import InvalidInput, OutOfRange, WrongType
from infoscope.tracking import notes
from infoscope.tracking.checks import (
    NAME_LENGTH,
    metric_name,
    metric_step,
    metric_value,
    plain_name,
    require_free_name,
    require_text,
    shown,
    storable_text,
)
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.environment import machine_tags
from infoscope.tracking.models import write_model
from infoscope.tracking.record import COMPLETE, FAILED, SYSTEM, Record, RecordUnwritable, storable
from infoscope.tracking.sending.checkpoint import Checkpoint
from infoscope.tracking.sending.live_updates import LiveUpdates
from infoscope.tracking.sending.publish import header_tags, publish_all
from infoscope.tracking.store.store import (
    CONSTANTS,
    CURVES,
    NOT_RESULTS,
    Store,
    constants_of,
    first_line,
    without_password,
)
from infoscope.tracking.sweep import AnyCell, Cell, Pack, Report, canonical, plain

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

Result = TypeVar("Result")

MAX_REPORT_SECONDS = 3600  # between two reports of a trial
CHECKPOINT_SECONDS = float(os.environ.get("INFOSCOPE_CHECKPOINT_SECONDS", 20))  # between two checkpoints
PATIENCE_SECONDS = 1800.0  # of a worker with its own disk, while the store does not answer
ROUNDING = 1e-9  # tolerance for a fraction that a trial has summed up
INVOCATION = "invocation"  # a file in the driver's folder of records, with the id of its run
PROGRESS = "progress/"  # prefix of the metrics of a search: the fraction done, and the metric that it compares
FRACTION, METRIC = f"{PROGRESS}fraction", PROGRESS + "{}"
_ADVICE = {  # on metrics whose names begin like those that are recorded otherwise
    CURVES: "report a point of a curve by report.curve(cell, {{{!r}: value}}, step)",
    SYSTEM: "the load of the machine is recorded without a report",
    PROGRESS: "report.progress records the progress of a search",
}
JUDGED = "judged"  # Tune's name of that metric; the sweep's own name could be one of Tune's


@dataclass(frozen=True)
class Assignment:
    """A pack as the driver passes it to a trial: cells and tags of their runs by key, and the folder of records.

    again: whether these cells were attempted before. invocation: the id of the driver's run, also in its
    folder of records.
    """

    cells: Mapping[str, AnyCell]
    tags: Mapping[str, Mapping[str, str]]
    store: Store
    records: Path
    device: str
    cost: float
    again: bool = False
    invocation: str = ""

    @property
    def elsewhere(self) -> bool:
        """Whether the records are on another disk than that of the driver."""
        try:
            return (self.records / INVOCATION).read_text() != self.invocation
        except FileNotFoundError:
            return True

    @property
    def checkpoint(self) -> Path:
        """A file named by the cells, which an interrupted pack has again: none of its cells has ended."""
        digest = hashlib.sha256("|".join([self.device, *self.cells]).encode()).hexdigest()
        return self.records / f"{digest[:16]}.checkpoint"


def _noting_refusals(method: Callable[..., Result]) -> Callable[..., Result]:
    """A method of a report that notes when its arguments are refused, as those of all other cells will be."""

    @functools.wraps(method)
    def call(self: RecordedReport, *arguments: Any, **named: Any) -> Result:
        try:
            return method(self, *arguments, **named)
        except (ValueError, TypeError):
            self.refused = True
            raise

    return call


class RecordedReport(Report):
    """The report of a trial on a worker: writes to the cells' local records, which are published at the end.

    final: last value of every metric, by key. errors: of failed cells, by key. refused: whether a report could not be
    recorded. settled: whether it is recorded where the attempt continues from.
    """

    def __init__(
        self,
        assignment: Assignment,
        send: Callable[[dict[str, float]], None],
        metric: str | None = None,
        data: Callable[[Any], Sequence[DataSet]] = lambda cell: (),
    ):
        self._send, self._metric, self._data, self._cells = send, metric, data, assignment.cells
        self._records = {key: Record.of(assignment.records, key) for key in assignment.cells}
        self._keys = {canonical(cell): key for key, cell in assignment.cells.items()}
        self._known = {id(cell): key for key, cell in assignment.cells.items()}  # faster than by value
        self.checkpoint = Checkpoint(assignment.checkpoint, assignment.store, assignment.again)
        self._sent, self._save_from = time.monotonic(), time.perf_counter() + CHECKPOINT_SECONDS
        self.final: dict[str, dict[str, float]] = {}
        self._notes = {key: tags[MLFLOW_RUN_NOTE] for key, tags in assignment.tags.items() if MLFLOW_RUN_NOTE in tags}
        self.errors: dict[str, str] = {}
        self.last: dict[str, float] = {}
        self._begun = self.settled = self.refused = False

    @property
    def records(self) -> list[Record]:
        return list(self._records.values())

    def _record(self, cell: AnyCell) -> Record:
        _require_cell(cell)
        key = self._known.get(id(cell)) or self._keys.get(canonical(cell))
        if key is None:
            raise InvalidInput(f"the cell must be one of this pack, got {shown(cell)}")
        self.start_new()
        return self._records[key]

    def start_new(self) -> None:
        """Discards earlier attempts, unless `restore` has continued one."""
        if not self._begun:
            self._begun = True
            self.checkpoint.discard()
            self._record_data()

    def _record_data(self) -> None:
        for key, record in self._records.items():
            if found := self._data(self._cells[key]):
                record.append({"datasets": [one.entry for one in found]})
        self.settled = True

    @_noting_refusals
    def metrics(self, cell: AnyCell, values: Mapping[str, float], step: int = 0) -> None:
        values = _checked(cell, values)
        self._record(cell).metrics(values, metric_step(step))

    @_noting_refusals
    def curve(self, cell: AnyCell, values: Mapping[str, float], step: int) -> None:
        values = {metric_name(CURVES + name): value for name, value in _checked(cell, values).items()}
        self._record(cell).metrics(values, metric_step(step))

    @_noting_refusals
    def constants(self, cell: AnyCell, values: Mapping[str, float]) -> None:
        values = {name: storable(value) for name, value in _checked(cell, values).items()}
        record = self._record(cell)
        known, tags = _reported(record)[1] | values, {}
        for place in {name.rpartition("/")[0] for name in values}:
            here = {name.rpartition("/")[2]: one for name, one in known.items() if name.rpartition("/")[0] == place}
            tags[f"{CONSTANTS} {place}".strip()] = json.dumps(here)
        record.append({"tags": tags})

    def end(self, record: Record, error: str | None) -> None:
        """Ends the record of a cell; its results go into the description of its run and to the driver."""
        with record.writing():  # it may not exist
            metrics, constants = _reported(record)
        shown = {name: value for name, value in metrics.items() if not name.startswith(PROGRESS)}
        self.final[record.key] = {name.removeprefix(CURVES): value for name, value in shown.items()}
        if note := self._notes.get(record.key):
            results = {name: value for name, value in metrics.items() if not name.startswith(NOT_RESULTS)}
            description = storable_text(notes.add_results(note, results, constants, error))
            record.append({"tags": {MLFLOW_RUN_NOTE: description}})
        record.end(FAILED if error else COMPLETE, error)

    @_noting_refusals
    def table(self, cell: AnyCell, name: str, columns: Mapping[str, np.ndarray]) -> None:
        with self._record(cell).file(f"{plain_name('the name of a table', name)}.parquet") as path:
            try:
                pd.DataFrame(columns).to_parquet(path, index=False)
            except (ValueError, TypeError, ArrowException) as error:  # surrogates, mixed types, unequal lengths
                raise ValueError(f"table {name} cannot be stored: {first_line(error)}") from error

    @_noting_refusals
    def arrays(self, cell: AnyCell, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        plain_name("the name of arrays", name)
        for key, array in arrays.items():
            require_text(f"the name of an array of {name}", key, NAME_LENGTH)
            if key in ("file", "allow_pickle") or key.endswith(".npy"):
                raise ValueError(f"the name of an array of {name} must not be {key!r}, which NumPy uses itself")
            if np.asarray(array).dtype.hasobject:
                raise TypeError(f"array {key!r} of {name} must hold numbers or fixed-width strings, not Python objects")
        with self._record(cell).file(f"{name}.npz") as path, open(path, "wb") as file:
            np.savez_compressed(file, **arrays)

    @_noting_refusals
    def model(
        self, cells: Sequence[AnyCell], name: str, module: torch.nn.Module, example: Mapping[str, np.ndarray]
    ) -> None:
        owner, *others = map(self._record, cells)
        with owner.writing():
            write_model(module, example, owner.model_folder(name))
        for record in (owner, *others):
            record.append({"model": name, "owner": owner.key})

    @_noting_refusals
    def progress(self, fraction: float, **metrics: float) -> None:
        if not -ROUNDING <= metric_value("fraction", fraction) <= 1 + ROUNDING:
            raise OutOfRange(f"the fraction done must be a number from 0 to 1, got {shown(fraction)}.")
        fraction = min(max(float(fraction), 0.0), 1.0)
        now, before = time.monotonic(), self.last.get("fraction", -1.0)
        if self._metric is None:
            if now - self._sent > 1.0:
                self._sent = now
                self._send({"fraction": fraction})
            return
        if self._metric not in metrics:
            raise InvalidInput(
                f"report.progress must have the metric of the search, report.progress(fraction, **{{{self._metric!r}: "
                f"value}}), got {sorted(metrics)}"
            )
        value = metric_value(self._metric, metrics[self._metric])
        if fraction < 1 and fraction - before < 0.01:
            return
        self.last = {"fraction": fraction, JUDGED: value}
        self.start_new()
        for record in self.records:
            record.metrics({FRACTION: fraction, METRIC.format(self._metric): value}, round(1000 * fraction))
        if fraction < 1:  # a finished trial must not be stopped: `work` sends the end when everything is recorded
            self._send(self.last)

    @contextlib.contextmanager
    def member(self, cell: AnyCell) -> Iterator[None]:
        try:
            yield
        except Exception as raised:
            record = self._record(cell)
            self.errors[record.key] = _message(raised)
            _write_traceback([record])

    def save(self, state: Callable[[], Mapping[str, Any]]) -> None:
        began = time.perf_counter()
        if began < self._save_from:
            return
        self.start_new()
        reported = {record.key: record.packed() for record in self.records}
        self.checkpoint.save({"state": state(), "errors": self.errors}, reported)
        now = time.perf_counter()
        self._save_from = now + max(CHECKPOINT_SECONDS, 50 * (now - began))  # at most 2 % of the time

    def restore(self) -> Mapping[str, Any] | None:
        saved = None if self._begun else self.checkpoint.restore()
        if saved is None:
            self.start_new()
            return None
        self._begun = self.settled = True
        state, reported = saved
        for key, record in self._records.items():
            record.continue_from(reported[key])
        self.errors |= state["errors"]  # failed members stay failed
        return state["state"]


@functools.cache
def live_updates(store: Store) -> LiveUpdates:
    """One per worker process and store, because actors are reused."""
    return LiveUpdates(store)


def work(
    trial: Callable[[Pack, Report], None],
    assignment: Assignment,
    send: Callable[[dict[str, Any]], None],
    metric: str | None = None,
    data: Callable[[Any], Sequence[DataSet]] = lambda cell: (),
) -> None:
    """Runs one trial and sends its result to the driver; an exception in it is a result. metric: of the search."""
    if assignment.device == "cpu":
        _prepare_process()
    report = RecordedReport(assignment, send, metric, data)
    updates = live_updates(assignment.store)
    errors = _begin(assignment, report)
    if not errors:
        updates.follow(report.records, report.checkpoint, lambda: report.settled)
        try:
            errors = _attempt(trial, assignment, report)
        finally:
            updates.stop()
    if metric and not report.last:
        missing = f"ValueError: the trial never called report.progress with the metric {metric!r} of the search"
        report.refused = report.refused or not errors  # a trial that failed by itself is no refusal
        errors = dict.fromkeys(assignment.cells, missing) | errors
    _end(report, errors)
    # the driver can send later what is on its disk
    written = [record for record in report.records if record.exists()]  # on a full disk some are missing
    run_ids, left = publish_all(written, assignment.store, patience=PATIENCE_SECONDS * assignment.elsewhere)
    for key, error in left.items():
        log.warning("not sent yet: cell %s (%s)", key, first_line(error))
    if not any(error.startswith(RecordUnwritable.__name__) for error in errors.values()):
        report.checkpoint.discard()  # otherwise the next attempt continues from it
    send(
        {
            **report.last,
            "fraction": 1.0,
            "failed": bool(errors),
            "refused": report.refused,
            "errors": errors,
            "final": report.final,
            "run_ids": run_ids,
        }
    )


def _prepare_process() -> None:
    """Limits a trial to one thread: two trials with two threads each would wait for one another on two cores.

    A trial that is stopped early ends at its next report. Ray waits so long for it, by default 2 s, and then fails.
    """
    os.environ.setdefault("TUNE_FUNCTION_THREAD_TIMEOUT_S", str(MAX_REPORT_SECONDS))
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # of libraries imported later
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _begin(assignment: Assignment, report: RecordedReport) -> dict[str, str]:
    machine = machine_tags(assignment.device)
    with contextlib.suppress(OSError):  # which writing the records will raise; see `record.made_home`
        assignment.records.parents[1].mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        for record, (key, cell) in zip(report.records, assignment.cells.items(), strict=True):
            values = plain(cell)
            record.begin(values, header_tags(key, values, assignment.tags[key] | machine))
    except RecordUnwritable as error:
        return dict.fromkeys(assignment.cells, f"{type(error).__name__}: {error}")
    return {}


def _reported(record: Record) -> tuple[dict[str, float], dict[str, float]]:
    """The last value of every metric of a record, and its constants."""
    metrics, constants = dict[str, float](), dict[str, float]()
    for entry, _ in record.entries():
        metrics |= entry.get("metrics", {})
        for tag, value in entry.get("tags", {}).items():
            if tag.startswith(CONSTANTS):
                constants |= constants_of(tag, value)
    return metrics, constants


def _require_cell(cell: Any) -> None:
    if not isinstance(cell, Cell | Mapping):
        raise WrongType(f"the cell must be one of pack.cells, got {shown(cell)}")


def _checked(cell: AnyCell, values: Mapping[str, float]) -> dict[str, float]:
    _require_cell(cell)
    if not isinstance(values, Mapping):
        raise WrongType(f"values must be a dict from names to numbers, got {shown(values)}")
    checked, fields = {}, plain(cell)
    for name, value in values.items():
        require_free_name("the name of a metric", metric_name(name), fields)
        for prefix, advice in _ADVICE.items():
            if name.startswith(prefix):
                use = advice.format(name.removeprefix(prefix))
                raise InvalidInput(f"the name of a metric must not begin with {prefix!r}, got {name!r}; {use}")
        checked[name] = metric_value(name, value)
    return checked


def _end(report: RecordedReport, errors: dict[str, str]) -> None:
    for record in report.records:
        try:
            report.end(record, errors.get(record.key))
        except RecordUnwritable as full:
            errors[record.key] = f"{type(full).__name__}: {full}"


def _attempt(trial: Callable[[Pack, Report], None], assignment: Assignment, report: RecordedReport) -> dict[str, str]:
    """Runs the trial; returns the errors of failed cells by key: their own, or the one that ended the trial."""
    try:
        trial(Pack(tuple(assignment.cells.values()), assignment.device), report)
        report.start_new()  # in case it has reported nothing
    except SystemExit:  # Tune has stopped the trial; the driver sets the outcome, but has only its own records
        if assignment.elsewhere:
            publish_all(report.records, assignment.store)
        raise
    except Exception as raised:
        with contextlib.suppress(Exception):  # reading the data may fail as well
            report.start_new()
        others = [record for record in report.records if record.key not in report.errors]
        _write_traceback(others)
        error, shared = _message(raised), len(assignment.cells)
        error += f" (in a trial of {shared} cells)" if shared > 1 else ""
        return {record.key: error for record in others} | report.errors
    return report.errors


def _message(raised: Exception) -> str:
    """The type and message of an exception, without passwords: MLflow's contain addresses."""
    return storable_text(without_password(f"{type(raised).__name__}: {raised}"))


def _write_traceback(records: Iterable[Record]) -> None:
    text = storable_text(without_password(traceback.format_exc()))
    for record in records:
        with contextlib.suppress(RecordUnwritable), record.file("traceback.txt") as path:
            path.write_text(text)
