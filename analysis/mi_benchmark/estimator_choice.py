"""Table 3: which estimator is the most accurate?"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.common.claims import Claim
from analysis.common.figures import draw_estimates, draw_truths, drawing
from analysis.common.published import PAPERS, published_table
from analysis.common.tables import Analysis, Result, level_with, summarise
from analysis.mi_benchmark._benchmark import (
    Benchmark,
    Evidence,
    figure_text,
    figures_text,
    spread_estimators,
)
from analysis.mi_benchmark._captions import DECODED, least_error
from analysis.mi_benchmark._claims import (
    mean_by,
    paired_claim,
    scored_against,
    too_small,
)
from analysis.mi_benchmark._terms import (
    FIELD_TITLES,
    GROUP,
    LARGE_BITS,
    MINE,
    NOT_DECODED,
    ORACLE,
    RELEASED_MINE,
    SCORES,
    titled,
)
from infoscope.metrics.report import listed
from sweeps.mi_benchmark.settings import ESTIMATORS

PLACE = [*GROUP, "true_bits", "bound"]
TITLES = titled(
    "decodable_bits", "mean_bits", "mse_bits2", "decodable_mse_bits2", mean_bits="mean estimate (bits)",
    mse_bits2="MSE, nominal",
)  # fmt: skip


def add_rank(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the rank of their estimator in the paper's order; other estimators
    come last.
    """
    ranks = pd.Series(range(len(ESTIMATORS)), list(ESTIMATORS))
    return rows.assign(rank=rows["bound"].map(ranks).fillna(len(ESTIMATORS)))


def tables(evidence: Evidence) -> Sequence[Result]:
    """Table 3; the same against the decodable truth; and the estimates on unseen pairs."""
    return [table_3(evidence), both_truths(evidence), evidence.unseen(PLACE)]


def table_3(evidence: Evidence) -> Result:
    """MSE by estimator: ours, the oracle critic's, the paper's."""
    columns = ["bias_bits", "variance_bits2", "mse_bits2", "second_half_mse_bits2"]
    figures = evidence.figures(
        PLACE, columns, constant=(*ORACLE, "oracle_critic_batches")
    )
    keys = ["domain", "true_bits", "bound"]
    figures = as_released(evidence.add_published(figures, "table3", keys))
    shown = {"ours": "mse_bits2", "oracle critic": "oracle_critic_mse_bits2"}
    remarks = []
    against = None
    if not evidence.comparison:
        shown["paper"] = "published_mse_bits2"
        remarks = ["The paper's figures are one run each."]
        beside = figures[~is_not_released(figures)].replace(
            {"bound": {RELEASED_MINE: MINE}}
        )
        against = published_table("table3", ["mse_bits2"], keys, beside)
    without_error = figures.drop(columns="oracle_critic_mse_bits2_error")
    parts = []
    for source, column in shown.items():
        parts.append(
            figures[PLACE].assign(of=source, cell=figure_text(without_error, column))
        )
    text = spread_estimators(pd.concat(parts), [*GROUP, "true_bits", "of"], "-")
    text = text.rename(columns=FIELD_TITLES | {"of": ""})
    sentences = [
        "Against the nominal MI " + least_error(evidence.rows, "domain", ["bound"]),
        "MSE (bits²) over all steps of a segment, by estimator.",
    ]
    return evidence.result(
        "mse",
        figures,
        text,
        sentences,
        drawing(figures, draw_mse, "MSE (bits²)"),
        claims(evidence.rows),
        remarks=remarks,
        against=against,
        title="MSE by estimator",
    )


def as_released(figures: pd.DataFrame) -> pd.DataFrame:
    """The figures, with the paper's of MINE in the rows that average as its released
    code does, where there are some.
    """
    column = PAPERS + "mse_bits2"
    place = ["domain", "true_bits"]
    papers = figures[figures["bound"] == MINE].set_index(place)[column]
    is_released = figures["bound"] == RELEASED_MINE
    moved = figures.loc[is_released, place].join(papers, on=place)[column]
    theirs = figures[column].mask(is_not_released(figures))
    theirs[is_released] = moved
    return figures.assign(**{column: theirs})


def is_not_released(figures: pd.DataFrame) -> pd.Series:
    """Whether a row is of MINE, and there is one as its released code computes it."""
    place = pd.MultiIndex.from_frame(figures[["domain", "true_bits"]])
    has_released = place.isin(place[figures["bound"] == RELEASED_MINE])
    return (figures["bound"] == MINE) & has_released


def both_truths(evidence: Evidence) -> Result:
    """The estimates of all steps against the nominal and against the decodable truth."""
    figures = summarise(evidence.rows, PLACE, TITLES)
    errors = evidence.rows.groupby(PLACE, as_index=False, sort=False)[
        "decodable_bits_error"
    ].first()
    figures = figures.drop(columns="decodable_bits_error").merge(errors, on=PLACE)
    sentences = [
        truth_finding(figures),
        "Estimates over all steps, scored against the nominal true MI and against "
        f"the decodable one. {DECODED} In the figure, estimates above one and a half "
        "times the largest true MI leave their panel.",
    ]
    text = figures_text(figures, PLACE, TITLES)
    draw = drawing(figures, draw_means, "estimate (bits)")
    return evidence.result(
        "both-truths",
        figures,
        text,
        sentences,
        draw,
        truth_claims(evidence.rows),
        has_oracle=False,
    )


