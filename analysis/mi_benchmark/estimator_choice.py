"""Table 3: MSE (bits²) by estimator, domain and true mutual information, beside the paper's and the oracle critic's;
then the same against the decodable truth, and the estimates on unseen pairs.

Reads the runs of the sweep estimator-choice from MLflow. Errors are standard errors over seeds; comparisons are of runs
that share their seed, hence their data and initial weights.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.common.figures import panels
from analysis.common.marks import lines
from analysis.common.tables import Analysis, Claim, Result, main, plus_minus, summarise
from analysis.mi_benchmark._benchmark import (
    DECODED,
    FLOOR,
    GROUP,
    by_truth,
    notes,
    oracle,
    over_seeds,
    paired,
    paired_claim,
    published_errors,
    setting,
    trained_and_decoded,
    unlike_published,
    unseen,
    with_decodable,
)

ESTIMATORS = ("nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-5", "smile-inf")  # their order in the tables
PLACE = [*GROUP, "true_bits", "bound"]


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """Table 3; the same against what can be decoded; and the estimates on unseen pairs."""
    trained, decoded, left_out = trained_and_decoded(runs)
    rows = with_decodable(by_truth(trained), decoded)
    by_name = rows["bound"].map({name: place for place, name in enumerate(ESTIMATORS)}).fillna(len(ESTIMATORS))
    rows = rows.assign(place=by_name).sort_values([*GROUP, "true_bits", "place", "bound", "seed"], ignore_index=True)
    words = [setting(trained), *unlike_published(trained), *notes(trained), *left_out]
    return [table_3(rows, words), both_truths(rows, words), unseen(rows, PLACE, words)]


def table_3(rows: pd.DataFrame, words: list[str]) -> Result:
    """MSE by estimator: ours, the oracle critic's, the paper's."""
    figures = summarise(rows, PLACE, ["bias_bits", "variance_bits2", "mse_bits2", "settled_mse_bits2"])
    figures = figures.merge(rows.groupby(PLACE, as_index=False)[[*FLOOR, "floor_batches"]].first(), on=PLACE)
    theirs = published_errors("table3")
    theirs = theirs.rename(columns={name: f"published_{name}" for name in theirs.columns[3:]})
    figures = figures.merge(theirs, on=["domain", "true_bits", "bound"], how="left")

    said = {
        "ours": [plus_minus(*pair) for pair in zip(figures["mse_bits2"], figures["mse_bits2_error"])],
        "oracle critic": [plus_minus(value, float("nan"), "infinite") for value in figures["floor_mse_bits2"]],
        "paper": [plus_minus(value, float("nan"), "-") for value in figures["published_mse_bits2"]],
    }
    index = [*GROUP, "true_bits", "of"]
    long = pd.concat([figures[PLACE].assign(of=name, said=text) for name, text in said.items()])
    bounds = list(dict.fromkeys(rows["bound"]))
    text = long.pivot(index=index, columns="bound", values="said").fillna("-")[bounds]
    order = pd.MultiIndex.from_frame(long[index].drop_duplicates().sort_values(index[:3], kind="stable"))
    text = text.reindex(order).reset_index().rename(columns={"pool": "data", "true_bits": "true MI (bits)", "of": ""})
    caption = [
        "MSE (bits²) over all steps of a segment, by estimator.",
        f"{over_seeds(figures)} The paper's figures are one run each.",
        oracle(rows),
        *words,
    ]
    draw = functools.partial(panels, figures, draw_mse, "MSE (bits²)")
    return Result("mse", figures, text, "\n".join(caption), draw, claims(rows))


def both_truths(rows: pd.DataFrame, words: list[str]) -> Result:
    """The estimates of all steps against the nominal and against the decodable truth."""
    columns = ["decodable_bits", "mean_bits", "mse_bits2", "decodable_mse_bits2"]
    figures = summarise(rows, PLACE, columns)
    known = rows.groupby(PLACE, as_index=False, sort=False)["decodable_bits_error"].first()
    figures = figures.drop(columns="decodable_bits_error").merge(known, on=PLACE)
    titles = {"pool": "data", "true_bits": "true MI (bits)", "bound": "estimator"}
    text = figures[[*PLACE, "runs"]].rename(columns=titles)
    titles = ("decodable MI (bits)", "mean estimate (bits)", "MSE, nominal", "MSE, decodable")
    for column, title in zip(columns, titles):
        missing = "not decoded" if "decodable" in column else "diverged"
        text[title] = [plus_minus(*pair, missing) for pair in zip(figures[column], figures[column + "_error"])]
    caption = [
        f"The estimates of all steps scored against the nominal true MI and against the decodable one. {DECODED}",
        over_seeds(figures),
        *words,
    ]
    draw = functools.partial(panels, figures, draw_truths, "estimate (bits)")
    return Result("both-truths", figures, text, "\n".join(caption), draw, truth_claims(rows))


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Section 5.3's sentences."""
    high = rows["true_bits"].max()
    at_high = {domain: part for domain, part in rows[rows["true_bits"] == high].groupby("domain", sort=False)}
    found = [no_universal_winner(rows)]
    if "images" in at_high:
        found += [
            paired_claim(
                f"In images at a large MI ({high:g} bits), {bound} is more accurate than SMILE-inf.",
                at_high["images"], "bound", bound, "smile-inf",
            )
            for bound in ("nwj", "mine")
        ]  # fmt: skip
    if "gaussian" in at_high:
        statement = f"SMILE-inf is more accurate than DV for Gaussian pairs at {high:g} bits."
        found.append(paired_claim(statement, at_high["gaussian"], "bound", "smile-inf", "dv"))
    return found


