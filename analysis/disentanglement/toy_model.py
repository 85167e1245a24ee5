"""Table 1 of Tokui & Sato 2021: are its printed formulas right?

Two of the printed formulas are wrong: MIG under the redundancy attack for two and three
factors, and the upper bound of the unique information under the synergy attack. The
exact values follow from Eq. 7; estimates check them.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.special import ndtri

from analysis.common.claims import Claim
from analysis.common.marks import lines, panel_by_panel
from analysis.common.published import published_figures
from analysis.common.runs import latest, ordered, versions
from analysis.common.tables import Analysis, Result, text_of, with_error
from analysis.disentanglement._scores import TERMS
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics import pid, replicated
from infoscope.metrics.factor_information import toy

NOTHING = 1e-9  # bits
ALARM = 0.01  # chance of a false alarm among all comparisons, at most
SCORES = {"mig": "MIG", "unique_low": "U lower (UniBound)", "unique_high": "U upper"}
ATTACKS = ("none", "redundancy", "synergy")
CELL = ["attack", "factors", "alpha", "noise"]


def printed(score: str, attack: str, factors: int, noise: float, alpha: float) -> float:
    """The formulas of table 1 as printed, in nats; alpha may be infinite."""
    total = 0.5 * math.log(1 + noise**-2)
    if attack == "none" or (attack == "synergy" and score == "unique_high"):
        return total
    if attack == "synergy":
        return 0.5 * math.log(1 + 1 / (alpha**2 + noise**2))
    variance = noise**2
    if score == "mig":
        variance += 1 - (1 - 2 / factors) ** 2
    if math.isinf(alpha):
        share = variance / (1 + noise**2)
    else:
        share = (1 + alpha**2 * variance) / (1 + alpha**2 * (1 + noise**2))
    return total + 0.5 * math.log(share)


def exact(attack: str, factors: int, noise: float, alpha: float) -> dict[str, float]:
    """The scores of table 1 that follow from Eq. 6 and 7, nats."""
    model = toy.exact(attack, factors, noise, alpha)
    bounds = model.aggregated(normalised=False)
    return {
        "mig": model.mig(normalised=False).value,
        "unique_low": bounds.unique_low.value,
        "unique_high": bounds.unique_high.value,
    }


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Table 1 with what it should be, and the agreement of exact values and estimates."""
    newest = runs.loc[runs["start"].idxmax()]
    runs, left_out = latest(runs, ("draws",))
    levels = ", ".join(f"{noise:g}" for noise in sorted(set(runs["noise"])))
    words = [
        f"Profile {newest['profile']}: {newest['draws']:,} draws, "
        f"{runs['seed'].nunique()} seeds, noise "
        f"{levels}; generated data; code {versions(runs)}.",
        *left_out,
    ]
    return [table1(runs, words), agreement(runs, words), decomposition(runs, words)]


def table1(runs: pd.DataFrame, words: list[str]) -> Result:
    """One row per score, attack, number of factors and strength: printed, exact and
    estimated; bits.
    """
    rows = []
    for (attack, factors, alpha, noise), members in runs.groupby(CELL, sort=False):
        rows += compared(attack, factors, noise, alpha, members)
    attacked = runs.loc[
        runs["attack"] != "none", ["attack", "factors", "noise"]
    ].drop_duplicates()
    for attack, factors, noise in attacked.itertuples(index=False, name=None):
        rows += compared(attack, factors, noise, math.inf, runs[:0])
    figures = pd.DataFrame(rows)
    figures = ordered(
        figures, ["score", "attack", "factors", "alpha"], attack=ATTACKS
    ).reset_index(drop=True)
    error = figures["printed"] - figures["exact"]
    is_wrong = error.abs() > NOTHING
    strongest = figures.loc[np.isfinite(figures["alpha"]), "alpha"].max()
    shown = figures[(figures["attack"] == "none") | (figures["alpha"] >= strongest)]
    columns = {
        "score": shown["score"].map(SCORES),
        "alpha": ("alpha", "{:g}"),
        "printed": ("printed", "{:.3f}"),
        "exact": ("exact", "{:.3f}"),
        "printed - exact": error[shown.index]
        .map("{:+.3f}".format)
        .where(is_wrong, "-"),
        "estimated": "estimated",
    }
    text = text_of(shown, ["score", "attack", "factors"], columns, "-")
    wrong = figures[is_wrong]
    largest = error[is_wrong].abs().max() if len(wrong) else 0.0
    caption = [
        f"{len(wrong)} of {len(figures)} values of the printed formulas differ from the "
        "exact ones, "
        f"by {largest:.3f} bits at most "
        "(no sampling error: both are formulas).",
        "Toy model (Tokui & Sato 2021, section 5.1): y standard normal, z given y "
        "normal around it. Bits, not "
        "normalised; alpha inf is the limit. Estimated: mean over seeds ± standard "
        "error; a largest of estimates is "
        "biased upwards where several latents are equal. Weaker attacks are in the "
        "figure.",
    ]
    for (score, attack), members in wrong.groupby(["score", "attack"]):
        factors = ", ".join(str(count) for count in sorted(set(members["factors"])))
        caption.append(
            f"Printed and exact differ: {SCORES[score]} under the {attack} attack, "
            f"factors {factors}."
        )
    draw_scores = functools.partial(draw, figures)
    title = "Printed and exact values"
    return Result(
        "table1",
        figures,
        text,
        [*caption, *words],
        draw_scores,
        claims(figures),
        against=formulas(shown),
        title=title,
    )


