"""A record, into MLflow: one run an attempt, made whole, then closed; the first complete one is the cell's.

Everything that is sent follows from the record alone, time stamps included (start of the run plus step), so that
sending twice changes nothing, whoever does it: a worker at its end, its driver, a later invocation.
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
    storable_text,
    stored_tags,
)
from infoscope.tracking.datasets import inputs
from infoscope.tracking.record import COMPLETE, FAILED, STOPPED, Record, storable
from infoscope.tracking.sending.checkpoint import TAG, forget
from infoscope.tracking.sending.signs import may_live
from infoscope.tracking.store.store import Store, by_key, is_finished
from infoscope.tracking.sweep import text
from infoscope.tracking.tags import CELL, ERROR, KEY, OUTCOME, PARENT, PROFILE

LATEST = 10**12  # ms that a time stamp may be after its run's start: browsers know no dates that are much later
STATUS = {COMPLETE: "FINISHED", STOPPED: "FINISHED", FAILED: "FAILED"}


def header_tags(key: str, cell: Mapping[str, Any], tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of a cell's run: its identity, its values exactly, and what the caller adds."""
    told = {name: clipped(storable_text(value), TAG_LENGTH) for name, value in tags.items()}
    return {KEY: key, CELL: json.dumps(cell, sort_keys=True), OUTCOME: "", **told}


class Points:
    """The points of the metrics of a record, as MLflow takes them. start: of the run, ms.

    Where a step is told again with another value, the last counts: it is dated after those before it.
    """

    def __init__(self, start: int):
        self.start = start
        self._told: dict[tuple[str, int], tuple[float, int]] = {}

    def of(self, entry: Mapping[str, Any]) -> Iterator[Metric]:
        """Those of an entry, in the order of the record. Raises ValueError for what MLflow would refuse."""
        for name, value in entry.get("metrics", {}).items():
            step, value = metric_step(entry.get("step")), storable(metric_value(metric_name(name), value))
            before, times = self._told.get((name, step), (None, 0))
            if before is None or not (before == value or math.isnan(before) and math.isnan(value)):
                self._told[name, step] = value, times + 1
                yield Metric(name, value, self.start + min(max(step, 0), LATEST) + times, step)


def opened(record: Record, store: Store, own: Run | None = None) -> tuple[str, int]:
    """The run of a record, made where there is none yet: its id, and its start in ms. own: it, where it is known."""
    own, header = own or store.run(record.run_id), record.header()
    if own is not None:
        return own.info.run_id, own.info.start_time
    run = store.client.create_run(store.experiment_id, start_time=header["time"], tags=stored_tags(header["tags"]))
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
    """Makes the run of a record whole and closes it, then removes the record; returns the id of the cell's run.

    otherwise: the status where the record has no outcome. What another attempt has made superfluous is dropped.
    Raises MLflow's exceptions when the store does not answer, LookupError for a model that the cell shares and that is
    not there yet, ValueError for what MLflow would refuse; a later call goes on then.
    """
    if not record.header():
        record.remove()
        return ""
    ending, others = record.ending(), list(store.cells(f"tags.`{KEY}` = '{record.key}'"))
    held = by_key(others)[0].get(record.key)
    own = _closed_by_driver(held, record) or next((run for run in others if run.info.run_id == record.run_id), None)
    run_id, whole = own.info.run_id if own else "", ending is not None and ending["outcome"] != FAILED
    counts = held is None or _counts(record, ending, held, own)
    if counts:
        run_id, start = _send(record, store, ending, own)
        if whole and not store.has_one_driver:  # another driver may have ended the cell meanwhile
            held = store.run_of(record.key)
            counts = held is None or run_id == held.info.run_id or _counts(record, ending, held, own)
    if counts:
        if not _is_closed(ending, own):
            status, end = (STATUS[ending["outcome"]], max(start, ending["time"])) if ending else (otherwise, None)
            store.client.set_terminated(run_id, status, end)
        living = [run for run in others if not whole and (TAG in run.data.tags or _is_others(run, record, store))]
        withdraw({run.info.run_id for run in others if run not in living} - {run_id}, store)
    else:
        if run_id != held.info.run_id:
            withdraw([run_id], store)
        run_id = held.info.run_id
    record.remove()
    return run_id


