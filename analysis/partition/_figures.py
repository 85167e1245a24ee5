"""Drawings of an evaluation of partitions: a heat map of quantities by model, and scores by training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from analysis.common.marks import mark, save
from analysis.common.tables import ERROR
from analysis.partition._evaluation import Evaluation
from analysis.partition._tables import OF_DRAWS, QUANTITIES, SCORES, by_kind, most
from infoscope.metrics.partition.report import OLD_SUM
from infoscope.metrics.partition.terms import CLASSIFIER

WANTED = ("I(z_y;Y|D)", "I(z_d;D|Y)")  # what should be large; the others should be small, but for that of z_dy
PANELS = (*SCORES, "I(z_y;Y|D)", "I(z_d;D|Y)", "I(z_dy;Y,D)", "I(z_y;D|Y)", "I(z_d;Y|D)", "I(z_x;Y,D)")


def heatmap(figures: pd.DataFrame, evaluations: Sequence[Evaluation], *paths: Path) -> None:
    """Every quantity by kind of model, nats; the colour is its share of the most it could be."""
    shown = figures[figures["route"] == CLASSIFIER].set_index("model")
    names = [name for name in QUANTITIES if name in shown]
    shares = np.array([[_share(shown.loc[model], name, trainings[0]) for name in names]
                       for model, trainings in by_kind(evaluations).items()])  # fmt: skip
    figure, axis = plt.subplots(figsize=(1.5 * len(names) + 2, 0.6 * len(shown) + 1.8), layout="constrained")
    colours = plt.get_cmap("viridis").with_extremes(bad="#dddddd")
    image = axis.imshow(np.ma.masked_invalid(shares), cmap=colours, vmin=0, vmax=1, aspect="auto")
    for row, model in enumerate(shown.index):
        for column, name in enumerate(names):
            text, share = _written(shown.loc[model], name), shares[row, column]
            colour = "black" if not share < 0.6 else "white"
            axis.text(column, row, text, ha="center", va="center", fontsize=9, color=colour)
    axis.set_xticks(range(len(names)), labels=[f"{name}\n({'should be high' if name in WANTED else _aim(name)})"
                                               for name in names], fontsize=8)  # fmt: skip
    axis.set_yticks(range(len(shown)), labels=shown.index)
    axis.tick_params(length=0)
    figure.colorbar(image, label="share of the most it could be")
    axis.set_title("Nats by classifiers, mean ± standard error over trainings; grey: not applicable, or can only be 0",
                   fontsize=9)  # fmt: skip
    save(figure, paths, 150)


def _aim(name: str) -> str:
    return {"I(z_dy;Y,D)": "what is joint", "co-information(z_dy;Y;D)": "at most I(Y;D)"}.get(name, "should be low")


def ceiling(of: Evaluation, name: str) -> float:
    """The most that a quantity or the score seed can be with the labels of these items."""
    return of.routes()[CLASSIFIER][most(name)].value


def _share(row: pd.Series, name: str, of: Evaluation) -> float:
    """The share of the most that a quantity could be; NaN without a quantity, or where that is 0."""
    return row[name] / ceiling(of, name) if ceiling(of, name) > 0.01 else math.nan


def _written(row: pd.Series, name: str) -> str:
    if not math.isfinite(row[name]):
        return "n/a"
    error = row[name + ERROR]
    return f"{row[name]:z.2f}" + (f"\n± {error:.2f}" if math.isfinite(error) else "")


def scores(evaluations: Sequence[Evaluation], *paths: Path) -> None:
    """Scores and quantities of every training with 95 % intervals over items, by kind."""
    kinds = by_kind(evaluations)
    across = 3
    down = -(-len(PANELS) // across)
    figure, axes = plt.subplots(down, across, figsize=(4.2 * across, 2.7 * down), squeeze=False, layout="constrained")
    for axis, name in zip(axes.flat, PANELS):
        for place, (kind, trainings) in enumerate(kinds.items()):
            found = [one.routes()[CLASSIFIER].get(name) for one in trainings]
            found = [one for one in found if one is not None and math.isfinite(one.value)]
            if not found:
                axis.text(place, 0.02, "n/a", ha="center", va="bottom", color="grey", fontsize=8,
                          transform=axis.get_xaxis_transform())  # fmt: skip
                continue
            offsets = place + 0.1 * (np.arange(len(found)) - (len(found) - 1) / 2)
            values = np.array([one.value for one in found])
            reach = np.array([[one.value - one.low, one.high - one.value] for one in found]).T
            axis.errorbar(
                offsets, values, np.clip(reach, 0, None), linestyle="none", markersize=4, capsize=2,
                fillstyle="none" if kind.endswith(OF_DRAWS) else "full",
                **mark("model", kind.removesuffix(OF_DRAWS))._asdict(),
            )  # fmt: skip
            axis.hlines(values.mean(), place - 0.3, place + 0.3, color="black", linewidth=1)
        axis.set_xlim(-0.6, len(kinds) - 0.4)
        if name in (*WANTED, "seed"):
            axis.axhline(max(ceiling(one, name) for one in evaluations), color="grey", linestyle="--", linewidth=0.8)
        low, high = axis.get_ylim()
        axis.set_ylim(min(0.0, low), high + 0.08 * (high - min(0.0, low)))
        title = name if name in SCORES else f"{name} (nats)"
        if name == "seed":
            title = f"{OLD_SUM} (an absent block counts 0)"
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(len(kinds)), labels=list(kinds), rotation=25, ha="right", fontsize=8)
        axis.grid(axis="y", alpha=0.3)
    figure.suptitle("By classifiers: every training with its 95 % interval over items; line: mean over trainings; "
                    "dashed: the most that these labels allow", fontsize=10)  # fmt: skip
    save(figure, paths, 130)
