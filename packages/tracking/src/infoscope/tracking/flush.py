"""Carries local records to MLflow: in batches, idempotently, from where the last attempt got to.

A metric's time stamp is the run's start plus its step, so that sending an entry again changes nothing. What has been
sent is noted after it was accepted: a crash in between repeats a batch, and at worst a model, of which the newest
counts. A cell that goes on from a checkpoint, or begins again, repeats steps that MLflow holds already: those with the
same value are left out, those with another one (a device that does not compute the same twice, a mended trial) get a
later time stamp, so that the newest counts, for MLflow's own "latest" and for `store.curve`.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException

from infoscope.tracking import models
from infoscope.tracking.checkpoint import TAG, Checkpoint, forget
from infoscope.tracking.record import COMPLETE, FAILED, STOPPED, Record, storable
from infoscope.tracking.store import CELL, ERROR, KEY, OUTCOME, Store, first_line, newest, without_password
from infoscope.tracking.sweep import text

log = logging.getLogger(__name__)

PAUSE_SECONDS = 0.5  # before a pack's first round: one that ends sooner is sent at once, by `drain`
STATUS = {COMPLETE: "FINISHED", STOPPED: "FINISHED", FAILED: "FAILED"}


def send(record: Record, store: Store) -> str:
    """Sends everything new in a record to its run, which is created when the cell has none; returns the run's id.

    Raises MLflow's exceptions when the store does not answer, LookupError when a model that the cell shares is not
    there yet, OSError when what was sent cannot be noted; nothing is lost then, a later call goes on.
    """
    with record.lock():
        carrier = _Carrier(record, store)
        if carrier.carry():
            carrier.note()
        return carrier.run.info.run_id if carrier.run else ""


def _send_files(record: Record, run_id: str, store: Store) -> None:
    if any(record.files.iterdir()):
        store.client.log_artifacts(run_id, str(record.files))


def close(record: Record, store: Store, otherwise: str) -> None:
    """Sends the rest of a record, ends its run with the status of its outcome (`otherwise` if it has none), removes
    the record. A run that another attempt has finished meanwhile keeps its status.
    """
    with record.lock():
        carrier, ending = _Carrier(record, store), record.ending()
        carrier.carry()
        run, finished = carrier.run, carrier.run and carrier.run.info.status == "FINISHED"
        if ending and run and not carrier.sent.whole:
            store.client.set_terminated(run.info.run_id, STATUS[ending["outcome"]], ending["time"])
        elif run and not finished:
            store.client.set_terminated(run.info.run_id, otherwise)
        if run and TAG in run.data.tags and ending and ending["outcome"] != FAILED:
            forget(run.info.run_id, store)
        record.remove()  # before the lock is free: a worker's late round would open the run again


def close_all(records: Iterable[Record], store: Store, otherwise: str) -> list[tuple[Record, Exception]]:
    """Closes records in whatever order works (a cell that shares a model waits for the cell that owns it); returns
    those that could not be closed, which stay as they are. A store that does not answer is not asked for each of them.
    """
    left = list(records)
    while True:
        failed: list[tuple[Record, Exception]] = []
        for position, record in enumerate(left):
            try:
                close(record, store, otherwise)
            except Exception as error:  # one bad record must not keep the others
                failed.append((record, error))
                if isinstance(error, MlflowException) and not store.answers():
                    return failed + [(other, error) for other in left[position + 1 :]]
        if not failed or len(failed) == len(left):
            return failed
        left = [record for record, _ in failed]


@dataclass
class _Sent:
    """How far a record has been carried: to which store, byte offset, run, and the run's start (ms), on which time
    stamps are based. earlier: the metrics that the run has from earlier attempts. whole: another attempt has finished
    the run, which leaves nothing to send.
    """

    store: str
    offset: int = 0
    run_id: str = ""
    start: int = 0
    earlier: list[str] = field(default_factory=list)
    whole: bool = False


class _Carrier:
    """Carries one record, from where the last one got to: from its beginning when that was to another store, or when
    the store has lost the run since. run: as it was found or created; None for a record without a whole header.
    """

    def __init__(self, record: Record, store: Store):
        self.record, self.store = record, store
        note, name = record.sent(), f"{without_password(store.uri)} {store.experiment_id}"
        self.run: Run | None = store.run(note["run_id"]) if note.get("store") == name else None
        self.sent = _Sent(**note) if self.run else _Sent(name)
        self.sent.whole |= self.run is not None and self.run.info.status == "FINISHED"
        self._points: list[Metric] = []
        self._params: list[Param] = []  # these and the tags go with the points, in one request
        self._tags: dict[str, str] = {}

    def carry(self) -> bool:
        """Sends what is new; whether there was anything."""
        before = self.sent.offset
        for entry, offset in self.record.entries(before):
            if "cell" in entry:
                self._send_batch()
                self._open_run(entry)
            elif self.run and not self.sent.whole:
                self._take(entry, offset)
            self.sent.offset = offset
        self._send_batch()
        return self.sent.offset > before

    def note(self) -> None:
        self.record.note_sent(asdict(self.sent))

    def _take(self, entry: Mapping[str, Any], offset: int) -> None:
        run_id = self.sent.run_id
        if "metrics" in entry:
            at, step = self.sent.start + entry["step"], entry["step"]
            self._points += [Metric(name, storable(value), at, step) for name, value in entry["metrics"].items()]
        elif "model" in entry:
            self._send_batch()
            _send_model(self.record, entry, run_id, self.store)
            self.sent.offset = offset
            self.note()  # a model that is sent again would be another one
        elif "outcome" in entry:
            _send_files(self.record, run_id, self.store)
            self._tags |= {OUTCOME: entry["outcome"]} | ({ERROR: entry["error"][:4000]} if entry["error"] else {})

    def _send_batch(self) -> None:
        for name in set(self.sent.earlier) & {point.key for point in self._points}:
            self._compare(name)
        if self._points or self._params or self._tags:
            tags = [RunTag(*tag) for tag in self._tags.items()]
            self.store.client.log_batch(self.sent.run_id, self._points, self._params, tags)
        self._points, self._params, self._tags = [], [], {}

    def _compare(self, name: str) -> None:
        """Leaves out the points of a metric that the run has, and dates those that differ after what the run has."""
        history = self.store.client.get_metric_history(self.sent.run_id, name)
        held = newest(history)
        new = [point for point in self._points if point.key == name]
        if min(point.step for point in new) > max(held, default=-1):
            self.sent.earlier.remove(name)  # the curve has got beyond where the earlier attempt was
            return
        kept = [point for point in self._points if point.key != name]
        for point in new:
            before = held.get(point.step)
            if before is None or not _same(before.value, point.value):
                at = point.timestamp if before is None else before.timestamp + 1
                held[point.step] = Metric(name, point.value, at, point.step)
                kept.append(held[point.step])
        self._points = kept

    def _open_run(self, entry: Mapping[str, Any]) -> None:
        """Finds or creates the run of an attempt's header."""
        client, cell, tags = self.store.client, entry["cell"], entry["tags"]
        known = self.store.run(self.sent.run_id or entry["run_id"]) or self.store.run_of(tags[KEY])
        self.sent.whole = known is not None and known.info.status == "FINISHED"
        params = [Param(name, text(value)) for name, value in cell.items()]
        if known is None:
            known = client.create_run(self.store.experiment_id, start_time=entry["time"], tags=tags)
            self._params = params
        elif not self.sent.whole:
            client.update_run(known.info.run_id, status="RUNNING")
            if ERROR in known.data.tags:
                client.delete_tag(known.info.run_id, ERROR)
            self._params = [] if known.data.params else params  # whoever created it died before it could say more
            self._tags = dict(tags)
            self.sent.earlier = sorted(known.data.metrics)
        self.run, self.sent.run_id, self.sent.start = known, known.info.run_id, known.info.start_time


