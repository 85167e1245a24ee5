"""Table 2: bias, variance and MSE (bits) by critic depth and domain, beside the paper's and the oracle critic's.

Reads the runs of the sweep critic-capacity from MLflow. Errors are standard errors over seeds; correlations of depth
and accuracy have Student t intervals over seeds, because the depths of one seed share their data.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.figures import panels
from analysis.common.marks import GREEN, VERMILLION, in_order, lines, style
from analysis.common.tables import Analysis, Claim, Result, main, plus_minus, published, summarise, verdict
from analysis.mi_benchmark._benchmark import (
    FLOOR,
    GROUP,
    at,
    notes,
    one_setting,
    oracle,
    oracle_text,
    over_seeds,
    published_errors,
    setting,
    unlike_published,
)
from infoscope.metrics import correlation

TITLES = {
    "bias_bits": "bias (bits)",
    "variance_bits2": "variance (bits²)",
    "mse_bits2": "MSE (bits²)",
    "settled_mse_bits2": "MSE, 2nd half",
}
PRINTED = ("bias_bits", "variance_bits2", "mse_bits2")  # in the paper
PUBLISHED_BOUND = "smile-inf"


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """By depth, for the joint and the separable critic, the published table of one estimator and the MSE of all; by
    width, the MSE of all. Everything at one true MI.
    """
    bits = arguments.bits or min(value for schedule in runs["schedule_bits"] for value in schedule)
    known = sorted(set(runs["bound"]))
    bound = arguments.bound or (PUBLISHED_BOUND if PUBLISHED_BOUND in known else known[0])
    if bound not in known:
        raise ValueError(f"no runs of estimator {bound!r}; these runs have {', '.join(known)}")
    results = []
    for study in dict.fromkeys(runs["study"]):
        size = "width" if study == "width" else "depth"
        chosen, left_out = one_setting(runs[runs["study"] == study], axes=(size, "critic"))
        chosen = at(chosen, bits).sort_values([*GROUP, "critic", size, "seed"], kind="stable")
        prefix = "" if study == "depth" else f"{study}-"
        if size == "depth":
            results.append(by_depth(chosen[chosen["bound"] == bound], bound, bits, left_out, prefix))
        results.append(by_estimator(chosen, size, bits, left_out, prefix))
    return results


def by_depth(runs: pd.DataFrame, bound: str, bits: float, left_out: list[str], prefix: str) -> Result:
    """Table 2 with standard errors, the settled half, the oracle critic and the published figures."""
    figures = summarise(runs, [*GROUP, "study", "depth"], TITLES)
    figures = figures.merge(runs.groupby(GROUP, as_index=False)[FLOOR].first(), on=GROUP)
    theirs = published_errors("table2").rename(columns={name: f"published_{name}" for name in PRINTED})
    comparable = bound == PUBLISHED_BOUND and bits == 2 and set(runs["critic"]) == {"joint"}
    figures = figures.merge(theirs if comparable else theirs.iloc[:0], on=["domain", "depth"], how="left")

    text = figures[[*GROUP, "depth", "runs"]].rename(columns={"pool": "data"})
    for column, title in TITLES.items():
        text[title] = [plus_minus(*pair) for pair in zip(figures[column], figures[column + "_error"])]
    text["oracle critic"] = oracle_text(figures)
    for column in PRINTED if comparable else ():
        turned = ", sign turned" if column == "bias_bits" else ""
        text[f"paper: {TITLES[column].split()[0]}{turned}"] = figures[f"published_{column}"].map("{:.3f}".format)

    caption = [
        f"Error of {bound} by critic depth at a true MI of {bits:g} bits; bias = mean estimate - truth. "
        f"{over_seeds(figures)}",
        setting(runs),
        "All steps count, the start from scratch included, as in the paper; the second half is the settled critic.",
        oracle(runs),
        *(comparison(runs, bits) if comparable else []),
        *notes(runs),
        *left_out,
    ]
    draw = functools.partial(panels, figures, draw_depths, "MSE (bits²)")
    return Result(f"{prefix}{bound}-{bits:g}bits", figures, text, "\n".join(caption), draw, correlations(runs))


def comparison(runs: pd.DataFrame, bits: float) -> list[str]:
    """How the published figures beside ours may be read; of the schedule, only what led to this true MI matters."""
    begun = runs["schedule_bits"].map(lambda schedule: [*schedule][: [*schedule].index(bits) + 1])
    return [
        "The paper's figures are one run each, without errors; it prints the bias as truth - mean, here with its sign "
        "turned.",
        *unlike_published(runs.assign(schedule_bits=begun)),
    ]


def correlations(runs: pd.DataFrame) -> list[Claim]:
    """What the Pearson correlation of depth and accuracy (-MSE) over seeds says of the paper's sentence, by domain."""
    theirs = published("table2").groupby("domain")
    of_theirs = {domain: np.corrcoef(rows["depth"], -rows["mse_bits2"])[0, 1] for domain, rows in theirs}
    claims = []
    for (domain, pool), members in runs.groupby(GROUP, sort=False):
        statement = f"No positive correlation of critic depth and accuracy (-MSE), {domain} ({pool})."
        wide = members.pivot(index="seed", columns="depth", values="mse_bits2")
        wide = wide.dropna(axis="columns", how="all")
        whole = wide.dropna()
        short = f", {len(wide) - len(whole)} runs left out, diverged or not run at some depth" * (
            len(whole) < len(wide)
        )
        if whole.empty or whole.shape[1] < 3:
            claims.append(Claim(statement, "undecided", f"it needs three depths with finite MSE{short}."))
            continue
        r = correlation(whole.columns.to_numpy(float), -whole.to_numpy())
        interval = f"95 % interval {r.low:+.2f} to {r.high:+.2f}" if r.runs > 1 else "no interval from one run"
        told = f"r = {r.mean:+.2f} ({interval}, {r.runs} runs of {whole.shape[1]} depths{short})"
        paper = f"; from the paper's own table (joint critic, one run) {of_theirs[domain]:+.2f}"
        claims.append(Claim(statement, verdict(r.low, r.high), told + paper * (domain in of_theirs) + "."))
    return claims


