"""What a process and everything it starts use, and what a piece of work uses in a process of its own."""

from __future__ import annotations

import multiprocessing
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from threadpoolctl import threadpool_limits


class Used(NamedTuple):
    """Of a command: processor seconds of its own process and of all that it started, wall seconds, its peak MB."""

    driver: float
    workers: float
    wall: float
    memory: float


class _Watcher(threading.Thread):
    """Sums up, twice a second, what a process and its descendants have used."""

    def __init__(self, process: psutil.Process):
        super().__init__(daemon=True)
        self.process, self.used, self.memory = process, {}, 0.0

    def run(self) -> None:
        while self.process.is_running() and self.process.status() != psutil.STATUS_ZOMBIE:
            for each in [self.process, *self.process.children(recursive=True)]:
                try:
                    self.used[each.pid] = sum(each.cpu_times()[:2])
                except psutil.NoSuchProcess:
                    continue
            try:
                self.memory = max(self.memory, self.process.memory_info().rss / 1e6)
            except psutil.NoSuchProcess:
                return
            time.sleep(0.5)


def watched(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None, status: int = 0
) -> Used:
    """Runs a command to its end. Raises RuntimeError when its exit status is not the one expected."""
    began = time.monotonic()
    process = subprocess.Popen(command, env=environment, cwd=folder, stdout=sys.stderr)
    watcher = _Watcher(psutil.Process(process.pid))
    watcher.start()
    if (ended := process.wait(timeout=3600)) != status:
        raise RuntimeError(f"{' '.join(command)} ended with status {ended}, not {status}.")
    wall = time.monotonic() - began
    watcher.join(5)
    driver = watcher.used.pop(process.pid)
    return Used(driver, sum(watcher.used.values()), wall, watcher.memory)


@dataclass(frozen=True)
class Cost:
    """Of one piece of work on one thread: processor seconds, and how far the peak of memory rose, MiB."""

    seconds: float
    mib: float


def cost_of(prepare: Callable[[str, Mapping[str, int]], Callable[[], Any]], kind: str, size: Mapping[str, int]) -> Cost:
    """Cost of `prepare(kind, size)()` in a fresh process after a warm-up at size {}. Raises RuntimeError on failure."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(send, prepare, kind, dict(size)))
    process.start()
    send.close()
    try:
        return Cost(*receive.recv())
    except EOFError:
        raise RuntimeError(f"{kind} of {dict(size)} failed; see above.") from None
    finally:
        process.join()


def _child(send: Any, prepare: Callable[..., Callable[[], Any]], kind: str, size: dict[str, int]) -> None:
    with threadpool_limits(1):
        prepare(kind, {})()
        work = prepare(kind, size)
        peak, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        work()
        seconds = time.process_time() - began
    send.send((seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024))
