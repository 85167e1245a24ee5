"""Table 1 of Tokui & Sato 2021: are its printed formulas right?

Two of the printed formulas are wrong: MIG under the redundancy attack for two and three factors, and the upper bound of
the unique information under the synergy attack. The exact values follow from Eq. 7; estimates check them.
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

from analysis.common.marks import lines, panel_by_panel
from analysis.common.runs import latest, ordered, versions
from analysis.common.tables import Analysis, Claim, Result, text_of, with_error
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics import pid, replicated
from infoscope.metrics.factor_information import toy

NOTHING = 1e-9  # bits
ALARM = 0.01  # chance of a false alarm among all comparisons, at most
SCORES = {"mig": "MIG", "unique_low": "U lower (UniBound)", "unique_high": "U upper"}
TERMS = {"unique": "U", "redundant": "R", "synergistic": "C"}
ATTACKS = ("none", "redundancy", "synergy")
CELL = ["attack", "factors", "alpha", "noise"]


def printed(score: str, attack: str, factors: int, noise: float, alpha: float) -> float:
    """The formulas of table 1 as printed, in nats; alpha may be infinite."""
    total = 0.5 * math.log(1 + noise**-2)
    if attack == "none" or (attack == "synergy" and score == "unique_high"):
        return total
    if attack == "synergy":
        return 0.5 * math.log(1 + 1 / (alpha**2 + noise**2))
    kept = noise**2 + (1 - (1 - 2 / factors) ** 2 if score == "mig" else 0.0)
    share = kept / (1 + noise**2) if math.isinf(alpha) else (1 + alpha**2 * kept) / (1 + alpha**2 * (1 + noise**2))
    return total + 0.5 * math.log(share)


def exact(attack: str, factors: int, noise: float, alpha: float) -> dict[str, float]:
    """The scores of table 1 that follow from Eq. 6 and 7, nats."""
    found = toy.exact(attack, factors, noise, alpha)
    bounds = found.aggregated(normalised=False)
    return {
        "mig": found.mig(normalised=False).value,
        "unique_low": bounds.unique_low.value,
        "unique_high": bounds.unique_high.value,
    }


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Table 1 with what it should be, and the agreement of exact values and estimates."""
    newest = runs.loc[runs["start"].idxmax()]
    runs, left_out = latest(runs, ("draws",))
    words = [
        f"Profile {newest['profile']}: {newest['draws']:,} draws, {runs['seed'].nunique()} seeds, noise "
        f"{', '.join(f'{noise:g}' for noise in sorted(set(runs['noise'])))}; generated data; code {versions(runs)}.",
        *left_out,
    ]
    return [table1(runs, words), agreement(runs, words), decomposition(runs, words)]


def table1(runs: pd.DataFrame, words: list[str]) -> Result:
    """One row per score, attack, number of factors and strength: printed, exact and estimated; bits."""
    rows = []
    for group, members in runs.groupby(CELL, sort=False):
        attack, factors, alpha, noise = group
        rows += compared(attack, int(factors), float(noise), float(alpha), members)
    for attack, factors, noise in {(row["attack"], row["factors"], row["noise"]) for row in rows}:
        if attack != "none":
            rows += compared(attack, factors, noise, math.inf, runs[:0])
    figures = pd.DataFrame(rows)
    figures = ordered(figures, ["score", "attack", "factors", "alpha"], attack=ATTACKS).reset_index(drop=True)
    strongest = figures.loc[np.isfinite(figures["alpha"]), "alpha"].max()
    shown = figures[(figures["attack"] == "none") | (figures["alpha"] >= strongest)]
    off = shown["printed"] - shown["exact"]
    columns = {
        "score": shown["score"].map(SCORES),
        "alpha": ("alpha", "{:g}"),
        "printed": ("printed", "{:.3f}"),
        "exact": ("exact", "{:.3f}"),
        "printed - exact": off.map("{:+.3f}".format).where(off.abs() > NOTHING, "-"),
        "estimated": "estimated",
    }
    text = text_of(shown, ["score", "attack", "factors"], columns, "-")
    wrong = figures[(figures["printed"] - figures["exact"]).abs() > NOTHING]
    where = wrong.groupby(["score", "attack"])["factors"].agg(lambda of: ", ".join(map(str, sorted(set(of)))))
    largest = (wrong["printed"] - wrong["exact"]).abs().max() if len(wrong) else 0.0
    caption = [
        f"{len(wrong)} of {len(figures)} printed values differ from the exact ones, by {largest:.3f} bits at most "
        "(no sampling error: both are formulas).",
        "Toy model (Tokui & Sato 2021, section 5.1): y standard normal, z given y normal around it. Bits, not "
        "normalised; alpha inf is the limit. Estimated: mean over seeds ± standard error; a largest of estimates is "
        "biased upwards where several latents are equal. Weaker attacks are in the figure.",
        *(
            f"Printed and exact differ: {SCORES[score]} under the {attack} attack, factors {which}."
            for (score, attack), which in where.items()
        ),
        *words,
    ]
    draw_scores = functools.partial(draw, figures)
    return Result("table1", figures, text, caption, draw_scores, claims(figures), title="Printed and exact values")


