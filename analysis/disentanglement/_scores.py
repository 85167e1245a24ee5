"""Shared by the analyses of disentanglement: names of scores, values of every evaluation, variance components."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import fdtri

from analysis.common.runs import latest, older, versions
from analysis.common.tables import plus_minus, verdict
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.disentanglement.registry import PLACES
from infoscope.metrics.disentanglement.registry import SCORES as REGISTRY
from infoscope.metrics.pid import APART, ROUNDING
from sweeps.disentanglement.settings import TRAINING, WEIGHTS

PUBLISHED = ("beta_vae", "factor_vae", "mig", "unibound")  # the scores of the paper
SCORES = {key: REGISTRY[key].label for key in (*PUBLISHED, *REGISTRY) if REGISTRY[key].label}  # the paper's first
TERMS = {"unique": "U", "redundant": "R", "synergistic": "C"}
CROSSED = f"Where a lower bound is above its upper one, the table shows by how much: {APART}."
WHOLE = {  # what is known of all latents together
    key: REGISTRY[key].title + (" (bits)" if REGISTRY[key].unit == "nats" else "")
    for key in ("informativeness", "latent_information", "total_correlation")
}
WHERE = {prefix: where for prefix, (_, where) in PLACES.items()}  # of which latent a bound is, by its prefix


def crossed(excess: float, error: float) -> str:
    """By how much a lower bound is above its upper one, in brackets; "" where it is not."""
    return f" (cross by {plus_minus(excess, error)})" if excess > ROUNDING else ""


def latest_trainings(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Of each model the trainings of the setting (but for the weight) started last, and a note on the others."""
    fields = tuple(name for name in TRAINING if name in runs)
    kept = pd.concat([latest(of, fields)[0] for _, of in runs.groupby("model", sort=False)])
    return kept, older(runs, kept, "trainings")


def in_bits(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with the figures of `WHOLE` that are recorded in nats in bits; NaN where they were not measured."""
    metrics = {key: f"{key}_nats" if REGISTRY[key].unit == "nats" else key for key in WHOLE}
    runs = runs.reindex(columns=runs.columns.union(list(metrics.values()), sort=False))
    nats = [key for key, metric in metrics.items() if metric != key]
    return runs.assign(**{key: runs[metrics[key]] / NATS_PER_BIT for key in nats})


def named(runs: pd.DataFrame) -> pd.Series:
    """The model of each run, with its weight where a model has several."""
    several = runs.groupby("model")["weight"].transform("nunique") > 1 if "weight" in runs else runs["model"].isna()
    return pd.Series(
        [f"{row['model']} ({WEIGHTS[row['model']]} {row['weight']:g})" if more else row["model"]
         for more, (_, row) in zip(several, runs.iterrows())],
        index=runs.index,
    )  # fmt: skip


def evaluations(runs: pd.DataFrame, score: str) -> np.ndarray:
    """A score in every evaluation of every run [runs, evaluations]; NaN of a training that diverged."""
    found = (re.fullmatch(rf"evaluation (\d+)/{re.escape(score)}", name) for name in runs)
    numbers = sorted(int(match[1]) for match in found if match)
    return runs[[f"evaluation {number}/{score}" for number in numbers]].to_numpy(float)


def scores_of(runs: pd.DataFrame) -> dict[str, str]:
    """The scores that were measured, with their titles; "lib" is the protocol of disentanglement_lib."""
    return {score: title for score, title in SCORES.items() if score in runs}


def better_half(values: np.ndarray) -> np.ndarray:
    """The rows of [runs, evaluations] with the highest means, half of them (rounded up); those that diverged last."""
    order = np.argsort(-np.nan_to_num(values.mean(axis=1), nan=-np.inf), kind="stable")
    return values[order[: math.ceil(len(values) / 2)]]


def made_of(runs: pd.DataFrame) -> str:
    """Data, training, measurement and code behind figures, in a sentence or two."""
    newest = runs.loc[runs["start"].idxmax()]

    def several(name: str) -> str:
        return " or ".join(f"{value:,}" for value in sorted(set(runs[name].dropna())))

    data = ", ".join(sorted({tags.get("infoscope.data", newest["data"]) for tags in runs["tags"]}))
    return (
        f"Profile {newest['profile']}: {data}; {newest['latents']} latents, {several('steps')} steps. Exact "
        f"log-marginals over all images, {newest['draws']:,} draws; BetaVAE by {newest['votes']:,} training votes; "
        f"scores of means by {newest['items']:,} items; code {versions(runs)}."
    )


@dataclass(frozen=True)
class Components:
    """Variance between trainings and between evaluations (one-way random effects), and the share of the first with its
    95 % interval (exact for normal effects; Searle 1971). NaN with fewer than two of either.
    """

    training: float
    evaluation: float
    share: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether the trainings are more than half of it."""
        return verdict(-self.high, -self.low, -0.5) if math.isfinite(self.share) else "undecided"


def components(values: np.ndarray) -> Components:
    """Variance components of values [trainings, evaluations]."""
    trainings, count = values.shape
    if trainings < 2 or count < 2 or not np.isfinite(values).all():
        return Components(*[math.nan] * 5)
    between = count * values.mean(axis=1).var(ddof=1)
    within = values.var(axis=1, ddof=1).mean()
    effect = (between - within) / count
    if within == 0:
        share = 1.0 if between > 0 else math.nan
        return Components(effect, within, share, share, share)
    degrees = trainings - 1, trainings * (count - 1)
    ratios = between / within / fdtri(*degrees, np.array([0.975, 0.025]))
    low, high = (ratios - 1) / (ratios - 1 + count)
    return Components(effect, within, effect / (effect + within), low, high)


def percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.0%}"
