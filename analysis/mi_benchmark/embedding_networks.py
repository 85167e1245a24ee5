"""Figure 8: estimates (bits) for text by the network that embeds it, against the nominal MI and against what can be
decoded from its embeddings.

Reads the runs of the sweep embedding-networks from MLflow. Errors are standard errors over seeds, of the decodable MI
over folds of the items; networks are compared within a seed.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.figures import grid_panels
from analysis.common.marks import lines
from analysis.common.tables import Analysis, Claim, Result, main, summarise
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

REFERENCE = "imdb-bert"
MARGIN = 0.1  # of the truth: a smaller difference between networks is called none
ESTIMATE = "settled_mean_bits"
PUBLISHED_SETTING = PUBLISHED | {"pool": {"imdb-bert", "imdb-roberta", "hub:distilbert-base-uncased"}}
PLACE = [*GROUP, "critic", "true_bits", "bound"]
TITLES = {
    ESTIMATE: "mean, 2nd half (bits)",
    "decodable_bits": "decodable MI (bits)",
    "mse_bits2": "MSE (bits²)",
    "decodable_mse_bits2": "MSE, decodable",
    "floor_mse_bits2": "oracle critic",
}


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """Estimates by network, critic and estimator, and the estimates on unseen pairs."""
    trained, decoded, left_out = trained_and_decoded(runs, axes=("critic",))
    rows = with_decodable(by_truth(trained), decoded).sort_values(
        [*GROUP, "critic", "true_bits", "bound"], kind="stable"
    )
    words = [setting(trained), *unlike_published(trained, PUBLISHED_SETTING), *notes(trained), *left_out]
    return [by_network(rows, words), unseen(rows, PLACE, words, grid=("pool", "critic"))]


def by_network(rows: pd.DataFrame, words: list[str]) -> Result:
    """Estimates and errors against both truths."""
    averaged = [name for name in TITLES if name not in ("floor_mse_bits2", "decodable_bits")]
    figures = with_constants(summarise(rows, PLACE, averaged), rows, PLACE)
    caption = [
        f"Estimates by the network that embeds the text. {DECODED} "
        f"The paper's networks are BERT, RoBERTa and DistilBERT. {CURVES_ONLY} "
        f"{OFF_BY_DEFINITION} is left out of the claims, being 0.53 bits low by definition.",
        over_seeds(figures),
        oracle(rows),
        *words,
    ]
    draw = functools.partial(grid_panels, figures, "pool", "critic", draw_network, "estimate (bits)")
    return Result("networks", figures, figures_text(figures, PLACE, TITLES), "\n".join(caption), draw, claims(rows))


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Appendix D.1's sentences, against both truths."""
    judged = rows[rows["bound"] != OFF_BY_DEFINITION]
    found = []
    for truth, column in (("nominal", "true_bits"), ("decodable", "decodable_bits")):
        scored = judged.dropna(subset=column)
        if scored.empty:
            found.append(
                Claim(
                    f"All estimators and critics work well, against the {truth} MI.",
                    "undecided",
                    "no labels were decoded.",
                )
            )
            continue
        scored = scored.assign(
            relative=relative_error(scored, ESTIMATE, column), ratio=scored[ESTIMATE] / scored[column]
        )
        for pool, part in scored.groupby("pool", sort=False):
            statement = f"All estimators and critics work well for {pool}, against the {truth} MI."
            found.append(every_claim(statement, part, ["critic", "bound", "true_bits"], "relative", REASONABLE))
        found += regardless(truth, scored)
    return found


def regardless(truth: str, rows: pd.DataFrame) -> list[Claim]:
    """Is the estimate, relative to the truth, that of the reference network, where that one's is reliable?"""
    pools = list(dict.fromkeys(rows["pool"]))
    reference = REFERENCE if REFERENCE in pools else pools[0]
    cells = ["seed", "critic", "bound", "true_bits"]
    of = {pool: part.set_index(cells)["ratio"].fillna(np.inf) for pool, part in rows.groupby("pool")}
    found = []
    for pool in pools:
        if pool == reference:
            continue
        both = pd.concat([of[pool], of[reference]], axis=1, keys=["here", "there"]).dropna()
        both = both[(both["there"] - 1).abs() <= REASONABLE]
        change = (both["here"] - both["there"]).abs()
        by_seed = change.groupby(level="seed").median()
        statement = f"The estimate holds whichever network embeds: {pool} as {reference}, relative to the {truth} MI."
        what = f"median |difference| of estimate / truth, where {reference} is within {REASONABLE:.0%}"
        found.append(limit_claim(statement, by_seed, MARGIN, what, "{:.1%}"))
    return found


def draw_network(axis: Any, rows: pd.DataFrame) -> None:
    """Estimates by true MI, with both truths."""
    for bound, line, mark in lines(rows, "bound"):
        axis.errorbar(line["true_bits"], line[ESTIMATE], line[ESTIMATE + "_error"], capsize=2, label=bound, **mark)
    truth = rows.drop_duplicates("true_bits")
    axis.plot(truth["true_bits"], truth["true_bits"], "k-", label="nominal MI")
    axis.plot(truth["true_bits"], truth["decodable_bits"], "k:", label="decodable MI")
    axis.set(xlabel="true MI (bits)", ylim=(0, 1.5 * rows["true_bits"].max()))


ANALYSIS = Analysis("embedding-networks", analyse)

if __name__ == "__main__":
    main(ANALYSIS)