def compared(attack: str, factors: int, noise: float, alpha: float, runs: pd.DataFrame) -> list[dict]:
    """The rows of one setting."""
    place = {"attack": attack, "factors": factors, "alpha": alpha, "noise": noise}
    return [
        {
            "score": score,
            **place,
            "printed": printed(score, attack, factors, noise, alpha) / NATS_PER_BIT,
            "exact": value / NATS_PER_BIT,
            "estimated": math.nan,
            "estimated_error": math.nan,
            **(with_error("estimated", replicated(runs[f"sampled/{score}_nats"] / NATS_PER_BIT)) if len(runs) else {}),
            "runs": len(runs),
        }
        for score, value in exact(attack, factors, noise, alpha).items()
    ]


def claims(figures: pd.DataFrame) -> list[Claim]:
    """The paper's claims on table 1, decided by exact values."""
    limit = figures[np.isinf(figures["alpha"])].set_index(["score", "attack", "factors"])["exact"]

    def all_of(score: str, attack: str, falls: bool, statement: str, least: int = 2) -> list[Claim]:
        if attack not in limit.index.get_level_values("attack"):
            return []
        values = limit[score, attack]
        values = values[values.index >= least]
        said = ", ".join(f"{value:.3f} (K = {factors})" for factors, value in values.items())
        verdict = "confirmed" if ((values < NOTHING) == falls).all() else "contradicted"
        return [Claim(statement, verdict, f"exact limit of alpha to infinity, bits: {said}.")] if said else []

    return [
        *all_of("unique_low", "redundancy", True, "UniBound falls to 0 under the redundancy attack."),
        *all_of("unique_low", "synergy", True, "UniBound falls to 0 under the synergy attack."),
        *all_of("mig", "redundancy", False, "MIG of more than two latents stays above 0 under redundancy.", least=3),
        *all_of("unique_high", "synergy", False, "The upper bound of unique information is fooled by synergy."),
    ]


def agreement(runs: pd.DataFrame, words: list[str]) -> Result:
    """By attack and number of factors, how far estimates are from closed forms, in standard errors."""
    rows = []
    for (attack, factors), members in runs.groupby(["attack", "factors"], sort=False):
        rows.append({
            "attack": attack, "factors": factors, "runs": len(members), "compared": int(members["compared"].sum()),
            "largest_z": members["largest_z"].max(),
            "beyond_95": members["beyond_95"].sum() / members["compared"].sum(),
            "largest_without_spread": members["largest_difference_without_spread_nats"].max(),
        })  # fmt: skip
    figures = pd.DataFrame(rows)
    total = int(figures["compared"].sum())
    limit = -float(ndtri(ALARM / 2 / total))
    largest = figures["largest_z"].max()
    columns = {"largest |z|": ("largest_z", "{:.2f}"), "|z| above 1.96": ("beyond_95", "{:.1%}")}
    text = text_of(figures, ["attack", "factors", "runs", "compared"], columns)
    said = f"the largest of {total:,} differences is {largest:.2f} standard errors (limit {limit:.2f})."
    caption = [
        f"Estimates and closed forms: {said}",
        "Every mutual information of a factor and one latent, all others or all, estimated and exact: the difference "
        "in standard errors. Those of one run share their draws, so that their count is not one of independent tests.",
        f"{total:,} comparisons; by chance alone, one of them is beyond {limit:.2f} standard errors with a probability "
        f"of at most {ALARM:.0%} (union bound, normal errors). Where an estimate has no spread (latents that are only "
        f"noise) it is off by at most "
        f"{figures['largest_without_spread'].max() / NATS_PER_BIT:.1e} bits.",
        *words,
    ]
    verdict = "confirmed" if largest < limit else "contradicted"
    statement = "Monte Carlo estimates by exact log-marginals agree with the closed forms."
    return Result("agreement", figures, text, caption, None, [Claim(statement, verdict, said)])


