"""Publishes records in MLflow: one run for each attempt, first completed, then closed; the first complete run counts.

Everything that is sent depends on the record alone, including time stamps (start of the run plus step). So sending it
twice changes nothing, whether a worker, its driver or a later invocation does it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException

from infoscope.tracking import models
from infoscope.tracking.checks import (
    PARAM_LENGTH,
    TAG_LENGTH,
    clipped,
    metric_name,
    metric_step,
    metric_value,
    require_tags,
    storable_text,
)
from infoscope.tracking.datasets import inputs
from infoscope.tracking.record import COMPLETE, FAILED, STOPPED, Record, storable
from infoscope.tracking.sending.checkpoint import TAG, delete_copy
from infoscope.tracking.sending.heartbeat import may_live
from infoscope.tracking.store.store import Store, by_key, is_finished
from infoscope.tracking.sweep import text
from infoscope.tracking.tags import CELL, ERROR, KEY, OUTCOME, PARENT, PROFILE

MAX_STEP_MS = 10**12  # largest time stamp after the start of a run: browsers have no much later dates
STATUS = {COMPLETE: "FINISHED", STOPPED: "FINISHED", FAILED: "FAILED"}


def header_tags(key: str, cell: Mapping[str, Any], tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of a cell's run: its identity, its values exactly, and what the caller adds."""
    given = {name: clipped(storable_text(value), TAG_LENGTH) for name, value in tags.items()}
    return {KEY: key, CELL: json.dumps(cell, sort_keys=True), OUTCOME: "", **given}


class Points:
    """The points of the metrics of a record, as MLflow takes them. start: of the run, ms.

    If a step is reported again with another value, the last one counts: its time stamp is later.
    """

    def __init__(self, start: int):
        self.start = start
        self._reported: dict[tuple[str, int], tuple[float, int]] = {}

    def of(self, entry: Mapping[str, Any]) -> Iterator[Metric]:
        """The points of an entry, in the order of the record. Raises ValueError for what MLflow would reject."""
        for name, value in entry.get("metrics", {}).items():
            step, value = metric_step(entry.get("step")), storable(metric_value(metric_name(name), value))
            before, times = self._reported.get((name, step), (None, 0))
            if before is None or not (before == value or math.isnan(before) and math.isnan(value)):
                self._reported[name, step] = value, times + 1
                yield Metric(name, value, self.start + min(max(step, 0), MAX_STEP_MS) + times, step)


def open_run(record: Record, store: Store, own: Run | None = None) -> tuple[str, int]:
    """The run of a record, created if missing: its id and its start in ms. own: the run, if it is known."""
    own, header = own or store.run(record.run_id), record.header()
    if own is not None:
        return own.info.run_id, own.info.start_time
    run = store.client.create_run(store.experiment_id, start_time=header["time"], tags=require_tags(header["tags"]))
    try:
        record.note_run(run.info.run_id)
    except OSError:  # otherwise every retry would create another run
        store.client.delete_run(run.info.run_id)
        raise
    return run.info.run_id, header["time"]


def parameters(cell: Mapping[str, Any]) -> list[Param]:
    """The fields of a cell, or the settings of a profile, as parameters of a run."""
    return [Param(name, clipped(storable_text(text(value)), PARAM_LENGTH)) for name, value in cell.items()]


def publish(record: Record, store: Store, otherwise: str = "KILLED") -> str:
    """Completes and closes the run of a record, then removes the record; returns the id of the cell's run.

    otherwise: the status if the record has no outcome. Runs that another attempt has made superfluous are deleted.
    Raises MLflow's exceptions when the store does not answer, LookupError if a model that the cell shares is not logged
    yet, ValueError for what MLflow would reject; a later call continues.
    """
    if not record.header():
        record.remove()
        return ""
    ending, others = record.ending(), list(store.cells(f"tags.`{KEY}` = '{record.key}'"))
    current = by_key(others)[0].get(record.key)
    own = _closed_by_driver(current, record) or next((run for run in others if run.info.run_id == record.run_id), None)
    run_id, finished = own.info.run_id if own else "", ending is not None and ending["outcome"] != FAILED
    published = current is None or _replaces(record, ending, current, own)
    if published:
        run_id, start = _send(record, store, ending, own)
        if finished and not store.has_one_driver:  # another driver may have ended the cell meanwhile
            current = store.run_of(record.key)
            published = current is None or run_id == current.info.run_id or _replaces(record, ending, current, own)
    if published:
        if not _is_closed(ending, own):
            status, end = (STATUS[ending["outcome"]], max(start, ending["time"])) if ending else (otherwise, None)
            store.client.set_terminated(run_id, status, end)
        kept = [run for run in others if not finished and (TAG in run.data.tags or _is_foreign(run, record, store))]
        delete_unfinished({run.info.run_id for run in others if run not in kept} - {run_id}, store)
    else:
        if run_id != current.info.run_id:
            delete_unfinished([run_id], store)
        run_id = current.info.run_id
    record.remove()
    return run_id


def _closed_by_driver(current: Run | None, record: Record) -> Run | None:
    """The empty run that the driver made for a stopped trial whose record is on another machine; otherwise None."""
    if current is None or current.data.metrics or current.data.tags.get(OUTCOME) != STOPPED:
        return None
    return current if current.data.tags.get(PARENT) == record.header()["tags"].get(PARENT) else None


