"""Shared by the analyses of disentanglement: names of scores, values of every
evaluation, variance components.
"""

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
# the paper's first
SCORES = {
    key: REGISTRY[key].label for key in (*PUBLISHED, *REGISTRY) if REGISTRY[key].label
}
TERMS = {"unique": "U", "redundant": "R", "synergistic": "C"}
CROSSED = f"The table shows by how much a lower bound is above its upper one: {APART}."
WHOLE = {  # what is known of all latents together
    key: REGISTRY[key].title + (" (bits)" if REGISTRY[key].unit == "nats" else "")
    for key in ("informativeness", "latent_information", "total_correlation")
}
# of which latent a bound is, by its prefix
WHERE = {prefix: where for prefix, (_, where) in PLACES.items()}


def crossed(excess: float, error: float) -> str:
    """By how much a lower bound is above its upper one, in brackets; "" where it is
    not.
    """
    return f" (cross by {plus_minus(excess, error)})" if excess > ROUNDING else ""


def latest_trainings(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Of each model the trainings of the setting (but for the weight) started last, and
    a note on the others.
    """
    fields = [name for name in TRAINING if name in runs]
    parts = []
    for _, members in runs.groupby("model", sort=False):
        selected, _ = latest(members, fields)
        parts.append(selected)
    selected = pd.concat(parts)
    return selected, older(runs, selected, "trainings")


def in_bits(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with the figures of `WHOLE` that are recorded in nats in bits; NaN where
    they were not measured.
    """
    converted = {}
    for name in WHOLE:
        is_in_nats = REGISTRY[name].unit == "nats"
        metric = f"{name}_nats" if is_in_nats else name
        if metric not in runs:
            runs = runs.assign(**{metric: np.nan})
        if is_in_nats:
            converted[name] = runs[metric] / NATS_PER_BIT
    return runs.assign(**converted)


def named(runs: pd.DataFrame) -> pd.Series:
    """The model of each run, with its weight where a model has several."""
    if "weight" not in runs:
        return runs["model"]
    has_several = runs.groupby("model")["weight"].transform("nunique") > 1
    names = []
    for model, weight, several in zip(runs["model"], runs["weight"], has_several):
        names.append(f"{model} ({WEIGHTS[model]} {weight:g})" if several else model)
    return pd.Series(names, index=runs.index)


def evaluations(runs: pd.DataFrame, score: str) -> np.ndarray:
    """A score in every evaluation of every run [runs, evaluations]; NaN of a training
    that diverged.
    """
    numbers = []
    for name in runs:
        match = re.fullmatch(rf"evaluation (\d+)/{re.escape(score)}", name)
        if match:
            numbers.append(int(match[1]))
    columns = [f"evaluation {number}/{score}" for number in sorted(numbers)]
    return runs[columns].to_numpy(float)


def scores_of(runs: pd.DataFrame) -> dict[str, str]:
    """The scores that were measured, with their titles; "lib" is the protocol of
    disentanglement_lib.
    """
    return {score: title for score, title in SCORES.items() if score in runs}


def better_half(values: np.ndarray) -> np.ndarray:
    """The rows of [runs, evaluations] with the highest means, half of them (rounded
    up); those that diverged last.
    """
    means = np.nan_to_num(values.mean(axis=1), nan=-np.inf)
    order = np.argsort(-means, kind="stable")
    count = math.ceil(len(values) / 2)
    return values[order[:count]]


def made_of(runs: pd.DataFrame) -> str:
    """Data, training, measurement and code behind figures, in a sentence or two."""
    newest = runs.loc[runs["start"].idxmax()]
    steps = " or ".join(f"{count:,}" for count in sorted(set(runs["steps"].dropna())))
    data = ", ".join(
        sorted({tags.get("infoscope.data", newest["data"]) for tags in runs["tags"]})
    )
    return (
        f"Profile {newest['profile']}: {data}; {newest['latents']} latents, {steps} steps. Exact "
        f"log-marginals over all images, {newest['draws']:,} draws; BetaVAE by {newest['votes']:,} training votes; "
        f"scores of means by {newest['items']:,} items; code {versions(runs)}."
    )


@dataclass(frozen=True)
class Components:
    """Variance between trainings and between evaluations (one-way random effects), and
    the share of the first with its 95 % interval (exact for normal effects; Searle
    1971). NaN with fewer than two of either.
    """

    training: float
    evaluation: float
    share: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether the trainings are more than half of it."""
        return (
            verdict(-self.high, -self.low, -0.5)
            if math.isfinite(self.share)
            else "undecided"
        )


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
    quantiles = fdtri(trainings - 1, trainings * (count - 1), np.array([0.975, 0.025]))
    ratios = between / within / quantiles
    low, high = (ratios - 1) / (ratios - 1 + count)
    return Components(effect, within, effect / (effect + within), low, high)


def percent(share: float) -> str:
    """A share in per cent; a dash if there is none."""
    return "-" if math.isnan(share) else f"{share:.0%}"
