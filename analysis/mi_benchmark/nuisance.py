"""Figure 5: does a background that carries no information change the estimate?"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.figures import draw_estimates, drawing
from analysis.common.tables import Analysis, Claim, Result, changes_text, plus_minus
from analysis.mi_benchmark._benchmark import Benchmark, Evidence, figures_text, rows_by_truth
from analysis.mi_benchmark._captions import CURVES_ONLY, DECODED, PUBLISHED
from analysis.mi_benchmark._claims import every_claim, paired_changes, ratio_claim, relative_error
from analysis.mi_benchmark._terms import CONSTANT, GROUP, NOT_DECODED, OFF_BY_DEFINITION, REASONABLE, SCORES, titled

THRESHOLD = 0.4  # eta beyond which accuracy falls in the paper
MAX_ETA, MIN_BITS = 0.7, 6.0  # eta and true MI (bits) between which the paper calls MINE and SMILE-inf reliable
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
    known = evidence.decoded.reindex(columns=[*keys, *ACCURACY]).groupby(keys, as_index=False).first()
    rows = evidence.rows.drop(columns=[*ACCURACY], errors="ignore").merge(known, on=keys, how="left")
    backgrounds = ", ".join(sorted(set(evidence.trained["backgrounds"].dropna())))
    evidence = replace(evidence, rows=rows, comparison=[f"Backgrounds {backgrounds}.", *evidence.comparison])
    return [strength_table(evidence), evidence.unseen(PLACE)]


def strength_table(evidence: Evidence) -> Result:
    """Estimates by eta with both truths and the accuracy of decoding."""
    figures = evidence.figures(PLACE, TITLES, constant=(*CONSTANT, *ACCURACY))
    figures = figures.assign(truth=figures["true_bits"].map("{:g} bits".format))
    sentences = [
        background_finding(evidence.rows),
        f"Estimates by the strength eta of the background. {CURVES_ONLY} {DECODED} Where it falls, "
        "the labels are harder to decode; a perfect decoder may still find them.",
    ]
    text = figures_text(figures, PLACE, TITLES)
    draw = drawing(figures, draw_strength, "estimate (bits)", "pool", "truth")
    return evidence.result("strength", figures, text, sentences, draw, claims(evidence.rows, evidence.decoded))


def background_finding(rows: pd.DataFrame) -> str:
    """By how much each estimate changes from no to the strongest background, at the largest true MI, in a sentence."""
    bits, strongest = rows["true_bits"].max(), rows["nuisance"].max()
    changes = paired_changes(rows[rows["true_bits"] == bits], "nuisance", strongest, 0.0, "mean_bits", "bound")
    return (
        f"From no background to eta {strongest:g} estimates of {bits:g} bits change: {changes_text(changes, 'bits')}."
    )


def claims(rows: pd.DataFrame, decoded: pd.DataFrame) -> list[Claim]:
    """Section 5.6's sentences."""
    scored = {"nominal": rows, "decodable": rows.dropna(subset="decodable_bits")}
    truths = [(truth, figure, scored[truth]) for truth, figure in SCORES.items()]
    found = [threshold_claim(truth, figure, scored) for truth, figure, scored in truths]
    found.append(decodable_claim(decoded))
    found += reliable_claims(rows)
    for truth, figure, scored in truths:
        for other in dict.fromkeys(rows["bound"]):
            if other not in ("mine", OFF_BY_DEFINITION):
                statement = f"MINE is more robust than {other} beyond eta {THRESHOLD:g}: MSE against the {truth} MI."
                over = ("nuisance", "true_bits")
                beyond = scored[scored["nuisance"] > THRESHOLD]
                found.append(ratio_claim(statement, beyond, "bound", "mine", other, figure, over))
    return found


