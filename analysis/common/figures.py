"""Figures of several panels, and what is drawn in more than one analysis."""

import functools
import itertools
from collections.abc import Callable
from numbers import Number
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd

from analysis.common.marks import lines, panel_by_panel, sheet


def panels(figures: pd.DataFrame, draw: Any, ylabel: str, *paths: Path) -> None:
    """One panel per domain and pool, with one legend: `draw(axis, rows)` draws it."""
    groups = figures.groupby(["domain", "pool"], sort=False)
    below = {"across": 1, "legend_at": "outside lower center", "ncols": 3}  # legible on a phone
    for axis, (names, rows) in panel_by_panel(paths, groups, (5.0, 2.8), (0, 0.6), ylabel=ylabel, **below):
        domain, pool = names
        draw(axis, rows)
        axis.set(title=domain if domain == pool else f"{domain} ({pool})")
        finish(axis)
        if axis.get_yscale() == "linear":
            axis.set_ylim(bottom=0)


def grid_panels(figures: pd.DataFrame, row: str, column: str, draw: Any, ylabel: str, *paths: Path) -> None:
    """A panel for every value of two fields, with one legend, drawn by `draw(axis, rows)`."""
    rows = figures[row].unique()
    columns = figures[column].unique()
    size = (2.6 * len(columns) + 1.6, 2.2 * len(rows) + 0.6)
    small = {"lines.markersize": 3, "lines.linewidth": 1.2}
    places = itertools.product(rows, columns)
    with sheet(paths, len(rows), len(columns), size, 120) as axes, matplotlib.rc_context(small):
        for axis, (first, second) in zip(axes.flat, places):
            part = figures[(figures[row] == first) & (figures[column] == second)]
            axis.set_title(f"{_titled(column, second)}, {_titled(row, first)}", fontsize="small")
            axis.tick_params(labelsize="x-small")
            if part.empty:
                axis.text(0.5, 0.5, "no runs", transform=axis.transAxes, ha="center", fontsize="small")
                continue
            draw(axis, part)
            finish(axis)
            axis.xaxis.label.set_fontsize("small")
        for axis in axes[:, 0]:
            axis.set_ylabel(ylabel, fontsize="small")


def _titled(field: str, value: Any) -> str:
    return f"{field} {value:g}" if isinstance(value, Number) else str(value)


def finish(axis: Any) -> None:
    """Names the lines of a panel that cannot be seen; an axis of one place has one tick."""
    drawn = {}
    for handle, name in zip(*axis.get_legend_handles_labels()):
        line = getattr(handle, "lines", (handle,))[0]
        drawn[name] = line
    drawn = {name: line for name, line in drawn.items() if line.get_transform() == axis.transData}  # not all across
    values = {name: np.asarray(line.get_ydata(), float) for name, line in drawn.items()}
    is_drawn = [np.isfinite(y).any() for y in values.values()]
    if not any(is_drawn):
        axis.set_yscale("linear")
    low, high = axis.get_ylim()
    unseen = []
    for (name, y), is_finite in zip(values.items(), is_drawn):
        if not is_finite:
            unseen.append(f"{name}: no finite figure")
        elif not ((low <= y) & (y <= high)).any():
            unseen.append(f"{name}: outside, {np.nanmedian(y):,.4g}")
    if unseen:
        text = "\n".join(unseen)
        axis.text(
            0.5, 0.97, text, in_layout=False, transform=axis.transAxes, ha="center", va="top", fontsize="x-small",
            zorder=0,
        )  # fmt: skip
    places = set()
    for line in drawn.values():
        places.update(line.get_xdata(orig=False))
    ticks = list(places)
    if len(ticks) == 1 and ticks != list(axis.get_xticks()):  # the present tick may have a name
        axis.set_xticks(ticks)


def draw_level(axis: Any, places: pd.Series, values: pd.Series, **style: Any) -> None:
    """A line that has no marker; of a single place, all across the panel, where it can be seen."""
    if len(places) == 1:
        axis.axhline(values.iloc[0], **style)
    else:
        axis.plot(places, values, **style)


def drawing(figures: pd.DataFrame, draw: Any, ylabel: str, *grid: str) -> Callable[..., None]:
    """A figure, to be saved at paths: a panel per domain and pool, or for every value of the two fields of `grid`."""
    if grid:
        return functools.partial(grid_panels, figures, *grid, draw, ylabel)
    return functools.partial(panels, figures, draw, ylabel)


def draw_estimates(
    axis: Any, rows: pd.DataFrame, x: str, y: str, of: str = "bound", capsize: float = 2, published: str = ""
) -> None:
    """A line with standard errors for every name of a kind, and the paper's figures (their column) dashed."""
    for name, line, mark in lines(rows, of):
        axis.errorbar(line[x], line[y], line[y + "_error"], capsize=capsize, label=name, **mark)
        if published:
            axis.plot(line[x], line[published], "--", color=mark["color"], alpha=0.5)


def draw_truths(axis: Any, rows: pd.DataFrame) -> None:
    """Both truths by true MI."""
    truth = rows.drop_duplicates("true_bits")
    draw_level(axis, truth["true_bits"], truth["true_bits"], color="black", label="nominal MI")
    draw_level(axis, truth["true_bits"], truth["decodable_bits"], color="black", linestyle=":", label="decodable MI")
    axis.set(xlabel="true MI (bits)")


def draw_second_half(axis: Any, rows: pd.DataFrame) -> None:
    """Estimates of the second half by true MI, a line per estimator, with both truths."""
    draw_estimates(axis, rows, "true_bits", "second_half_mean_bits")
    draw_truths(axis, rows)
    axis.set(ylim=(0, 1.5 * rows["true_bits"].max()))
