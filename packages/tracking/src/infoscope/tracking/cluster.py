"""Starts a local Ray, or connects to the cluster of RAY_ADDRESS."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from infoscope.errors import InvalidInput, Unavailable, UnknownName
from infoscope.tracking.checks import first_line
from infoscope.tracking.environment import variables
from infoscope.tracking.store import tracking_uri

_DATA = "INFOSCOPE_DATA"
_CODE = "INFOSCOPE_CODE"
_UPLOAD = "upload"  # the working folder is sent to the nodes
_IMAGE = "image"  # the working folder is in the image of the nodes
# variables: settings, logins, certificates, timeouts
_FORWARDED = ("INFOSCOPE_", "MLFLOW_TRACKING_", "MLFLOW_HTTP_")
_NOT_SENT = [
    "/runs/",
    "/.venv/",
    "/.git/",
    "/tests/",
    "/docs/",
    "__pycache__/",
    "*.egg-info/",
    ".*_cache/",
    ".env",
]
_CONNECT_SECONDS = 10.0
# characters of the folder for temporary files: the path of a socket has at most 107
_MAX_FOLDER = 30
STARTS = 6  # attempts to start a local Ray; each takes a minute to fail
_TIMEOUTS = (
    "timed out",
    "timeout",
    "failed to connect",
    "failed to start",
    "overloaded",
    "unavailable",
)
_MACHINE_SECONDS = 900.0  # for which a cloud may take to provide a machine
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "60",  # of a local Ray; its default is half as long
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    # a trial may fail before its first metric
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_RESULT_BUFFER_LENGTH": "0",
    # snapshots of trials are not used: the results are in MLflow
    "TUNE_GLOBAL_CHECKPOINT_S": "1e9",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


class RayNotStarted(Unavailable):
    """Ray cannot be started on this machine."""


def use_token() -> None:
    """Makes Ray require a token: the given one, or a random one for a local Ray, which
    listens to all networks.

    Ray reads the token when it is imported, so this has no effect afterwards.
    """
    if "ray" in sys.modules:
        return
    has_token = bool(
        os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")
    )
    is_local = not os.environ.get("RAY_ADDRESS")
    if is_local and not has_token and "RAY_AUTH_MODE" not in os.environ:
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        has_token = True
    if has_token:
        os.environ.setdefault("RAY_AUTH_MODE", "token")


@contextlib.contextmanager
def running() -> Iterator[None]:
    """While inside, a local Ray runs, or the cluster of RAY_ADDRESS is connected and
    has the working folder.

    Raises ValueError for an unusable cluster or INFOSCOPE_CODE, RayNotStarted when no
    local Ray can be started.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    if os.environ.get(_DATA):
        # workers may be in another folder
        os.environ[_DATA] = str(Path(os.environ[_DATA]).expanduser().resolve())
    with contextlib.ExitStack() as stack:
        address = os.environ.get("RAY_ADDRESS")
        if address:
            _connect(address)
        else:
            _begin_local(stack.enter_context(_private_folder()))
        import ray

        stack.callback(ray.shutdown)
        yield


@contextlib.contextmanager
def _private_folder() -> Iterator[Path]:
    """A new folder for Ray's sockets and logs, closed to other users; removed
    afterwards.

    Ray opens its own folders to all users of the machine, who could send it tasks
    through its sockets.
    """
    base = tempfile.gettempdir()
    if len(base) > _MAX_FOLDER:
        base = "/tmp"
    with tempfile.TemporaryDirectory(
        prefix="infoscope-", dir=base, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder) / "ray"


def _begin_local(folder: Path) -> None:
    """Starts Ray on this machine; tries again if it does not start in time. Raises
    RayNotStarted.
    """
    for attempt in range(1, STARTS + 1):
        before = _children()
        try:
            return _init_local(folder)
        except (KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:  # Ray raises Exception itself
            _end_since(before)
            if not any(word in str(error).lower() for word in _TIMEOUTS):
                raise RayNotStarted(
                    f"Ray cannot be started on this machine: {first_line(error)}"
                ) from error
            if attempt == STARTS:
                raise RayNotStarted(
                    f"Ray did not start on this machine in {STARTS} attempts "
                    f"({first_line(error)}); the machine is too "
                    "busy or has too little memory: end other programs, or set "
                    "RAY_ADDRESS, and run the command again"
                ) from error
            print(
                f"Ray did not start in time; attempt {attempt + 1} of {STARTS}",
                file=sys.stderr,
            )


def _children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


def _end_since(before: set[psutil.Process]) -> None:
    import ray

    with contextlib.suppress(Exception):  # it may not have started
        ray.shutdown()
    left = _children() - before
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=30)


