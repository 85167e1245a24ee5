"""Minimality: whether a latent carries information about its own factor only, also for dependent factors.

A latent is minimal if I(z_l; y_rest | y_k) = 0 (Almudévar & Ortega 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import SplineTransformer

from infoscope.checks import require_int
from infoscope.estimators.alignment import aligns
from infoscope.estimators.result import Estimate, mean_of, undefined
from infoscope.estimators.variables import Variable
from infoscope.metrics.disentanglement.infomec import chosen_items
from infoscope.metrics.factor_information.inputs import Factors
from infoscope.metrics.factor_information.result import SHARE
from infoscope.metrics.v_information.usable import Term


@aligns("representation", "factors")
def minimality(
    representation: Any,
    factors: ArrayLike,
    categorical: Sequence[int] = (),
    folds: int = 5,
    items: int | None = 10_000,
    generator: np.random.Generator | None = None,
) -> Estimate:
    """The variance of the latents [N, L] explained by each one's own factor, as a share of that explained by all
    factors [N, K].

    Explained variance is the reduction of the held-out squared error by additive models of factor values (cubic splines
    for numbers): V-information of normal distributions (Xu et al. 2020). Effects on a latent's variance and
    interactions are not detected. The factor of a latent is chosen on other folds. The interval extends to the value
    extrapolated to more items (`usable.Term`). items: number of random items, None: all; categorical: indices of the
    latents that are categories.

    NaN where the explained variance is not above 0 by its 95 % interval. ValueError: fewer than two factors, a factor
    of one value, every latent constant, fewer than two folds, other shapes.
    """
    latents, known, generator = chosen_items(representation, factors, items, categorical, generator, 2, True)
    z = np.hstack([latents.inputs(latent) for latent in latents.subsets()[-1]])
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    fold_of = generator.permutation(known.n) % require_int("folds", folds, 2)
    designs = [design(known, [k]) for k in range(known.count)] + [design(known, range(known.count))]
    all_items = np.ones(known.n, bool)
    found, half = (
        np.stack([explained(x, z, fold_of, rows) for x in designs])  # [K + 1, n, L]
        for rows in (all_items, generator.permutation(all_items.cumsum()) % 2 == 0)
    )
    best = [found[:-1, fold_of != fold].mean(axis=1).argmax(axis=0) for fold in range(folds)]
    chosen = np.array(best)[fold_of][None]
    how = f"means by sums over factors, {folds} folds, {known.n} items; over items"

    def sums(gained: NDArray[np.float64]) -> list[Estimate]:
        own = np.take_along_axis(gained[:-1], chosen, axis=0)[0]
        return [mean_of(one.sum(axis=1), unit=SHARE, method=how) for one in (own, gained[-1])]

    (own, whole), (own_further, whole_further) = sums(found), sums(2 * found - half)
    if not min(whole.low, whole_further.low) > 0:
        why = f"All factors explain {whole!r} of the latents, not above 0: a share of it is undefined."
        return undefined(why, SHARE, known.n, how)
    return Term(own.share_of(whole, SHARE), own_further.share_of(whole_further, SHARE)).estimate


def design(known: Factors, some: Sequence[int]) -> NDArray[np.float64]:
    """Indicators of the values of some factors, and cubic splines of the normal scores of numbers [n, d]."""
    found = []
    for k in some:
        if known.numbers[k]:
            scores = Variable(known.values[:, [k]], None, 1).rank_normal().continuous  # robust to outliers
            found.append(SplineTransformer(knots="quantile").fit_transform(scores))
        else:
            found.append(np.eye(int(known.codes[:, k].max()) + 1)[known.codes[:, k]])
    return np.hstack(found)


def explained(
    x: NDArray[np.float64], z: NDArray[np.float64], fold_of: NDArray[np.int64], rows: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Reduction of the squared error of z [n, L] by regression on x [n, d], fitted on `rows` of other folds: [n, L]."""
    found = np.empty_like(z)
    for fold in range(int(fold_of.max()) + 1):
        held = fold_of == fold
        some = ~held & rows
        centre = z[some].mean(axis=0)
        weights = np.linalg.lstsq(x[some], z[some] - centre, rcond=None)[0]
        found[held] = (z[held] - centre) ** 2 - (z[held] - centre - x[held] @ weights) ** 2
    return found
