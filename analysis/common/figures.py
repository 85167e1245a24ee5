"""Figures of several panels, and what is drawn in more than one analysis."""

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd

from analysis.common.marks import lines, panel_by_panel, sheet
from analysis.common.published import in_words


def panels(figures: pd.DataFrame, draw: Any, ylabel: str, *paths: Path) -> None:
    """One panel per domain and pool, with one legend: `draw(axis, rows)` draws it."""
    groups = figures.groupby(["domain", "pool"], sort=False)
    for axis, (names, rows) in panel_by_panel(
        paths, groups, (5.0, 2.8), (0, 0.6), across=1, ylabel=ylabel
    ):
        domain, pool = names
        draw(axis, rows)
        axis.set(title=domain if domain == pool else f"{domain} ({pool})")
        finish(axis)
        if axis.get_yscale() == "linear":
            axis.set_ylim(bottom=0)


def grid_panels(
    figures: pd.DataFrame, row: str, column: str, draw: Any, ylabel: str, *paths: Path
) -> None:
    """A panel for every value of two fields, with one legend, drawn by `draw(axis,
    rows)`.
    """
    rows = figures[row].unique()
    columns = figures[column].unique()
    size = (max(2.6 * len(columns), 5.0), 2.2 * len(rows) + 0.8)
    small = {"lines.markersize": 3, "lines.linewidth": 1.2}
    places = itertools.product(rows, columns)
    with (
        sheet(paths, len(rows), len(columns), size, 120) as axes,
        matplotlib.rc_context(small),
    ):
        for axis, (row_value, column_value) in zip(axes.flat, places):
            in_row = figures[row] == row_value
            in_column = figures[column] == column_value
            part = figures[in_row & in_column]
            title = f"{in_words(column, column_value)}, {in_words(row, row_value)}"
            axis.set_title(title, fontsize="small")
            axis.tick_params(labelsize="x-small")
            if part.empty:
                axis.text(
                    0.5,
                    0.5,
                    "no runs",
                    transform=axis.transAxes,
                    ha="center",
                    fontsize="small",
                )
                continue
            draw(axis, part)
            finish(axis)
            axis.xaxis.label.set_fontsize("small")
        for axis in axes[:, 0]:
            axis.set_ylabel(ylabel, fontsize="small")


def finish(axis: Any) -> None:
    """Names the lines of a panel that cannot be seen; an axis of one place has one
    tick.
    """
    values = {}
    places = set()
    for handle, name in zip(*axis.get_legend_handles_labels()):
        line = getattr(handle, "lines", (handle,))[0]
        if line.get_transform() == axis.transData:  # does not span the panel
            values[name] = np.asarray(line.get_ydata(), float)
            places.update(line.get_xdata(orig=False))
    if not any(np.isfinite(y).any() for y in values.values()):
        axis.set_yscale("linear")
    low, high = axis.get_ylim()
    unseen = []
    for name, y in values.items():
        is_inside = (low <= y) & (y <= high)
        if not np.isfinite(y).any():
            unseen.append(f"{name}: no finite figure")
        elif not is_inside.any():
            unseen.append(f"{name}: outside, {np.nanmedian(y):,.4g}")
    if unseen:
        text = "\n".join(unseen)
        axis.text(
            0.5, 0.97, text, in_layout=False, transform=axis.transAxes, ha="center", va="top", fontsize="x-small",
            zorder=0,
        )  # fmt: skip
    ticks = list(places)
    # the present tick may have a name
    if len(ticks) == 1 and ticks != list(axis.get_xticks()):
        axis.set_xticks(ticks)


def draw_level(axis: Any, places: pd.Series, values: pd.Series, **style: Any) -> None:
    """A line that has no marker; of a single place, all across the panel, where it can
    be seen.
    """
    if len(places) == 1:
        axis.axhline(values.iloc[0], **style)
    else:
        axis.plot(places, values, **style)


def drawing(
    figures: pd.DataFrame, draw: Any, ylabel: str, *grid: str
) -> Callable[..., None]:
    """A figure, to be saved at paths: a panel per domain and pool, or for every value
    of the two fields of `grid`.
    """
    if grid:
        return functools.partial(grid_panels, figures, *grid, draw, ylabel)
    return functools.partial(panels, figures, draw, ylabel)


def draw_estimates(
    axis: Any,
    rows: pd.DataFrame,
    x: str,
    y: str,
    capsize: float = 2,
    published: str = "",
) -> None:
    """A line with standard errors for every estimator, and the paper's figures (their
    column) dashed.
    """
    for name, line, mark in lines(rows, "bound"):
        axis.errorbar(
            line[x], line[y], line[y + "_error"], capsize=capsize, label=name, **mark
        )
        if published:
            axis.plot(line[x], line[published], "--", color=mark["color"], alpha=0.5)


def draw_truths(axis: Any, rows: pd.DataFrame) -> None:
    """Both truths by true MI; estimates above one and a half times the largest leave
    the panel.
    """
    truth = rows.drop_duplicates("true_bits")
    nominal = truth["true_bits"]
    decodable = truth["decodable_bits"]
    draw_level(axis, nominal, nominal, color="black", label="nominal MI")
    draw_level(
        axis, nominal, decodable, color="black", linestyle=":", label="decodable MI"
    )
    axis.set(xlabel="true MI (bits)", ylim=(0, 1.5 * nominal.max()))


def draw_second_half(axis: Any, rows: pd.DataFrame) -> None:
    """Estimates of the second half by true MI, a line per estimator, with both truths."""
    draw_estimates(axis, rows, "true_bits", "second_half_mean_bits")
    draw_truths(axis, rows)
