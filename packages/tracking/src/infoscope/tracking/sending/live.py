"""Running cells as they are seen in MLflow: a thread that sends what is reported, the machine's load, and copies of
checkpoints, as well as the store lets it. Nothing depends on it: `publish` sends the whole record.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence

from mlflow.entities import Metric, RunTag

from infoscope.tracking.record import Record, milliseconds, storable
from infoscope.tracking.sending.checkpoint import Checkpoint
from infoscope.tracking.sending.machine import Machine
from infoscope.tracking.sending.publish import Points, opened, parameters
from infoscope.tracking.store.store import Store, first_line

log = logging.getLogger(__name__)

RARER = 0.02  # of the time so far, that is to pass between two samples of the machine
PAUSE_SECONDS = 0.5  # before a pack's first round: one that ends sooner is published at once


class Seen:
    """How much of a record has been sent."""

    def __init__(self, record: Record):
        self.record, self.offset, self.run_id = record, 0, ""
        self.points = Points(0)

    def send(self, store: Store, load: Sequence[tuple[str, float]]) -> str:
        """Sends what is new, and the machine's load now; returns the id of the run."""
        params = []
        if not self.run_id:
            self.run_id, start = opened(self.record, store)
            self.points, params = Points(start), parameters(self.record.header()["cell"])
        told, now = list(self.record.entries(self.offset)), milliseconds()
        batch = [point for entry, _ in told for point in self.points.of(entry)]
        batch += [Metric(name, storable(value), now, (now - self.points.start) // 1000) for name, value in load]
        tags = [RunTag(*tag) for entry, _ in told for tag in entry.get("tags", {}).items()]
        try:
            if batch or params or tags:
                store.client.log_batch(self.run_id, batch, params, tags)
        except Exception:  # an unknown part has arrived: the next round sends everything again
            self.run_id, self.offset = "", 0
            raise
        self.offset = told[-1][1] if told else self.offset
        return self.run_id


class Live:
    """One a process; follows the records of a pack. seconds: processor time spent sending."""

    def __init__(self, store: Store, every: float = 15.0):
        self.store, self.every, self.seconds, self._machine = store, every, 0.0, Machine()
        self._began, self._sampled = 0.0, -math.inf
        self._seen: list[Seen] = []
        self._checkpoint: Checkpoint | None = None
        self._begun: Callable[[], bool] = lambda: False
        self._wake, self._lock = threading.Event(), threading.Lock()
        threading.Thread(target=self._loop, daemon=True, name="infoscope-live").start()

    def follow(self, records: Sequence[Record], checkpoint: Checkpoint | None, begun: Callable[[], bool]) -> None:
        """Replaces what is followed. begun: whether it is settled from what the attempt goes on."""
        with self._lock:
            self._seen, self._checkpoint, self._begun = [Seen(record) for record in records], checkpoint, begun
            self._began, self._sampled = time.monotonic(), -math.inf
        self._wake.set()  # so that they are soon seen to be running

    def stop(self) -> None:
        """Follows nothing any more; returns when nothing is on its way."""
        with self._lock:
            self._seen, self._checkpoint = [], None

    def _loop(self) -> None:
        while True:
            if self._wake.wait(self.every):
                self._wake.clear()
                time.sleep(PAUSE_SECONDS)
            self.round()

    def round(self) -> None:
        """Sends what is new."""
        with self._lock:
            began = time.thread_time()
            try:
                if self._seen and self._begun():
                    self._send()
            except Exception as error:  # a full disk, a server that is down: the record keeps everything
                log.warning("a running cell is not shown in MLflow (%s)", first_line(error))
            self.seconds += time.thread_time() - began

    def _send(self) -> None:
        now, load = time.monotonic(), {}
        if now - self._sampled >= RARER * (now - self._began):
            self._sampled, load = now, self._machine.sample()
        sent = [seen.send(self.store, list(load.items())) for seen in self._seen]
        if self._checkpoint is not None:
            self._checkpoint.copy(sent[0])
