"""Processes that are ended by id; an MLflow server, a Ray cluster and mounts for them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import psutil
import requests

START_SECONDS, END_SECONDS = 300.0, 120.0  # limits for a server or a node, also on a busy machine
RAY_STARTS = 8  # attempts; Ray itself gives up after half a minute
DISK = ("-t", "tmpfs", "-o", "size=64m", "none")  # the arguments of `mount` for a small disk


class DrillError(RuntimeError):
    """The drill itself failed, so the round has no result."""


class Processes:
    """Processes with the same environment variables, each in its own session with its descendants."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment, self.sessions = environment, set[int]()

    def start(self, command: Sequence[str], folder: Path, log: Path, **more: str) -> psutil.Popen:
        """Runs a command in a folder and appends its output to a file. more: environment variables."""
        with open(log, "ab") as output:
            streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
            environment = {**self.environment, **more}
            process = psutil.Popen(list(command), cwd=folder, env=environment, start_new_session=True, **streams)
        self.sessions.add(process.pid)
        return process

    def members(self, session: int) -> list[psutil.Process]:
        """The living processes of a session: the process that `start` returned with this id, and its descendants."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(ProcessLookupError, PermissionError, psutil.NoSuchProcess):
                if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def end(self, session: int) -> None:
        """Kills all processes of a session. Raises DrillError when some are left after two minutes."""
        wait_until(lambda: not kill(*self.members(session)), f"session {session} does not end", END_SECONDS)
        self.sessions.discard(session)

    def end_all(self, but: int | None = None) -> None:
        """Kills everything that was started, except the session `but`."""
        for session in self.sessions - {but}:
            self.end(session)


def kill(*processes: psutil.Process) -> tuple[psutil.Process, ...]:
    """Kills processes by id, if the id still belongs to them; returns all of them."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return processes


def wait_until(
    condition: Callable[[], object],
    what: str,
    seconds: float,
    process: psutil.Popen | None = None,
    log: Path | None = None,
) -> None:
    """Waits until `condition()` is true. Raises DrillError after so many seconds, or when the process ends before."""
    deadline = time.monotonic() + seconds
    while not condition():
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > deadline:
            last = f":\n{log.read_text(errors='replace')[-800:]}" if log else ""
            raise DrillError(f"{what}: {'the process ended' if ended else f'not within {seconds:.0f} s'}{last}")
        time.sleep(0.1)


@cache
def separation() -> tuple[str, ...] | None:
    """The command that gives a process its own mounts and host name; None if this is not permitted."""
    with tempfile.TemporaryDirectory() as folder:
        for prefix in (("unshare", "--mount", "--uts"), ("unshare", "--user", "--map-root-user", "--mount", "--uts")):
            attempt = [*prefix, "mount", "-t", "tmpfs", "none", folder]
            with contextlib.suppress(OSError):
                if subprocess.run(attempt, capture_output=True).returncode == 0:
                    return prefix
    return None


class Container:
    """A mount on a folder and a host name for the processes that are started with `prefix`.

    mount: arguments of `mount`, which must be permitted (see `separation`). inside: the path from outside of the folder
    as it is inside.
    """

    def __init__(self, processes: Processes, host: str, log: Path, folder: Path, *mount: str):
        folder.mkdir(parents=True, exist_ok=True)
        script = f'mount "$@" && "$0" -c "import socket; socket.sethostname(\'{host}\')" && echo mounted && sleep 86400'
        command = [*separation(), "sh", "-c", script, sys.executable, *mount, str(folder)]
        holder = processes.start(command, folder.parent, log)
        wait_until(lambda: "mounted" in log.read_text(), "a mount", START_SECONDS, holder, log)
        self.session, self.inside = holder.pid, Path(f"/proc/{holder.pid}/root{folder.resolve()}")

    def prefix(self, folder: Path) -> list[str]:
        """What comes before a command, so that it runs inside, in `folder`."""
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
        self.processes, self._folder, self.port = processes, folder, _free_port()
        self.log, self.store, self.uri = folder / "server.log", folder / "mlflow.db", f"http://127.0.0.1:{self.port}"
        folder.mkdir(parents=True)
        self.launch()

    def launch(self) -> None:
        """Starts the server as `process`; `wait` waits for its first answer."""
        options = ["--backend-store-uri", f"sqlite:///{self.store}", "--workers", "1", "--host", "127.0.0.1"]
        options += ["--artifacts-destination", (self._folder / "artifacts").as_uri(), "--port", str(self.port)]
        command = [sys.executable, "-m", "mlflow", "server", *options]
        more = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        self.process = self.processes.start(command, self._folder, self.log, **more)

    def wait(self) -> None:
        """Waits until the server answers; starts it again if it has ended."""
        if self.process.poll() is not None:
            self.launch()
        wait_until(self._answers, "the MLflow server does not answer", START_SECONDS, self.process, self.log)

    def _answers(self) -> bool:
        with contextlib.suppress(requests.RequestException):
            return requests.get(f"{self.uri}/health", timeout=5).ok
        return False


class Nodes:
    """A Ray cluster on this machine. cpus: cores of each node. containers, clocks: by number of the node.

    The processes of nodes 1 and 2 are `started[1]` and `started[2]`.
    """

    def __init__(
        self,
        processes: Processes,
        folder: Path,
        count: int = 2,
        cpus: int = 1,
        containers: Mapping[int, Container | None] | None = None,
        clocks: Mapping[int, Path] | None = None,
    ):
        self._processes, self._folder, self._cpus, self._port = processes, folder, cpus, _free_port()
        self._containers, self._clocks = containers or {}, clocks or {}
        self.address, self.started = f"127.0.0.1:{self._port}", dict[int, psutil.Popen]()
        for number in range(1, count + 1):
            self.start(number)

    def start(self, number: int) -> None:
        """Starts a node, the first as the head; ends what is left of an earlier one with this number."""
        joined = ["--head", "--port", str(self._port), "--include-dashboard", "false"]
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--num-cpus", str(self._cpus), "--block"]
        ray += joined if number == 1 else ["--address", self.address]
        ray += ["--min-worker-port", "0", "--max-worker-port", "0", "--dashboard-agent-listen-port", "0"]
        ray += ["--object-store-memory", str(200 * 2**20), "--disable-usage-stats"]
        container = self._containers.get(number)
        prefix = container.prefix(self._folder) if container else []
        clock = {"DRILL_CLOCK": str(self._clocks[number])} if number in self._clocks else {}
        for attempt in range(1, RAY_STARTS + 1):
            if number in self.started:
                self._processes.end(self.started.pop(number).pid)
            log = self._folder / f"node-{number}-{time.time_ns()}.log"
            process = self._processes.start([*prefix, *ray], self._folder, log, **clock)
            self.started[number] = process
            try:
                return wait_until(
                    lambda log=log: "runtime started" in log.read_text(), "Ray", START_SECONDS, process, log
                )
            except DrillError as error:
                if attempt == RAY_STARTS or "timed out" not in str(error):
                    raise
