"""Processes, ended by id, and their places: an MLflow server, a Ray cluster, mounts of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import psutil

START_SECONDS = 300.0  # of a server or a node, also where many others want the machine
ENDINGS = {signal.SIGINT, signal.SIGTERM}
DISK = ("-t", "tmpfs", "-o", "size=64m", "none")  # what `mount` is given for a small disk


class DrillError(RuntimeError):
    """The drill itself could not go on; nothing is known of what it was to try."""


class Processes:
    """The processes that a drill has started, each in a session of its own, with all that descend from it.

    environment: of all of them.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self._sessions: set[int] = set()

    def start(self, command: Sequence[str], folder: Path, log: Path, **more: str) -> psutil.Popen:
        """Runs a command in a folder, its output added to a file. SIGINT and SIGTERM wait until it is noted."""
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
        try:
            with open(log, "ab") as output:
                process = psutil.Popen(
                    list(command),
                    cwd=folder,
                    env={**self.environment, **more},
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

    def end_all(self, but: Iterable[int] = ()) -> None:
        """kill -9 for everything that was started; but: sessions that go on."""
        for session in self._sessions.difference(but):
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


class Container:
    """A mount on a folder and a host name, for the processes that are started with `prefix`."""

    def __init__(self, processes: Processes, host: str, log: Path, folder: Path, *mount: str):
        folder.mkdir(parents=True, exist_ok=True)
        script = f'mount "$@" && "$0" -c "import socket; socket.sethostname(\'{host}\')" && echo mounted && sleep 86400'
        command = [*separation(), "sh", "-c", script, sys.executable, *mount, str(folder)]
        holder = processes.start(command, folder.parent, log)
        wait_until(lambda: "mounted" in log.read_text(), "a mount", START_SECONDS, holder, log)
        self.session, self.inside = holder.pid, Path(f"/proc/{holder.pid}/root{folder.resolve()}")

    def prefix(self, folder: Path) -> list[str]:
        """Makes a command run in there, in `folder`."""
        own = ["--user", "--preserve-credentials"] if "--user" in separation() else []
        enter = ["nsenter", "--target", str(self.session), "--mount", "--uts", *own]
        return [*enter, "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(folder)]


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """An MLflow tracking server on the loopback address, with an SQLite store and its artifacts in a folder."""

    def __init__(self, processes: Processes, folder: Path):
        self._processes, self._folder = processes, folder
        self.log, self.store, self.port = folder / "server.log", folder / "mlflow.db", _free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        folder.mkdir(parents=True)
        self.launch()

    def launch(self) -> None:
        """Starts it; see `wait`. The process is `process`."""
        store, artifacts = f"sqlite:///{self.store}", self._folder / "artifacts"
        options = ["--backend-store-uri", store, "--artifacts-destination", artifacts.as_uri(), "--workers", "1"]
        options += ["--host", "127.0.0.1", "--port", str(self.port)]
        command = [sys.executable, "-m", "mlflow", "server", *options]
        more = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        self.process = self._processes.start(command, self._folder, self.log, **more)

    def wait(self) -> None:
        """Returns when it answers; starts it where it has ended."""
        if self.process.poll() is not None:
            self.launch()
        wait_until(self._answers, "the MLflow server does not answer", START_SECONDS, self.process, self.log)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.uri}/health", timeout=5) as answer:
            return answer.status == 200
        return False

    def end(self) -> None:
        """kill -9 for the server and the processes that answer for it."""
        self._processes.end(self.process.pid)


class Nodes:
    """A Ray cluster on this machine. count: of nodes; cpus: of each; first, second: where these run, if in a container;
    clocks: by number, variables of a node's processes.
    """

    def __init__(
        self,
        processes: Processes,
        folder: Path,
        count: int = 2,
        cpus: int = 1,
        containers: Sequence[Container | None] = (None, None),
        variables: Sequence[Mapping[str, str]] = ({}, {}),
    ):
        self._processes, self._folder, self._cpus = processes, folder, cpus
        self._containers, self._variables = dict(enumerate(containers, 1)), dict(enumerate(variables, 1))
        port = _free_port()
        self.address, self.started = f"127.0.0.1:{port}", dict[int, psutil.Popen]()
        self.start(1, ["--head", "--port", str(port), "--include-dashboard", "false"])
        for number in range(2, count + 1):
            self.start(number)

    def start(self, number: int, options: Sequence[str] = (), attempts: int = 8) -> None:
        """Starts a node, again where Ray gives up after half a minute; what is left of one of this number is ended."""
        if number in self.started:
            self._processes.end(self.started.pop(number).pid)
        container, log = self._containers.get(number), self._folder / f"node-{number}-{time.time_ns()}.log"
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--num-cpus", str(self._cpus), "--block"]
        ray += options or ["--address", self.address]
        ray += ["--min-worker-port", "0", "--max-worker-port", "0", "--dashboard-agent-listen-port", "0"]
        ray += ["--object-store-memory", str(200 * 2**20), "--disable-usage-stats"]
        prefix = container.prefix(self._folder) if container else []
        process = self._processes.start([*prefix, *ray], self._folder, log, **self._variables.get(number, {}))
        self.started[number] = process
        try:
            wait_until(
                lambda: "Ray runtime started" in log.read_text(errors="replace"), "Ray", START_SECONDS, process, log
            )
        except DrillError as error:
            if attempts == 1 or "timed out" not in str(error):
                raise
            self.start(number, options, attempts - 1)

    @property
    def sessions(self) -> list[int]:
        """Of its processes."""
        return [process.pid for process in self.started.values()]

    def raylet(self, number: int) -> psutil.Process:
        """Of a node. Raises DrillError when there is none."""
        for process in self._processes.members(self.started[number].pid):
            if process.name() == "raylet":
                return process
        raise DrillError(f"node {number} has no raylet")
