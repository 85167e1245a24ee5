"""Processes of a drill: started each in a session of its own, found again and ended by id, whoever their parent is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil


class Processes:
    """The processes that a drill has started, with all descendants by session."""

    def __init__(self) -> None:
        self._sessions: set[int] = set()

    def start(self, command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path) -> psutil.Popen:
        """Runs a command in a folder, its output added to a file."""
        with open(log, "ab") as output, _uninterrupted():
            process = psutil.Popen(
                list(command),
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._sessions.add(process.pid)
        return process

    def members(self, session: int) -> list[psutil.Process]:
        """The living processes of a session: of `start`'s process with this id and of all that descend from it."""
        return [process for process in psutil.process_iter() if _session(process.pid) == session and _lives(process)]

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


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays SIGINT and SIGTERM to the end of the block, so that no started process goes unnoted."""
    if threading.current_thread() is not threading.main_thread():  # where no signal is handled
        yield
        return
    came: list[int] = []
    before = {one: signal.signal(one, lambda number, _: came.append(number)) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