def formulas(figures: pd.DataFrame) -> pd.DataFrame:
    """The values of the printed formulas, with the exact ones as ours."""
    rows = []
    for row in figures.to_dict("records"):
        place = f"{row['attack']} attack, {row['factors']} factors"
        if row["attack"] == "none":
            place = f"no attack, {row['factors']} factors"
        else:
            place += f", alpha {row['alpha']:g}"
        rows.append(
            {
                "place": f"{place}, noise {row['noise']:g}",
                "quantity": SCORES[row["score"]],
                "unit": "bits",
                "published": row["printed"],
                "ours": row["exact"],
            }
        )
    return published_figures("table 1 (Tokui & Sato 2021), formulas", rows)


def compared(
    attack: str, factors: int, noise: float, alpha: float, runs: pd.DataFrame
) -> list[dict]:
    """The rows of one setting."""
    rows = []
    for score, value in exact(attack, factors, noise, alpha).items():
        row = {
            "score": score,
            "attack": attack,
            "factors": factors,
            "alpha": alpha,
            "noise": noise,
            "printed": printed(score, attack, factors, noise, alpha) / NATS_PER_BIT,
            "exact": value / NATS_PER_BIT,
            "estimated": math.nan,
            "estimated_error": math.nan,
            "runs": len(runs),
        }
        if len(runs):
            estimates = runs[f"sampled/{score}_nats"] / NATS_PER_BIT
            row |= with_error("estimated", replicated(estimates))
        rows.append(row)
    return rows


def claims(figures: pd.DataFrame) -> list[Claim]:
    """The paper's claims on table 1, decided by exact values."""
    limits = figures[np.isinf(figures["alpha"])]

    def claim(
        score: str, attack: str, falls: bool, statement: str, least: int = 2
    ) -> list[Claim]:
        is_meant = (
            (limits["score"] == score)
            & (limits["attack"] == attack)
            & (limits["factors"] >= least)
        )
        rows = limits[is_meant]
        if rows.empty:
            return []
        has_fallen = rows["exact"] < NOTHING
        verdict = "confirmed" if (has_fallen == falls).all() else "contradicted"
        values = ", ".join(
            f"{row.exact:.3f} (K = {row.factors}, printed {row.printed:.3f})"
            for row in rows.itertuples()
        )
        evidence = f"exact {SCORES[score]} for alpha to infinity, bits: {values}."
        return [Claim(statement, verdict, evidence)]

    return [
        *claim(
            "unique_low",
            "redundancy",
            True,
            "UniBound falls to 0 under the redundancy attack.",
        ),
        *claim(
            "unique_low",
            "synergy",
            True,
            "UniBound falls to 0 under the synergy attack.",
        ),
        *claim(
            "mig",
            "redundancy",
            False,
            "MIG of more than two latents stays above 0 under redundancy.",
            least=3,
        ),
        *claim(
            "unique_high",
            "synergy",
            False,
            "The upper bound of unique information is fooled by synergy.",
        ),
    ]


def agreement(runs: pd.DataFrame, words: list[str]) -> Result:
    """By attack and number of factors, how far estimates are from closed forms, in
    standard errors.
    """
    groups = runs.groupby(["attack", "factors"], sort=False, as_index=False)
    figures = groups.agg(
        runs=("compared", "size"),
        compared=("compared", "sum"),
        largest_z=("largest_z", "max"),
        beyond_95=("beyond_95", "sum"),
        largest_without_spread=("largest_difference_without_spread_nats", "max"),
    ).astype({"compared": int})
    figures["beyond_95"] /= figures["compared"]
    total = int(figures["compared"].sum())
    limit = -float(ndtri(ALARM / 2 / total))
    largest = figures["largest_z"].max()
    without_spread = figures["largest_without_spread"].max() / NATS_PER_BIT
    columns = {
        "largest |z|": ("largest_z", "{:.2f}"),
        "|z| above 1.96": ("beyond_95", "{:.1%}"),
    }
    text = text_of(figures, ["attack", "factors", "runs", "compared"], columns)
    evidence = (
        f"the largest of {total:,} differences is {largest:.2f} standard errors "
        f"(limit {limit:.2f})."
    )
    caption = [
        f"Estimates and closed forms: {evidence}",
        "Every mutual information of a factor and one latent, all others or all, "
        "estimated and exact: the difference "
        "in standard errors. Those of one run share their draws, so that their count "
        "is not one of independent tests.",
        f"{total:,} comparisons; by chance alone, one of them is beyond {limit:.2f} "
        "standard errors with a probability "
        f"of at most {ALARM:.0%} (union bound, normal errors). Estimates without "
        "spread (of latents that are only "
        f"noise) are off by at most {without_spread:.1e} bits.",
        *words,
    ]
    verdict = "confirmed" if largest < limit else "contradicted"
    statement = (
        "Monte Carlo estimates by exact log-marginals agree with the closed forms."
    )
    claim = Claim(statement, verdict, evidence, is_ours=True)
    return Result("agreement", figures, text, caption, None, [claim])


