"""The display of a sweep on standard error: cells done, running and waiting, the remaining time, the best result."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column

from infoscope.names import printable
from infoscope.tracking.sweep import AnyCell

STAGE_SECONDS = 1.0  # a shorter stage is not printed
LINE_SECONDS = 30.0  # between two lines without a terminal
TICK_SECONDS = 1.0


class Screen:
    """Standard error: permanent lines, and on a terminal a live line below them."""

    def __init__(self, stream: TextIO | None = None):
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
        self._lock = threading.Lock()
        if self.live:
            console = Console(file=self.stream, force_terminal=True)
            line = TextColumn(
                "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
            )
            columns = (SpinnerColumn(), BarColumn(bar_width=20), line)
            self._bar = Bar(*columns, console=console, refresh_per_second=4, transient=True, expand=True)
            self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Screen:
        if self.live:
            self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self.live:
            self._bar.stop()

    def say(self, line: str) -> None:
        """Prints a permanent line."""
        with self._lock:
            if self.live:
                self._bar.console.print(printable(line), soft_wrap=True, highlight=False, markup=False)
            else:
                print(printable(line), file=self.stream, flush=True)

    def show(self, line: str, done: float | None = None) -> None:
        """Sets the live line, with the share done in [0, 1]; None: unknown."""
        if self.live:
            total = None if done is None else 1.0
            self._bar.update(self._task, description=printable(line), completed=done or 0.0, total=total)

    @contextlib.contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Shows what is being done while inside: at once on a terminal, otherwise after a second."""
        self.show(what)
        delayed = threading.Timer(STAGE_SECONDS, lambda: self.live or self.say(what))
        delayed.daemon = True
        delayed.start()
        try:
            yield
        finally:
            delayed.cancel()


@dataclass
class _Pack:
    """fraction: the part of the pack that is done."""

    cells: int
    cost: float
    running: bool = False
    fraction: float = 0.0


class Progress:
    """The progress of the cells of a sweep, which are run in packs.

    best: a metric, and "min" or "max". clock: seconds. title: the short name of a cell.
    """

    def __init__(
        self,
        cells: int,
        best: tuple[str, str] | None,
        screen: Screen | None = None,
        clock: Callable[[], float] = time.monotonic,
        title: Callable[[AnyCell], str] = str,
    ):
        self.cells, self.best = cells, best
        self.done = self.failed = 0
        self.best_text, self._best_value = "", math.inf
        self._packs: dict[int, _Pack] = {}  # that have not ended
        self._ended_cost = 0.0
        self._screen, self._clock, self._title = screen or Screen(), clock, title
        self._pace = Bar(get_time=clock, speed_estimate_period=math.inf)  # not shown; it estimates the remaining time
        self._work = self._pace.add_task("", total=1.0)
        self._printed: float | None = None
        self._lock, self._over = threading.RLock(), threading.Event()

    def __enter__(self) -> Progress:
        threading.Thread(target=self._tick, daemon=True, name="infoscope-progress").start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._over.set()

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            with contextlib.suppress(OSError):  # the sweep goes on if the terminal is closed
                self.show()

    def add(self, pack: int, cells: int, cost: float) -> None:
        """Adds a pack, unless it is known."""
        with self._lock:
            self._packs.setdefault(pack, _Pack(cells, cost))

    def begin(self, pack: int) -> None:
        """Notes that a worker has begun a pack."""
        with self._lock:
            if pack in self._packs:
                self._packs[pack].running = True
        self.show()

    def advance(self, pack: int, fraction: float) -> None:
        """Notes the part of a pack that is done."""
        with self._lock:
            if pack in self._packs:
                self._packs[pack].fraction = fraction
                self._note_pace()
        self.begin(pack)

    def back(self, pack: int) -> None:
        """Notes that a pack waits again, for another trial."""
        with self._lock:
            if pack in self._packs:
                self._packs[pack] = _Pack(self._packs[pack].cells, self._packs[pack].cost)

    def ended(
        self, pack: int, cells: Mapping[str, AnyCell], final: Mapping[str, Mapping[str, float]], failed: int
    ) -> None:
        """Notes that a pack has ended, with the last metrics of its cells and the number of failed ones."""
        with self._lock:
            self.done += len(cells)
            self.failed += failed
            if known := self._packs.pop(pack, None):
                self._ended_cost += known.cost
            self._note_pace()
            for key, metrics in final.items():
                self._note_best(cells[key], metrics)
        self.show()

    def _note_pace(self) -> None:
        """Updates the share of the total cost that is done; in a search, cells that are not known yet cost 1 each."""
        packs = self._packs.values()
        later = self.cells - self.done - sum(pack.cells for pack in packs)
        done = self._ended_cost + sum(pack.cost * pack.fraction for pack in packs)
        total = self._ended_cost + sum(pack.cost for pack in packs) + later
        self._pace.update(self._work, completed=done / total if total else 1.0)

    def _note_best(self, cell: AnyCell, metrics: Mapping[str, float]) -> None:
        if self.best is None:
            return
        name, mode = self.best
        value = metrics.get(name, math.nan) * (1 if mode == "min" else -1)
        if value < self._best_value:
            self._best_value = value
            self.best_text = f"best {name} {metrics[name]:.3g} ({self._title(cell)})"

    def describe(self) -> str:
        """The numbers of cells that are done, failed, running and waiting, the remaining time, the best result."""
        with self._lock:
            running = sum(pack.cells for pack in self._packs.values() if pack.running)
            parts = [f"{self.done} of {self.cells} cells done"]
            if self.failed:
                parts[0] += f", {self.failed} of them failed"
            if running:
                parts.append(f"{running} running")
            if waiting := self.cells - self.done - running:
                parts.append(f"{waiting} waiting")
            if not running and not self.done:
                parts.append("the workers are starting")
            elif (left := self.seconds_left()) is not None and self.done < self.cells:
                parts.append(f"about {duration(left)} left")
            return ", ".join([*parts, self.best_text] if self.best_text else parts)

    def seconds_left(self) -> float | None:
        """The remaining time at the pace since the first report of a worker; None before the second."""
        return self._pace.tasks[0].time_remaining

    def show(self) -> None:
        """Updates the live line, or prints a line when it is due."""
        with self._lock:
            if self._screen.live:
                self._screen.show(self.describe(), self.share())
                return
            now = self._clock()
            begun = self.done or any(pack.fraction for pack in self._packs.values())
            last = self.done == self.cells and not self._over.is_set()
            if last or begun and (self._printed is None or now - self._printed >= LINE_SECONDS):
                self._printed = now
                if last:
                    self._over.set()
                self._screen.say(f"{100 * self.share():3.0f} %  {self.describe()}")

    def share(self) -> float:
        """The share of the cells that is done, running cells in part."""
        return (self.done + sum(pack.cells * pack.fraction for pack in self._packs.values())) / self.cells


def duration(seconds: float) -> str:
    """A rounded duration: "40 s", "7 min", "28 h"."""
    if seconds < 95:
        return f"{max(5, 5 * round(seconds / 5))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
