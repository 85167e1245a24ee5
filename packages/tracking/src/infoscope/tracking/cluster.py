"""Where trials run: a local Ray, or the cluster of RAY_ADDRESS."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infoscope.tracking.store import tracking_uri

DATA = "INFOSCOPE_DATA"
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",  # a trial may fail before it has a metric; `work` checks the others
    "TUNE_RESULT_BUFFER_LENGTH": "0",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


@contextlib.contextmanager
def running() -> Iterator[None]:
    """A local Ray, or the cluster of RAY_ADDRESS with the working tree sent along."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if os.environ.get(DATA):
        os.environ[DATA] = str(Path(os.environ[DATA]).expanduser().resolve())  # workers may be in another folder
    import ray

    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if os.environ.get("RAY_ADDRESS"):
        ray.init(runtime_env=_cluster_environment(), **quiet)
    else:
        path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
        # inherited by the workers: a runtime environment would say the same, and cost seconds to set up
        with _environment({"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}):
            ray.init(
                address="local",  # not a cluster that happens to run on this machine
                num_cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
                include_dashboard=False,
                object_store_memory=200 * 2**20,
                **quiet,
            )
    try:
        yield
    finally:
        ray.shutdown()


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables, set for a while and put back as they were."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _cluster_environment() -> dict[str, Any]:
    root = "${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}"
    folders = [root, *(f"{root}/{path.relative_to(Path.cwd())}" for path in sorted(Path.cwd().glob("packages/*/src")))]
    names = (DATA, "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")
    variables = {name: os.environ[name] for name in names if name in os.environ}
    return {
        "working_dir": str(Path.cwd()),
        "excludes": ["/runs/", "/.venv/", "/.git/"],
        # a trial that reads the runs or models of another sweep asks the same store
        "env_vars": variables
        | {"MLFLOW_TRACKING_URI": tracking_uri(), "PYTHONPATH": ":".join(folders), "OMP_NUM_THREADS": "1"},
    }


def nodes() -> int:
    """How many machines the running Ray has."""
    import ray

    return sum(node["Alive"] for node in ray.nodes())


def resources() -> tuple[int, int]:
    """The processor cores and the GPUs of the running Ray."""
    import ray

    total = ray.cluster_resources()
    return int(total.get("CPU", 0)), int(total.get("GPU", 0))


@contextlib.contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """SIGTERM, which schedulers send before they kill, ends a sweep as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