def truth_finding(figures: pd.DataFrame) -> str:
    """By how much the MSE differs between both truths, by domain, in a sentence; that
    of Gaussian pairs is exact.
    """
    change = figures["decodable_mse_bits2"] - figures["mse_bits2"]
    is_nominal = figures["domain"] != "gaussian"
    parts = []
    for domain, values in change[is_nominal].dropna().groupby(figures["domain"]):
        parts.append(
            f"{values.median():+.3f} bits² for {domain} (median of {len(values)} "
            f"estimates, range {values.min():+.3f} to {values.max():+.3f})"
        )
    if not parts:
        return "No labels were decoded, so the decodable MI is unknown."
    return (
        "Scored against the decodable MI instead of the nominal one, the MSE changes "
        f"by {listed(parts)}."
    )


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Section 5.3's sentences."""
    bits = rows["true_bits"].max()
    at_high = rows[rows["true_bits"] == bits]
    images = at_high[at_high["domain"] == "images"]
    gaussian = at_high[at_high["domain"] == "gaussian"]
    claims = []
    for truth, figure in SCORES.items():
        claims += scored_against(truth, [no_universal_winner(rows, truth, figure)])
    for bound in ("nwj", MINE) if len(images) else ():
        statement = f"In images at a large MI, {bound} is more accurate than SMILE-inf."
        claim = too_small(statement, bits)
        if bits >= LARGE_BITS:
            claim = paired_claim(statement, images, "bound", bound, "smile-inf")
        claims.append(claim)
    if len(gaussian):
        statement = (
            f"SMILE-inf is more accurate than DV for Gaussian pairs at {bits:g} bits."
        )
        claims.append(paired_claim(statement, gaussian, "bound", "smile-inf", "dv"))
    return claims


def truth_claims(rows: pd.DataFrame) -> list[Claim]:
    """Whether SMILE is the best for text, against both truths."""
    bits = rows["true_bits"].max()
    text = rows[(rows["domain"] == "text") & (rows["true_bits"] == bits)]
    if text.empty:
        return []
    claims = []
    for bound in ("smile-1", "smile-5", "smile-inf"):
        for truth, figure in SCORES.items():
            statement = (
                f"For text at {bits:g} bits, {bound} is more accurate than DV, scored "
                f"against the {truth} MI."
            )
            claim = paired_claim(statement, text, "bound", bound, "dv", figure)
            claims += scored_against(truth, [claim])
    return claims


def no_universal_winner(rows: pd.DataFrame, truth: str, figure: str) -> Claim:
    """Whether for every estimator some domain has a surely more accurate one, in the
    mean over all true MI, by paired 95 % intervals.
    """
    levels = ", ".join(f"{bits:g}" for bits in sorted(set(rows["true_bits"])))
    statement = (
        f"No estimator is the most accurate in every domain, scored against the "
        f"{truth} MI (mean over {levels} bits)."
    )
    rows = rows.dropna(subset=figure)
    if rows.empty:
        return Claim(statement, "not tested", NOT_DECODED)
    if rows["domain"].nunique() < 2:
        return Claim(statement, "not tested", "fewer than two domains were run.")
    if rows["seed"].nunique() < 2:
        return Claim(statement, "not tested", "one run: cannot be told.")
    means = mean_by(rows, ["domain", "seed", "bound"], figure)
    by_seed = means.unstack("bound")
    beaten = {}
    has_won = dict.fromkeys(by_seed, True)
    for domain, errors in by_seed.groupby(level="domain"):
        for bound in errors:
            others = errors.drop(columns=bound)
            level = level_with(errors[bound], others)
            better = others.drop(columns=level).mean()
            if len(better):
                beaten.setdefault(
                    bound,
                    f"{bound} has a larger MSE than {better.idxmin()} in {domain}",
                )
            has_won[bound] &= not level_with(-errors[bound], -others)
    left = [bound for bound in by_seed if bound not in beaten]
    winners = [bound for bound, is_winner in has_won.items() if is_winner]
    if not left:
        return Claim(statement, "confirmed", f"{'; '.join(beaten.values())}.")
    if winners:
        evidence = f"{winners[0]} is surely the most accurate in every domain."
        return Claim(statement, "contradicted", evidence)
    evidence = f"in no domain is another surely more accurate than {listed(left)}."
    return Claim(statement, "undecided", evidence)


def draw_mse(axis: Any, rows: pd.DataFrame) -> None:
    """MSE by true MI, one line per estimator, ours solid and the paper's dashed, on a
    logarithmic axis.
    """
    draw_estimates(
        axis, rows, "true_bits", "mse_bits2", capsize=3, published="published_mse_bits2"
    )
    beside = "; dashed: paper" if rows["published_mse_bits2"].notna().any() else ""
    axis.set(xlabel=f"true MI (bits){beside}", yscale="log")


def draw_means(axis: Any, rows: pd.DataFrame) -> None:
    """Mean estimates by true MI, with both truths."""
    draw_estimates(axis, rows, "true_bits", "mean_bits", capsize=3)
    draw_truths(axis, rows)


ANALYSIS = Analysis(
    "estimator-choice",
    Benchmark(
        tables, order=[*GROUP, "true_bits", "rank", "bound", "seed"], derive=add_rank
    ),
    claims_from="Lee & Rhee 2024, section 5.3",
)
