"""The display of a sweep on standard error: its plan, cells done, running and waiting, the time left, the best."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column

from infoscope.tracking.scheduling.remaining import Remaining
from infoscope.tracking.sweep import Cell

STAGE_SECONDS = 1.0  # a stage that is over sooner is not told of
STILL_SECONDS = 30.0  # and again after so long, where there is no terminal
_PLAIN_SECONDS, _LATER_SECONDS = 15.0, 60.0  # between lines where there is no terminal, in the first minutes and then
_EARLY_SECONDS = 300.0
TICK_SECONDS = 1.0
_SHARES = 4  # so many packs that run are told of one by one


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
                if not self.live and time.monotonic() - told >= STILL_SECONDS:
                    told = time.monotonic()
                    self.say(line)

        thread = threading.Thread(target=tell, daemon=True, name="infoscope-stage")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


class Progress:
    """Progress of the cells of a sweep.

    work: total cost. best: a metric, and "min" or "max". slots: concurrent packs. later: packs not known yet. clock: s.
    """

    def __init__(
        self,
        cells: int,
        work: float,
        best: tuple[str, str] | None,
        slots: int = 1,
        later: int = 0,
        screen: Screen | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.cells, self.work, self.best = cells, work, best
        self.done = self.failed = 0
        self.best_text = ""
        self.remaining = Remaining(slots, later)
        self._best_value = math.inf
        self._sizes: dict[int, int] = {}  # by pack: its cells
        self._costs: dict[int, float] = {}
        self._fractions: dict[int, float] = {}  # of the packs that run
        self._parts: dict[int, float] = {}  # by pack: how much of its cost is done
        self._screen, self._clock = screen or Screen(), clock
        self._began, self._printed = clock(), -math.inf
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

    def add(self, pack: int, cells: int, cost: float, traits: Sequence[str] = ()) -> None:
        """A pack that is to run; one that is known already is left as it is."""
        with self._lock:
            if pack in self._sizes:
                return
            self._sizes[pack], self._costs[pack] = cells, cost
            self.remaining.add(pack, cost, traits)

    def begin(self, pack: int) -> None:
        """A worker has taken up a pack."""
        with self._lock:
            if pack not in self._fractions and pack in self._sizes:
                self._fractions[pack] = 0.0
                self.remaining.begin(pack, self._clock())
        self.show()

    def advance(self, pack: int, fraction: float, seconds: float) -> None:
        """A pack has got to `fraction`, which took it so long."""
        self.begin(pack)
        with self._lock:
            if pack in self._fractions:
                self._fractions[pack] = fraction
                self._parts[pack] = fraction * self._costs[pack]
                self.remaining.tell(pack, fraction, seconds, self._clock())
        self.show()

    def back(self, pack: int) -> None:
        """A pack waits again, for another trial."""
        with self._lock:
            if self._fractions.pop(pack, None) is not None:
                self.remaining.back(pack)
            self._parts.pop(pack, None)

    def ended(
        self,
        pack: int,
        cells: Mapping[str, Cell],
        final: Mapping[str, Mapping[str, float]],
        failed: int,
        seconds: float | None = None,
    ) -> None:
        """Ends the cells of a pack, with their last metrics and the number failed. seconds: its duration."""
        with self._lock:
            self.done += len(cells)
            self.failed += failed
            if self._sizes.pop(pack, None) is not None:
                self.remaining.end(pack, seconds)
                self._parts[pack] = self._costs.pop(pack)
            self._fractions.pop(pack, None)
            for key, metrics in final.items():
                self._consider(cells[key], metrics)
        self.show()

    def _consider(self, cell: Cell, metrics: Mapping[str, float]) -> None:
        if self.best is None:
            return
        name, mode = self.best
        value = metrics.get(name, math.nan) * (1 if mode == "min" else -1)
        if value < self._best_value:
            self._best_value = value
            where = " ".join(str(part) for part in cell.values() if isinstance(part, str))
            self.best_text = f"best {name} {metrics[name]:.3g} ({where})"

    def describe(self) -> str:
        with self._lock:
            running = sum(self._sizes[pack] for pack in self._fractions)
            said = [f"{self.done} of {self.cells} cells done"]
            if self.failed:
                said[0] += f", {self.failed} of them failed"
            if running:
                said.append(f"{running} running ({_shares(list(self._fractions.values()))})")
            if waiting := self.cells - self.done - running:
                said.append(f"{waiting} waiting")
            if not running and not self.done:
                said.append("the workers load")
            elif self.done < self.cells:
                left = self.remaining.left(self._clock())
                said.append(str(left) if left and left.told else "time left not known yet")
            return ", ".join([*said, self.best_text] if self.best_text else said)

    def show(self) -> None:
        """Brings the live line up to date, or prints a line when it is time."""
        with self._lock:
            if self._screen.live:
                self._screen.show(self.describe(), self._share())
                return
            now = self._clock()
            every = _PLAIN_SECONDS if now - self._began < _EARLY_SECONDS else _LATER_SECONDS
            first = self._printed == -math.inf and any(self._fractions.values())
            last = self.done == self.cells and not self._over.is_set()
            if first or last or now - max(self._printed, self._began) >= every:
                self._printed = now
                if last:
                    self._over.set()
                self._screen.say(f"{100 * self._share():3.0f} %  {self.describe()}")

    def _share(self) -> float:
        return min(1.0, sum(self._parts.values()) / self.work) if self.work > 0 else 0.0


def _shares(fractions: Sequence[float]) -> str:
    if len(fractions) <= _SHARES:
        return ", ".join(f"{100 * fraction:.0f} %" for fraction in fractions)
    return f"{len(fractions)} packs, on average {100 * sum(fractions) / len(fractions):.0f} %"


def _plain(line: str) -> str:
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)
