"""Shows running cells in MLflow: a thread sends new metrics, the load of the machine, and copies of checkpoints.

This is best effort: `publish` sends the complete record at the end.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence

import psutil
from mlflow.entities import Metric, RunTag
from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor

from infoscope.tracking.record import SYSTEM, Record, milliseconds, storable
from infoscope.tracking.sending.checkpoint import Checkpoint
from infoscope.tracking.sending.publish import Points, open_run, parameters
from infoscope.tracking.store.store import Store, first_line

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 15.0  # between two rounds
PAUSE_SECONDS = 0.5  # before a pack's first round: a shorter pack is published at once
SAMPLING_SHARE = 0.02  # of the time so far, that passes between two samples of the machine's load


class MachineLoad:
    """The load of this machine and process under MLflow's names of system metrics; GPUs need nvidia-ml-py."""

    def __init__(self) -> None:
        self._worker, self._monitors = psutil.Process(), [CPUMonitor()]
        with contextlib.suppress(Exception):  # MLflow raises various exceptions without a library, driver or GPU
            self._monitors.append(GPUMonitor())
        self.sample()

    def sample(self) -> dict[str, float]:
        """Percentages, megabytes and watts by name; processor time since the last sample."""
        found = {
            "worker_cpu_utilization_percentage": self._worker.cpu_percent(),
            "worker_memory_usage_megabytes": round(self._worker.memory_info().rss / 1e6, 1),
        }
        for monitor in self._monitors:
            monitor.collect_metrics()
            found |= monitor.aggregate_metrics()
            monitor.clear_metrics()
        return {SYSTEM + name: value for name, value in found.items()}


class PartlySent:
    """A record of which a part has been sent."""

    def __init__(self, record: Record):
        self.record, self.offset, self.run_id = record, 0, ""
        self.points = Points(0)

    def send(self, store: Store, load: Sequence[tuple[str, float]]) -> str:
        """Sends what is new, and the present load of the machine; returns the id of the run."""
        params = []
        if not self.run_id:
            self.run_id, start = open_run(self.record, store)
            self.points, params = Points(start), parameters(self.record.header()["cell"])
        new, now = list(self.record.entries(self.offset)), milliseconds()
        batch = [point for entry, _ in new for point in self.points.of(entry)]
        batch += [Metric(name, storable(value), now, (now - self.points.start) // 1000) for name, value in load]
        tags = [RunTag(*tag) for entry, _ in new for tag in entry.get("tags", {}).items()]
        try:
            if batch or params or tags:
                store.client.log_batch(self.run_id, batch, params, tags)
        except Exception:  # an unknown part has arrived: the next round sends everything again
            self.run_id, self.offset = "", 0
            raise
        self.offset = new[-1][1] if new else self.offset
        return self.run_id


class LiveUpdates:
    """Follows the records of a pack; one per process."""

    def __init__(self, store: Store, every: float = INTERVAL_SECONDS):
        self.store, self.every, self._load = store, every, MachineLoad()
        self._began, self._sampled = 0.0, -math.inf
        self._followed: list[PartlySent] = []
        self._checkpoint: Checkpoint | None = None
        self._is_settled: Callable[[], bool] = lambda: False
        self._wake, self._lock = threading.Event(), threading.Lock()
        threading.Thread(target=self._loop, daemon=True, name="infoscope-live").start()

    def follow(self, records: Sequence[Record], checkpoint: Checkpoint | None, is_settled: Callable[[], bool]) -> None:
        """Replaces what is followed. is_settled: whether it is recorded where the attempt continues from."""
        with self._lock:
            self._followed, self._checkpoint = [PartlySent(record) for record in records], checkpoint
            self._is_settled, self._began, self._sampled = is_settled, time.monotonic(), -math.inf
        self._wake.set()  # so that the runs soon appear

    def stop(self) -> None:
        """Follows nothing any more; returns when nothing is being sent."""
        with self._lock:
            self._followed, self._checkpoint = [], None

    def _loop(self) -> None:
        while True:
            if self._wake.wait(self.every):
                self._wake.clear()
                time.sleep(PAUSE_SECONDS)
            self.round()

    def round(self) -> None:
        """Sends what is new."""
        with self._lock:
            try:
                if self._followed and self._is_settled():
                    self._send()
            except Exception as error:  # a full disk, a server that is down: the record keeps everything
                log.warning("a running cell is not updated in MLflow (%s)", first_line(error))

    def _send(self) -> None:
        now, load = time.monotonic(), {}
        if now - self._sampled >= SAMPLING_SHARE * (now - self._began):
            self._sampled, load = now, self._load.sample()
        run_ids = [record.send(self.store, list(load.items())) for record in self._followed]
        if self._checkpoint is not None:
            self._checkpoint.copy(run_ids[0])
