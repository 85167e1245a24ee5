"""Names of scores, values of evaluations and variance components of the analyses of
disentanglement.
"""

import math
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import fdtri

from analysis.common.claims import verdict
from analysis.common.runs import data_sets, latest, older, versions
from analysis.common.tables import plus_minus
from infoscope.estimators.result import Estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.disentanglement.registry import PLACES
from infoscope.metrics.disentanglement.registry import SCORES as REGISTRY
from infoscope.metrics.pid import APART, ROUNDING
from sweeps.disentanglement.settings import TRAINING, WEIGHTS

PUBLISHED = ("beta_vae", "factor_vae", "mig", "unibound")  # the scores of the paper
# titles of scores, those of the paper first
SCORES = {
    key: REGISTRY[key].label for key in (*PUBLISHED, *REGISTRY) if REGISTRY[key].label
}
TERMS = {"unique": "U", "redundant": "R", "synergistic": "C"}
CROSSED = f"The table shows by how much a lower bound is above its upper one: {APART}."
WHOLE = {  # titles of figures of all latents together
    key: REGISTRY[key].title + (" (bits)" if REGISTRY[key].unit == "nats" else "")
    for key in ("informativeness", "latent_information", "total_correlation")
}
# of which latent a bound is, by its prefix
WHERE = {prefix: where for prefix, (_, where) in PLACES.items()}


def crossed(excess: float, error: float) -> str:
    """The excess of a lower bound over its upper one, in brackets; "" if there is none,
    as of bounds that diverged.
    """
    return f" (cross by {plus_minus(excess, error)})" if excess > ROUNDING else ""


def latest_trainings(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The trainings of each model with its last setting, and a note on the others.

    The setting is without the weight.
    """
    fields = [name for name in TRAINING if name in runs]
    parts = []
    for _, members in runs.groupby("model", sort=False):
        selected, _ = latest(members, fields)
        parts.append(selected)
    selected = pd.concat(parts)
    return selected, older(runs, selected, "trainings")


def in_bits(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with the figures of `WHOLE` in bits; NaN if they were not measured."""
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
    weights = runs.groupby("model")["weight"]
    has_several = weights.transform("nunique") > 1
    names = []
    for model, weight, several in zip(runs["model"], runs["weight"], has_several):
        if several:
            model = f"{model} ({WEIGHTS[model]} {weight:g})"
        names.append(model)
    return pd.Series(names, index=runs.index)


def evaluations(runs: pd.DataFrame, score: str) -> np.ndarray:
    """A score [runs, evaluations]; NaN of a training that diverged."""
    pattern = rf"^evaluation (\d+)/{re.escape(score)}$"
    numbers = runs.columns.str.extract(pattern, expand=False).dropna().astype(int)
    columns = [f"evaluation {number}/{score}" for number in sorted(numbers)]
    return runs[columns].to_numpy(float)


def scores_of(runs: pd.DataFrame) -> dict[str, str]:
    """The measured scores and their titles; "lib" is disentanglement_lib's protocol."""
    return {score: title for score, title in SCORES.items() if score in runs}


def better_half(values: np.ndarray) -> np.ndarray:
    """The half of the rows [runs, evaluations] with the highest means, rounded up.

    Rows of trainings that diverged are last.
    """
    means = np.nan_to_num(values.mean(axis=1), nan=-np.inf)
    order = np.argsort(-means, kind="stable")
    count = math.ceil(len(values) / 2)
    return values[order[:count]]


def made_of(runs: pd.DataFrame) -> str:
    """Data, training, measurement and code behind figures, in a sentence or two."""
    newest = runs.loc[runs["start"].idxmax()]
    counts = sorted(set(runs["steps"].dropna()))
    steps = " or ".join(f"{count:,}" for count in counts)
    data = data_sets(runs, newest["data"])
    return (
        f"Profile {newest['profile']}: {data}; {newest['latents']} "
        f"latents, {steps} steps. Exact "
        f"log-marginals over all images, {newest['draws']:,} draws; BetaVAE by "
        f"{newest['votes']:,} training votes; "
        f"scores of means by {newest['items']:,} items; code {versions(runs)}."
    )


@dataclass(frozen=True)
class Components:
    """Variances of a score by one-way random effects (Searle 1971).

    training    variance between trainings
    evaluation  variance between evaluations of a training
    share       of the variance between trainings, with its 95 % interval for normal effects

    All are NaN with fewer than two trainings or evaluations.
    """

    training: float
    evaluation: float
    share: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether trainings make more than half of the variance."""
        share = Estimate(self.share, interval=(self.low, self.high))
        return verdict(share, above=0.5)


def components(values: np.ndarray) -> Components:
    """Variance components of values [trainings, evaluations]."""
    trainings, count = values.shape
    if trainings < 2 or count < 2 or not np.isfinite(values).all():
        return Components(math.nan, math.nan, math.nan, math.nan, math.nan)
    means = values.mean(axis=1)
    between = count * means.var(ddof=1)
    within = values.var(axis=1, ddof=1).mean()
    effect = (between - within) / count
    if within == 0:
        share = 1.0 if between > 0 else math.nan
        return Components(effect, within, share, share, share)
    degrees = trainings * (count - 1)
    quantiles = fdtri(trainings - 1, degrees, np.array([0.975, 0.025]))
    excess = between / within / quantiles - 1
    low, high = excess / (excess + count)
    share = effect / (effect + within)
    return Components(effect, within, share, low, high)


def percent(share: float) -> str:
    """A share in per cent; a dash if there is none."""
    return "-" if math.isnan(share) else f"{share:.0%}"