def _init_local(folder: Path) -> None:
    import ray

    python = shlex.quote(sys.executable)
    environment = None
    if python != sys.executable:
        # Ray starts workers by an unquoted shell command; the environment that quotes
        # it takes seconds to set up
        environment = {"py_executable": python}
    cores = os.cpu_count()
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    path = os.pathsep.join(
        filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")])
    )
    # inherited by the workers
    with variables({"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}):
        ray.init(
            address="local",  # not another cluster on this machine
            runtime_env=environment,
            _temp_dir=str(folder),
            num_cpus=cores,
            include_dashboard=False,
            object_store_memory=200 * 2**20,
            logging_level="ERROR",
            log_to_driver=False,
        )


def _connect(address: str) -> None:
    if "://" in address:
        raise InvalidInput(
            "RAY_ADDRESS must be auto or HOST:PORT on a machine of the cluster, got "
            f"{address}; from elsewhere, use "
            "`ray job submit` (docs/clusters.md)"
        )
    environment = _cluster_environment()
    if address != "auto":
        _check_listens(address)
    # for a Ray job, which has its own working folder
    os.environ.setdefault("RAY_OVERRIDE_JOB_RUNTIME_ENV", "1")
    import ray
    import ray.exceptions

    try:
        ray.init(
            address=address,
            runtime_env=environment,
            logging_level="ERROR",
            log_to_driver=False,
        )
    except (
        ConnectionError,
        RuntimeError,
        ValueError,
        ray.exceptions.RayError,
    ) as error:
        reason = first_line(error)
        if "auth" in str(error).lower():
            reason += " (does RAY_AUTH_TOKEN_PATH contain the cluster's token?)"
        raise ValueError(
            f"the Ray cluster of RAY_ADDRESS={address} cannot be used: {reason}"
        ) from error


def _check_listens(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UnknownName(
            "RAY_ADDRESS must be auto or HOST:PORT, such as 10.0.0.1:6379, got "
            f"{address!r}"
        )
    place = (host.strip("[]"), int(port))
    try:
        socket.create_connection(place, timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        raise ValueError(
            f"there is no Ray cluster at RAY_ADDRESS={address} ({first_line(error)})"
        ) from error


def _cluster_environment() -> dict[str, Any]:
    """The environment of the workers of a cluster, as Ray describes it."""
    values = {"OMP_NUM_THREADS": "1"}
    environment: dict[str, Any] = {
        "worker_process_setup_hook": _settings(),
        "env_vars": values,
    }
    code = os.environ.get(_CODE) or _UPLOAD
    if code not in (_UPLOAD, _IMAGE):
        raise InvalidInput(f"{_CODE} must be {_UPLOAD} or {_IMAGE}, got {code!r}")
    if code == _IMAGE:
        return environment
    here = Path.cwd()
    root = "${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}"
    folders = [root]
    for path in sorted(here.glob("packages/*/src")):
        folders.append(f"{root}/{path.relative_to(here)}")
    values["PYTHONPATH"] = ":".join(folders)
    excluded = list(_NOT_SENT)
    data = Path(os.environ.get(_DATA) or "/").resolve()
    if here in data.parents:
        excluded.append(f"/{data.relative_to(here)}/")
    return environment | {"working_dir": str(here), "excludes": excluded}


def _settings() -> Callable[[], None]:
    """The set-up of a worker, a closure: Ray shows and logs `env_vars`, and some of
    these are passwords.
    """
    values = {
        name: value for name, value in os.environ.items() if name.startswith(_FORWARDED)
    }
    store = tracking_uri()

    def take_over() -> None:
        import os

        os.environ["MLFLOW_TRACKING_URI"] = store
        for name, value in values.items():
            os.environ.setdefault(name, value)

    return take_over


def nodes() -> int:
    """The number of machines of the running Ray."""
    import ray

    return sum(node["Alive"] for node in ray.nodes())


def resources(cpus: float, gpus: float | None = None) -> tuple[int, int]:
    """The numbers of processor cores and GPUs of the running Ray, once it has a machine
    large enough for a trial.

    cpus, gpus: of one trial (gpus None: at most one). Waits some minutes for a cluster
    to grow, then raises ValueError.
    """
    import ray

    _await_machine({"CPU": cpus})
    if gpus and ray.cluster_resources().get("GPU"):
        _await_machine({"CPU": cpus, "GPU": gpus})
    total = ray.cluster_resources()
    return int(total.get("CPU", 0)), int(total.get("GPU", 0))


def _await_machine(needed: Mapping[str, float]) -> None:
    import ray

    if _has_machine(needed):
        return
    amounts = []
    for name, amount in needed.items():
        plural = "s" if amount != 1 else ""
        amounts.append(f"{amount:g} {name}{plural}")
    text = " and ".join(amounts)
    if os.environ.get("RAY_ADDRESS"):
        print(f"waiting for a machine of the cluster with {text}", file=sys.stderr)
        # a queued task makes an autoscaler start a machine
        task = ray.remote(
            num_cpus=needed["CPU"], num_gpus=needed.get("GPU", 0), max_retries=0
        )(lambda: None)
        queued = task.remote()
        deadline = time.monotonic() + _MACHINE_SECONDS
        while not _has_machine(needed) and time.monotonic() < deadline:
            time.sleep(1.0)
        ray.cancel(queued, force=True)
    if not _has_machine(needed):
        largest = max(
            node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]
        )
        raise ValueError(
            f"a trial needs {text} on one machine, but the largest machine has "
            f"{largest:g} CPUs"
        )


def _has_machine(needed: Mapping[str, float]) -> bool:
    import ray

    for node in ray.nodes():
        resources = node["Resources"]
        if node["Alive"] and all(
            resources.get(name, 0) >= amount for name, amount in needed.items()
        ):
            return True
    return False


def lookahead(cpus: int) -> int:
    """The number of trials that wait in Ray: on a cluster enough to fill and grow it,
    on one machine few.
    """
    if os.environ.get("RAY_ADDRESS"):
        return max(200, cpus)
    return cpus


@contextlib.contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """While inside, SIGTERM, which schedulers send before they kill, ends a sweep as
    Ctrl-C does.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        # as in a background job of a shell
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        os.kill(os.getpid(), signal.SIGINT)

    earlier = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)
