"""Figure 5: estimates and error (bits²) by the strength eta of a background that carries no information, beside what
can be decoded at that strength.

Reads the runs of the sweep nuisance from MLflow. Errors are standard errors over seeds, of the decodable MI over folds
of the items; strengths and estimators are compared within a seed.
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.figures import grid_panels
from analysis.common.marks import lines
from analysis.common.tables import Analysis, Claim, Result, main, plus_minus, summarise
from analysis.mi_benchmark._benchmark import (
    CURVES_ONLY,
    DECODED,
    GROUP,
    OFF_BY_DEFINITION,
    PUBLISHED,
    REASONABLE,
    by_truth,
    every_claim,
    figures_text,
    notes,
    oracle,
    over_seeds,
    ratio_claim,
    relative_error,
    setting,
    trained_and_decoded,
    unlike_published,
    unseen,
    with_constants,
    with_decodable,
)

THRESHOLD = 0.4  # the eta beyond which the paper sees accuracy fall
MODERATE, LARGE = 0.7, 6.0  # eta, and true MI in bits, up to and from which it calls MINE and SMILE-inf reliable
MARGIN = 0.05  # of the nominal MI: a smaller loss of decodable MI is called none
PLACE = [*GROUP, "true_bits", "nuisance", "bound"]
PUBLISHED_SETTING = PUBLISHED | {"backgrounds": {"cifar10"}}
TITLES = {
    "mean_bits": "mean (bits)",
    "settled_mean_bits": "mean, 2nd half",
    "mse_bits2": "MSE (bits²)",
    "decodable_mse_bits2": "MSE, decodable",
    "decodable_bits": "decodable MI (bits)",
    "accuracy": "decoding accuracy",
    "floor_mse_bits2": "oracle critic",
}


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """Estimates and errors by eta, and the estimates on unseen pairs."""
    trained, decoded, left_out = trained_and_decoded(runs)
    rows = with_decodable(by_truth(trained), decoded, on=("nuisance",))
    rows = rows.drop(columns=["accuracy", "accuracy_error"], errors="ignore")
    if "accuracy" in decoded:
        keys = [*GROUP, "nuisance"]
        known = decoded.groupby(keys, as_index=False)[["accuracy", "accuracy_error"]].first()
        rows = rows.merge(known, on=keys, how="left")
    else:
        rows = rows.assign(accuracy=math.nan, accuracy_error=math.nan)
    rows = rows.sort_values([*GROUP, "true_bits", "nuisance", "bound"], kind="stable")
    backgrounds = ", ".join(sorted(set(trained["backgrounds"].dropna())))
    words = [setting(trained), f"Backgrounds {backgrounds}.", *unlike_published(trained, PUBLISHED_SETTING)]
    words += [*notes(trained), *left_out]
    return [
        by_strength(rows, by_truth(decoded) if len(decoded) else decoded, words),
        unseen(rows, PLACE, words, grid=("pool", "nuisance")),
    ]


def by_strength(rows: pd.DataFrame, decoded: pd.DataFrame, words: list[str]) -> Result:
    """Estimates by eta with both truths and the accuracy of decoding."""
    averaged = [name for name in TITLES if name not in ("floor_mse_bits2", "decodable_bits", "accuracy")]
    figures = with_constants(summarise(rows, PLACE, averaged), rows, PLACE, extra=("accuracy", "accuracy_error"))
    figures = figures.assign(truth=figures["true_bits"].map("{:g} bits".format))
    caption = [
        f"Estimates by the strength eta of the background. {CURVES_ONLY} {DECODED} A loss of it says that the labels "
        "are harder to find, not that a perfect decoder could not.",
        over_seeds(figures),
        oracle(rows),
        *words,
    ]
    draw = functools.partial(grid_panels, figures, "pool", "truth", draw_strength, "estimate (bits)")
    return Result(
        "strength", figures, figures_text(figures, PLACE, TITLES), "\n".join(caption), draw, claims(rows, decoded)
    )


def claims(rows: pd.DataFrame, decoded: pd.DataFrame) -> list[Claim]:
    """Section 5.6's sentences."""
    known = rows.dropna(subset="decodable_bits")
    truths = (("nominal", "mse_bits2", rows), ("decodable", "decodable_mse_bits2", known))
    found = [beyond_threshold(truth, figure, scored) for truth, figure, scored in truths]
    found.append(unchanged(decoded))
    found += reliable_at_large_mi(rows)
    for truth, figure, scored in truths:
        for other in dict.fromkeys(rows["bound"]):
            if other not in ("mine", OFF_BY_DEFINITION):
                statement = f"MINE is more robust than {other} beyond eta {THRESHOLD:g}: MSE against the {truth} MI."
                over = ("nuisance", "true_bits")
                beyond = scored[scored["nuisance"] > THRESHOLD]
                found.append(ratio_claim(statement, beyond, "bound", "mine", other, figure, over))
    return found


