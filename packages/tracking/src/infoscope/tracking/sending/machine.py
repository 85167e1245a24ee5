"""The load of a worker's machine and process, under MLflow's names of system metrics; GPUs need nvidia-ml-py."""

from __future__ import annotations

import contextlib

import psutil
from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor

from infoscope.tracking.record import SYSTEM


class Machine:
    """Made once a process: processor time is told as of the last sample."""

    def __init__(self) -> None:
        self._worker, self._monitors = psutil.Process(), [CPUMonitor()]
        with contextlib.suppress(Exception):  # no library, no driver, no GPU: MLflow raises for each another way
            self._monitors.append(GPUMonitor())
        self.sample()

    def sample(self) -> dict[str, float]:
        """By name percentages, megabytes and watts, now."""
        found = {
            "worker_cpu_utilization_percentage": self._worker.cpu_percent(),
            "worker_memory_usage_megabytes": round(self._worker.memory_info().rss / 1e6, 1),
        }
        for monitor in self._monitors:
            monitor.collect_metrics()
            found |= monitor.aggregate_metrics()
            monitor.clear_metrics()
        return {SYSTEM + name: value for name, value in found.items()}