def truth_claims(rows: pd.DataFrame) -> list[Claim]:
    """Is SMILE the best for text, and does that survive the truth that can be found?"""
    text = rows[(rows["domain"] == "text") & (rows["true_bits"] == rows["true_bits"].max())]
    if text.empty:
        return []
    statement = (
        f"For text at {text['true_bits'].iloc[0]:g} bits, {{}} is more accurate than DV, scored against the {{}} MI."
    )
    return [
        paired_claim(statement.format(bound, truth), text, "bound", bound, "dv", figure)
        for bound in ("smile-1", "smile-5")
        for truth, figure in (("nominal", "mse_bits2"), ("decodable", "decodable_mse_bits2"))
    ]


def no_universal_winner(rows: pd.DataFrame) -> Claim:
    """Whether the most accurate estimator, over all true MI, is another one in another domain, beyond chance."""
    statement = "No estimator is the most accurate in every domain."
    keys = ["domain", "bound", "seed"]
    over = rows.groupby(keys, as_index=False, sort=False)["mse_bits2"].agg(lambda figures: figures.mean(skipna=False))
    mean = over.groupby(keys[:2])["mse_bits2"].agg(lambda figures: figures.mean(skipna=False)).dropna()
    if rows["domain"].nunique() < 2:
        return Claim(statement, "undecided", "fewer than two domains were run.")
    if mean.index.get_level_values("domain").nunique() < 2:
        return Claim(statement, "undecided", "fewer than two domains have an estimator that never diverged.")
    winners = {domain: part.droplevel(0).idxmin() for domain, part in mean.groupby(level=0)}
    told = ", ".join(f"{domain} {bound} ({mean[domain, bound]:.3f} bits²)" for domain, bound in winners.items())
    evidence = f"lowest mean MSE over the true MI among {over['bound'].nunique()} estimators: {told}"
    several = len(set(winners.values())) > 1
    for domain, winner in winners.items():
        others = set(winners.values()) if several else set(mean[domain].index)
        for other in sorted(others - {winner}):
            difference = paired(over[over["domain"] == domain], "bound", winner, other, "mse_bits2")
            if difference is None:
                apart = f"in {domain}, {winner} and {other} were not both run with the same seed"
                return Claim(statement, "undecided", f"{evidence}; {apart}.")
            if not difference.high < 0:
                apart = f"in {domain}, {winner} and {other} cannot be told apart by {difference.runs} paired runs"
                return Claim(statement, "undecided", f"{evidence}; {apart}.")
    beaten = "the others' winners" if several else "every other estimator"
    found = "holds" if several else "does not hold"
    return Claim(statement, found, f"{evidence}; each beats {beaten} in its domain (95 % paired intervals).")


def draw_mse(axis: Any, rows: pd.DataFrame) -> None:
    """MSE by true MI, one line per estimator, ours solid and the paper's dashed, on a logarithmic axis."""
    for bound, line, mark in lines(rows, "bound"):
        axis.errorbar(line["true_bits"], line["mse_bits2"], line["mse_bits2_error"], capsize=3, label=bound, **mark)
        axis.plot(line["true_bits"], line["published_mse_bits2"], "--", color=mark["color"], alpha=0.5)
    axis.set(xlabel="true MI (bits); dashed: paper", yscale="log")


def draw_truths(axis: Any, rows: pd.DataFrame) -> None:
    """Mean estimates by true MI, with both truths."""
    for bound, line, mark in lines(rows, "bound"):
        axis.errorbar(line["true_bits"], line["mean_bits"], line["mean_bits_error"], capsize=3, label=bound, **mark)
    truth = rows.drop_duplicates("true_bits")
    axis.plot(truth["true_bits"], truth["true_bits"], "k-", label="nominal MI")
    axis.plot(truth["true_bits"], truth["decodable_bits"], "k:", label="decodable MI")
    axis.set(xlabel="true MI (bits)")


ANALYSIS = Analysis("estimator-choice", analyse)

if __name__ == "__main__":
    main(ANALYSIS)
