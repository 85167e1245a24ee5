"""Drawings of what representations hold: a heat map of blocks by target, and scores of models against one another."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.common.marks import heat, lines, sheet

MOST_PANELS = 6


def heatmap(holdings: pd.DataFrame, *paths: Path) -> None:
    """A panel for each data set: usable information of every block about every target, as a share of the target's
    entropy; grey: numbers have none, or the model was not asked."""
    rows = holdings.assign(line=holdings["model"] + ": " + holdings["block"])
    tables = {
        data: part.pivot_table("share", "line", "target", sort=False, dropna=False)
        for data, part in rows.groupby("data", sort=False)
    }
    lengths = [len(table) for table in tables.values()]
    widest = max(table.shape[1] for table in tables.values())
    size = (1.0 * widest + 5, 0.26 * sum(lengths) + 0.7 * len(tables) + 1)
    with sheet(paths, len(tables), 1, size, height_ratios=[length + 1 for length in lengths]) as axes:
        for axis, (data, table) in zip(axes.flat, tables.items()):
            shares = table.to_numpy(float)
            texts = [[f"{share:.2f}" if np.isfinite(share) else "" for share in row] for row in shares]
            image = heat(axis, shares, texts, table.index, table.columns, fontsize=7)
            axis.set_title(data, fontsize=8)
        axes[0, 0].figure.colorbar(
            image, ax=axes, label="share of H(target) that is usable, mean over trainings", aspect=40
        )


def scatter(scores: pd.DataFrame, agreement: pd.DataFrame, *paths: Path) -> None:
    """The first pairs of scores of a table of rank correlations, a point a trained model."""
    pairs = list(itertools.islice(agreement.itertuples(), MOST_PANELS))
    columns = min(3, len(pairs))
    height = -(-len(pairs) // columns)
    with sheet(paths, height, columns, (4 * columns + 1.5, 3.3 * height)) as axes:
        for axis, pair in zip(axes.flat, pairs):
            own = scores[scores["data"] == pair.data]
            for name, part, style in lines(own, "model", "kind"):
                axis.plot(part[pair.a], part[pair.b], label=name, **style | {"linestyle": "none"})
            axis.set_xlabel(pair.a, fontsize=8)
            axis.set_ylabel(pair.b, fontsize=8)
            interval = f" ({pair.low:+.2f} to {pair.high:+.2f})" if np.isfinite(pair.low) else ""
            axis.set_title(f"{pair.data}\nrank correlation {pair.rho:+.2f}{interval}", fontsize=8)