def beyond_threshold(truth: str, figure: str, rows: pd.DataFrame) -> Claim:
    """Whether the error is larger beyond the published threshold than up to it, estimator by estimator."""
    side = np.where(rows["nuisance"] > THRESHOLD, "beyond", "up to it")
    statement = f"Accuracy falls beyond eta {THRESHOLD:g}: MSE against the {truth} MI is larger there than up to it."
    return ratio_claim(statement, rows.assign(side=side), "side", "up to it", "beyond", figure)


def unchanged(decoded: pd.DataFrame) -> Claim:
    """Whether the decodable MI at every eta is that without nuisance, less a margin, by its 95 % intervals."""
    statement = "The nuisance does not change the true MI: the decodable MI stays what it is without nuisance."
    keys = [*GROUP, "true_bits"]
    if decoded.empty:
        return Claim(statement, "undecided", "no labels were decoded.")
    decoded = decoded.assign(half_width=(decoded["decodable_high_bits"] - decoded["decodable_low_bits"]) / 2)
    both = decoded[decoded["nuisance"] > 0].merge(decoded[decoded["nuisance"] == 0], on=keys, suffixes=("", "_without"))
    if both.empty:
        return Claim(statement, "undecided", "the labels were not decoded with and without nuisance.")
    loss = (both["decodable_bits_without"] - both["decodable_bits"]) / both["true_bits"]
    margin = np.hypot(both["half_width"], both["half_width_without"]) / both["true_bits"]
    low, high = loss - margin, loss + margin
    lost, kept = low > MARGIN, high < MARGIN
    verdict = "does not hold" if lost.any() else "holds" if kept.all() else "undecided"
    worst = loss.idxmax()
    told = (
        f"largest loss {loss[worst]:.1%} of the nominal MI (95 % interval over folds {low[worst]:.1%} to "
        f"{high[worst]:.1%}) at eta {both.loc[worst, 'nuisance']:g} and {both.loc[worst, 'true_bits']:g} bits"
    )
    from_eta = f"; beyond {MARGIN:.0%} from eta {both.loc[lost, 'nuisance'].min():g} on" if lost.any() else ""
    return Claim(statement, verdict, f"{told}{from_eta}; margin {MARGIN:.0%}.")


def reliable_at_large_mi(rows: pd.DataFrame) -> list[Claim]:
    """Are MINE and SMILE-inf within the limit at moderate strengths and a large MI?"""
    judged = rows[(rows["nuisance"] <= MODERATE) & (rows["true_bits"] >= LARGE)]
    judged = judged.assign(relative=relative_error(judged))
    return [
        every_claim(
            f"{bound} is reliable ({REASONABLE:.0%}, second half) up to eta {MODERATE:g} from {LARGE:g} bits on.",
            judged[judged["bound"] == bound], ["nuisance", "true_bits"], "relative", REASONABLE,
        )
        for bound in ("mine", "smile-inf")
    ]  # fmt: skip


def draw_strength(axis: Any, rows: pd.DataFrame) -> None:
    """Mean estimates by eta, with both truths."""
    for bound, line, mark in lines(rows, "bound"):
        axis.errorbar(line["nuisance"], line["mean_bits"], line["mean_bits_error"], capsize=2, label=bound, **mark)
    truth = rows.drop_duplicates("nuisance")
    axis.plot(truth["nuisance"], truth["true_bits"], "k-", label="nominal MI")
    axis.errorbar(
        truth["nuisance"], truth["decodable_bits"], truth["decodable_bits_error"], fmt="k:", label="decodable MI"
    )
    accuracies = [plus_minus(accuracy, math.nan, "") for accuracy in truth["accuracy"]]
    names = [f"{eta:g}  {accuracy}" for eta, accuracy in zip(truth["nuisance"], accuracies)]
    axis.set(xlabel="eta, decoding accuracy", ylim=(0, 1.5 * rows["true_bits"].max()))
    axis.set_xticks(truth["nuisance"], labels=names, rotation=90)


ANALYSIS = Analysis("nuisance", analyse)

if __name__ == "__main__":
    main(ANALYSIS)
