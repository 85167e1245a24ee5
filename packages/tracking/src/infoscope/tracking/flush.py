"""Carries local records to MLflow: in batches, idempotently, from where the last attempt got to.

A metric's time stamp is the run's start plus its step, so that sending an entry again changes nothing. What has been
sent is noted after it was accepted: a crash in between repeats a batch, and at worst a model, of which the newest
counts.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mlflow.entities import Metric, Param, RunTag

from infoscope.tracking import models
from infoscope.tracking.record import COMPLETE, FAILED, STOPPED, Record, storable
from infoscope.tracking.store import CELL, ERROR, KEY, OUTCOME, Store, first_line
from infoscope.tracking.sweep import text

log = logging.getLogger(__name__)

STATUS = {COMPLETE: "FINISHED", STOPPED: "FINISHED", FAILED: "FAILED"}


def send(record: Record, store: Store) -> str:
    """Sends everything new in a record to its run, which is created when the cell has none; returns the run's id.

    Raises MLflow's exceptions when the store does not answer, LookupError when a model that the cell shares is not
    there yet; nothing is lost then, a later call goes on.
    """
    with record.lock():
        sent = _Sent.read(record, store)
        batch: list[Metric] = []
        for entry, offset in record.entries(sent.offset):
            if "cell" in entry:
                sent.open_run(entry, store)
            elif "metrics" in entry:
                at, step = sent.start + entry["step"], entry["step"]
                batch += [Metric(name, storable(value), at, step) for name, value in entry["metrics"].items()]
            elif "model" in entry:
                _send_metrics(batch, sent.run_id, store)
                _send_model(record, entry, sent.run_id, store)
                sent.write(record, offset)  # a model that is sent again would be another one
            elif "outcome" in entry:
                _send_ending(record, entry, sent.run_id, store)
            sent.offset = offset
        _send_metrics(batch, sent.run_id, store)
        sent.write(record, sent.offset)
        return sent.run_id


def _send_metrics(batch: list[Metric], run_id: str, store: Store) -> None:
    if batch:
        store.client.log_batch(run_id, metrics=batch)
        batch.clear()


def _send_ending(record: Record, entry: Mapping[str, Any], run_id: str, store: Store) -> None:
    if any(record.files.iterdir()):
        store.client.log_artifacts(run_id, str(record.files))
    tags = {OUTCOME: entry["outcome"]} | ({ERROR: entry["error"][:4000]} if entry["error"] else {})
    store.client.log_batch(run_id, tags=[RunTag(*tag) for tag in tags.items()])


def close(record: Record, store: Store, otherwise: str) -> None:
    """Sends the rest of a record, ends its run with the status of its outcome (`otherwise` if it has none), removes
    the record.
    """
    run_id = send(record, store)
    ending = record.ending()
    status = STATUS[ending["outcome"]] if ending else otherwise
    store.client.set_terminated(run_id, status, ending and ending["time"])
    record.remove()


def close_all(records: Iterable[Record], store: Store, otherwise: str) -> list[tuple[Record, Exception]]:
    """Closes records in whatever order works (a cell that shares a model waits for the cell that owns it); returns
    those that could not be closed, which stay as they are.
    """
    left = [(record, None) for record in records]
    while True:
        failed = []
        for record, _ in left:
            try:
                close(record, store, otherwise)
            except Exception as error:  # one bad record, or a store that is down, must not keep the others
                failed.append((record, error))
        if not failed or len(failed) == len(left):
            return failed
        left = failed


class _Sent:
    """How far a record has been carried: to which store, byte offset, run, and the run's start (ms), on which time
    stamps are based.
    """

    def __init__(self, store: str, offset: int = 0, run_id: str = "", start: int = 0):
        self.store, self.offset, self.run_id, self.start = store, offset, run_id, start

    @classmethod
    def read(cls, record: Record, store: Store) -> _Sent:
        """What was sent to this store; nothing when it was another one, or when it has lost the run since."""
        path, name = record.folder / "sent.json", f"{store.uri} {store.experiment_id}"
        if path.exists():
            sent = cls(**json.loads(path.read_text()))
            if sent.store == name and store.run(sent.run_id):
                return sent
        return cls(name)

    def write(self, record: Record, offset: int) -> None:
        temporary = record.folder / "sent.tmp"
        temporary.write_text(json.dumps(vars(self) | {"offset": offset}))
        temporary.replace(record.folder / "sent.json")

    def open_run(self, entry: Mapping[str, Any], store: Store) -> None:
        """Finds or creates the run of an attempt's header."""
        cell, tags = entry["cell"], entry["tags"]
        known = store.run(self.run_id or entry["run_id"]) or store.run_of(tags[KEY])
        if known is None:
            known = store.client.create_run(store.experiment_id, start_time=entry["time"], tags=tags)
            params = [Param(name, text(value)) for name, value in cell.items()]
            store.client.log_batch(known.info.run_id, params=params)
        else:
            store.client.update_run(known.info.run_id, status="RUNNING")
            if ERROR in known.data.tags:
                store.client.delete_tag(known.info.run_id, ERROR)
            store.client.log_batch(known.info.run_id, tags=[RunTag(*tag) for tag in tags.items()])
        self.run_id, self.start = known.info.run_id, known.info.start_time


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
    """A background thread that sends a set of records now and then; failures are kept for the next round.

    seconds: the processor time that sending has taken so far, on that thread and in `drain`.
    """

    def __init__(self, store: Store, every: float = 15.0):
        self.store, self.every, self.seconds = store, every, 0.0
        self._records: dict[Path, Record] = {}
        self._wake, self._lock = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._loop, daemon=True, name="infoscope-flush")
        self._thread.start()

    def add(self, records: list[Record]) -> None:
        with self._lock:
            self._records.update({record.folder: record for record in records})
        self._wake.set()  # so that they are seen to be running at once

    def drain(self, patience: float) -> dict[str, str]:
        """Sends everything now and forgets the records; key -> run id of those that were sent within `patience`
        seconds.
        """
        sent, deadline = {}, time.monotonic() + patience
        with self._lock:
            waiting, self._records = list(self._records.values()), {}
        while waiting:
            sent |= self._send(waiting)
            waiting = [record for record in waiting if record.key not in sent]
            if time.monotonic() > deadline:
                break
            if waiting:
                time.sleep(1.0)
        return sent

    def _loop(self) -> None:
        while True:
            self._wake.wait(self.every)
            self._wake.clear()
            with self._lock:
                records = list(self._records.values())
            self._send(records)

    def _send(self, records: list[Record]) -> dict[str, str]:
        sent, began = {}, time.thread_time()
        for record in records:
            try:
                if record.exists():
                    sent[record.key] = send(record, self.store)
            except Exception as error:  # the store may be down for a while; the record keeps everything
                log.warning("not sent yet: cell %s (%s)", record.key, first_line(error))
        with self._lock:
            self.seconds += time.thread_time() - began
        return sent
