"""Figures 3 and 9: which kind of critic is the most accurate?"""

import contextlib
import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from analysis.common.claims import Claim
from analysis.common.figures import finish
from analysis.common.marks import lines, panel_by_panel
from analysis.common.tables import Analysis, Result
from analysis.mi_benchmark._benchmark import (
    Benchmark,
    Evidence,
    figure_text,
    figures_text,
    spread_estimators,
)
from analysis.mi_benchmark._captions import CURVES_ONLY, DECODED, PUBLISHED, least_error
from analysis.mi_benchmark._claims import (
    every_claim,
    ratio_claim,
    relative_error,
    scored_against,
    too_small,
)
from analysis.mi_benchmark._terms import (
    FIELD_TITLES,
    GROUP,
    LARGE_BITS,
    OFF_BY_DEFINITION,
    REASONABLE,
    SCORES,
    TRUTHS,
    titled,
)
from infoscope import tracking
from sweeps.mi_benchmark.settings import CRITICS

UNSTRUCTURED = ("images", "text", "mixture")
PLACE = [*GROUP, "sources", "place", "true_bits", "critic", "bound"]
PUBLISHED_SETTING = PUBLISHED | {
    "sources": {10, 20},
    "pool": PUBLISHED["pool"] | {"mnist+imdb-bert"},
}
SPAN = 200  # steps, of the exponential moving average, as in the paper
TITLES = titled(
    "bias_bits",
    "variance_bits2",
    "mse_bits2",
    "oracle_critic_mse_bits2",
    "decodable_bits",
    "decodable_mse_bits2",
)


