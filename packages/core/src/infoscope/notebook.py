"""Results in notebooks: HTML, and plots on matplotlib axes; matplotlib is imported when
something is drawn.

A class with `__str__`, and optionally `table` (a data frame), is shown as HTML if it
inherits `InNotebook`. Its plot:

    def plot(self, ax=None):
        ax = axes(ax)
        intervals(ax, names, estimates)
        return ax
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from infoscope.errors import Conflict
from infoscope.late import needs
from infoscope.names import in_figure

# labels of axes
UNITS = {"nats": "information (nats)", "bits": "information (bits)", "1": "share"}
STYLE = (
    "<style>table.infoscope th, table.infoscope td {text-align: left; vertical-align: "
    "top}</style>"
)
MAX_ROWS = 60  # of a table in a notebook, the default of pandas


class InNotebook:
    """Shows an object in a notebook: the lines of its text, then its `table`, if it has
    one (property or method).

    folded_table  title of a long table, which is opened by a click; empty: it is shown at once
    """

    folded_table: ClassVar[str] = ""

    def _repr_html_(self) -> str:
        table = getattr(self, "table", None)
        if callable(table):
            table = table()
        lines = str(self).splitlines()
        if self.folded_table:
            return as_html(lines, folded={self.folded_table: table})
        return as_html(lines, table)


def as_html(
    lines: Iterable[str], table: Any = None, folded: Mapping[str, Any] | None = None
) -> str:
    """HTML of lines, the first one bold, and a data frame. All text is escaped.

    folded: title -> a data frame or lines that are opened by a click.
    """
    first, *following = [html.escape(line) for line in lines] or [""]
    parts = []
    if first:
        parts.append(f"<p><b>{first}</b></p>")
    parts.append(_paragraphs(following))
    parts.append(_table(table))
    for title, content in (folded or {}).items():
        if hasattr(content, "to_html"):
            inside = _table(content)
        else:
            inside = _paragraphs(map(html.escape, content))
        if inside:
            parts.append(
                f"<details><summary>{html.escape(title)}</summary>{inside}</details>"
            )
    return "\n".join(filter(None, parts))


def _paragraphs(lines: Iterable[str]) -> str:
    """Escaped lines as paragraphs, with their leading spaces."""
    return "".join(
        f'<p style="margin:0.2em 0;max-width:60em;white-space:pre-wrap">{line}</p>'
        for line in lines
    )


def _table(table: Any) -> str:
    if table is None or not len(table):
        return ""
    import pandas as pd

    has_named_index = any(name is not None for name in table.index.names)
    shown = table.reset_index() if has_named_index else table
    with pd.option_context("display.max_colwidth", None):
        content = shown.to_html(
            index=False,
            border=0,
            na_rep="",
            float_format="{:.4g}".format,
            max_rows=MAX_ROWS,
            classes="infoscope",
        )
    return STYLE + content


def axes(ax: Any = None, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """These matplotlib axes, or the axes of a new figure with a size in inches.
    ModuleNotFoundError: no matplotlib.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"plot {needs('matplotlib')}", name="matplotlib"
        ) from None
    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def intervals(
    ax: Any,
    names: Sequence[str],
    estimates: Sequence[Any],
    colours: Sequence[str] = (),
    unit: str = "bits",
) -> None:
    """Draws estimates with 95 % intervals as rows below the existing ones.

    Information is drawn in `unit`, bits or nats. Estimates without a value are only
    named. Raises InfoscopeError if the unit differs from the unit of the existing rows.
    """
    estimates = [_in_unit(estimate, unit) for estimate in estimates]
    present = estimates[0].unit
    label = f"{UNITS.get(present, present)}, 95 % interval"
    rows = [text.get_text() for text in ax.get_yticklabels()] if ax.containers else []
    if rows and ax.get_xlabel() != label:
        raise Conflict(f"ax must have one unit, {ax.get_xlabel()!r}, got {label!r}.")
    if not rows:
        ax.axvline(0, color="black", linewidth=0.8)
    for place, (name, estimate) in enumerate(
        zip(names, estimates, strict=True), start=len(rows)
    ):
        colour = colours[place % len(colours)] if colours else "C0"
        low, high = estimate.low, estimate.high
        if not np.isfinite([low, high]).all():
            low = high = np.nan
        ax.errorbar(
            (low + high) / 2,
            place,
            xerr=(high - low) / 2,
            fmt="none",
            color=colour,
            capsize=3,
        )
        ax.plot(estimate.value, place, "o", color=colour)
        row = "\n".join(map(in_figure, name.splitlines()))
        if not np.isfinite(estimate.value):
            row += ": no value"
        rows.append(row)
    ax.set_yticks(range(len(rows)), rows, fontsize="small", parse_math=False)
    ax.set(xlabel=label, ylim=(len(rows) - 0.5, -0.5))


def _in_unit(estimate: Any, unit: str) -> Any:
    """Information in this unit, bits or nats; other estimates unchanged."""
    is_information = estimate.unit in ("nats", "bits")
    if is_information and estimate.unit != unit:
        return estimate.as_unit(unit)
    return estimate


def heat(
    ax: Any,
    values: np.ndarray,
    texts: Sequence[Sequence[str]],
    rows: Sequence[Any],
    columns: Sequence[Any],
    top: float = 1.0,
    fontsize: int = 8,
) -> Any:
    """The image (for a colour bar) of values [rows, columns] as colours from 0 to `top`
    with texts; NaN is grey.
    """
    import matplotlib

    colours = matplotlib.colormaps["viridis"].with_extremes(bad="#dddddd")
    image = ax.imshow(
        np.ma.masked_invalid(values), cmap=colours, vmin=0, vmax=top, aspect="auto"
    )
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if value < 0.6 * top else "black"
        ax.text(
            column,
            row,
            texts[row][column],
            ha="center",
            va="center",
            fontsize=fontsize,
            color=colour,
        )
    ax.set_xticks(range(len(columns)), list(map(in_figure, columns)), parse_math=False)
    ax.set_yticks(range(len(rows)), list(map(in_figure, rows)), parse_math=False)
    ax.tick_params(length=0, labelsize=fontsize)
    return image