def decomposition(runs: pd.DataFrame, words: list[str]) -> Result:
    """By setting the six bounds and the Gaussian decomposition within them, exact;
    bits.
    """
    settings = ordered(runs[CELL].drop_duplicates(), CELL, attack=ATTACKS)
    rows = []
    for attack, factors, alpha, noise in settings.itertuples(index=False, name=None):
        terms = gaussian(attack, factors, noise, alpha) / NATS_PER_BIT
        model = toy.exact(attack, factors, noise, alpha)
        bounds = np.stack([bound.value for bound in model.bounds()]) / NATS_PER_BIT
        low = bounds[::2]
        high = bounds[1::2]
        outside = np.maximum(low - terms, terms - high)
        row = {
            "attack": attack,
            "factors": factors,
            "alpha": alpha,
            "outside": outside.max(),
        }
        best = (np.arange(factors), model.best_latent())
        for number, term in enumerate(TERMS):
            row[f"{term}_low"] = low[number][best].mean()
            row[f"{term}_high"] = high[number][best].mean()
            row[f"{term}_gaussian"] = terms[number][best].mean()
        rows.append(row)
    figures = pd.DataFrame(rows)
    shown = figures[figures["alpha"].isin([0.0, figures["alpha"].max()])]
    text = shown[["attack", "factors", "alpha"]].copy()
    for term, letter in TERMS.items():
        values = shown[[f"{term}_low", f"{term}_high", f"{term}_gaussian"]]
        values = values.round(9) + 0.0  # no -0.000
        text[letter] = [
            f"{low:.3f} to {high:.3f}: {value:.3f}"
            for low, high, value in values.to_numpy()
        ]
    worst = figures["outside"].max()
    evidence = (
        f"over all pairs of factor and latent in {len(figures)} settings the terms "
        f"are outside by {worst:.1e} bits."
    )
    caption = [
        f"The Gaussian decomposition and the six bounds: {evidence}",
        "Lower to upper bound: Gaussian decomposition (Venkatesh et al. 2023), exact, "
        "bits, means over factors at the "
        "latent with most information about each. A factor is one number, so the "
        "redundancy is the lesser information "
        "(Barrett 2015): unique and synergistic information are at their lower "
        "bounds, and UniBound is what is unique. "
        "Weaker attacks are in the figures.",
        *words,
    ]
    verdict = "confirmed" if worst < NOTHING else "contradicted"
    statement = "The Gaussian decomposition lies within the six bounds."
    return Result(
        "decomposition",
        figures,
        text,
        caption,
        None,
        [Claim(statement, verdict, evidence, is_ours=True)],
    )


def gaussian(attack: str, factors: int, noise: float, alpha: float) -> np.ndarray:
    """Unique, redundant and synergistic [3, K, L] of each latent against all others,
    nats, by the covariance.
    """
    covariance = toy.covariance(attack, factors, noise, alpha)
    latents = np.arange(factors, len(covariance))
    terms = np.empty((3, factors, len(latents)))
    for factor in range(factors):
        for place, latent in enumerate(latents):
            others = latents[latents != latent]
            parts = pid.gaussian(covariance, latent, others, factor)
            terms[:, factor, place] = (
                parts.unique_a,
                parts.redundant,
                parts.synergistic,
            )
    return terms


def draw(figures: pd.DataFrame, *paths: Path) -> None:
    """Scores by attack strength, a panel per attack and score: exact (line), estimated
    (points), printed (dotted).
    """
    attacked = figures[(figures["attack"] != "none") & np.isfinite(figures["alpha"])]
    if attacked.empty:
        attacked = figures[figures["attack"] == "none"]
    title = (
        "line: exact; points: estimated ± standard error over seeds; dotted: as "
        "printed, where that differs"
    )
    groups = itertools.product(SCORES, attacked["attack"].unique())
    settings = {"title": title, "dpi": 130, "sharey": True}
    for axis, (score, attack) in panel_by_panel(
        paths, groups, (3.6, 2.8), (0, 0.4), ylabel="bits", **settings
    ):
        part = attacked[(attacked["attack"] == attack) & (attacked["score"] == score)]
        for factors, line, mark in lines(part, "factors"):
            alpha = line["alpha"]
            axis.plot(alpha, line["exact"], color=mark["color"])
            axis.errorbar(
                alpha,
                line["estimated"],
                line["estimated_error"],
                linestyle="none",
                markersize=4,
                capsize=2,
                label=f"K = {factors}",
                **mark,
            )
            if (line["printed"] - line["exact"]).abs().max() > NOTHING:
                axis.plot(alpha, line["printed"], color=mark["color"], linestyle=":")
        axis.set_title(f"{SCORES[score]}, {attack}", fontsize="small")
        axis.set_xlabel("alpha")


ANALYSIS = Analysis("toy-model", analyse, claims_from="Tokui & Sato 2021, section 5.1")
