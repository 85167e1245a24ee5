"""InfoMEC: modularity, explicitness and compactness as in the code of Hsu et al. 2023.

That code evaluates a model on its training items: too high for few items and many latents. Our InfoE is `explicitness`,
our InfoM and InfoC are `FactorInformation.modularity` and `compactness`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from infoscope.estimators import knn
from infoscope.estimators.alignment import aligns
from infoscope.estimators.columns import Discrete
from infoscope.estimators.result import Estimate, mean_of, undefined
from infoscope.estimators.variables import Variable
from infoscope.metrics.disentanglement.held_out_explicitness import LBFGS_STEPS, chosen_items
from infoscope.metrics.disentanglement.information_based import plug_in
from infoscope.metrics.disentanglement.predictor_based import standardised
from infoscope.metrics.factor_information.arrays import Latents
from infoscope.metrics.factor_information.inputs import Factors
from infoscope.metrics.factor_information.result import SHARE

NEIGHBOURS = 10  # as in the published code, like the next one
MIN_RANGE_SHARE = 1 / 20  # of the largest range of a latent, below which latents are left out


@dataclass(frozen=True, eq=False)
class InfoMec:
    """The three scores as published; shares [K, L] are I(y_k; z_l) / H(y_k), NaN for latents that are left out.

    Errors are over items, with fits and choices as given; they do not include the bias.
    """

    modularity: Estimate
    explicitness: Estimate
    compactness: Estimate
    shares: NDArray[np.float64] = field(repr=False)


@aligns("representation", "factors")
def published_infomec(
    representation: Any,
    factors: ArrayLike,
    items: int | None = 10_000,
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
) -> InfoMec:
    """InfoMEC of a representation [N, L] for factors, integers [N, K], as in the code of Hsu et al. 2023.

    Information by nearest neighbours (Ross 2014, k = 10; plug-in for `categorical`), clipped at 0. InfoM is the mean
    over latents (InfoC: over factors) of the largest share over the sum of shares, rescaled to 0 for equal shares;
    latents with less than a twentieth of the largest range are left out. InfoE is by unpenalised balanced logistic
    regression, evaluated on the training items, as a share of the log of the number of values. ValueError: fewer than
    two factors, a factor of one value, every latent constant.
    """
    latents, known, _ = chosen_items(representation, factors, items, categorical, generator, least=2)
    latents.subsets()  # raises an error if every latent is constant
    ranges = np.ptp(latents.codes, axis=0)
    largest = ranges[~latents.discrete].max(initial=0.0)
    least = np.where(latents.discrete, 0.0, MIN_RANGE_SHARE * largest)
    used = np.flatnonzero(ranges > least)
    local = np.stack([local_information(latents, known, latent) for latent in used], axis=2)
    mean = local.mean(axis=0)
    entropy = known.surprisal.mean(axis=0)
    share = np.maximum(mean, 0) / entropy[:, None]
    deviation = local - mean - share * (known.surprisal - entropy)[..., None]
    rows = share + np.where(share > 0, deviation, 0) / entropy[:, None]
    how = f"k = {NEIGHBOURS}, {len(used)} of {latents.count} columns, {known.n} items; over items"
    shares = np.full((known.count, latents.count), np.nan)
    shares[:, used] = share
    modularity = dominance(rows, share, 0, how)
    compactness = dominance(rows, share, 1, how)
    return InfoMec(modularity, in_sample(latents, known), compactness, shares)


def local_information(latents: Latents, known: Factors, latent: int) -> NDArray[np.float64]:
    """Local information [n, K] of a latent, nats; the mean for an item that is alone with its value."""
    column = latents.codes[:, [latent]]
    if latents.discrete[latent]:
        labels = np.unique(column, return_inverse=True)[1]
        return plug_in(labels.reshape(-1, 1), known)[:, 0]
    x = Variable(column, None, 1)
    columns = []
    for y in known.codes.T:
        estimate = knn.mutual_information(x, Discrete(y), NEIGHBOURS, margins="scaled", local=True)
        alone = np.isnan(estimate.local)
        columns.append(np.where(alone, estimate.value, estimate.local))
    return np.stack(columns, axis=1)


def dominance(rows: NDArray[np.float64], share: NDArray[np.float64], axis: int, how: str) -> Estimate:
    """The rescaled mean of largest / sum along an axis of shares [K, L], which are the means of rows [n, K, L]."""
    count, total = share.shape[axis], share.sum(axis=axis)
    if count < 2:
        return undefined("There is only one column or factor.", SHARE, len(rows), how)
    if not total.all():
        return undefined("All shares of a column or a factor are 0.", SHARE, len(rows), how)
    largest = np.expand_dims(share.argmax(axis=axis), axis)
    ratio = np.take_along_axis(share, largest, axis).squeeze(axis) / total
    of_largest = np.take_along_axis(rows, largest[None], axis + 1).squeeze(axis + 1)
    each = ratio + (of_largest - ratio * rows.sum(axis=axis + 1)) / total
    return mean_of((count * each.mean(axis=1) - 1) / (count - 1), unit=SHARE, method=how)


def in_sample(latents: Latents, known: Factors) -> Estimate:
    """The published InfoE: mean over factors of 1 - log loss / log of the number of values, on the training items."""
    columns = []
    for latent, discrete in enumerate(latents.discrete):
        inputs = latents.inputs(latent)
        columns.append(inputs if discrete else standardised(inputs))
    x = np.hstack(columns)
    scores = np.empty((known.n, known.count))
    unfinished = 0
    for k, y in enumerate(known.codes.T):
        model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=LBFGS_STEPS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(x, y)
        unfinished += int(model.n_iter_.max() >= LBFGS_STEPS)
        chance = model.predict_proba(x)[np.arange(known.n), y]
        chance = np.clip(chance, np.finfo(float).eps, 1)
        scores[:, k] = 1 + np.log(chance) / np.log(len(model.classes_))
    notes = ("Evaluated on the training items, and therefore too high.",)
    if unfinished:
        notes += (f"{unfinished} of {known.count} fits did not converge in {LBFGS_STEPS} steps.",)
    how = f"logistic regression without penalty, {known.n} items; over items"
    return mean_of(scores.mean(axis=1), unit=SHARE, method=how, notes=notes)
