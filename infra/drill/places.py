"""The places of a drill's sweeps and records: an MLflow server, a two-node cluster, a file system of a fixed size."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import psutil

from infra.drill.processes import Processes

FAR_NODE = "infoscope-far-node"  # the host name of a node that shares no disk
DISK_BYTES = 8 * 2**20
STARTS = 8  # of a node, for which Ray itself waits for half a minute
START_SECONDS = 300.0  # of a server or a node, also where many others want the machine


class DrillError(RuntimeError):
    """The drill itself could not go on; nothing is known of what it was to try."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_until(
    met: Callable[[], object], what: str, seconds: float, process: psutil.Popen | None = None, log: Path | None = None
) -> None:
    """Returns when `met()` is true. Raises DrillError after so many seconds, or when the process has ended before."""
    deadline = time.monotonic() + seconds
    while not met():
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > deadline:
            told = f":\n{log.read_text(errors='replace')[-800:]}" if log and log.exists() else ""
            raise DrillError(f"{what}: {'the process ended' if ended else f'not within {seconds:.0f} s'}{told}")
        time.sleep(0.1)


@cache
def separation() -> tuple[str, ...] | None:
    """The command that gives a process its own mounts and host name; None where this is not allowed."""
    with tempfile.TemporaryDirectory() as folder:
        for prefix in (("unshare", "--mount", "--uts"), ("unshare", "--user", "--map-root-user", "--mount", "--uts")):
            attempt = [*prefix, "mount", "-t", "tmpfs", "none", folder]
            try:
                if subprocess.run(attempt, capture_output=True, timeout=60).returncode == 0:
                    return prefix
            except (OSError, subprocess.TimeoutExpired):
                pass
    return None


class Server:
    """An MLflow tracking server on the loopback address, with an SQLite store and its artifacts in a folder."""

    def __init__(self, processes: Processes, folder: Path, environment: Mapping[str, str]):
        self._processes, self._folder, self._environment = processes, folder, environment
        self.log = folder / "server.log"
        self.port = free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        folder.mkdir(parents=True)
        self.launch()

    def launch(self) -> None:
        """Starts it; see `wait`."""
        store, artifacts = f"sqlite:///{self._folder / 'mlflow.db'}", self._folder / "artifacts"
        options = ["--backend-store-uri", store, "--artifacts-destination", artifacts.as_uri(), "--workers", "1"]
        options += ["--host", "127.0.0.1", "--port", str(self.port)]
        environment = {**self._environment, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        command = [sys.executable, "-m", "mlflow", "server", *options]
        self.process = self._processes.start(command, self._folder, environment, self.log)

    def wait(self) -> None:
        wait_until(self._answers, "the MLflow server does not answer", START_SECONDS, self.process, self.log)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.uri}/health", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def kill(self) -> None:
        """kill -9 for the server and the processes that answer for it."""
        self._processes.end(self.process.pid)


class Nodes:
    """A Ray cluster on this machine, a core a node. own_disk: the second node has its own file system and host name."""

    def __init__(
        self,
        processes: Processes,
        folder: Path,
        environment: Mapping[str, str],
        own_disk: Path | None = None,
        count: int = 2,
    ):
        self._processes, self._folder, self._environment = processes, folder, environment
        port = free_port()
        self.head = self._start("head", ["--head", "--port", str(port), "--include-dashboard", "false"], [])
        self.address = f"127.0.0.1:{port}"
        prefix: list[str] = []
        if own_disk is not None:
            own_disk.mkdir(parents=True)
            name = f"import socket; socket.sethostname('{FAR_NODE}')"
            script = 'mount -t tmpfs none "$1" && "$2" -c "$3" && shift 3 && exec "$@"'
            prefix = [*separation(), "sh", "-c", script, "sh", str(own_disk), sys.executable, name]
        join = ["--address", self.address]
        self.second = self._start("second", join, prefix) if count > 1 else None
        for number in range(3, count + 1):
            self._start(f"node-{number}", join, [])

    def _start(self, name: str, options: list[str], prefix: list[str]) -> psutil.Popen:
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", *options, "--num-cpus", "1", "--block"]
        ray += ["--min-worker-port", "0", "--max-worker-port", "0", "--dashboard-agent-listen-port", "0"]
        ray += ["--object-store-memory", str(200 * 2**20), "--disable-usage-stats"]
        for attempt in range(1, STARTS + 1):
            log = self._folder / f"{name}-{attempt}.log"
            process = self._processes.start([*prefix, *ray], self._folder, self._environment, log)
            try:
                wait_until(
                    lambda log=log: log.exists() and "Ray runtime started" in log.read_text(errors="replace"),
                    *(f"the {name} node", START_SECONDS, process, log),
                )
                return process
            except DrillError as error:  # Ray itself gives up after half a minute
                self._processes.end(process.pid)
                if attempt == STARTS or "timed out" not in str(error):
                    raise

    def raylet(self) -> psutil.Process:
        """The raylet of the second node. Raises DrillError when there is none."""
        for process in self._processes.members(self.second.pid):
            if process.name() == "raylet":
                return process
        raise DrillError("the second node has no raylet")


class SmallDisk:
    """A file system of a fixed size, mounted on a folder for the processes that are started with `prefix`."""

    def __init__(self, processes: Processes, folder: Path, environment: Mapping[str, str], log: Path):
        self._processes = processes
        folder.mkdir(parents=True)
        script = 'mount -t tmpfs -o size="$1" none "$2" && echo mounted && exec sleep 86400'
        command = [*separation(), "sh", "-c", script, "sh", str(DISK_BYTES), str(folder)]
        self._holder = processes.start(command, folder, environment, log)
        wait_until(
            lambda: log.exists() and "mounted" in log.read_text(), "the small disk", START_SECONDS, self._holder, log
        )
        self._ballast = Path(f"/proc/{self._holder.pid}/root{folder.resolve()}") / "ballast"

    def prefix(self, folder: Path) -> list[str]:
        """Makes a command run in `folder` with this disk mounted."""
        own = ["--user", "--preserve-credentials"] if "--user" in separation() else []
        enter = ["nsenter", "--target", str(self._holder.pid), "--mount", *own]
        return [*enter, "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(folder)]

    def fill(self) -> None:
        """Leaves not a page of it free."""
        try:
            with open(self._ballast, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(2**16))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)
