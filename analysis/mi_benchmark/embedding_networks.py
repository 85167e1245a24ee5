"""Figure 8: does the estimate for text depend on the network that embeds it?"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.common.claims import Claim
from analysis.common.figures import draw_second_half, drawing
from analysis.common.tables import Analysis, Result
from analysis.mi_benchmark._benchmark import Benchmark, Evidence, figures_text
from analysis.mi_benchmark._captions import CURVES_ONLY, DECODED, PUBLISHED, least_error
from analysis.mi_benchmark._claims import (
    every_claim,
    limit_claim,
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
    """The critics and estimators with the least MSE for every network, in a sentence."""
    least = least_error(rows, "pool", ["critic", "bound"])
    pools = rows["pool"].unique()
    if len(pools) > 1:
        return least
    network = NETWORKS.get(pools[0], pools[0])
    return f"One network ({network}) was run, so none is compared: {least}"


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Appendix D.1's sentences, against both truths."""
    judged = rows[rows["bound"] != OFF_BY_DEFINITION]
    claims = []
    for truth, column in TRUTHS.items():
        scored = judged.dropna(subset=column)
        if scored.empty:
            statement = f"All estimators work well, against the {truth} MI."
            claims += scored_against(
                truth, [Claim(statement, "not tested", NOT_DECODED)]
            )
            continue
        relative = relative_error(scored, ESTIMATE, column)
        scored = scored.assign(
            relative=relative, ratio=scored[ESTIMATE] / scored[column]
        )
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
    pools = list(rows["pool"].unique())
    reference = REFERENCE if REFERENCE in pools else pools[0]
    pools.remove(reference)
    cells = ["seed", "critic", "bound", "true_bits"]
    ratios = {
        pool: part.set_index(cells)["ratio"].fillna(np.inf)
        for pool, part in rows.groupby("pool")
    }
    claims = []
    for pool in pools:
        both = pd.concat(
            [ratios[pool], ratios[reference]], axis=1, keys=["here", "there"]
        ).dropna()
        is_reliable = (both["there"] - 1).abs() <= REASONABLE
        both = both[is_reliable]
        change = (both["here"] - both["there"]).abs()
        by_seed = change.groupby(level="seed").median()
        statement = (
            f"The estimate is the same with any network: {pool} as {reference}, "
            f"relative to the {truth} MI."
        )
        what = (
            f"median |difference| of estimate / truth, where {reference} is within "
            f"{REASONABLE:.0%}"
        )
        claims.append(limit_claim(statement, by_seed, MARGIN, what, ".1%"))
    return claims


ANALYSIS = Analysis(
    "embedding-networks",
    Benchmark(tables, order=PLACE, axes=("critic",), setting=PUBLISHED_SETTING),
    claims_from="Lee & Rhee 2024, appendix D.1",
)
