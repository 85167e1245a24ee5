"""How far estimates of mutual information are from the truth: bias and spread (nats) by case, size and estimator.

Reads the runs of the sweep measures from MLflow. Bias is estimate minus truth; its standard error is over data sets and
includes the Monte Carlo error of the truth.
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.common.marks import legend, lines, save
from analysis.common.tables import Analysis, Result, main, plus_minus
from sweeps.sample_estimators.settings import ESTIMATORS

GROUP = ["case", "n", "estimator"]


def pooled(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per case, size and estimator: mean, bias and spread over the data sets of all blocks, nats.

    The spread within blocks is pooled; the blocks' means add what they know.
    """
    rows = []
    for group, blocks in runs.groupby(GROUP, sort=False):
        sets, total = blocks["sets"].to_numpy(float), float(blocks["sets"].sum())
        mean = float((sets * blocks["mean"]).sum() / total)
        squares = ((sets - 1) * blocks["variance"] + sets * (blocks["mean"] - mean) ** 2).sum()
        spread = math.sqrt(squares / (total - 1))
        truth, truth_error = blocks["truth"].iloc[0], blocks["truth_error"].iloc[0]
        error = math.hypot(spread / math.sqrt(total), truth_error)
        rows.append(
            dict(zip(GROUP, group))
            | {"truth": truth, "truth_error": truth_error, "sets": int(total), "mean": mean, "bias": mean - truth,
               "bias_error": error, "standard_error": spread, "cpu_seconds": blocks["cpu_seconds"].mean()}
        )  # fmt: skip
    return pd.DataFrame(rows)


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """Bias by case, size and estimator."""
    runs, left_out = latest(runs)
    runs = runs.sort_values(["start", "n"], kind="stable")
    figures = pooled(runs).sort_values(["case", "n"], key=in_order_of(runs["case"]), kind="stable")
    shown = figures.assign(
        shown=[f"{plus_minus(*pair)} ({spread:.3f})" for *pair, spread in
               zip(figures["bias"], figures["bias_error"], figures["standard_error"])],
        true=[plus_minus(truth, error or math.nan) for truth, error in zip(figures["truth"], figures["truth_error"])],
    )  # fmt: skip
    text = shown.pivot(index=["case", "true", "n"], columns="estimator", values="shown").fillna("not asked")
    order = shown[["case", "true", "n"]].drop_duplicates()
    text = text.loc[[tuple(row) for row in order.itertuples(index=False)], [c for c in ESTIMATORS if c in text]]
    text = text.reset_index().rename(columns={"true": "truth (nats)", **ESTIMATORS})
    sets, k = sorted(set(figures["sets"])), sorted(set(runs["k"]))
    versions = ", ".join(sorted({tags.get("infoscope.code", "unknown") for tags in runs["tags"]}))
    caption = [
        "Bias (estimate minus truth, nats) ± its standard error over data sets, and in brackets the standard deviation "
        "of one estimate. The same data sets for every estimator.",
        f"Profile {', '.join(sorted(set(runs['profile'])))}: {' or '.join(map(str, sets))} data sets per figure, k = "
        f"{', '.join(map(str, k))}; generated data; code {versions}.",
        "Truths are exact, or by Monte Carlo where they have an error, which is included in that of the bias. Gates: "
        "co-information, positive = redundancy.",
        *worst(figures),
        *left_out,
    ]
    return [Result("bias", figures, text, "\n".join(caption), functools.partial(draw, figures))]


def latest(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The runs of the version and setting that was started last, and a note on the others."""
    setting = runs[["version", "sets", "k"]].astype(str).agg(" ".join, axis=1)
    keep = setting == setting[runs["start"].idxmax()]
    note = [f"Note: {int((~keep).sum())} older runs with other settings are left out."] if not keep.all() else []
    return runs[keep], note


def in_order_of(column: pd.Series):
    """A sort key that keeps the cases in the order in which they were declared."""
    place = {name: number for number, name in enumerate(dict.fromkeys(column))}
    return lambda values: values.map(place) if values.name == column.name else values


def worst(figures: pd.DataFrame) -> list[str]:
    """Each estimator's largest bias at the largest size, in a sentence."""
    largest = figures[figures["n"] == figures["n"].max()]
    lines = []
    for name, rows in largest.groupby("estimator", sort=False):
        row = rows.loc[rows["bias"].abs().idxmax()]
        lines.append(f"{ESTIMATORS[name]}: largest bias at n = {row['n']} is {row['bias']:+.3f} nats, {row['case']}.")
    return lines


def draw(figures: pd.DataFrame, path: Path) -> None:
    """Bias by sample size, one panel per case."""
    import matplotlib.pyplot as plt

    cases = list(figures.groupby("case", sort=False))
    across = min(4, len(cases))
    down = -(-len(cases) // across)
    figure, axes = plt.subplots(down, across, figsize=(3.4 * across, 2.6 * down), squeeze=False, layout="constrained")
    for axis in axes.flat[len(cases) :]:
        axis.axis("off")
    for axis, (name, rows) in zip(axes.flat, cases):
        for estimator, line, mark in lines(rows, "estimator"):
            axis.errorbar(line["n"], line["bias"], 1.96 * np.asarray(line["bias_error"]), capsize=2,
                          label=ESTIMATORS[estimator], **mark)  # fmt: skip
        axis.axhline(0, color="grey", linewidth=0.8)
        axis.set_title(name, fontsize="medium")
        axis.set(xscale="log")
        axis.set_xlabel("items", fontsize="small")
        sizes = sorted(set(rows["n"]))
        axis.set_xticks(sizes, [f"{n:,}" for n in sizes], fontsize="small")
    legend(figure, "outside lower center", ncols=2)
    figure.supylabel("bias (nats), 95 % interval", fontsize="medium")
    save(figure, path, 150)


ANALYSIS = Analysis("measures", analyse)

if __name__ == "__main__":
    main(ANALYSIS)
