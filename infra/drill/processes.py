"""Processes of a drill: started each in a session of its own, found again and ended by id, whoever their parent is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

ENDINGS = {signal.SIGINT, signal.SIGTERM}


class Processes:
    """The processes that a drill has started, with all descendants by session."""

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
