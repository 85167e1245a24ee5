"""Figures 3 and 9: which kind of critic; the error (bits²) of every critic and estimator, and their curves over steps.

Reads the runs of the sweep critic-architecture from MLflow. Errors are standard errors over seeds; comparisons are of
runs that share their seed. The inner critic has no parameters and is evaluated untrained.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.figures import grid_panels
from analysis.common.marks import BLUE, lines
from analysis.common.tables import Analysis, Claim, Result, main, plus_minus, summarise
from analysis.mi_benchmark._benchmark import (  # fmt: skip
    CURVES_ONLY,
    DECODED,
    FLOOR,
    GROUP,
    OFF_BY_DEFINITION,
    PUBLISHED,
    REASONABLE,
    by_truth,
    every_claim,
    figures_text,
    notes,
    oracle,
    oracle_text,
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
from infoscope import tracking

CRITICS = ("inner", "bilinear", "separable", "joint")
UNSTRUCTURED = ("images", "text", "mixture")
PLACE = [*GROUP, "sources", "place", "true_bits", "critic", "bound"]
PUBLISHED_SETTING = PUBLISHED | {"sources": {10, 20}, "pool": PUBLISHED["pool"] | {"mnist+imdb-bert"}}
SPAN = 200  # of the exponential moving average, as in the paper
TITLES = {
    "bias_bits": "bias (bits)",
    "variance_bits2": "variance (bits²)",
    "mse_bits2": "MSE (bits²)",
    "floor_mse_bits2": "oracle critic",
    "decodable_bits": "decodable MI (bits)",
    "decodable_mse_bits2": "MSE, decodable",
}


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """The MSE of all; for each domain, the figures and curves; and the estimates on unseen pairs."""
    trained, decoded, left_out = trained_and_decoded(runs, axes=("critic", "sources"))
    rows = with_decodable(by_truth(trained), decoded, on=("sources",))
    several = rows.groupby("domain")["sources"].transform("nunique") > 1
    named = rows["domain"] + " (" + rows["sources"].astype(str) + " sources)"
    rows = rows.assign(place=rows["domain"].mask(several, named))
    rows = rows.sort_values("bound").sort_values("critic", key=lambda names: names.map(CRITICS.index), kind="stable")
    rows = rows.sort_values([*GROUP, "sources", "true_bits"], kind="stable")
    words = [setting(trained), *unlike_published(trained, PUBLISHED_SETTING), *notes(trained), *left_out]
    domains = [one_domain(place, part, words) for place, part in rows.groupby("place", sort=False)]
    return [all_critics(rows, words), *domains, unseen(rows, PLACE, words, grid=("place", "critic"))]


def all_critics(rows: pd.DataFrame, words: list[str]) -> Result:
    """MSE by place, true MI and critic, the estimators side by side, with the oracle critic as one more critic."""
    figures = with_constants(summarise(rows, PLACE, ["mse_bits2"]), rows, PLACE)
    said = [plus_minus(*pair) for pair in zip(figures["mse_bits2"], figures["mse_bits2_error"])]
    long = pd.concat([figures.assign(said=said), figures.assign(critic="oracle", said=oracle_text(figures))])
    index = ["place", "pool", "true_bits", "critic"]
    wide = long.pivot_table(index=index, columns="bound", values="said", aggfunc="first", sort=False).fillna("not run")
    order = pd.MultiIndex.from_frame(
        long[index].drop_duplicates().sort_values(index[:3], kind="stable", key=_in_order(rows))
    )
    text = wide.reindex(order).reset_index()
    names = {"place": "domain", "pool": "data", "true_bits": "true MI (bits)"}
    caption = [
        f"MSE (bits²) over all steps of a segment, by critic and estimator. {CURVES_ONLY} "
        f"Reliable here: within {REASONABLE:.0%} of the true MI in the second half of the segment; {OFF_BY_DEFINITION} "
        "is left out of that, being 0.53 bits low by definition.",
        over_seeds(figures),
        oracle(rows),
        *words,
    ]
    draw = functools.partial(grid_panels, figures, "place", "bound", draw_mse, "MSE (bits²)")
    return Result("mse", figures, text.rename(columns=names), "\n".join(caption), draw, claims(rows))


def _in_order(rows: pd.DataFrame) -> Any:
    """A sorting key that keeps the places in the order of the rows."""
    place = {name: number for number, name in enumerate(dict.fromkeys(rows["place"]))}
    return lambda values: values.map(place) if values.name == "place" else values


def one_domain(place: str, rows: pd.DataFrame, words: list[str]) -> Result:
    """Bias, variance and MSE of a domain, against both truths, with the curves of one seed."""
    by = [*GROUP, "critic", "bound", "true_bits"]
    averaged = [name for name in TITLES if name not in ("floor_mse_bits2", "decodable_bits")]
    figures = with_constants(summarise(rows, by, averaged), rows, by)
    figures = figures.sort_values(["critic", "bound"], key=lambda names: names.map(list(dict.fromkeys(names)).index))
    chosen = rows[rows["seed"] == rows["seed"].min()].drop_duplicates("run_id")
    caption = [
        f"{place}: all steps of a segment; bias = mean estimate - truth. {DECODED} {CURVES_ONLY} Curves: "
        f"seed {chosen['seed'].iloc[0]}, every step (faint) and its exponential moving average of span {SPAN}; an axis "
        "ends at 1.5 times the largest true MI.",
        over_seeds(figures),
        oracle(rows),
        *words,
    ]
    name = place.replace(" (", "-").replace(")", "").replace(" ", "-")
    return Result(
        name, figures, figures_text(figures, by, TITLES), "\n".join(caption), functools.partial(curves, chosen)
    )


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Section 5.1's sentences, in every domain."""
    rows = rows.assign(relative=relative_error(rows), absolute_bias_bits=rows["bias_bits"].abs())
    found = []
    for place, part in rows.groupby("place", sort=False):
        found.append(reliable(f"The joint critic is reliable with every estimator: {place}.", part, "joint"))
        if part["domain"].iloc[0] == "gaussian":
            found += structured_claims(place, part)
        else:
            found += unstructured_claims(place, part)
    return found + stability_claims(rows)


