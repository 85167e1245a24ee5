"""The display of a sweep on standard error: its plan, cells done, running and waiting, the time left, the best."""

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

from infoscope.tracking.sweep import Cell

STAGE_SECONDS = 1.0  # a stage that is over sooner is not printed
LINE_SECONDS = 30.0  # between lines where there is no terminal
TICK_SECONDS = 1.0


class Screen:
    """Standard error: lines that stay, and on a terminal a live line below them."""

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
        """A line that stays."""
        with self._lock:
            if self.live:
                self._bar.console.print(_plain(line), soft_wrap=True, highlight=False, markup=False)
            else:
                print(_plain(line), file=self.stream, flush=True)

    def show(self, line: str, done: float | None = None) -> None:
        """Sets the live line, with the share done, in [0, 1]; None: not known."""
        if self.live:
            total = None if done is None else 1.0
            self._bar.update(self._task, description=_plain(line), completed=done or 0.0, total=total)

    @contextlib.contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Shows what is being done until the end of this context: at once on a terminal, after a second elsewhere."""
        began = time.monotonic()
        over = threading.Event()

        def tell() -> None:
            self.show(what)
            if not over.wait(STAGE_SECONDS) and not self.live:
                self.say(what)
            told = time.monotonic()
            while not over.wait(TICK_SECONDS):
                line = f"{what}, {time.monotonic() - began:.0f} s"
                self.show(line)
                if not self.live and time.monotonic() - told >= LINE_SECONDS:
                    told = time.monotonic()
                    self.say(line)

        thread = threading.Thread(target=tell, daemon=True, name="infoscope-stage")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@dataclass
class _Pack:
    cells: int
    cost: float
    running: bool = False
    fraction: float = 0.0  # of it that is done


class Progress:
    """Progress of the cells of a sweep, of which packs are a part each.

    best: a metric, and "min" or "max". clock: seconds. title: of a cell, in short.
    """

    def __init__(
        self,
        cells: int,
        best: tuple[str, str] | None,
        screen: Screen | None = None,
        clock: Callable[[], float] = time.monotonic,
        title: Callable[[Cell], str] = str,
    ):
        self.cells, self.best = cells, best
        self.done = self.failed = 0
        self.best_text = ""
        self._best_value = math.inf
        self._packs: dict[int, _Pack] = {}  # that have not ended
        self._ended_cost = 0.0
        self._screen, self._clock, self._title = screen or Screen(), clock, title
        self._pace = Bar(get_time=clock, speed_estimate_period=math.inf)  # never shown: it estimates the time left
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
            with contextlib.suppress(OSError):  # the terminal is gone, the sweep goes on
                self.show()

    def add(self, pack: int, cells: int, cost: float) -> None:
        """A pack that is to run; one that is known already is left as it is."""
        with self._lock:
            self._packs.setdefault(pack, _Pack(cells, cost))

    def begin(self, pack: int) -> None:
        """A worker has taken up a pack."""
        with self._lock:
            if pack in self._packs:
                self._packs[pack].running = True
        self.show()

    def advance(self, pack: int, fraction: float) -> None:
        """A pack has got to `fraction`."""
        with self._lock:
            if pack in self._packs:
                self._packs[pack].fraction = fraction
                self._note_pace()
        self.begin(pack)

    def back(self, pack: int) -> None:
        """A pack waits again, for another trial."""
        with self._lock:
            if pack in self._packs:
                self._packs[pack] = _Pack(self._packs[pack].cells, self._packs[pack].cost)

    def ended(
        self, pack: int, cells: Mapping[str, Cell], final: Mapping[str, Mapping[str, float]], failed: int
    ) -> None:
        """Ends the cells of a pack, with their last metrics and the number failed."""
        with self._lock:
            self.done += len(cells)
            self.failed += failed
            if known := self._packs.pop(pack, None):
                self._ended_cost += known.cost
            self._note_pace()
            for key, metrics in final.items():
                self._consider(cells[key], metrics)
        self.show()

    def _note_pace(self) -> None:
        """Tells rich how much of the whole cost is done; of a search, each cell that is not known yet has cost 1."""
        packs = self._packs.values()
        later = self.cells - self.done - sum(pack.cells for pack in packs)
        done = self._ended_cost + sum(pack.cost * pack.fraction for pack in packs)
        total = self._ended_cost + sum(pack.cost for pack in packs) + later
        self._pace.update(self._work, completed=done / total if total else 1.0)

    def _consider(self, cell: Cell, metrics: Mapping[str, float]) -> None:
        if self.best is None:
            return
        name, mode = self.best
        value = metrics.get(name, math.nan) * (1 if mode == "min" else -1)
        if value < self._best_value:
            self._best_value = value
            self.best_text = f"best {name} {metrics[name]:.3g} ({self._title(cell)})"

    def describe(self) -> str:
        """Cells that are done, failed, running and waiting, the time left, and the best so far."""
        with self._lock:
            running = sum(pack.cells for pack in self._packs.values() if pack.running)
            said = [f"{self.done} of {self.cells} cells done"]
            if self.failed:
                said[0] += f", {self.failed} of them failed"
            if running:
                said.append(f"{running} running")
            if waiting := self.cells - self.done - running:
                said.append(f"{waiting} waiting")
            if not running and not self.done:
                said.append("the workers load")
            elif (left := self.seconds_left()) is not None and self.done < self.cells:
                said.append(f"about {duration(left)} left")
            return ", ".join([*said, self.best_text] if self.best_text else said)

    def seconds_left(self) -> float | None:
        """At the pace since the first word of a worker; None before there was another."""
        return self._pace.tasks[0].time_remaining

    def show(self) -> None:
        """Brings the live line up to date, or prints a line when it is time."""
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
        """The share of the cells that is done, those that run in part."""
        return (self.done + sum(pack.cells * pack.fraction for pack in self._packs.values())) / self.cells


def duration(seconds: float) -> str:
    """A time in words, as exact as an estimate is: "40 s", "7 min", "2 h 10 min"."""
    if seconds < 95:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(10 * round(minutes / 10), 60)
    return f"{hours} h {minutes:02d} min" if hours < 24 else f"{round(seconds / 3600)} h"


def _plain(line: str) -> str:
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)
