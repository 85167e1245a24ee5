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
Codes = NDArray[np.int64]


@aligns("representation", "factors")
def mig(
    representation: Any,
    factors: ArrayLike,
    bins: int = 20,
    items: int | None = 10_000,
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
) -> Estimate:
    """Mutual information gap of binned latents, mean over factors (Chen et al. 2018).

    The gap is the largest minus the second-largest I(y_k; z_l), as a share of H(y_k).
    It is a plug-in estimate from equal-width bins, too small by up to (bins - 1)(values
    - 1) / (2 items) nats. For a posterior use `exact.factor_information(...).mig()`.

    Parameters
    ----------
    representation
        Numbers [N, L], L >= 2.
    factors
        Integers [N, K].
    bins
        Of each latent (disentanglement_lib: 20).
    items
        Number of random items used (disentanglement_lib: 10,000); None: all.
    categorical
        Indices of the latents that are categories, and are not binned.

    Returns
    -------
    Estimate
        A share of H(y). The error takes the choice of latents as fixed.

    Raises
    ------
    ValueError
        One latent, a factor of one value, fewer than two bins, other shapes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(0, 2, (200, 2))
    >>> print(f"{mig(factors * 1.0, factors, bins=2, generator=rng).value:.2f}")
    1.00
    """
    require_int("bins", bins, 2)
    generator = generator_or_default(generator)
    all_factors = as_factors(factors)
    codes = as_array(representation, all_factors.n, least=2)
    is_category = categorical_mask(categorical, codes.shape[1])
    rows = random_items(all_factors.n, items, generator)
    sample = all_factors.take(rows)
    labels = []
    for latent, column in enumerate(codes[rows].T):
        if is_category[latent]:
            labels.append(np.unique(column, return_inverse=True)[1])
        else:
            labels.append(_in_bins(column, bins))
    local = _plug_in(labels, sample)
    information = local.mean(axis=0)
    second, first = np.argsort(information, axis=0)[-2:]
    k = np.arange(sample.count)
    gap = local[:, first, k] - local[:, second, k]
    method = f"plug-in of {bins} equal-width bins, {sample.n} items; over items"
    return mean_share(gap, sample.surprisal, method)


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


def mean_share(numerator: Values, denominator: Values, method: str) -> Estimate:
    """The mean over columns of the ratio of the means of two arrays [n, K], a share of
    H(y), its error by the delta method.
    """
    mean = denominator.mean(axis=0)
    share = numerator.mean(axis=0) / mean
    rows = share + (numerator - share * denominator) / mean
    return mean_of(rows.mean(axis=1), unit=OF_ENTROPY, method=method)


def _in_bins(column: Values, bins: int) -> Codes:
    """The equal-width bin of each number of a column."""
    low = column.min()
    width = column.max() - low
    if width == 0:
        return np.zeros(len(column), np.int64)
    places = (column - low) / width * bins
    return np.minimum(places, bins - 1).astype(np.int64)


def _plug_in(labels: Sequence[Codes], factors: Factors) -> Values:
    """log p(y, z) / (p(y) p(z)) of frequencies, for each item, label column and factor
    [n, L, K], nats.
    """
    n = factors.n
    local = np.empty((n, len(labels), factors.count))
    for k, y in enumerate(factors.codes.T):
        values = y.max() + 1
        for latent, z in enumerate(labels):
            joint = z * values + y
            count_both = np.bincount(joint)[joint]
            count_z = np.bincount(z)[z]
            ratio = count_both * n / (count_z * factors.alike[k])
            local[:, latent, k] = np.log(ratio)
    return local
