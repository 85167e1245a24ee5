"""What a sweep shows on standard error: lines, and its progress in one line."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Column

from infoscope.names import printable

STAGE_SECONDS = 1.0  # a shorter stage is not printed
LINE_SECONDS = 30.0  # between two lines of progress without a terminal


class Screen:
    """Standard error: permanent lines, and on a terminal a live line below them."""

    def __init__(self, stream: TextIO | None = None):
        self._stream = stream or sys.stderr
        self._is_live = self._stream.isatty() and os.environ.get("TERM", "") not in (
            "",
            "dumb",
        )
        # time and share of the first progress
        self._first: tuple[float, float] | None = None
        self._printed = time.monotonic()
        console = Console(file=self._stream, force_terminal=self._is_live)
        line = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        text = TextColumn("{task.description}", None, table_column=line)
        columns = (SpinnerColumn(), BarColumn(bar_width=20), text)
        self._bar = Progress(
            *columns,
            console=console,
            transient=True,
            expand=True,
            disable=not self._is_live,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Screen:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()

    def say(self, line: str) -> None:
        """Prints a permanent line."""
        self._bar.console.print(
            printable(line), soft_wrap=True, highlight=False, markup=False
        )

    @contextlib.contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Shows what is being done while inside: at once on a terminal, otherwise after
        a second.
        """
        self._bar.update(self._task, description=what, total=None)
        delayed = threading.Timer(
            STAGE_SECONDS, lambda: self._is_live or self.say(what)
        )
        delayed.daemon = True
        delayed.start()
        try:
            yield
        finally:
            delayed.cancel()

    def progress(self, done: float, cells: int, text: str) -> None:
        """Shows the number of cells done, running ones in part, and the time left at
        the pace since the first call.
        """
        share = done / cells
        now = time.monotonic()
        if self._first is None:  # the workers have taken some time to start
            self._first = now, share
        began, before = self._first
        if share > before:
            seconds = (now - began) * (1 - share) / (share - before)
            text = f"{text}, about {duration(seconds)} left"
        self._bar.update(self._task, description=text, total=1.0, completed=share)
        if not self._is_live and now - self._printed >= LINE_SECONDS:
            self._printed = now
            self.say(f"{100 * share:3.0f} %  {text}")


def duration(seconds: float) -> str:
    """A rounded duration: "40 s", "7 min", "28 h"."""
    if seconds < 95:
        return f"{max(5, 5 * round(seconds / 5))} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"
