"""A Ray cluster of two nodes as processes of this machine, ended by id; the second has
its own disk and name.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import psutil
import pytest

START_SECONDS, END_SECONDS = 300.0, 120.0  # limits for a node, also on a busy machine
RAY_STARTS = 8  # attempts; Ray itself gives up after half a minute
# the arguments of `mount` for a small disk
DISK = ("-t", "tmpfs", "-o", "size=64m", "none")


class NotStarted(RuntimeError):
    """A node, or a mount for it, does not come up."""


class Processes:
    """Processes with the same environment variables, each in its own session with its
    descendants.
    """

    def __init__(self, environment):
        self.environment = environment
        self.sessions = set()

    def start(self, command, folder, log):
        """Runs a command in a folder and appends its output to a file."""
        with open(log, "ab") as output:
            process = psutil.Popen(
                list(command),
                cwd=folder,
                env=self.environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.sessions.add(process.pid)
        return process

    def end(self, session):
        """Kills all processes of a session, by their ids."""
        deadline = time.monotonic() + END_SECONDS
        while living := members(session):
            if time.monotonic() > deadline:
                pytest.fail(f"session {session} does not end")
            for process in living:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            time.sleep(0.1)
        self.sessions.discard(session)

    def trials(self):
        """The processes in which Ray Tune runs trials."""
        running = []
        for session in self.sessions:
            for process in members(session):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if "ray::ImplicitFunc.train" in process.cmdline():
                        running.append(process)
        return running

    def end_all(self):
        for session in set(self.sessions):
            self.end(session)


def members(session):
    """The living processes of a session: its first process and the descendants of that."""
    living = []
    for process in psutil.process_iter():
        with contextlib.suppress(
            ProcessLookupError, PermissionError, psutil.NoSuchProcess
        ):
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and os.getsid(process.pid) == session:
                living.append(process)
    return living


def wait_for_line(line, process, log):
    """Waits until a log has the line. Raises NotStarted where the process ends before,
    or after START_SECONDS.
    """
    deadline = time.monotonic() + START_SECONDS
    while line not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            raise NotStarted(f"no '{line}': {log.read_text(errors='replace')[-800:]}")
        time.sleep(0.1)


@cache
def separation():
    """The command that gives a process its own mounts and host name; None if this is
    not permitted.
    """
    with tempfile.TemporaryDirectory() as folder:
        for prefix in (
            ("unshare", "--mount", "--uts"),
            ("unshare", "--user", "--map-root-user", "--mount", "--uts"),
        ):
            attempt = [*prefix, "mount", "-t", "tmpfs", "none", folder]
            with contextlib.suppress(OSError):
                if subprocess.run(attempt, capture_output=True).returncode == 0:
                    return prefix
    return None


def container(processes, host, log, folder):
    """What comes before a command, so that it runs with this host name and with a small
    disk mounted on the folder.
    """
    script = f'mount "$@" && "$0" -c "import socket; socket.sethostname(\'{host}\')" && echo mounted && sleep 86400'
    command = [*separation(), "sh", "-c", script, sys.executable, *DISK, str(folder)]
    holder = processes.start(command, folder.parent, log)
    wait_for_line("mounted", holder, log)
    user = ["--user", "--preserve-credentials"] if "--user" in separation() else []
    enter = ["nsenter", "--target", str(holder.pid), "--mount", "--uts", *user]
    return [
        *enter,
        "sh",
        "-c",
        'cd "$1" && shift && exec "$@"',
        "sh",
        str(folder.parent),
    ]


def start_nodes(processes, folder, prefix_of_second):
    """Starts a head and a second node of one core each; returns the address of the
    cluster.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    address = f"127.0.0.1:{port}"
    start_node(
        processes,
        folder,
        ["--head", "--port", str(port), "--include-dashboard", "false"],
    )
    start_node(processes, folder, ["--address", address], prefix_of_second)
    return address


def start_node(processes, folder, joined, prefix=()):
    """Starts a node; tries again where Ray has not answered in time."""
    ray = [
        sys.executable,
        "-m",
        "ray.scripts.scripts",
        "start",
        "--num-cpus",
        "1",
        "--block",
        *joined,
    ]
    ray += [
        "--min-worker-port",
        "0",
        "--max-worker-port",
        "0",
        "--dashboard-agent-listen-port",
        "0",
    ]
    ray += ["--object-store-memory", str(200 * 2**20), "--disable-usage-stats"]
    for attempt in range(1, RAY_STARTS + 1):
        log = Path(folder, f"node-{time.time_ns()}.log")
        process = processes.start([*prefix, *ray], folder, log)
        try:
            return wait_for_line("runtime started", process, log)
        except NotStarted as error:
            processes.end(process.pid)
            if attempt == RAY_STARTS or "timed out" not in str(error):
                raise
