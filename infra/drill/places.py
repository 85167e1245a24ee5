"""Processes, ended by id, and their places: an MLflow server, a Ray cluster, a file system of a fixed size."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import psutil

DISK_BYTES = 8 * 2**20
START_SECONDS = 300.0  # of a server or a node, also where many others want the machine
ENDINGS = {signal.SIGINT, signal.SIGTERM}


class DrillError(RuntimeError):
    """The drill itself could not go on; nothing is known of what it was to try."""


class Processes:
    """The processes that a drill has started, each in a session of its own, with all that descend from it."""

    def __init__(self) -> None:
        self._sessions: set[int] = set()

    def start(self, command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path) -> psutil.Popen:
        """Runs a command in a folder, its output added to a file. SIGINT and SIGTERM wait until it is noted."""
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
        try:
            with open(log, "ab") as output:
                process = psutil.Popen(
                    list(command),
                    cwd=folder,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS),
                )
            self._sessions.add(process.pid)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
        return process

    def members(self, session: int) -> list[psutil.Process]:
        """The living processes of a session: of `start`'s process with this id and of all that descend from it."""
        return [process for process in psutil.process_iter() if _lives_in(session, process)]

    def end(self, session: int) -> None:
        """kill -9 for a session, until nobody is left in it. Raises TimeoutError when that takes two minutes."""
        deadline = time.monotonic() + 120
        while left := self.members(session):
            if time.monotonic() > deadline:
                raise TimeoutError(f"processes {[process.pid for process in left]} do not end")
            kill(*left)
            psutil.wait_procs(left, timeout=1)
        self._sessions.discard(session)

    def end_all(self, but: int | None = None) -> None:
        """kill -9 for everything that was started; but: a session that goes on."""
        for session in self._sessions - {but}:
            self.end(session)


def kill(*processes: psutil.Process) -> None:
    """kill -9 by id, which psutil makes sure is still the same process's. One that is gone is passed over."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def _lives_in(session: int, process: psutil.Process) -> bool:
    try:
        return os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, PermissionError, psutil.NoSuchProcess):
        return False


def wait_until(
    met: Callable[[], object], what: str, seconds: float, process: psutil.Popen | None = None, log: Path | None = None
) -> None:
    """Returns when `met()` is true. Raises DrillError after so many seconds, or when the process has ended before."""
    deadline = time.monotonic() + seconds
    while not met():
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > deadline:
            last = f":\n{log.read_text(errors='replace')[-800:]}" if log and log.exists() else ""
            raise DrillError(f"{what}: {'the process ended' if ended else f'not within {seconds:.0f} s'}{last}")
        time.sleep(0.1)


@cache
def separation() -> tuple[str, ...] | None:
    """The command that gives a process its own mounts and host name; None where this is not allowed."""
    with tempfile.TemporaryDirectory() as folder:
        for prefix in (("unshare", "--mount", "--uts"), ("unshare", "--user", "--map-root-user", "--mount", "--uts")):
            attempt = [*prefix, "mount", "-t", "tmpfs", "none", folder]
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                if subprocess.run(attempt, capture_output=True, timeout=60).returncode == 0:
                    return prefix
    return None


def apart(host: str, mount: str, *paths: Path) -> list[str]:
    """What a command begins with to run under another host name and after a shell command of the paths "$1", "$2"."""
    script = f'{mount} && "$0" -c "import socket; socket.sethostname(\'{host}\')" && shift {len(paths)} && exec "$@"'
    return [*separation(), "sh", "-c", script, sys.executable, *map(str, paths)]


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """An MLflow tracking server on the loopback address, with an SQLite store and its artifacts in a folder."""

    def __init__(self, processes: Processes, folder: Path, environment: Mapping[str, str]):
        self._processes, self._folder, self._environment = processes, folder, environment
        self.log, self.store, self.port = folder / "server.log", folder / "mlflow.db", _free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        folder.mkdir(parents=True)
        self.launch()

    def launch(self) -> None:
        """Starts it; see `wait`. The process is `process`."""
        store, artifacts = f"sqlite:///{self.store}", self._folder / "artifacts"
        options = ["--backend-store-uri", store, "--artifacts-destination", artifacts.as_uri(), "--workers", "1"]
        options += ["--host", "127.0.0.1", "--port", str(self.port)]
        environment = {**self._environment, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        command = [sys.executable, "-m", "mlflow", "server", *options]
        self.process = self._processes.start(command, self._folder, environment, self.log)

    def wait(self) -> None:
        """Returns when it answers."""
        wait_until(self._answers, "the MLflow server does not answer", START_SECONDS, self.process, self.log)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.uri}/health", timeout=5) as answer:
            return answer.status == 200
        return False

    def kill(self) -> None:
        """kill -9 for the server and the processes that answer for it."""
        self._processes.end(self.process.pid)


class Nodes:
    """A Ray cluster on this machine, a core a node. own_disk: the second node has its own file system and host name."""

    def __init__(
        self, processes: Processes, folder: Path, environment: Mapping[str, str], own_disk: Path | None = None, count=2
    ):
        self._processes, self._folder, self._environment = processes, folder, environment
        port = _free_port()
        self.address = f"127.0.0.1:{port}"
        self._start("node-1", ["--head", "--port", str(port), "--include-dashboard", "false"], [])
        prefix: list[str] = []
        if own_disk is not None:
            own_disk.mkdir(parents=True)
            prefix = apart("infoscope-far-node", 'mount -t tmpfs none "$1"', own_disk)
        joined = [
            self._start(f"node-{number}", ["--address", self.address], prefix if number == 2 else [])
            for number in range(2, count + 1)
        ]
        self.second = joined[0] if joined else None

    def _start(self, name: str, options: list[str], prefix: list[str], attempts: int = 8) -> psutil.Popen:
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", *options, "--num-cpus", "1", "--block"]
        ray += ["--min-worker-port", "0", "--max-worker-port", "0", "--dashboard-agent-listen-port", "0"]
        ray += ["--object-store-memory", str(200 * 2**20), "--disable-usage-stats"]
        log = self._folder / f"{name}-{attempts}.log"
        process = self._processes.start([*prefix, *ray], self._folder, self._environment, log)
        try:
            wait_until(
                lambda: "Ray runtime started" in log.read_text(errors="replace"), name, START_SECONDS, process, log
            )
        except DrillError as error:  # Ray itself gives up after half a minute
            self._processes.end(process.pid)
            if attempts == 1 or "timed out" not in str(error):
                raise
            return self._start(name, options, prefix, attempts - 1)
        return process

    def raylet(self) -> psutil.Process:
        """The raylet of the second node. Raises DrillError when there is none."""
        for process in self._processes.members(self.second.pid):
            if process.name() == "raylet":
                return process
        raise DrillError("the second node has no raylet")


class SmallDisk:
    """A file system of a fixed size, mounted on a folder for the processes that are started with `prefix`."""

    def __init__(self, processes: Processes, folder: Path, environment: Mapping[str, str], log: Path):
        folder.mkdir(parents=True)
        script = 'mount -t tmpfs -o size="$1" none "$2" && echo mounted && exec sleep 86400'
        command = [*separation(), "sh", "-c", script, "sh", str(DISK_BYTES), str(folder)]
        self._holder = processes.start(command, folder, environment, log)
        wait_until(lambda: "mounted" in log.read_text(), "the small disk", START_SECONDS, self._holder, log)
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
        """Makes room again."""
        self._ballast.unlink(missing_ok=True)
