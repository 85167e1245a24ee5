"""Figures of several panels, and what is drawn in more than one analysis."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.marks import legend, lines, save


def panels(figures: pd.DataFrame, draw: Any, ylabel: str, *paths: Path) -> None:
    """One panel per domain and pool, with one legend: `draw(axis, rows)` draws it."""
    import matplotlib.pyplot as plt

    groups = list(figures.groupby(["domain", "pool"], sort=False))
    size = (4.0 * len(groups) + 1.6, 3.6)
    figure, axes = plt.subplots(1, len(groups), figsize=size, squeeze=False, layout="constrained")
    for axis, ((domain, pool), rows) in zip(axes[0], groups):
        draw(axis, rows)
        axis.set(title=f"{domain} ({pool})" if domain != pool else domain)
        if not any(np.isfinite(np.asarray(line.get_ydata(), float)).any() for line in axis.lines):
            axis.set_yscale("linear")
            axis.text(0.5, 0.5, "diverged", transform=axis.transAxes, ha="center")
        if axis.get_yscale() == "linear":
            axis.set_ylim(bottom=0)
    axes[0][0].set_ylabel(ylabel)
    legend(figure)
    save(figure, paths, 150)


def grid_panels(figures: pd.DataFrame, row: str, column: str, draw: Any, ylabel: str, *paths: Path) -> None:
    """A panel for every value of two fields, with one legend: `draw(axis, rows)` draws it. No runs: an empty place."""
    import matplotlib.pyplot as plt

    rows, columns = list(dict.fromkeys(figures[row])), list(dict.fromkeys(figures[column]))
    size = (2.6 * len(columns) + 1.6, 2.2 * len(rows) + 0.6)
    figure, axes = plt.subplots(len(rows), len(columns), figsize=size, squeeze=False, layout="constrained")
    for (i, first), (j, second) in itertools.product(enumerate(rows), enumerate(columns)):
        axis, part = axes[i][j], figures[(figures[row] == first) & (figures[column] == second)]
        axis.set_title(f"{second}, {first}", fontsize="small")
        axis.tick_params(labelsize="x-small")
        if part.empty:
            axis.set_axis_off()
            continue
        with plt.rc_context({"lines.markersize": 3, "lines.linewidth": 1.2}):
            draw(axis, part)
        axis.xaxis.label.set_fontsize("small")
    for i in range(len(rows)):
        axes[i][0].set_ylabel(ylabel, fontsize="small")
    legend(figure)
    save(figure, paths, 120)


def drawing(figures: pd.DataFrame, draw: Any, ylabel: str, *grid: str) -> Callable[..., None]:
    """A figure, to be saved at paths: a panel per domain and pool, or for every value of the two fields of `grid`."""
    arranged = functools.partial(grid_panels, figures, *grid) if grid else functools.partial(panels, figures)
    return functools.partial(arranged, draw, ylabel)


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
    axis.plot(truth["true_bits"], truth["true_bits"], "k-", label="nominal MI")
    axis.plot(truth["true_bits"], truth["decodable_bits"], "k:", label="decodable MI")
    axis.set(xlabel="true MI (bits)")


def draw_unseen(axis: Any, rows: pd.DataFrame, column: str = "held_out_bits") -> None:
    """Training batches (solid) and unseen pairs (dashed: their column) by true MI."""
    for bound, line, mark in lines(rows, "bound"):
        axis.plot(line["true_bits"], line["settled_mean_bits"], label=bound, **mark)
        dashed = {"linestyle": "--", "capsize": 3, "fillstyle": "none"} | mark
        axis.errorbar(line["true_bits"], line[column], line[column + "_error"], **dashed)
    axis.axline((0, 0), slope=1, color="black", linewidth=0.8, label="true MI")
    axis.set(xlabel="true MI (bits); dashed: unseen pairs")
