"""How often the intervals of nearest-neighbour estimates cover, by case, size and method.

Reads the runs of the sweep coverage from MLflow. An interval is for the estimator's expectation, which is the mean over
all data sets of a case and size; coverage of the truth is counted apart, and apart again, by the interval for the
truth, where the verdict on the estimate's bias is "reliable".
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.common.marks import in_order, legend, mark, save
from analysis.common.runs import latest, versions
from analysis.common.tables import Analysis, Result, main, plus_minus
from analysis.sample_estimators._runs import bias_error, in_order_of, share
from infoscope.metrics.shares import clopper_pearson
from infoscope.tracking import table

GROUP = ["case", "n", "method"]
WANTED = (0.90, 0.99)
FILLS = ("full", "none", "left", "bottom", "right", "top")  # of the marks, by size
UNSEEN = ("gaussian-given-1", "gaussian-given-3", "gaussian-24", "mixture-24", "mixture-given-2", "mixture-given-12")


def read(runs: pd.DataFrame) -> pd.DataFrame:
    """Every data set of the runs, with its case, size, method and truth."""
    fields = [*GROUP, "truth", "truth_error"]
    return pd.concat(
        [table(run["run_id"], "sets").assign(**{name: run[name] for name in fields}) for _, run in runs.iterrows()],
        ignore_index=True,
    )


def scored(sets: pd.DataFrame) -> pd.DataFrame:
    """Coverage by case, size and method, from one row per data set."""
    rows = []
    for group, of in sets.groupby(GROUP, sort=False):
        expectation = of["value"].mean()
        truth = of["truth"].iloc[0]
        reliable = of[of["verdict"] == "reliable"]
        judged = bool((of["verdict"] != "").all())
        row = dict(zip(GROUP, group)) | {"sets": len(of), "truth": truth, "bias": expectation - truth}
        row["bias_error"] = bias_error(of["value"].std(ddof=1), len(of), of["truth_error"].iloc[0])
        row["spread"], row["width"] = of["value"].std(ddof=1), (of["high"] - of["low"]).mean()
        row["standard_error_ratio"] = of["standard_error"].mean() / row["spread"]
        row["covers_expectation"] = inside(of, expectation).mean()
        row["covers_truth"] = inside(of, truth).mean()
        row["reliable"] = len(reliable) if judged else math.nan
        row["reliable_covers_truth"] = inside(reliable, truth, "truth_").mean() if len(reliable) else math.nan
        row["predicted_bias"] = of["predicted_bias"].mean() if judged else math.nan
        rows.append(row)
    return pd.DataFrame(rows)


def inside(sets: pd.DataFrame, value: float, which: str = "") -> pd.Series:
    """Whether the interval, that for the expectation or `truth_`, holds a value."""
    return (sets[f"{which}low"] <= value) & (value <= sets[f"{which}high"])


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """Coverage of the expectation and of the truth, and what the verdicts are worth."""
    runs, left_out = latest(runs, ("sets", "k"))
    figures = scored(read(runs)).sort_values(GROUP[:2], key=in_order_of(runs["case"]), kind="stable")
    text = figures[[*GROUP, "sets"]].assign(
        bias=[plus_minus(*pair) for pair in zip(figures["bias"], figures["bias_error"])],
        predicted=figures["predicted_bias"].map(
            lambda value: f"{value:+.3f}" if math.isfinite(value) else "not judged"
        ),
        ratio=figures["standard_error_ratio"].map("{:.2f}".format),
        expectation=[share(*row) for row in zip(figures["covers_expectation"], figures["sets"])],
        truth=[share(*row) for row in zip(figures["covers_truth"], figures["sets"])],
        reliable=[
            judged_share(*row) for row in zip(figures["reliable_covers_truth"], figures["reliable"], figures["sets"])
        ],
    )
    titles = {
        "bias": "bias (nats)", "predicted": "predicted bias", "ratio": "mean error / spread",
        "expectation": "covers expectation", "truth": "covers truth", "reliable": "covers truth where reliable",
    }  # fmt: skip
    caption = [
        "Share of data sets whose 95 % interval covers the estimator's expectation (the mean over the data sets), and "
        "the truth; in brackets the 95 % Clopper-Pearson interval of that share. Predicted bias: of the verdict, mean.",
        f"Profile {', '.join(sorted(set(runs['profile'])))}, k = {', '.join(map(str, sorted(set(runs['k']))))}; "
        f"generated data; code {versions(runs)}.",
        *verdicts(figures),
        *left_out,
    ]
    return [
        Result("intervals", figures, text.rename(columns=titles), "\n".join(caption), functools.partial(draw, figures))
    ]


def judged_share(value: float, reliable: float, count: int) -> str:
    if math.isnan(reliable):
        return "not judged"
    return f"{share(value, int(reliable))}, of {reliable:.0f}" if reliable else f"none of {count} reliable"


def verdicts(figures: pd.DataFrame) -> list[str]:
    """In how many rows the coverage is as wanted, and over all data sets that were called reliable."""
    least, most = WANTED
    good = figures["covers_expectation"].between(least, most)
    lines = [
        f"The expectation is covered in {100 * least:.0f} to {100 * most:.0f} % of the data sets in {int(good.sum())} "
        f"of {len(figures)} rows; the others: " + (", ".join(
            f"{row.case} n = {row.n} {row.method} {100 * row.covers_expectation:.0f} %"
            for row in figures[~good].itertuples()) or "none") + "."
    ]  # fmt: skip
    judged = figures[figures["reliable"] > 0]
    unseen = judged["case"].isin(UNSEEN)
    for rows, which in ((judged[unseen], "cases that the verdict's constants were not chosen on"),
                        (judged[~unseen], "the other cases, on which or on the like of which they were")):  # fmt: skip
        if len(rows):
            count = int(rows["reliable"].sum())
            hits = int(np.rint((rows["reliable"] * rows["reliable_covers_truth"]).sum()))
            covered = share(hits / count, count)
            lines.append(f"Data sets called reliable, {which}: the truth is covered in {covered} of {count}.")
    return lines


def draw(figures: pd.DataFrame, *paths: Path) -> None:
    """Coverage of the expectation by case, a mark per method and size, with the band that is wanted."""
    import matplotlib.pyplot as plt

    cases = list(dict.fromkeys(figures["case"]))
    figure, axis = plt.subplots(figsize=(1.3 * len(cases) + 3, 4), layout="constrained")
    order = [(method, n) for method in in_order("interval", figures["method"]) for n in sorted(set(figures["n"]))]
    sizes = sorted(set(figures["n"]))
    of = dict(list(figures.groupby(["method", "n"])))
    groups = [(group, of[group]) for group in order if group in of]
    for number, ((method, n), rows) in enumerate(groups):
        shift = 0.6 * (number / max(1, len(groups) - 1) - 0.5)
        edges = [clopper_pearson(round(row.covers_expectation * row.sets), row.sets) for row in rows.itertuples()]
        values = rows["covers_expectation"].to_numpy()
        spread = np.abs(np.array(edges).T - values)
        axis.errorbar([cases.index(name) + shift for name in rows["case"]], values, spread, linestyle="none", capsize=2,
                      label=f"{method}, n = {n:,}", fillstyle=FILLS[sizes.index(n) % len(FILLS)],
                      **mark("interval", method)._asdict())  # fmt: skip
    axis.axhspan(*WANTED, color="grey", alpha=0.2)
    axis.set(xticks=range(len(cases)), xticklabels=cases, ylabel="share of intervals that cover the expectation")
    axis.tick_params(axis="x", rotation=20)
    legend(figure)
    save(figure, paths, 150)


ANALYSIS = Analysis("coverage", analyse)

if __name__ == "__main__":
    main(ANALYSIS)
