"""Mutual information gap (MIG) of binned codes, and functions of the registry for methods of `FactorInformation`."""

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


@aligns("representation", "factors")
def mig(
    representation: Any,
    factors: ArrayLike,
    bins: int = 20,
    items: int | None = 10_000,
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
) -> Estimate:
    """Mutual information gap (Chen et al. 2018): mean over factors of the largest minus the second-largest I(y_k; z_l),
    as a share of H(y_k).

    Plug-in estimate from random `items` of an array [N, L]; latents are in equal-width bins (disentanglement_lib: 20
    bins, 10,000 items), except `categorical` ones. Too small by up to (bins - 1)(values - 1) / (2 items) nats. Errors
    take the choice of latents as given. For a posterior use `exact.factor_information(...).mig()`.

    ValueError: one latent, a factor of one value, fewer than two bins, other shapes.
    """
    require_int("bins", bins, 2)
    known = as_factors(factors)
    codes = as_array(representation, known.n, least=2)
    discrete = categorical_mask(categorical, codes.shape[1])
    chosen = random_items(known.n, items, generator_or_default(generator))
    known = known.take(chosen)
    labels = np.stack([in_bins(column, None if of else bins) for column, of in zip(codes[chosen].T, discrete)], axis=1)
    local = plug_in(labels, known)
    mean = local.mean(axis=0)
    second, first = np.argsort(mean, axis=0)[-2:]
    k = np.arange(known.count)
    how = f"plug-in of {bins} equal-width bins, {known.n} items; over items"
    return mean_share(local[:, first, k] - local[:, second, k], known.surprisal, OF_ENTROPY, how)


def information_score(inputs: Inputs, name: str) -> Estimate:
    """A method of FactorInformation as a score of `registry.SCORES`; n is 0 for a closed form."""
    found = getattr(inputs.information, name)()
    return replace(found, n=found.n or 0)


def bound(inputs: Inputs, name: str, latent: str | None) -> Estimate:
    """One of the six bounds as a score of `registry.SCORES`."""
    found = getattr(inputs.once(f"bounds {latent}", lambda: inputs.information.aggregated(latent)), name)
    return replace(found, n=found.n or 0)


def latent_score(inputs: Inputs, name: str) -> Estimate:
    """Information of a posterior about x as a score of `registry.SCORES`."""
    found = getattr(inputs.latents, name)
    return replace(found, method=inputs.information.method, degrees=np.inf)


def mean_share(local: NDArray[np.float64], whole: NDArray[np.float64], unit: str, how: str) -> Estimate:
    """The mean over columns of the ratio of the means of local and of whole [n, K], its error by the delta method."""
    share = local.mean(axis=0) / whole.mean(axis=0)
    rows = share + (local - share * whole) / whole.mean(axis=0)
    return mean_of(rows.mean(axis=1), unit=unit, method=how)


def in_bins(column: NDArray[np.float64], bins: int | None) -> NDArray[np.int64]:
    """The equal-width bin of each number of a column; bins None: its value."""
    if bins is None:
        return np.unique(column, return_inverse=True)[1]
    low, high = column.min(), column.max()
    if high == low:
        return np.zeros(len(column), np.int64)
    return np.minimum((column - low) / (high - low) * bins, bins - 1).astype(np.int64)


def plug_in(labels: NDArray[np.int64], known: Factors) -> NDArray[np.float64]:
    """log p(y, z) / (p(y) p(z)) of frequencies, for each item, label column and factor [n, L, K], nats."""
    local = np.empty((known.n, labels.shape[1], known.count))
    for k in range(known.count):
        values = known.codes[:, k].max() + 1
        for latent, column in enumerate(labels.T):
            joint = column * values + known.codes[:, k]
            joint_count = np.bincount(joint)[joint] * known.n
            local[:, latent, k] = np.log(joint_count / (np.bincount(column)[column] * known.alike[k]))
    return local