def by_estimator(runs: pd.DataFrame, size: str, bits: float, left_out: list[str], prefix: str) -> Result:
    """The MSE of every estimator by the size of the critic (depth or width), with the oracle critic's."""
    rows = [*GROUP, "critic", "bound"]
    figures = summarise(runs, [*rows, size], ["mse_bits2"])
    floors = runs.groupby(rows, as_index=False, sort=False)[FLOOR].first()
    shown = [plus_minus(*pair) for pair in zip(figures["mse_bits2"], figures["mse_bits2_error"])]
    wide = figures.assign(shown=shown).pivot(index=rows, columns=size, values="shown").fillna("not run")
    wide.columns = [f"{size} {value}" for value in wide.columns]
    text = floors[rows].merge(wide.reset_index(), on=rows).rename(columns={"pool": "data", "bound": "estimator"})
    text["oracle critic"] = oracle_text(floors)
    caption = [
        f"MSE (bits²) of every estimator by critic {size} at a true MI of {bits:g} bits, all steps.",
        over_seeds(figures),
        setting(runs),
        *notes(runs),
        *left_out,
    ]
    draw = functools.partial(panels, figures, functools.partial(draw_estimators, size), "MSE (bits²)")
    return Result(f"{prefix}all-{bits:g}bits", figures.merge(floors, on=rows), text, "\n".join(caption), draw)


def draw_depths(axis: Any, rows: pd.DataFrame) -> None:
    """MSE by depth: ours, settled, published, oracle."""
    parts = (("mse_bits2", "o", VERMILLION, "all steps"), ("settled_mse_bits2", "s", GREEN, "second half"))
    for column, marker, colour, label in parts:
        error = rows[column + "_error"]
        axis.errorbar(rows["depth"], rows[column], error, marker=marker, color=colour, capsize=3, label=label)
    if rows["published_mse_bits2"].notna().any():
        axis.plot(rows["depth"], rows["published_mse_bits2"], "k--", marker="x", label="paper (one run)")
    axis.axhline(rows["floor_mse_bits2"].iloc[0], color="grey", linestyle=":", label="oracle critic")
    axis.set(xlabel="critic depth", xticks=rows["depth"])


def draw_estimators(size: str, axis: Any, rows: pd.DataFrame) -> None:
    """MSE by size, one line per critic (its style) and estimator (its mark), on a logarithmic axis."""
    critics = in_order("critic", rows["critic"])
    for critic in critics:
        for bound, line, mark in lines(rows[rows["critic"] == critic], "bound"):
            name = bound if len(critics) == 1 else f"{critic} {bound}"
            axis.errorbar(
                line[size], line["mse_bits2"], line["mse_bits2_error"], label=name, capsize=3,
                linestyle=style("critic", critic), **mark,
            )  # fmt: skip
    axis.set(xlabel=f"critic {size}", yscale="log", xscale="log" if size == "width" else "linear")
    axis.set_xticks(sorted(set(rows[size])), labels=sorted(set(rows[size])), minor=False)


ANALYSIS = Analysis(
    "critic-capacity",
    analyse,
    {
        "bound": {"help": "estimator of the first table (default: smile-inf, the paper's)"},
        "bits": {"type": float, "help": "true MI, in bits (default: the lowest of the runs)"},
    },
)

if __name__ == "__main__":
    main(ANALYSIS)