def threshold_claim(truth: str, figure: str, rows: pd.DataFrame) -> Claim:
    """Whether the error is larger beyond the published threshold than up to it, estimator by estimator."""
    side = np.where(rows["nuisance"] > THRESHOLD, "beyond", "up to it")
    statement = f"Accuracy falls beyond eta {THRESHOLD:g}: MSE against the {truth} MI is larger there than up to it."
    return ratio_claim(statement, rows.assign(side=side), "side", "up to it", "beyond", figure)


def decodable_claim(decoded: pd.DataFrame) -> Claim:
    """Whether the decodable MI at every eta is that without nuisance, within a margin, by its 95 % intervals."""
    statement = "The nuisance does not change the true MI: the decodable MI stays what it is without nuisance."
    keys = [*GROUP, "true_bits"]
    if decoded.empty:
        return Claim(statement, "undecided", NOT_DECODED)
    decoded = rows_by_truth(decoded)
    decoded = decoded.assign(half_width=(decoded["decodable_high_bits"] - decoded["decodable_low_bits"]) / 2)
    both = decoded[decoded["nuisance"] > 0].merge(decoded[decoded["nuisance"] == 0], on=keys, suffixes=("", "_without"))
    if both.empty:
        return Claim(statement, "undecided", "the labels were not decoded with and without nuisance.")
    loss = (both["decodable_bits_without"] - both["decodable_bits"]) / both["true_bits"]
    margin = np.hypot(both["half_width"], both["half_width_without"]) / both["true_bits"]
    low, high = loss - margin, loss + margin
    lost, kept = low > MARGIN, high < MARGIN
    verdict = "contradicted" if lost.any() else "confirmed" if kept.all() else "undecided"
    worst = loss.idxmax()
    evidence = (
        f"largest loss {loss[worst]:.1%} of the nominal MI (95 % interval over folds {low[worst]:.1%} to "
        f"{high[worst]:.1%}) at eta {both.loc[worst, 'nuisance']:g} and {both.loc[worst, 'true_bits']:g} bits"
    )
    from_eta = f"; beyond {MARGIN:.0%} from eta {both.loc[lost, 'nuisance'].min():g} on" if lost.any() else ""
    return Claim(statement, verdict, f"{evidence}{from_eta}; margin {MARGIN:.0%}.")


def reliable_claims(rows: pd.DataFrame) -> list[Claim]:
    """Whether MINE and SMILE-inf are reliable at moderate strengths and a large MI."""
    judged = rows[(rows["nuisance"] <= MAX_ETA) & (rows["true_bits"] >= MIN_BITS)]
    judged = judged.assign(relative=relative_error(judged))
    return [
        every_claim(
            f"{bound} is reliable ({REASONABLE:.0%}, second half) up to eta {MAX_ETA:g} from {MIN_BITS:g} bits on.",
            judged[judged["bound"] == bound], ["nuisance", "true_bits"], "relative", REASONABLE,
        )
        for bound in ("mine", "smile-inf")
    ]  # fmt: skip


def draw_strength(axis: Any, rows: pd.DataFrame) -> None:
    """Mean estimates by eta, with both truths."""
    draw_estimates(axis, rows, "nuisance", "mean_bits")
    truth = rows.drop_duplicates("nuisance")
    axis.plot(truth["nuisance"], truth["true_bits"], "k-", label="nominal MI")
    axis.errorbar(
        truth["nuisance"], truth["decodable_bits"], truth["decodable_bits_error"], fmt="k:", label="decodable MI"
    )
    accuracies = [plus_minus(accuracy, math.nan, "") for accuracy in truth["accuracy"]]
    names = [f"{eta:g}  {accuracy}" for eta, accuracy in zip(truth["nuisance"], accuracies)]
    axis.set(xlabel="eta, decoding accuracy", ylim=(0, 1.5 * rows["true_bits"].max()))
    axis.set_xticks(truth["nuisance"], labels=names, rotation=90)


ANALYSIS = Analysis("nuisance", Benchmark(tables, order=PLACE, decoded_by=("nuisance",), setting=PUBLISHED_SETTING))