def reliable(statement: str, rows: pd.DataFrame, critic: str) -> Claim:
    """Whether a critic's estimates are within the limit, with every estimator and at every true MI."""
    judged = rows[(rows["critic"] == critic) & (rows["bound"] != OFF_BY_DEFINITION)]
    return every_claim(statement, judged, ["bound", "true_bits"], "relative", REASONABLE)


def structured_claims(place: str, rows: pd.DataFrame) -> list[Claim]:
    """What is said of Gaussian pairs."""
    return [
        ratio_claim(
            f"The bilinear critic is stable, {place}: its variance is below that of the joint critic.",
            rows, "critic", "bilinear", "joint", "variance_bits2",
        ),
        ratio_claim(
            f"The bilinear critic is biased, {place}: more than the joint critic.",
            rows, "critic", "joint", "bilinear", "absolute_bias_bits",
        ),
        ratio_claim(
            f"The separable critic has a large variance, {place}: above that of the joint critic.",
            rows, "critic", "joint", "separable", "variance_bits2",
        ),
    ]  # fmt: skip


def unstructured_claims(place: str, rows: pd.DataFrame) -> list[Claim]:
    """What is said of images, text and their mixture, SMILE's advantage against both truths."""
    found = [
        ratio_claim(
            f"The bilinear critic is notably inaccurate, {place}: its MSE is above that of the joint critic.",
            rows, "critic", "joint", "bilinear", "mse_bits2",
        ),
        reliable(f"The separable critic performs well: {place}.", rows, "separable"),
    ]  # fmt: skip
    if rows["domain"].iloc[0] == "mixture":
        return found
    joint = rows[rows["critic"] == "joint"]
    joint = joint[joint.groupby("true_bits")["relative"].transform("min") <= REASONABLE]  # else none has an advantage
    for smile in sorted(name for name in set(rows["bound"]) if name.startswith("smile")):
        for truth, figure in (("nominal", "mse_bits2"), ("decodable", "decodable_mse_bits2")):
            scored = joint.dropna(subset="decodable_bits") if truth == "decodable" else joint
            statement = (
                f"No advantage of {smile} over DV, {place}: against the {truth} MI, DV's MSE is at most 10 % larger."
            )
            found.append(ratio_claim(statement, scored, "bound", "dv", smile, figure, ("true_bits",), 1.1))
    return found


def stability_claims(rows: pd.DataFrame) -> list[Claim]:
    """Is DV, unstable for Gaussian pairs at a large MI, stable elsewhere?"""
    high = rows["true_bits"].max()
    dv = rows[(rows["true_bits"] == high) & (rows["critic"] == "joint") & (rows["bound"] == "dv")]
    gaussian = list(dict.fromkeys(dv.loc[dv["domain"] == "gaussian", "place"]))[:1]
    return [
        ratio_claim(
            f"DV is stable at {high:g} bits, {place}: its variance is below that for Gaussian pairs.",
            dv, "place", place, gaussian[0] if gaussian else "gaussian", "variance_bits2", ("true_bits",),
        )
        for place in dict.fromkeys(dv.loc[dv["domain"].isin(UNSTRUCTURED), "place"])
    ]  # fmt: skip


def draw_mse(axis: Any, rows: pd.DataFrame) -> None:
    """MSE by true MI, a line per critic, on a logarithmic axis."""
    for critic, line, mark in lines(rows, "critic"):
        axis.errorbar(line["true_bits"], line["mse_bits2"], line["mse_bits2_error"], capsize=2, label=critic, **mark)
    floor = rows.drop_duplicates("true_bits")
    axis.plot(floor["true_bits"], floor[FLOOR[1]], ":", color="grey", label="oracle critic")
    axis.set(xlabel="true MI (bits)", yscale="log")


def curves(runs: pd.DataFrame, path: Path) -> None:
    """Figure 3: the estimate by step, a panel for every critic and estimator, one seed."""
    grid_panels(runs, "critic", "bound", draw_curve, "estimate (bits)", path)


def draw_curve(axis: Any, runs: pd.DataFrame) -> None:
    """Every step (faint), its moving average, and the true MI."""
    trace = tracking.table(runs["run_id"].iloc[0], "trace")
    highest = trace["true_bits"].max()
    axis.plot(trace["step"], trace["estimate_bits"], color=BLUE, alpha=0.3, linewidth=0.5)
    smooth = trace["estimate_bits"].ewm(span=SPAN).mean()
    axis.plot(trace["step"], smooth, color=BLUE, label=f"moving average, span {SPAN}")
    axis.plot(trace["step"], trace["true_bits"], color="black", linewidth=1, label="true MI")
    limit = np.log2(runs["batch"].iloc[0])
    axis.axhline(limit, color="grey", linestyle=":", linewidth=1, label="log2 of the batch size")
    axis.set(xlabel="step", ylim=(-0.25 * highest, 1.5 * highest))


ANALYSIS = Analysis("critic-architecture", analyse)

if __name__ == "__main__":
    main(ANALYSIS)