def _same(a: float, b: float) -> bool:
    return a == b or math.isnan(a) and math.isnan(b)


def header_tags(key: str, cell: Mapping[str, Any], tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of a cell's run: its identity, its values exactly, and what the caller adds."""
    return {KEY: key, CELL: json.dumps(cell, sort_keys=True), OUTCOME: "", **tags}


def _send_model(record: Record, entry: Mapping[str, Any], run_id: str, store: Store) -> None:
    """Logs a model, or for a cell that shares another's training links the model of that cell."""
    from mlflow.entities import LoggedModelOutput

    owner, name = entry["owner"], entry["model"]
    if owner == record.key:
        models.log_model(record.model_folder(name), name, run_id, store.experiment_id, store.uri)
        return
    run = store.run_of(owner)
    model = models.newest(run, name, store.client) if run else None
    if model is None:
        raise LookupError(f"the model {name} that cell {record.key} shares with cell {owner} is not logged yet")
    store.client.log_outputs(run_id, models=[LoggedModelOutput(model, step=0)])


class Flusher:
    """A background thread that sends the records of a pack now and then, and after them the pack's checkpoint; failures
    are kept for the next round.

    seconds: the processor time that sending has taken so far, on that thread and in `drain`.
    """

    def __init__(self, store: Store, every: float = 15.0):
        self.store, self.every, self.seconds = store, every, 0.0
        self._records: list[Record] = []
        self._checkpoint: Checkpoint | None = None
        self._wake, self._lock = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._loop, daemon=True, name="infoscope-flush")
        self._thread.start()

    def follow(self, records: list[Record], checkpoint: Checkpoint | None = None) -> None:
        """From now on these, and no longer those of a pack before, which may have been stopped without a `drain`."""
        with self._lock:
            self._records, self._checkpoint = records, checkpoint
        self._wake.set()  # so that they are soon seen to be running

    def drain(self, patience: float) -> dict[str, str]:
        """Sends everything now and forgets the records; key -> run id of those that were sent within `patience`
        seconds. All are tried once at least, as long as the store answers.
        """
        sent, deadline = {}, time.monotonic() + patience
        with self._lock:
            waiting, self._records, self._checkpoint = self._records, [], None
        while waiting:
            sent |= self._send(waiting, deadline)
            waiting = [record for record in waiting if record.key not in sent]
            if time.monotonic() > deadline:
                break
            if waiting:
                time.sleep(1.0)
        return sent

    def _loop(self) -> None:
        while True:
            if self._wake.wait(self.every):
                time.sleep(PAUSE_SECONDS)
            self._wake.clear()
            with self._lock:
                records, checkpoint = self._records, self._checkpoint
            try:
                self._round(records, checkpoint)
            except Exception as error:  # a full disk, a server that is down: a later round tries again
                log.warning("no copy of the checkpoint in the store yet (%s)", first_line(error))

    def _round(self, records: list[Record], checkpoint: Checkpoint | None) -> None:
        if checkpoint is None:
            self._send(records)
            return
        with checkpoint.due() as copy:
            sent = self._send(records)
            if copy and len(sent) == len(records):  # what was reported before it is in the store
                began = time.thread_time()
                checkpoint.put(copy, sent[checkpoint.record.key])
                with self._lock:
                    self.seconds += time.thread_time() - began

    def _send(self, records: list[Record], deadline: float = math.inf) -> dict[str, str]:
        """Key -> run id of those that were sent. After the deadline (s, monotonic) the first failure ends it."""
        sent, began = {}, time.thread_time()
        for record in records:
            try:
                if record.exists():
                    sent[record.key] = send(record, self.store)
            except Exception as error:  # the store may be down for a while; the record keeps everything
                log.warning("not sent yet: cell %s (%s)", record.key, first_line(error))
                if time.monotonic() > deadline and isinstance(error, MlflowException):
                    break
        with self._lock:
            self.seconds += time.thread_time() - began
        return sent
