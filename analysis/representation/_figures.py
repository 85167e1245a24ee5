"""Drawings of what representations hold: a heat map of blocks by target, and scores of models against one another."""

from __future__ import annotations

import itertools
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from analysis.common.marks import legend, lines, save

MOST_PANELS = 6


def heatmap(holdings: pd.DataFrame, path: Path) -> None:
    """Usable information of every block about every target, as a share of the target's entropy; grey: numbers have
    none, or the model was not asked."""
    line = holdings["model"] + ": " + holdings["block"]
    aim = holdings["data"].map(_in_lines) + "\n" + holdings["target"]
    rows = holdings.assign(line=line, aim=aim)
    table = rows.pivot_table("share", "line", "aim", sort=False)
    figure, axis = plt.subplots(figsize=(1.3 * table.shape[1] + 4, 0.28 * table.shape[0] + 2), layout="constrained")
    colours = plt.get_cmap("viridis").with_extremes(bad="#dddddd")
    image = axis.imshow(np.ma.masked_invalid(table.to_numpy(float)), cmap=colours, vmin=0, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(table.to_numpy(float)):
        if np.isfinite(share):
            colour = "black" if share > 0.6 else "white"
            axis.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize=7, color=colour)
    axis.set_xticks(range(table.shape[1]), labels=table.columns, fontsize=7)
    axis.set_yticks(range(table.shape[0]), labels=table.index, fontsize=7)
    axis.tick_params(length=0)
    figure.colorbar(image, label="share of H(target) that is usable, mean over trainings")
    save(figure, path, 150)


def _in_lines(text: str) -> str:
    return textwrap.fill(text, 15)


def scatter(scores: pd.DataFrame, agreement: pd.DataFrame, path: Path) -> None:
    """Pairs of scores, a point a trained model, those whose rank correlation is the surest."""
    pairs = list(itertools.islice(agreement.itertuples(), MOST_PANELS))
    columns = min(3, len(pairs))
    height = -(-len(pairs) // columns)
    figure, axes = plt.subplots(
        height, columns, figsize=(4 * columns + 1.5, 3.3 * height), layout="constrained", squeeze=False
    )
    for axis in axes.flat[len(pairs) :]:
        axis.set_axis_off()
    for axis, pair in zip(axes.flat, pairs):
        own = scores[scores["data"] == pair.data]
        for name, part, style in lines(own, "model", "kind"):
            axis.plot(part[pair.a], part[pair.b], label=name, **style | {"linestyle": "none"})
        axis.set_xlabel(pair.a, fontsize=8)
        axis.set_ylabel(pair.b, fontsize=8)
        axis.set_title(
            f"{pair.data}\nrank correlation {pair.rho:+.2f} ({pair.low:+.2f} to {pair.high:+.2f})", fontsize=8
        )
    legend(figure)
    save(figure, path, 150)
