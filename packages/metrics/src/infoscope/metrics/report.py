"""One report for every body of work: rows of numbers, the sentences before them, a
table, a page, a file.

A report is a class with `answers` (sentences, the verdict first) and `record` (rows);
`Report` does the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from infoscope.estimators.reading.sentences import amount as amount
from infoscope.estimators.reading.sentences import at_most as at_most
from infoscope.estimators.result import NATS, Estimate
from infoscope.notebook import InNotebook, as_html, axes, heat

COLUMNS = ("value", "standard_error", "low", "high", "unit", "n", "method", "notes")
MAX_INTERVALS = 20  # rows of a heat map up to which intervals are written into it
DOUBTS = "What to doubt"  # title of the doubts among the details
Details = dict[str, pd.DataFrame | list[str]]


@dataclass(frozen=True, eq=False)
class ReportRow:
    """One number of a report.

    what      the measure: "information", "MIG", "wrong labels"
    estimate  value with interval, unit, n and notes
    of        the object of the measure, by kind: {"block": "z_y", "target": "digit"}
    meaning   interpretation in a word or a sentence

    >>> row = ReportRow("MIG", Estimate(0.5, 0.1, "share of H(y)", 90), {"factor": "size"})
    >>> row.cells()["value (95 %)"]
    '0.50 (0.30 to 0.70)'
    """

    what: str
    estimate: Estimate
    of: Mapping[str, str] = field(default_factory=dict)
    meaning: str = ""

    @property
    def shown(self) -> Estimate:
        """The estimate as it is printed: information in bits."""
        if self.estimate.unit == NATS:
            return self.estimate.bits
        return self.estimate

    @property
    def codes(self) -> list[str]:
        """The codes of the notes, for programs."""
        codes = [getattr(note, "code", "") for note in self.estimate.notes]
        return list(dict.fromkeys(filter(None, codes)))

    def figures(self) -> dict[str, object]:
        """The estimate's line in the file: measure, subject, `COLUMNS`, codes of notes,
        text.
        """
        codes = "; ".join(self.codes)
        return {
            "what": self.what,
            **self.of,
            **row(self.shown),
            "codes": codes,
            "says": self.meaning,
        }

    def cells(self) -> dict[str, str]:
        """The line in the table to read."""
        return {
            "what": self.what,
            **self.of,
            "value (95 %)": cell(self.shown),
            "unit": self.shown.unit,
            "says": self.meaning,
        }


class Report(InNotebook):
    """Table, sentences and page of a report; a subclass has at least `answers`,
    `record` and `n`.

    n, groups  rows of the data, and groups of dependent ones (0 or n: rows are independent)
    answers    sentences, the verdict first
    record     every number
    caption    what the table shows, in a line
    text       the table to read first; default: a line for each number
    further    tables to read after `text`, by title
    details    tables and lines beyond answers and text, by title
    doubts     missing measurements, and reasons to doubt
    lists      tables of items by name, each a file of its own

    >>> class Mean(Report):
    ...     n = 90
    ...     answers = ["The mean is above 0."]
    ...     record = [ReportRow("mean", Estimate(0.5, 0.1, "m", 90))]
    >>> print(Mean())
    The mean is above 0.
    90 rows:
    what        value (95 %) unit says
    mean 0.50 (0.30 to 0.70)    m
    """

    n: int
    groups: int
    answers: Sequence[str]
    record: Sequence[ReportRow]
    caption: str = ""
    doubts: Sequence[str] = ()
    further: Mapping[str, pd.DataFrame] = {}
    lists: Mapping[str, pd.DataFrame] = {}
    more: Mapping[str, pd.DataFrame | list[str]] = {}

    @property
    def size(self) -> str:
        """The number of rows, and of groups where rows depend on one another."""
        count = getattr(self, "groups", 0)
        if 0 < count < self.n:
            return f"{self.n:,} rows in {count:,} groups"
        return f"{self.n:,} rows"

    @property
    def table(self) -> pd.DataFrame:
        """Every number, a line each, information in bits: the file of the report."""
        lines = pd.DataFrame([line.figures() for line in self.record])
        ends = [*COLUMNS, "codes", "says"]
        kinds = [name for name in lines if name not in ("what", *ends)]
        return lines[["what", *kinds, *ends]].fillna(dict.fromkeys(kinds, ""))

    @property
    def text(self) -> pd.DataFrame:
        """The table to read first."""
        lines = pd.DataFrame([line.cells() for line in self.record])
        return lines.fillna("")

    @property
    def details(self) -> Details:
        """Tables and lines in addition to `answers` and `text`, by title."""
        details = {**self.more, DOUBTS: list(self.doubts)}
        return {title: content for title, content in details.items() if len(content)}

    def find(self, what: str, **of: str) -> Estimate:
        """The number with this measure and subject. KeyError: there is none."""
        for line in self.record:
            if line.what == what and of.items() <= dict(line.of).items():
                return line.estimate
        raise KeyError((what, *of.values()))

    def __str__(self) -> str:
        lines = [*self.answers, f"{self.size}:", self.text.to_string(index=False)]
        for title, table in self.further.items():
            lines += [f"{title}:", table.to_string(index=False)]
        for content in self.details.values():
            if isinstance(content, list):
                lines += content
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(
            [*self.answers, f"{self.size}:"],
            self.text,
            {**self.further, **self.details},
        )


def draw_map(
    ax: Any, cells: Mapping[tuple[str, str], Estimate], title: str, shares: Any = None
) -> Any:
    """Draws estimates by row and column as a heat map with their 95 % intervals; the
    matplotlib axes.

    shares: the colours, from 0 to 1, by row and column; default: the values. Many rows
    have their values only.
    """
    rows = list(dict.fromkeys(name for name, _ in cells))
    columns = list(dict.fromkeys(name for _, name in cells))
    has_intervals = len(rows) <= MAX_INTERVALS
    colours = np.full((len(rows), len(columns)), np.nan)
    texts = [[""] * len(columns) for _ in rows]
    for name, estimate in cells.items():
        row = rows.index(name[0])
        column = columns.index(name[1])
        colours[row, column] = estimate.value if shares is None else shares[name]
        text = f"{estimate.value:z.2f}"
        if has_intervals:
            text += f"\n{estimate.low:z.2f} to {estimate.high:z.2f}"
        texts[row][column] = text
    longest = max(map(len, rows))
    row_height = 0.5 if has_intervals else 0.22  # inches
    font_size = 9 if has_intervals else 7
    width = 1.3 * len(columns) + 0.7 + 0.08 * longest
    ax = axes(ax, (width, row_height * len(rows) + 0.9))
    heat(ax, colours, texts, rows, columns, 1.0, font_size)
    ax.set_title(title, fontsize=9)
    return ax


def cell(estimate: Estimate, places: int = 2) -> str:
    """An estimate in a table: 0.48 (0.40 to 0.56); "none" where there is no value."""
    if math.isnan(estimate.value):
        return "none"
    value, low, high = [
        f"{number:z,.{places}f}"
        for number in (estimate.value, estimate.low, estimate.high)
    ]
    if not math.isfinite(estimate.low) or estimate.low == estimate.high:
        return value
    return f"{value} ({low} to {high})"


def percent(share: Estimate) -> str:
    """A share without its interval: 48 %."""
    return f"{100 * share.value:z.0f} %"


def share(estimate: Estimate, of: str = "") -> str:
    """A share in a sentence: 48 % of H(size) (95 %: 40 to 56)."""
    text = percent(estimate)
    if of:
        text += f" of {of}"
    if math.isfinite(estimate.low):
        text += f" (95 %: {100 * estimate.low:z.0f} to {100 * estimate.high:z.0f})"
    return text


def listed(names: Iterable[str], most: int = 8) -> str:
    """The first names, and how many more there are: a, b and c; a, b and 3 more."""
    names = list(names)
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def row(estimate: Estimate) -> dict[str, object]:
    """The values of `COLUMNS`, notes as one text."""
    values = {name: getattr(estimate, name) for name in COLUMNS}
    values["notes"] = " ".join(estimate.notes)
    return values


def blocks_and_widths(blocks: Mapping[str, int]) -> str:
    """Names of blocks with their numbers of columns."""
    return ", ".join(f"{name} ({width})" for name, width in blocks.items())
