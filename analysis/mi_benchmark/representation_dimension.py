"""Table 4: the mean estimate (bits) of one bit by the side of the images, hence the dimension of the representation,
beside the paper's.

Reads the runs of the sweep representation-dimension from MLflow. Errors are standard errors over seeds; sides are
compared within a seed.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.common.figures import panels
from analysis.common.marks import lines
from analysis.common.tables import Analysis, Claim, Result, main, published, summarise
from analysis.mi_benchmark._benchmark import (
    DECODED,
    GROUP,
    OFF_BY_DEFINITION,
    PUBLISHED,
    REASONABLE,
    by_truth,
    every_claim,
    figures_text,
    limit_claim,
    notes,
    oracle,
    over_seeds,
    relative_error,
    setting,
    trained_and_decoded,
    unlike_published,
    unseen,
    with_constants,
    with_decodable,
)

MARGIN = 0.05  # of the truth: differences below it are called none
PLACE = [*GROUP, "size", "dimension", "true_bits", "bound"]
PUBLISHED_SETTING = PUBLISHED | {
    "steps": {20_000},
    "sources": {1},
    "size": {10, 20, 50, 100},
    "schedule_bits": {(1.0,)},
}
TITLES = {
    "mean_bits": "mean (bits)",
    "published_mean_bits": "paper",
    "settled_mean_bits": "mean, 2nd half",
    "mse_bits2": "MSE (bits²)",
    "floor_mean_bits": "oracle critic, mean",
    "floor_mse_bits2": "oracle critic, MSE",
    "decodable_bits": "decodable MI (bits)",
    "decodable_mse_bits2": "MSE, decodable",
}


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """Table 4, and the estimates on unseen pairs."""
    trained, decoded, left_out = trained_and_decoded(runs, axes=("size",))
    rows = with_decodable(by_truth(trained), decoded, on=("size",))
    rows = rows.assign(dimension=rows["size"] ** 2)
    rows = rows.sort_values([*GROUP, "true_bits", "size", "bound"], kind="stable")
    words = [setting(trained), *unlike_published(trained, PUBLISHED_SETTING), *notes(trained), *left_out]
    return [table_4(rows, words), unseen(rows, PLACE, words, grid=("pool", "size"))]


def table_4(rows: pd.DataFrame, words: list[str]) -> Result:
    """Mean estimates by side, ours, the paper's and the oracle critic's."""
    averaged = [name for name in TITLES if not name.startswith(("floor", "published", "decodable_bits"))]
    figures = with_constants(summarise(rows, PLACE, averaged), rows, PLACE)
    theirs = published("table4").rename(columns={"mean_bits": "published_mean_bits"})
    theirs = theirs.assign(domain="images", true_bits=1.0)
    figures = figures.merge(theirs, on=["domain", "size", "true_bits", "bound"], how="left")
    text = figures_text(figures, PLACE, TITLES)
    text["paper"] = (
        figures["published_mean_bits"].map("{:.3f}".format).where(figures["published_mean_bits"].notna(), "-")
    )
    caption = [
        "Mean estimate over all steps by the side of the images; dimension = side². "
        "The paper's are one run each, and its files hold none of side 50. The largest difference between any "
        f"two sides of a run is called none below {MARGIN:.0%} of the true MI. {DECODED}",
        over_seeds(figures),
        oracle(rows),
        *words,
    ]
    draw = functools.partial(panels, figures, draw_sides, "estimate (bits)")
    return Result("mean", figures, text, "\n".join(caption), draw, claims(rows))


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Section 5.5's sentences."""
    found = []
    for (pool, bits), part in rows.groupby(["pool", "true_bits"], sort=False):
        place = f"{pool}, {bits:g} {'bit' if bits == 1 else 'bits'}"
        for figure, words in (("mean_bits", "all steps, as published"), ("settled_mean_bits", "second half")):
            found.append(no_difference(f"The dimension does not affect the estimate: {place}, {words}.", part, figure))
        largest = part[(part["size"] == part["size"].max()) & (part["bound"] != OFF_BY_DEFINITION)]
        found += [accurate(place, truth, largest) for truth in ("true_bits", "decodable_bits")]
    return found


def accurate(place: str, truth: str, rows: pd.DataFrame) -> Claim:
    """Whether the estimates at one side are within the margin of a truth, given by its column."""
    name = "nominal" if truth == "true_bits" else "decodable"
    statement = (
        f"Estimates are accurate (within {MARGIN:.0%}) at the largest dimension, {place}, second half, against the "
        f"{name} MI."
    )
    scored = rows.dropna(subset=truth)
    if scored.empty and len(rows):
        return Claim(statement, "undecided", "no labels were decoded.")
    scored = scored.assign(relative=relative_error(scored, truth=truth))
    return every_claim(statement, scored, ["bound"], "relative", MARGIN)


def no_difference(statement: str, rows: pd.DataFrame, figure: str) -> Claim:
    """Whether the largest difference between the sides of a seed, of any estimator, is below the margin. Estimators
    that come near the oracle critic's estimate at no side have nothing to lose, and no say.
    """
    if rows["size"].nunique() < 2:
        return Claim(statement, "undecided", "one side was run.")
    near = (rows[figure] / rows["floor_mean_bits"] - 1).abs() <= REASONABLE
    rows = rows[rows["bound"].isin(rows.loc[near, "bound"])]
    if rows.empty:
        return Claim(
            statement, "undecided", f"no estimate at any side is within {REASONABLE:.0%} of the oracle critic's."
        )
    sides = rows.pivot_table(index=["seed", "bound"], columns="size", values=figure, aggfunc="mean", dropna=False)
    ranges = (sides.max(axis=1, skipna=False) - sides.min(axis=1, skipna=False)).unstack("bound")
    worst = ranges.mean().idxmax() if ranges.notna().all(axis=None) else "an estimator that diverged or was not run"
    what = f"largest difference (bits) between two sides, of any estimator, greatest for {worst}"
    return limit_claim(statement, ranges.max(axis=1, skipna=False), MARGIN * rows["true_bits"].iloc[0], what)


def draw_sides(axis: Any, rows: pd.DataFrame) -> None:
    """Mean estimates by dimension, ours solid and the paper's dashed, with both truths."""
    for bound, line, mark in lines(rows, "bound"):
        axis.errorbar(line["dimension"], line["mean_bits"], line["mean_bits_error"], capsize=3, label=bound, **mark)
        axis.plot(line["dimension"], line["published_mean_bits"], "--", color=mark["color"], alpha=0.5)
    axis.axhline(rows["true_bits"].iloc[0], color="black", linewidth=0.8, label="nominal MI")
    truth = rows.drop_duplicates("dimension")
    axis.plot(truth["dimension"], truth["decodable_bits"], "k:", label="decodable MI")
    axis.set(xlabel="dimension; dashed: paper", xscale="log")


ANALYSIS = Analysis("representation-dimension", analyse)

if __name__ == "__main__":
    main(ANALYSIS)
