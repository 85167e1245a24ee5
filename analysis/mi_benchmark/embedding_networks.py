"""Figure 8: does the estimate for text depend on the network that embeds it?"""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from analysis.common.claims import Claim, with_interval
from analysis.common.figures import draw_second_half, drawing
from analysis.common.tables import Analysis, Result
from analysis.mi_benchmark._benchmark import Benchmark, Evidence, figures_text
from analysis.mi_benchmark._captions import CURVES_ONLY, DECODED, PUBLISHED, least_error
from analysis.mi_benchmark._claims import (
    every_claim,
    limit_claim,
    over_runs,
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

NETWORKS = {
    "imdb-bert": "BERT",
    "imdb-roberta": "RoBERTa",
    "hub:distilbert-base-uncased": "DistilBERT",
}
REFERENCE = "imdb-bert"
MARGIN = 0.1  # share of the true MI; smaller differences between networks are ignored
ESTIMATE = "second_half_mean_bits"
PERCENT = "z.1%"
PUBLISHED_SETTING = PUBLISHED | {"pool": set(NETWORKS)}
PLACE = [*GROUP, "critic", "true_bits", "bound"]
TITLES = titled(
    "second_half_mean_bits", "decodable_bits", "mse_bits2", "decodable_mse_bits2", "oracle_critic_mse_bits2",
    second_half_mean_bits="mean, 2nd half (bits)",
)  # fmt: skip


def tables(evidence: Evidence) -> Sequence[Result]:
    """Estimates by network, critic and estimator, and the estimates on unseen pairs."""
    return [network_table(evidence), evidence.unseen(PLACE)]


def network_table(evidence: Evidence) -> Result:
    """Estimates and errors against both truths, by network."""
    figures = evidence.figures(PLACE, TITLES)
    sentences = [
        network_finding(evidence.rows),
        f"Estimates by the network that embeds the text. {DECODED} "
        f"The paper's networks are BERT, RoBERTa and DistilBERT. {CURVES_ONLY} "
        f"{OFF_BY_DEFINITION} is left out of the claims, as it is 0.53 bits low by "
        "definition.",
    ]
    text = figures_text(figures, PLACE, TITLES)
    draw = drawing(figures, draw_second_half, "estimate (bits)", "pool", "critic")
    return evidence.result(
        "networks", figures, text, sentences, draw, claims(evidence.rows)
    )


def network_finding(rows: pd.DataFrame) -> str:
    """How far the estimates of other networks are from the reference's, relative to
    both truths, in a sentence; of one network, what has the least MSE.
    """
    pools = rows["pool"].unique()
    reference = reference_of(pools)
    name = network_name(reference)
    changes: dict[str, list[str]] = {}
    for truth, column in TRUTHS.items():
        for pool, by_seed in network_changes(judged(rows, column), reference).items():
            change = with_interval(over_runs(by_seed), form=PERCENT)
            texts = changes.setdefault(network_name(pool), [])
            texts.append(f"estimate / {truth} MI changes by {change}")
    if not changes:
        least = least_error(rows, "pool", ["critic", "bound"])
        why = "No estimate of two networks can be judged"
        if len(pools) == 1:
            why = f"One network ({name}) was run"
        return f"{why}, so none is compared: {least}"
    parts = [f"to {pool} {' and '.join(texts)}" for pool, texts in changes.items()]
    return (
        f"From {name} {'; '.join(parts)}: median |change| of the estimates that are "
        f"within {REASONABLE:.0%} for {name}."
    )


def network_name(pool: str) -> str:
    """The network of a set of embeddings, as the paper writes it."""
    return NETWORKS.get(pool, pool)


def judged(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows that have this truth, with the estimate's relative error and its ratio
    to the truth; without the estimator that is wrong by definition.
    """
    rows = rows[rows["bound"] != OFF_BY_DEFINITION].dropna(subset=column)
    return rows.assign(
        relative=relative_error(rows, ESTIMATE, column),
        ratio=rows[ESTIMATE] / rows[column],
    )


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Appendix D.1's sentences, against both truths."""
    claims = []
    for truth, column in TRUTHS.items():
        scored = judged(rows, column)
        if scored.empty:
            statement = f"All estimators work well, against the {truth} MI."
            claims += scored_against(
                truth, [Claim(statement, "not tested", NOT_DECODED)]
            )
            continue
        of_truth = []
        for pool, part in scored.groupby("pool", sort=False):
            statement = (
                f"All estimators work well for {pool} with the joint critic, against "
                f"the {truth} MI."
            )
            joint = part[part["critic"] == "joint"]
            cell = ["bound", "true_bits"]
            claim = every_claim(statement, joint, cell, "relative", REASONABLE)
            of_truth.append(claim)
        claims += scored_against(truth, of_truth + same_estimate_claims(truth, scored))
    return claims


def same_estimate_claims(truth: str, rows: pd.DataFrame) -> list[Claim]:
    """Whether estimate / truth equals that of the reference network, where the latter
    is reliable.
    """
    reference = reference_of(rows["pool"].unique())
    claims = []
    for pool, by_seed in network_changes(rows, reference).items():
        statement = (
            f"The estimate is the same with any network: {pool} as {reference}, "
            f"relative to the {truth} MI."
        )
        what = (
            f"median |difference| of estimate / truth, where {reference} is within "
            f"{REASONABLE:.0%}"
        )
        claims.append(limit_claim(statement, by_seed, MARGIN, what, PERCENT))
    return claims


def network_changes(rows: pd.DataFrame, reference: str) -> dict[str, pd.Series]:
    """By network, and seed, the median |difference| of estimate / truth from the
    reference network, over the estimates that are reliable there.
    """
    cells = ["seed", "critic", "bound", "true_bits"]
    finite_or_diverged = rows.fillna({"ratio": np.inf})
    ratios = finite_or_diverged.pivot(index=cells, columns="pool", values="ratio")
    if reference not in ratios:
        return {}
    there = ratios.pop(reference)
    there = there[(there - 1).abs() <= REASONABLE]
    changes = {}
    for pool, here in ratios.items():
        change = (here - there).abs().dropna()
        changes[pool] = change.groupby(level="seed").median()
    return changes


def reference_of(pools: Collection[str]) -> str:
    """The network with which the others are compared."""
    return REFERENCE if REFERENCE in pools else next(iter(pools))


ANALYSIS = Analysis(
    "embedding-networks",
    Benchmark(tables, order=PLACE, axes=("critic",), setting=PUBLISHED_SETTING),
    claims_from="Lee & Rhee 2024, appendix D.1",
)