def _closed_by_driver(held: Run | None, record: Record) -> Run | None:
    """The empty run that the driver created for a stopped trial whose record lies on another machine, else None."""
    if held is None or held.data.metrics or held.data.tags.get(OUTCOME) != STOPPED:
        return None
    return held if held.data.tags.get(PARENT) == record.header()["tags"].get(PARENT) else None


def _is_others(run: Run, record: Record, store: Store) -> bool:
    """Whether another invocation, which may live, works on a cell."""
    parent = run.data.tags.get(PARENT)
    return parent != record.header()["tags"].get(PARENT) and may_live(store.run(parent))


def _counts(record: Record, ending: Mapping[str, Any] | None, held: Run, own: Run | None) -> bool:
    """Whether an attempt is to be in MLflow beside the run that the cell has."""
    outcome = ending["outcome"] if ending else None
    if is_finished(held):
        before = held.data.tags[OUTCOME]
        late = own is held and before == STOPPED and outcome != FAILED  # the driver closed this run first
        return late or outcome == COMPLETE != before
    whole = outcome in (COMPLETE, STOPPED)
    return whole or own is held or held.info.start_time <= record.header()["time"]


def withdraw(run_ids: Iterable[str], store: Store) -> None:
    """Deletes runs of attempts that are not whole now: another driver may have ended one since they were read."""
    for run_id in run_ids:
        found = store.run(run_id)
        if found and not is_finished(found):
            _delete(found, store)


def _delete(run: Run, store: Store) -> None:
    """Deletes a run, with the copy of its checkpoint and models of which only a part was sent."""
    if TAG in run.data.tags:
        forget(run.info.run_id, store)
    models.discard(models.of_run(run.info.run_id, store), store)
    store.client.delete_run(run.info.run_id)


def _send(record: Record, store: Store, ending: Mapping[str, Any] | None, own: Run | None) -> tuple[str, int]:
    """Sends all that a record holds; returns its run, which stays open, as `opened` does."""
    run_id, start = opened(record, store, own)
    header, points, batch, tags = record.header(), Points(start), [], {}
    for entry, _ in record.entries():
        batch += points.of(entry)
        tags |= entry.get("tags", {})
        if "datasets" in entry:
            store.add_inputs(run_id, inputs(entry["datasets"]))
    whole = ending is not None and ending["outcome"] != FAILED
    if ending is not None:
        tags |= {OUTCOME: ending["outcome"]} | ({ERROR: ending["error"][:4000]} if ending["error"] else {})
    if _is_closed(ending, own):
        tags.pop(OUTCOME, None)
    store.client.log_batch(run_id, batch, parameters(header["cell"]), [RunTag(*tag) for tag in tags.items()])
    for entry, _ in record.entries():
        if "model" in entry and (whole or entry["owner"] == record.key):  # other cells may share it
            _send_model(record, entry, run_id, store)
    if record.files.is_dir() and any(record.files.iterdir()):
        store.client.log_artifacts(run_id, str(record.files))
    if whole and own and ERROR in own.data.tags:  # whoever closed it took this attempt for dead
        store.client.delete_tag(run_id, ERROR)
    if whole and own and TAG in own.data.tags:
        forget(run_id, store)
    return run_id, start


def _is_closed(ending: Mapping[str, Any] | None, own: Run | None) -> bool:
    """Whether the driver has recorded the outcome of a trial that it has stopped."""
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
    """Publishes records, models' owners first. By key the ids of the runs, and the errors of what is left.

    patience: seconds to keep retrying, unless all remaining errors are ValueErrors, which no retry can resolve.
    """
    left, sent, deadline = list(records), dict[str, str](), time.monotonic() + patience
    while True:
        failed: dict[Record, Exception] = {}
        for place, record in enumerate(left):
            try:
                sent[record.key] = publish(record, store, otherwise)
            except Exception as error:  # one bad record must not keep the others
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


def by_key_once(store: Store) -> dict[str, Run]:
    """By key, the run of every cell. What other attempts have left of finished cells is deleted: two drivers on
    different machines may have made the same ones. A driver that lives withdraws its own.
    """
    known, others = by_key(store.cells())
    for run in others:
        chosen = known[run.data.tags[KEY]]
        if is_finished(chosen):
            store.client.set_tag(chosen.info.run_id, PROFILE, chosen.data.tags[PROFILE])  # the labels of both
            if is_finished(run):
                _delete(run, store)
            elif not may_live(store.run(run.data.tags.get(PARENT))):
                withdraw([run.info.run_id], store)
    return known
