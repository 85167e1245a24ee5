"""Mutual information gap (MIG) of binned codes, and functions of the registry for
methods of `FactorInformation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import require_int
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import Estimate, mean_of
from infoscope.metrics.disentanglement.measuring import Inputs
from infoscope.metrics.factor_information.inputs import (
    Factors,
    as_array,
    as_factors,
    categorical_mask,
    random_items,
)
from infoscope.metrics.factor_information.result import OF_ENTROPY

Values = NDArray[np.float64]


@aligns("representation", "factors")
def mig(
    representation: Any,
    factors: ArrayLike,
    bins: int = 20,
    items: int | None = 10_000,
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
) -> Estimate:
    """Mutual information gap (Chen et al. 2018): mean over factors of the largest minus
    the second-largest I(y_k; z_l), as a share of H(y_k).

    Plug-in estimate from random `items` of an array [N, L]; latents are in equal-width
    bins (disentanglement_lib: 20 bins, 10,000 items), except `categorical` ones. Too
    small by up to (bins - 1)(values - 1) / (2 items) nats. Errors take the choice of
    latents as given. For a posterior use `exact.factor_information(...).mig()`.

    ValueError: one latent, a factor of one value, fewer than two bins, other shapes.
    """
    require_int("bins", bins, 2)
    all_factors = as_factors(factors)
    codes = as_array(representation, all_factors.n, least=2)
    are_categories = categorical_mask(categorical, codes.shape[1])
    rows = random_items(all_factors.n, items, generator_or_default(generator))
    sample = all_factors.take(rows)
    labels = []
    for column, is_category in zip(codes[rows].T, are_categories):
        labels.append(in_bins(column, None if is_category else bins))
    local = plug_in(np.stack(labels, axis=1), sample)
    information = local.mean(axis=0)
    second, first = np.argsort(information, axis=0)[-2:]
    k = np.arange(sample.count)
    gap = local[:, first, k] - local[:, second, k]
    method = f"plug-in of {bins} equal-width bins, {sample.n} items; over items"
    return mean_share(gap, sample.surprisal, OF_ENTROPY, method)


def information_score(inputs: Inputs, name: str) -> Estimate:
    """A method of FactorInformation as a score of `registry.SCORES`; n is 0 for a
    closed form.
    """
    score = getattr(inputs.information, name)()
    return replace(score, n=score.n or 0)


def bound(inputs: Inputs, name: str, latent: str | None) -> Estimate:
    """One of the six bounds as a score of `registry.SCORES`."""
    bounds = inputs.once(
        f"bounds {latent}", lambda: inputs.information.aggregated(latent)
    )
    score = getattr(bounds, name)
    return replace(score, n=score.n or 0)


def latent_score(inputs: Inputs, name: str) -> Estimate:
    """Information of a posterior about x as a score of `registry.SCORES`."""
    score = getattr(inputs.latents, name)
    return replace(score, method=inputs.information.method, degrees=np.inf)


def mean_share(
    numerator: Values, denominator: Values, unit: str, method: str
) -> Estimate:
    """The mean over columns of the ratio of the means of two arrays [n, K], its error
    by the delta method.
    """
    mean = denominator.mean(axis=0)
    share = numerator.mean(axis=0) / mean
    rows = share + (numerator - share * denominator) / mean
    return mean_of(rows.mean(axis=1), unit=unit, method=method)


def in_bins(column: Values, bins: int | None) -> NDArray[np.int64]:
    """The equal-width bin of each number of a column; bins None: its value."""
    if bins is None:
        return np.unique(column, return_inverse=True)[1]
    low = column.min()
    width = column.max() - low
    if width == 0:
        return np.zeros(len(column), np.int64)
    places = (column - low) / width * bins
    return np.minimum(places, bins - 1).astype(np.int64)


def plug_in(labels: NDArray[np.int64], known: Factors) -> Values:
    """log p(y, z) / (p(y) p(z)) of frequencies, for each item, label column and factor
    [n, L, K], nats.
    """
    local = np.empty((known.n, labels.shape[1], known.count))
    for k in range(known.count):
        values = known.codes[:, k].max() + 1
        for latent, column in enumerate(labels.T):
            joint = column * values + known.codes[:, k]
            joint_count = np.bincount(joint)[joint]
            column_count = np.bincount(column)[column]
            ratio = joint_count * known.n / (column_count * known.alike[k])
            local[:, latent, k] = np.log(ratio)
    return local