def decomposition(runs: pd.DataFrame, words: list[str]) -> Result:
    """By setting the six bounds and the Gaussian decomposition within them, exact; bits."""
    rows = []
    cells = runs[CELL].drop_duplicates().itertuples(index=False, name=None)
    for attack, factors, alpha, noise in sorted(cells, key=lambda cell: (ATTACKS.index(cell[0]), *cell[1:])):
        concrete = gaussian(attack, int(factors), float(noise), float(alpha)) / NATS_PER_BIT
        model = toy.exact(attack, int(factors), float(noise), float(alpha))
        bounds = np.stack([bound.value for bound in model.bounds()]) / NATS_PER_BIT
        low, high = bounds[::2], bounds[1::2]
        at = np.arange(int(factors)), model.best_latent()
        rows.append({
            "attack": attack, "factors": factors, "alpha": alpha,
            "outside": np.maximum(low - concrete, concrete - high).max(),
            **{f"{term}_{name}": of[number][at].mean() for number, term in enumerate(TERMS)
               for name, of in (("low", low), ("high", high), ("gaussian", concrete))},
        })  # fmt: skip
    figures = pd.DataFrame(rows)
    shown = figures[figures["alpha"].isin([0.0, figures["alpha"].max()])]
    shown = shown.assign(**(shown.filter(regex="_").round(9) + 0.0))  # no -0.000
    text = shown[["attack", "factors", "alpha"]].assign(**{
        letter: [
            f"{low:.3f} to {high:.3f}: {value:.3f}"
            for low, high, value in shown.filter(regex=f"^{term}_").to_numpy()
        ]
        for term, letter in TERMS.items()
    })  # fmt: skip
    worst = figures["outside"].max()
    said = f"over all pairs of factor and latent in {len(figures)} settings the terms are outside by {worst:.1e} bits."
    caption = [
        f"The Gaussian decomposition and the six bounds: {said}",
        "Lower to upper bound: Gaussian decomposition (Venkatesh et al. 2023), exact, bits, means over factors at the "
        "latent with most information about each. A factor is one number, so the redundancy is the lesser information "
        "(Barrett 2015): unique and synergistic information are at their lower bounds, and UniBound is what is unique. "
        "Weaker attacks are in the figures.",
        *words,
    ]
    verdict = "confirmed" if worst < NOTHING else "contradicted"
    statement = "The Gaussian decomposition lies within the six bounds."
    return Result("decomposition", figures, text, caption, None, [Claim(statement, verdict, said)])


def gaussian(attack: str, factors: int, noise: float, alpha: float) -> np.ndarray:
    """Unique, redundant and synergistic [3, K, L] of each latent against all others, nats, by the covariance."""
    covariance = toy.covariance(attack, factors, noise, alpha)
    latents = np.arange(factors, len(covariance))
    found = [[pid.gaussian(covariance, z, latents[latents != z], k) for z in latents] for k in range(factors)]
    return np.array([[(one.unique_a, one.redundant, one.synergistic) for one in row] for row in found]).transpose(
        2, 0, 1
    )


def draw(figures: pd.DataFrame, *paths: Path) -> None:
    """Scores by attack strength, a panel per attack and score: exact (line), estimated (points), printed (dotted)."""
    attacked = figures[(figures["attack"] != "none") & np.isfinite(figures["alpha"])]
    attacks = list(dict.fromkeys(attacked["attack"]))
    if not attacks:
        attacks, attacked = ["none"], figures
    title = "line: exact; points: estimated ± standard error over seeds; dotted: as printed, where that differs"
    groups = itertools.product(attacks, SCORES)
    how = {"title": title, "dpi": 130, "sharey": True}
    for axis, (attack, score) in panel_by_panel(paths, groups, (3.6, 2.8), (0, 0.4), len(SCORES), "bits", **how):
        part = attacked[(attacked["attack"] == attack) & (attacked["score"] == score)]
        for factors, line, of in lines(part, "factors"):
            axis.plot(line["alpha"], line["exact"], color=of["color"])
            axis.errorbar(line["alpha"], line["estimated"], line["estimated_error"], linestyle="none", markersize=4,
                          capsize=2, label=f"K = {factors}", **of)  # fmt: skip
            if (line["printed"] - line["exact"]).abs().max() > NOTHING:
                axis.plot(line["alpha"], line["printed"], color=of["color"], linestyle=":")
        axis.set_title(f"{SCORES[score]}, {attack}", fontsize="small")
        axis.set_xlabel("alpha")


ANALYSIS = Analysis("toy-model", analyse)
