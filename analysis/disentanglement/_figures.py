"""The figures of the analyses of disentanglement."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.common.marks import BLUE, ORANGE, SKY, lines, save, sheet
from analysis.disentanglement._scores import PUBLISHED, SCORES, TERMS, better_half, evaluations

TOLD = 0.005  # of H(y), below which a latent tells of no factor


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def boxes(runs: Mapping[str, pd.DataFrame], titles: Mapping[str, str], *paths: Path) -> None:
    """A panel per score: every evaluation of all trainings of a model, and of the better half of them (lighter)."""
    down = -(-len(titles) // 4)
    size = (3.6 * 4, 2.8 * down + 0.3 * max(map(len, runs)))
    title = "all trainings (dark), the better half by the score itself (light)"
    with sheet(paths, down, 4, size, 130, title=title, sharex=True) as axes:
        for axis, (score, title) in zip(axes.flat, titles.items()):
            for place, members in enumerate(runs.values()):
                values = evaluations(members, score)
                for side, part, colour in ((-0.18, values, BLUE), (0.18, better_half(values), SKY)):
                    drawn = axis.boxplot(
                        _finite(part.ravel()),
                        positions=[place + side],
                        widths=0.3,
                        patch_artist=True,
                        flierprops={"markersize": 3},
                        medianprops={"color": "black"},
                    )
                    drawn["boxes"][0].set_facecolor(colour)
            axis.set_title(title, fontsize="medium")
            axis.set_xticks(range(len(runs)), labels=list(runs), rotation=40, ha="right")
            axis.set_ylim(bottom=0)
        for axis in axes.flat[max(0, len(titles) - 4) : len(titles)]:
            axis.tick_params(labelbottom=True)  # the lowest of every column, also above an empty place
        for axis in axes[:, 0]:
            axis.set_ylabel("score")


def bars(figures: pd.DataFrame, *paths: Path) -> None:
    """Bounds of U, R and C by model: grey up to the lower one, orange from there to the upper one."""
    places, names = list(dict.fromkeys(figures["where"])), list(dict.fromkeys(figures["name"]))
    size = (max(7.5, 1.5 * len(names) * len(places) + 1.5), 3.8)
    title = "lower bound (grey), up to the upper bound (orange); ± standard error over trainings"
    with sheet(paths, 1, len(places), size, 130, title=title, sharey=True) as axes:
        for axis, where in zip(axes[0], places):
            part = figures[figures["where"] == where].set_index(["name", "term"])
            for (number, name), (side, term) in itertools.product(enumerate(names), enumerate(TERMS)):
                row, at = part.loc[name, term], number + 0.27 * (side - 1)
                axis.bar(at, row["low"], 0.25, color="lightgrey")
                axis.bar(at, row["high"] - row["low"], 0.25, bottom=row["low"], color=ORANGE)
                axis.errorbar([at - 0.05, at + 0.05], row[["low", "high"]].astype(float),
                              row[["low_error", "high_error"]].astype(float), fmt="none", color="black",
                              capsize=1.5, linewidth=0.8)  # fmt: skip
                axis.annotate(TERMS[term], (at, 0), (0, -10), textcoords="offset points", ha="center", fontsize=7)
            axis.set_title(where, fontsize="medium")
            axis.set_xticks(range(len(names)), labels=names, rotation=25, ha="right")
            axis.tick_params(axis="x", pad=12)
            axis.axhline(0, color="black", linewidth=0.6)
        axes[0][0].set_ylabel("share of H(y)")


def each_training(runs: pd.DataFrame, *paths: Path) -> None:
    """A panel per published score: a box of evaluations for each training."""
    labels = [f"seed {seed}" for seed in runs["seed"]]
    if runs["name"].nunique() > 1:
        labels = [f"{name}, {label}" for name, label in zip(runs["name"], labels)]
    with sheet(paths, 1, len(PUBLISHED), (3.2 * len(PUBLISHED), 3.2), 130) as (axes,):
        for axis, score in zip(axes, PUBLISHED):
            for place, values in enumerate(evaluations(runs, score)):
                axis.boxplot(_finite(values), positions=[place], widths=0.5, medianprops={"color": "black"})
            axis.set_title(SCORES[score], fontsize="medium")
            axis.set_xticks(range(len(runs)), labels=labels, rotation=40, ha="right")
            axis.set_ylim(0, 1.02)
        axes[0].set_ylabel("score")


def strips(changed: Mapping[str, Mapping[str, np.ndarray]], figures: pd.DataFrame, *paths: Path) -> None:
    """A block per training, a row per latent: the image at the values of that latent."""
    import matplotlib.pyplot as plt

    most = max(len(images) for block in changed.values() for images in block.values())
    latents = max(map(len, changed.values()))
    size = (len(changed) * (0.62 * most + 1.9), 0.66 * latents + 0.6)
    figure, axes = plt.subplots(latents, len(changed) * (most + 1), figsize=size, squeeze=False,
                                gridspec_kw={"wspace": 0.05, "hspace": 0.05,
                                             "width_ratios": ([2.6] + [1] * most) * len(changed)})  # fmt: skip
    for axis in axes.flat:
        axis.set_axis_off()
    for block, (training, of) in enumerate(changed.items()):
        told = figures[figures["training"] == training].set_index("latent")
        first = block * (most + 1)
        axes[0][first].set_title(f"{training}: seed {told['seed'].iloc[0]}, UniBound {told['unibound'].iloc[0]:.2f}",
                                 fontsize=8, loc="left")  # fmt: skip
        for row, (latent, images) in enumerate(of.items()):
            share = told.loc[latent, "alone"]
            label = f"{latent}: " + (f"{told.loc[latent, 'factor']} {share:.2f}" if share >= TOLD else "no factor")
            axes[row][first].text(0, 0.4, label, fontsize=8, transform=axes[row][first].transAxes)
            for column, image in enumerate(images):
                axes[row][first + 1 + column].imshow(np.moveaxis(image, 0, -1), cmap="gray", vmin=0, vmax=1)
    save(figure, paths, 130, bbox_inches="tight")


def attacks(figures: pd.DataFrame, scores: Mapping[str, str], *paths: Path) -> None:
    """Scores by the strength of the attack, ± standard error over evaluations; a panel per training and attack."""
    groups = list(figures.groupby(["name", "training_seed", "attack"], sort=False))
    across = figures["attack"].nunique()
    down = -(-len(groups) // across)
    with sheet(paths, down, across, (4.4 * across + 1.2, 3 * down), 130, sharey=True) as axes:
        for axis, ((name, seed, attack), part) in zip(axes.flat, groups):
            for score, line, mark in lines(part[part["score"].isin(list(scores))], "score"):
                axis.errorbar(
                    line["alpha"],
                    line["mean"],
                    line["mean_error"],
                    markersize=4,
                    capsize=2,
                    label=scores[score],
                    **mark,
                )
            axis.set_title(f"{name} (seed {seed}), {attack}", fontsize="medium")
            axis.set(xlabel="alpha", ylim=(-0.02, 1.02))
        for axis in axes[:, 0]:
            axis.set_ylabel("score")