def add_place(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a `place`, the domain with its number of sources where these
    differ, and the critic's rank.
    """
    has_several = rows.groupby("domain")["sources"].transform("nunique") > 1
    named = rows["domain"] + " (" + rows["sources"].astype(str) + " sources)"
    place = rows["domain"].mask(has_several, named)
    return rows.assign(place=place, rank=rows["critic"].map(CRITICS.index))


def tables(evidence: Evidence) -> Sequence[Result]:
    """The MSE of all critics; for each place, its figures and curves; and the estimates
    on unseen pairs.
    """
    results = [mse_table(evidence)]
    for place, rows in evidence.rows.groupby("place", sort=False):
        results.append(place_table(place, replace(evidence, rows=rows)))
    results.append(evidence.unseen(PLACE))
    return results


def mse_table(evidence: Evidence) -> Result:
    """MSE by place, true MI and critic, the estimators side by side, with the oracle
    critic as one more critic.
    """
    figures = evidence.figures(PLACE, ["mse_bits2"])
    ours = figures.assign(cell=figure_text(figures, "mse_bits2"))
    oracle = figures.assign(
        critic="oracle", cell=figure_text(figures, "oracle_critic_mse_bits2")
    )
    both = pd.concat([ours, oracle])
    text = spread_estimators(both, ["place", "pool", "true_bits", "critic"], "not run")
    text = text.rename(columns=FIELD_TITLES | {"place": "domain"})
    sentences = [
        least_error(evidence.rows, "place", ["critic", "bound"]),
        "MSE (bits²) over all steps of a segment, by critic and estimator. "
        f"{CURVES_ONLY} "
        f"Reliable: within {REASONABLE:.0%} of the true MI in the second half of the "
        f"segment. {OFF_BY_DEFINITION} is "
        "left out of that, as it is 0.53 bits low by definition.",
    ]
    title = "MSE by critic and estimator"
    return evidence.result(
        "mse", figures, text, sentences, None, claims(evidence.rows), title=title
    )


def place_table(place: str, evidence: Evidence) -> Result:
    """Bias, variance and MSE of a domain, against both truths, with the curves of one
    seed.
    """
    by = [*GROUP, "critic", "bound", "true_bits"]
    figures = evidence.figures(by, TITLES)
    figures = figures.sort_values(
        ["critic", "bound"], key=lambda names: pd.factorize(names)[0]
    )
    rows = evidence.rows
    seed = rows["seed"].min()
    traces = traces_of(rows[rows["seed"] == seed].drop_duplicates("run_id"))
    sentences = [
        least_error(rows, "place", ["critic", "bound"]),
        f"All steps of a segment; bias = mean estimate - truth. {DECODED} "
        f"{CURVES_ONLY} Curves: seed "
        f"{seed}, exponential moving averages of span {SPAN}. An axis ends at 1.5 "
        "times the largest "
        "true MI.",
    ]
    name = place.replace(" (", "-").replace(")", "").replace(" ", "-")
    text = figures_text(figures, by, TITLES)
    draw = functools.partial(draw_curves, traces) if len(traces) else None
    return evidence.result(
        name, figures, text, sentences, draw, title=f"Bias, variance and MSE: {place}"
    )


def traces_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Every step of runs, with their critic and estimator; those of archived runs
    without steps are left out.
    """
    traces = [pd.DataFrame()]
    for row in runs.to_dict("records"):
        with contextlib.suppress(LookupError):
            trace = tracking.table(row["run_id"], "trace")
            traces.append(trace.assign(critic=row["critic"], bound=row["bound"]))
    return pd.concat(traces, ignore_index=True)


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Section 5.1's sentences, in every domain."""
    rows = rows.assign(
        relative=relative_error(rows), absolute_bias_bits=rows["bias_bits"].abs()
    )
    claims = []
    for place, part in rows.groupby("place", sort=False):
        claims.append(
            reliable(
                f"The joint critic is reliable with every estimator but js: {place}.",
                part,
                "joint",
            )
        )
        if part["domain"].iloc[0] == "gaussian":
            claims += structured_claims(place, part)
        else:
            claims += unstructured_claims(place, part)
    return claims + stability_claims(rows)


def reliable(statement: str, rows: pd.DataFrame, critic: str) -> Claim:
    """Whether a critic's estimates are within the limit, with every estimator and at
    every true MI.
    """
    judged = rows[(rows["critic"] == critic) & (rows["bound"] != OFF_BY_DEFINITION)]
    return every_claim(
        statement, judged, ["bound", "true_bits"], "relative", REASONABLE
    )


def structured_claims(place: str, rows: pd.DataFrame) -> list[Claim]:
    """The sentences on Gaussian pairs."""
    stable = (
        f"The bilinear critic is stable, {place}: its variance is lower than the "
        "joint critic's."
    )
    biased = f"The bilinear critic is biased, {place}: more than the joint critic."
    variable = (
        f"The separable critic has a large variance, {place}: it is larger than the "
        "joint critic's."
    )
    bilinear = rows, "critic", "bilinear", "joint"
    separable = rows, "critic", "separable", "joint"
    return [
        ratio_claim(stable, *bilinear, "variance_bits2", below=1.0),
        ratio_claim(biased, *bilinear, "absolute_bias_bits", above=1.0),
        ratio_claim(variable, *separable, "variance_bits2", above=1.0),
    ]


def unstructured_claims(place: str, rows: pd.DataFrame) -> list[Claim]:
    """The sentences on images, text and their mixture, SMILE's advantage against both
    truths.
    """
    inaccurate = (
        f"The bilinear critic is notably inaccurate, {place}: its MSE is larger than "
        "the joint critic's."
    )
    claims = [
        ratio_claim(
            inaccurate, rows, "critic", "bilinear", "joint", "mse_bits2", above=1.0
        ),
        reliable(f"The separable critic performs well: {place}.", rows, "separable"),
    ]
    if rows["domain"].iloc[0] == "mixture":
        return claims
    joint = rows[rows["critic"] == "joint"]
    least_error_at_truth = joint.groupby("true_bits")["relative"].transform("min")
    joint = joint[least_error_at_truth <= REASONABLE]  # else none has an advantage
    for smile in sorted(set(rows["bound"])):
        if not smile.startswith("smile"):
            continue
        for truth, figure in SCORES.items():
            statement = (
                f"No advantage of {smile} over DV, {place}: against the {truth} MI, "
                "DV's MSE is at most 10 % larger."
            )
            claim = ratio_claim(
                statement,
                joint.dropna(subset=TRUTHS[truth]),
                "bound",
                "dv",
                smile,
                figure,
                ("true_bits",),
                below=1.1,
            )
            claims += scored_against(truth, [claim])
    return claims


def stability_claims(rows: pd.DataFrame) -> list[Claim]:
    """Whether DV, unstable for Gaussian pairs at a large MI, is stable in other
    domains.
    """
    high = rows["true_bits"].max()
    dv = rows[
        (rows["true_bits"] == high)
        & (rows["critic"] == "joint")
        & (rows["bound"] == "dv")
    ]
    gaussian = next(iter(dv.loc[dv["domain"] == "gaussian", "place"]), "gaussian")
    claims = []
    for place in dv.loc[dv["domain"].isin(UNSTRUCTURED), "place"].unique():
        statement = (
            f"DV is stable at a large MI, {place}: its variance is below that for "
            "Gaussian pairs."
        )
        claim = ratio_claim(
            statement,
            dv,
            "place",
            place,
            gaussian,
            "variance_bits2",
            ("true_bits",),
            below=1.0,
        )
        claims.append(claim if high >= LARGE_BITS else too_small(statement, high))
    return claims


def draw_curves(traces: pd.DataFrame, *paths: Path) -> None:
    """Figure 3: the moving average of the estimate by step, a panel for every
    estimator, a line for every critic.
    """
    highest = traces["true_bits"].max()
    groups = traces.groupby("bound", sort=False)
    for axis, (bound, rows) in panel_by_panel(
        paths, groups, (3.2, 2.6), (0, 0.5), ylabel="estimate (bits)"
    ):
        for critic, line, style in lines(rows, "critic"):
            smooth = line["estimate_bits"].ewm(span=SPAN).mean()
            axis.plot(line["step"], smooth, color=style["color"], label=critic)
        truth = rows.drop_duplicates("step")
        axis.plot(
            truth["step"],
            truth["true_bits"],
            color="black",
            linewidth=1,
            label="true MI",
        )
        axis.set(title=bound, xlabel="step", ylim=(-0.25 * highest, 1.5 * highest))
        finish(axis)


ANALYSIS = Analysis(
    "critic-architecture",
    Benchmark(
        tables,
        order=[*GROUP, "sources", "true_bits", "rank", "bound"],
        axes=("critic", "sources"),
        decoded_by=("sources",),
        setting=PUBLISHED_SETTING,
        derive=add_place,
    ),
    claims_from="Lee & Rhee 2024, section 5.1",
)
