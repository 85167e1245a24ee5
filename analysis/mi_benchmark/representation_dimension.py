"""Table 4: does the dimension of the representation change the estimate of one bit?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.claims import Claim, with_interval
from analysis.common.figures import draw_estimates, drawing
from analysis.common.published import PAPERS, published_table
from analysis.common.tables import Analysis, Result
from analysis.mi_benchmark._benchmark import Benchmark, Evidence, figures_text
from analysis.mi_benchmark._captions import DECODED, PUBLISHED
from analysis.mi_benchmark._claims import (
    every_claim,
    limit_claim,
    paired_changes,
    relative_error,
    scored_against,
)
from analysis.mi_benchmark._terms import (
    GROUP,
    NOT_DECODED,
    OFF_BY_DEFINITION,
    REASONABLE,
    TRUTHS,
    titled,
)

THEIRS = (
    " The paper's figures are of one run each, and its files have no run of side 50."
)
MARGIN = 0.05  # share of the true MI; smaller differences are ignored
PLACE = [*GROUP, "size", "dimension", "true_bits", "bound"]
PUBLISHED_SETTING = PUBLISHED | {
    "steps": {20_000}, "sources": {1}, "size": {10, 20, 50, 100}, "schedule_bits": {(1.0,)},
}  # fmt: skip
TITLES = titled(
    "mean_bits", "published_mean_bits", "second_half_mean_bits", "mse_bits2", "oracle_critic_mean_bits",
    "oracle_critic_mse_bits2", "decodable_bits", "decodable_mse_bits2", oracle_critic_mse_bits2="oracle critic, MSE",
)  # fmt: skip


def tables(evidence: Evidence) -> Sequence[Result]:
    """Table 4, and the estimates on unseen pairs."""
    return [table_4(evidence), evidence.unseen(PLACE)]


def table_4(evidence: Evidence) -> Result:
    """Mean estimates by side, ours, the paper's and the oracle critic's."""
    is_published = not evidence.comparison
    on = ["domain", "size", "true_bits", "bound"]
    figures = evidence.figures(PLACE, TITLES)
    figures = evidence.add_published(
        figures, "table4", on, domain="images", true_bits=1.0
    )
    sentences = [
        dimension_finding(evidence.rows),
        "Mean estimate over all steps by the side of the images; dimension = "
        f"side².{THEIRS if is_published else ''} "
        f"Differences between the sides of a run below {MARGIN:.0%} of the true MI "
        f"are ignored. {DECODED}",
    ]
    titles = {
        column: title
        for column, title in TITLES.items()
        if is_published or PAPERS not in column
    }
    text = figures_text(figures, PLACE, titles)
    draw = drawing(figures, draw_sides, "estimate (bits)")
    against = None
    if is_published:
        at_side = figures[(figures["domain"] == "images") & (figures["true_bits"] == 1)]
        against = published_table("table4", ["mean_bits"], ["size", "bound"], at_side)
    return evidence.result(
        "mean", figures, text, sentences, draw, claims(evidence.rows), against=against
    )


def dimension_finding(rows: pd.DataFrame) -> str:
    """Of the estimator that differs most between the largest and the smallest side, by
    how much, in a sentence.
    """
    large, small = rows["size"].max(), rows["size"].min()
    changes = paired_changes(rows, "size", large, small, "mean_bits", "bound")
    changes = {
        name: change for name, change in changes.items() if np.isfinite(change.value)
    }
    if not changes:
        return "No estimator was run with two sides of the images."
    worst = max(changes, key=lambda name: abs(changes[name].value))
    return (
        f"Side {large:g} instead of {small:g} changes the estimate most for {worst}: "
        f"{with_interval(changes[worst], 'bits')}, of {len(changes)} estimators."
    )


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Section 5.5's sentences."""
    claims = []
    for (pool, bits), part in rows.groupby(["pool", "true_bits"], sort=False):
        unit = "bit" if bits == 1 else "bits"
        place = f"{pool}, {bits:g} {unit}"
        statement = f"The estimate is the same in every dimension: {place}"
        claims.append(
            dimension_claim(f"{statement}, all steps, as published.", part, "mean_bits")
        )
        claims.append(
            dimension_claim(f"{statement}, second half.", part, "second_half_mean_bits")
        )
        is_largest = part["size"] == part["size"].max()
        largest = part[is_largest & (part["bound"] != OFF_BY_DEFINITION)]
        for truth, column in TRUTHS.items():
            claim = accuracy_claim(place, truth, column, largest)
            claims += scored_against(truth, [claim])
    return claims


