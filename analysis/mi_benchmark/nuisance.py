"""Figure 5: does a background that carries no information change the estimate?"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.claims import Claim, with_interval
from analysis.common.figures import draw_estimates, drawing
from analysis.common.tables import Analysis, Result, plus_minus
from analysis.mi_benchmark._benchmark import (
    Benchmark,
    Evidence,
    figures_text,
    rows_by_truth,
)
from analysis.mi_benchmark._captions import CURVES_ONLY, DECODED, PUBLISHED
from analysis.mi_benchmark._claims import (
    every_claim,
    mean_by,
    ratio_claim,
    relative_error,
    scored_against,
)
from analysis.mi_benchmark._terms import (
    CONSTANT,
    GROUP,
    MINE,
    NOT_DECODED,
    OFF_BY_DEFINITION,
    REASONABLE,
    RELEASED_MINE,
    SCORES,
    TRUTHS,
    titled,
)
from infoscope.metrics import replicated

THRESHOLD = 0.4  # eta beyond which accuracy falls in the paper
# eta and true MI (bits) between which the paper calls MINE and SMILE-inf reliable
MAX_ETA, MIN_BITS = 0.7, 6.0
MARGIN = 0.05  # share of the nominal MI; smaller losses of decodable MI are ignored
ACCURACY = ("accuracy", "accuracy_error")
PLACE = [*GROUP, "true_bits", "nuisance", "bound"]
PUBLISHED_SETTING = PUBLISHED | {"backgrounds": {"cifar10"}}
TITLES = titled(
    "mean_bits", "second_half_mean_bits", "mse_bits2", "decodable_mse_bits2", "decodable_bits", "accuracy",
    "oracle_critic_mse_bits2",
)  # fmt: skip


def tables(evidence: Evidence) -> Sequence[Result]:
    """Estimates and errors by eta, and the estimates on unseen pairs."""
    keys = [*GROUP, "nuisance"]
    accuracies = evidence.decoded.reindex(columns=[*keys, *ACCURACY])
    accuracies = accuracies.groupby(keys, as_index=False).first()
    rows = evidence.rows.drop(columns=[*ACCURACY], errors="ignore")
    rows = rows.merge(accuracies, on=keys, how="left")
    backgrounds = ", ".join(sorted(set(evidence.trained["backgrounds"].dropna())))
    evidence = replace(
        evidence,
        rows=rows,
        comparison=[f"Backgrounds {backgrounds}.", *evidence.comparison],
    )
    return [strength_table(evidence), evidence.unseen(PLACE)]


def strength_table(evidence: Evidence) -> Result:
    """Estimates by eta with both truths and the accuracy of decoding."""
    figures = evidence.figures(PLACE, TITLES, constant=(*CONSTANT, *ACCURACY))
    figures = figures.assign(truth=figures["true_bits"].map("{:g} bits".format))
    sentences = [
        background_finding(evidence.rows),
        f"Estimates by the strength eta of the background. {CURVES_ONLY} {DECODED} If "
        "it falls, "
        "the labels are harder to decode; a perfect decoder may still find them.",
    ]
    text = figures_text(figures, PLACE, TITLES)
    draw = drawing(figures, draw_strength, "estimate (bits)", "pool", "truth")
    return evidence.result(
        "strength",
        figures,
        text,
        sentences,
        draw,
        claims(evidence.rows, evidence.decoded),
    )


def background_finding(rows: pd.DataFrame) -> str:
    """What the estimator that finds most, and a classifier, find behind the strongest
    background, at the largest true MI, in a sentence.
    """
    bits = rows["true_bits"].max()
    eta = rows["nuisance"].max()
    here = rows[(rows["true_bits"] == bits) & (rows["nuisance"] == eta)]
    means = mean_by(here, "bound", "mean_bits")
    means = means[np.isfinite(means)]
    if means.empty:
        return f"With a background of strength eta {eta:g} every estimator diverges."
    most = means.idxmax()
    of_most = replicated(here.loc[here["bound"] == most, "mean_bits"].to_numpy())
    text = f"{most}: {with_interval(of_most, 'bits', 'z.2f')} of {bits:g} bits"
    decoded = here[["decodable_bits", "decodable_bits_error"]].mean()
    if decoded.notna().all():
        text += f", while a classifier decodes {plus_minus(*decoded)} bits"
    return f"With a background of strength eta {eta:g} no estimator finds more than {text}."


def claims(rows: pd.DataFrame, decoded: pd.DataFrame) -> list[Claim]:
    """Section 5.6's sentences; MINE is judged as its released code computes it, where
    that was run.
    """
    bounds = set(rows["bound"])
    mine = RELEASED_MINE if RELEASED_MINE in bounds else MINE
    if mine == RELEASED_MINE:
        rows = rows[rows["bound"] != MINE]
    others = sorted(bounds - {MINE, RELEASED_MINE, OFF_BY_DEFINITION})
    claims = [decodable_claim(decoded), *reliable_claims(rows, mine)]
    for truth, column in TRUTHS.items():
        of_truth = rows.dropna(subset=column)
        robust = robust_claims(truth, of_truth, mine, others)
        claims += scored_against(truth, [threshold_claim(truth, of_truth), *robust])
    return claims


def robust_claims(
    truth: str, rows: pd.DataFrame, mine: str, others: Sequence[str]
) -> list[Claim]:
    """Whether MINE is more accurate than each other estimator beyond the published
    threshold.
    """
    beyond = rows[rows["nuisance"] > THRESHOLD]
    cell = ("nuisance", "true_bits")
    claims = []
    for other in others:
        statement = (
            f"MINE is more robust than {other} beyond eta {THRESHOLD:g}: MSE against "
            f"the {truth} MI."
        )
        claims.append(
            ratio_claim(
                statement,
                beyond,
                "bound",
                mine,
                other,
                SCORES[truth],
                cell,
                below=1.0,
            )
        )
    return claims


def threshold_claim(truth: str, rows: pd.DataFrame) -> Claim:
    """Whether the error is larger beyond the published threshold than up to it,
    estimator by estimator.
    """
    side = np.where(rows["nuisance"] > THRESHOLD, "beyond", "up to it")
    statement = (
        f"Accuracy falls beyond eta {THRESHOLD:g}: MSE against the {truth} MI is "
        "larger there than up to it."
    )
    return ratio_claim(
        statement,
        rows.assign(side=side),
        "side",
        "beyond",
        "up to it",
        SCORES[truth],
        above=1.0,
    )


def decodable_claim(decoded: pd.DataFrame) -> Claim:
    """Whether the decodable MI at every eta equals the one without nuisance, within a
    margin, by its 95 % intervals.
    """
    statement = (
        f"The nuisance does not change the true MI: the decodable MI falls by less "
        f"than {MARGIN:.0%} (our limit)."
    )
    if decoded.empty:
        return Claim(statement, "not tested", NOT_DECODED)
    rows = rows_by_truth(decoded)
    rows = rows.assign(
        half_width=(rows["decodable_high_bits"] - rows["decodable_low_bits"]) / 2
    )
    without = rows[rows["nuisance"] == 0]
    both = rows[rows["nuisance"] > 0].merge(
        without, on=[*GROUP, "true_bits"], suffixes=("", "_without")
    )
    if both.empty:
        return Claim(
            statement,
            "not tested",
            "the labels were not decoded with and without nuisance.",
        )
    loss = (both["decodable_bits_without"] - both["decodable_bits"]) / both["true_bits"]
    margin = (
        np.hypot(both["half_width"], both["half_width_without"]) / both["true_bits"]
    )
    low = loss - margin
    high = loss + margin
    worst = loss.idxmax()
    evidence = (
        f"largest loss {loss[worst]:.1%} of the nominal MI (95 % interval over folds "
        f"{low[worst]:.1%} to "
        f"{high[worst]:.1%}) at eta {both.loc[worst, 'nuisance']:g} and "
        f"{both.loc[worst, 'true_bits']:g} bits"
    )
    lost = both[low > MARGIN]
    verdict = "confirmed" if (high < MARGIN).all() else "undecided"
    if len(lost):
        verdict = "contradicted"
        evidence += f"; beyond {MARGIN:.0%} from eta {lost['nuisance'].min():g} on"
    return Claim(statement, verdict, f"{evidence}.")


def reliable_claims(rows: pd.DataFrame, mine: str) -> list[Claim]:
    """Whether MINE and SMILE-inf are reliable at moderate strengths and a large MI."""
    judged = rows[(rows["nuisance"] <= MAX_ETA) & (rows["true_bits"] >= MIN_BITS)]
    judged = judged.assign(relative=relative_error(judged))
    claims = []
    for bound in (mine, "smile-inf"):
        statement = (
            f"{bound} is reliable ({REASONABLE:.0%}, second half) up to eta "
            f"{MAX_ETA:g} from {MIN_BITS:g} bits on."
        )
        of_bound = judged[judged["bound"] == bound]
        claims.append(
            every_claim(
                statement, of_bound, ["nuisance", "true_bits"], "relative", REASONABLE
            )
        )
    return claims


def draw_strength(axis: Any, rows: pd.DataFrame) -> None:
    """Mean estimates by eta, with both truths."""
    draw_estimates(axis, rows, "nuisance", "mean_bits")
    truth = rows.drop_duplicates("nuisance")
    eta = truth["nuisance"]
    axis.plot(eta, truth["true_bits"], "k-", label="nominal MI")
    axis.errorbar(
        eta,
        truth["decodable_bits"],
        truth["decodable_bits_error"],
        fmt="k:",
        label="decodable MI",
    )
    accuracies = [plus_minus(accuracy, math.nan, "") for accuracy in truth["accuracy"]]
    names = [f"{value:g}  {accuracy}" for value, accuracy in zip(eta, accuracies)]
    axis.set(xlabel="eta, decoding accuracy", ylim=(0, 1.5 * rows["true_bits"].max()))
    axis.set_xticks(eta, labels=names, rotation=90)


ANALYSIS = Analysis(
    "nuisance",
    Benchmark(tables, order=PLACE, decoded_by=("nuisance",), setting=PUBLISHED_SETTING),
    claims_from="Lee & Rhee 2024, section 5.6",
)
