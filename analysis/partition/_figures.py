"""Drawings of an evaluation of partitions: a heat map of quantities by model, and scores by training."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.marks import heat, mark, sheet
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
    texts = [[_written(row, name) for name in names] for _, row in shown.iterrows()]
    titles = [f"{name}\n({'should be high' if name in WANTED else _aim(name)})" for name in names]
    with sheet(paths, size=(1.5 * len(names) + 2, 0.6 * len(shown) + 1.8)) as ((axis,),):
        image = heat(axis, shares, texts, shown.index, titles, fontsize=9)
        axis.tick_params(axis="x", labelsize=8)
        axis.tick_params(axis="y", labelsize="medium")
        axis.figure.colorbar(image, label="share of the most it could be")
        axis.set_title(
            "Nats by classifiers, mean ± standard error over trainings; grey: not applicable, or can only be 0",
            fontsize=9,
        )


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
    kinds, across = by_kind(evaluations), 3
    down = -(-len(PANELS) // across)
    with sheet(paths, down, across, (4.2 * across, 2.7 * down), 130) as axes:
        axes[0, 0].figure.suptitle(
            "By classifiers: every training with its 95 % interval over items; line: mean over "
            "trainings; dashed: the most that these labels allow",
            fontsize=10,
        )
        for axis, name in zip(axes.flat, PANELS):
            panel(axis, name, kinds)


def panel(axis: Any, name: str, kinds: Mapping[str, Sequence[Evaluation]]) -> None:
    """One score or quantity of every training, by kind."""
    evaluations = [one for trainings in kinds.values() for one in trainings]
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