def accuracy_claim(place: str, truth: str, column: str, rows: pd.DataFrame) -> Claim:
    """Whether the estimates at one side length are within the margin of a truth, given
    by its column.
    """
    side = rows["size"].max()
    statement = (
        f"Estimates are accurate (within {MARGIN:.0%}) at the largest dimension that "
        f"was run, side {side:g}, {place}, second half, against the {truth} MI."
    )
    scored = rows.dropna(subset=column)
    if scored.empty and len(rows):
        return Claim(statement, "not tested", NOT_DECODED)
    scored = scored.assign(relative=relative_error(scored, truth=column))
    return every_claim(statement, scored, ["bound"], "relative", MARGIN)


def dimension_claim(statement: str, rows: pd.DataFrame, figure: str) -> Claim:
    """Whether the largest difference between sides is below the margin; estimators far
    from the oracle are excluded.
    """
    if rows["size"].nunique() < 2:
        return Claim(statement, "not tested", "one side was run.")
    is_near = (rows[figure] / rows["oracle_critic_mean_bits"] - 1).abs() <= REASONABLE
    bounds = rows.loc[is_near, "bound"]
    rows = rows[rows["bound"].isin(bounds)]
    if rows.empty:
        why = (
            f"no estimate at any side is within {REASONABLE:.0%} of the oracle "
            "critic's."
        )
        return Claim(statement, "undecided", why)
    sides = rows.pivot_table(
        index=["seed", "bound"],
        columns="size",
        values=figure,
        aggfunc="mean",
        dropna=False,
    )
    ranges = sides.max(axis=1, skipna=False) - sides.min(axis=1, skipna=False)
    ranges = ranges.unstack("bound")
    worst = "an estimator that diverged or was not run"
    if ranges.notna().all(axis=None):
        worst = ranges.mean().idxmax()
    what = (
        "largest difference (bits) between two sides, of any estimator, greatest for "
        f"{worst}"
    )
    limit = MARGIN * rows["true_bits"].iloc[0]
    return limit_claim(statement, ranges.max(axis=1, skipna=False), limit, what)


def draw_sides(axis: Any, rows: pd.DataFrame) -> None:
    """Mean estimates by dimension, ours solid and the paper's dashed, with both truths."""
    draw_estimates(
        axis, rows, "dimension", "mean_bits", capsize=3, published="published_mean_bits"
    )
    axis.axhline(
        rows["true_bits"].iloc[0], color="black", linewidth=0.8, label="nominal MI"
    )
    truth = rows.drop_duplicates("dimension")
    axis.plot(truth["dimension"], truth["decodable_bits"], "k:", label="decodable MI")
    beside = "; dashed: paper" if rows["published_mean_bits"].notna().any() else ""
    axis.set(xlabel=f"dimension{beside}", xscale="log")


ANALYSIS = Analysis(
    "representation-dimension",
    Benchmark(
        tables,
        order=[*GROUP, "true_bits", "size", "bound"],
        axes=("size",),
        decoded_by=("size",),
        setting=PUBLISHED_SETTING,
        derive=lambda rows: rows.assign(dimension=rows["size"] ** 2),
    ),
    claims_from="Lee & Rhee 2024, section 5.5",
)