def _is_foreign(run: Run, record: Record, store: Store) -> bool:
    """Whether another invocation that may be alive works on a cell."""
    parent = run.data.tags.get(PARENT)
    return parent != record.header()["tags"].get(PARENT) and may_live(store.run(parent))


def _replaces(record: Record, ending: Mapping[str, Any] | None, current: Run, own: Run | None) -> bool:
    """Whether an attempt is published although the cell has a run."""
    outcome = ending["outcome"] if ending else None
    if is_finished(current):
        before = current.data.tags[OUTCOME]
        late = own is current and before == STOPPED and outcome != FAILED  # the driver closed this run first
        return late or outcome == COMPLETE != before
    finished = outcome in (COMPLETE, STOPPED)
    return finished or own is current or current.info.start_time <= record.header()["time"]


def delete_unfinished(run_ids: Iterable[str], store: Store) -> None:
    """Deletes runs of attempts, except those that another driver has completed since they were read."""
    for run_id in run_ids:
        found = store.run(run_id)
        if found and not is_finished(found):
            _delete(found, store)


def _delete(run: Run, store: Store) -> None:
    """Deletes a run, the copy of its checkpoint and its incomplete models."""
    if TAG in run.data.tags:
        delete_copy(run.info.run_id, store)
    models.discard(models.models_of_run(run.info.run_id, store), store)
    store.client.delete_run(run.info.run_id)


def _send(record: Record, store: Store, ending: Mapping[str, Any] | None, own: Run | None) -> tuple[str, int]:
    """Sends the content of a record; returns its run, which stays open, as `open_run` does."""
    run_id, start = open_run(record, store, own)
    header, points, batch, tags = record.header(), Points(start), [], {}
    for entry, _ in record.entries():
        batch += points.of(entry)
        tags |= entry.get("tags", {})
        if "datasets" in entry:
            store.add_inputs(run_id, inputs(entry["datasets"]))
    finished = ending is not None and ending["outcome"] != FAILED
    if ending is not None:
        tags |= {OUTCOME: ending["outcome"]} | ({ERROR: ending["error"][:4000]} if ending["error"] else {})
    if _is_closed(ending, own):
        tags.pop(OUTCOME, None)
    store.client.log_batch(run_id, batch, parameters(header["cell"]), [RunTag(*tag) for tag in tags.items()])
    for entry, _ in record.entries():
        if "model" in entry and (finished or entry["owner"] == record.key):  # other cells may share it
            _send_model(record, entry, run_id, store)
    if record.files.is_dir() and any(record.files.iterdir()):
        store.client.log_artifacts(run_id, str(record.files))
    if finished and own and ERROR in own.data.tags:  # another process took this attempt for dead
        store.client.delete_tag(run_id, ERROR)
    if finished and own and TAG in own.data.tags:
        delete_copy(run_id, store)
    return run_id, start


def _is_closed(ending: Mapping[str, Any] | None, own: Run | None) -> bool:
    """Whether the driver has recorded the outcome of a trial that it stopped."""
    return ending is None and own is not None and is_finished(own)


def _send_model(record: Record, entry: Mapping[str, Any], run_id: str, store: Store) -> None:
    owner, name = entry["owner"], entry["model"]
    if owner == record.key:
        models.log_model(record.model_folder(name), name, run_id, store)
        return
    run = store.run_of(owner)
    model = models.newest_model(run, store.client, name) if run else None
    if model is None:
        raise LookupError(f"the model {name} that cell {record.key} shares with cell {owner} is not logged yet")
    models.link(model.model_id, store.client.get_run(run_id), store)


def publish_all(
    records: Iterable[Record], store: Store, otherwise: str = "KILLED", patience: float = 0.0
) -> tuple[dict[str, str], dict[str, Exception]]:
    """Publishes records; returns by key the ids of the runs, and the errors of records that remain.

    patience: seconds to keep retrying, unless all remaining errors are ValueErrors, which no retry can resolve.
    """
    left, sent, deadline = list(records), dict[str, str](), time.monotonic() + patience
    while True:
        failed: dict[Record, Exception] = {}
        for place, record in enumerate(left):
            try:
                sent[record.key] = publish(record, store, otherwise)
            except Exception as error:  # one bad record must not block the others
                failed[record] = error
                if isinstance(error, MlflowException) and not store.answers():
                    failed |= dict.fromkeys(left[place + 1 :], error)
                    break
        progress, left = len(failed) < len(left), list(failed)
        final = all(isinstance(error, ValueError) for error in failed.values())  # also where nothing failed
        if final or not progress and time.monotonic() >= deadline:
            return sent, {record.key: error for record, error in failed.items()}
        if not progress:
            time.sleep(1.0)


def unique_runs(store: Store) -> dict[str, Run]:
    """The run of every cell by key; deletes other runs of finished cells, except those of drivers that may be alive.

    Two drivers on different machines may have run the same cells.
    """
    known, others = by_key(store.cells())
    for run in others:
        chosen = known[run.data.tags[KEY]]
        if is_finished(chosen):
            store.client.set_tag(chosen.info.run_id, PROFILE, chosen.data.tags[PROFILE])  # the labels of both
            if is_finished(run):
                _delete(run, store)
            elif not may_live(store.run(run.data.tags.get(PARENT))):
                delete_unfinished([run.info.run_id], store)
    return known
