"""What a person sees while a sweep runs: cells done, remaining time, best so far."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from infoscope.tracking.sweep import Cell

PLAIN_SECONDS = 15.0


class Progress:
    """A bar on a terminal, a line now and then elsewhere. Work is counted in the sweep's cost, so that it advances
    evenly.
    """

    def __init__(self, cells: int, work: float, best: tuple[str, str] | None):
        self.cells, self.work, self.best = cells, work, best
        self.done = self.failed = 0
        self.best_text = ""
        self._best_value = math.inf
        self._parts: dict[int, float] = {}
        self._worked = 0.0
        self._began = self._printed = time.monotonic()
        self._console = Console(stderr=True)
        columns = (BarColumn(), TextColumn("{task.percentage:>3.0f} %  {task.description}"))
        self._bar = Bar(*columns, console=self._console, refresh_per_second=2)
        self._task = self._bar.add_task(self.describe(), total=work)

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def advance(self, pack: int, fraction: float, cost: float) -> None:
        """A pack, whose whole cost is `cost`, has got to `fraction`."""
        before, self._parts[pack] = self._parts.get(pack, 0.0), fraction * cost
        self._worked += self._parts[pack] - before
        self._show()

    def ended(self, cells: Mapping[str, Cell], final: Mapping[str, Mapping[str, float]], failed: int) -> None:
        """Some cells have ended, with their last metrics; so many of them have failed."""
        self.done += len(cells)
        self.failed += failed
        for key, metrics in final.items():
            self._consider(cells[key], metrics)
        self._show()

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
        elapsed, left = time.monotonic() - self._began, "some time"
        if self._worked > 0.01 * self.work:
            left = _duration(max(0.0, elapsed / self._worked * (self.work - self._worked)))
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done}/{self.cells} cells{failed}, {left} left" + (
            f", {self.best_text}" if self.best_text else ""
        )

    def _show(self) -> None:
        if self._console.is_terminal:
            self._bar.update(self._task, completed=self._worked, description=self.describe())
        elif time.monotonic() - self._printed > PLAIN_SECONDS or self.done == self.cells:
            self._printed = time.monotonic()
            self._console.print(
                f"{100 * self._worked / self.work:3.0f} %  {self.describe()}",
                soft_wrap=True,
                highlight=False,
            )


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
