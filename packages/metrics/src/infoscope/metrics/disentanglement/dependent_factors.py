"""Minimality: does a latent tell of its own factor only, also where factors depend on one another?

Scores that set one factor's information beside another's punish a latent for what its factor tells of the others. A
latent is minimal if, given its factor, the other factors tell nothing more of it: I(z_l; y_rest | y_k) = 0 (Almudévar &
Ortega 2024). That is asked of the latent, not of the factors, of which there may be more combinations than items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import SplineTransformer

from infoscope.estimators.checks import require_int
from infoscope.estimators.result import Estimate, mean_of, undefined
from infoscope.metrics.disentanglement.infomec import chosen_items
from infoscope.metrics.disentanglement.measuring import Inputs
from infoscope.metrics.factor_information.inputs import Factors
from infoscope.metrics.factor_information.result import SHARE


def minimality(
    representation: Any,
    factors: ArrayLike,
    categorical: Sequence[int] = (),
    folds: int = 5,
    items: int | None = 10_000,
    generator: np.random.Generator | None = None,
) -> Estimate:
    """The share, of what all factors together explain of the latents, that each one's own factor explains alone.

    representation  [N, L]; factors: [N, K], K >= 2, as `inputs.as_factors` takes them, dependent or not
    folds           of items; items: how many random ones are used, None: all
    categorical     numbers of the latents that are categories: each of their values counts as a latent of its own

    What is explained is the reduction of the squared error of a latent, in units of its variance, on items that the
    means were not fitted to: the predictive information of normal laws of one variance (Xu et al. 2020), whose
    means are sums of one term for each value of each factor, and of a cubic spline of one of numbers. 1 -
    minimality is then the conditional information I(z_l; y_rest | y_k) as a share of I(z_l; y), summed over
    latents: one that no factor explains has no weight. In nats of a fitted variance, a code without noise would
    hold infinitely much. What a factor does to a latent's spread, or two factors by an interaction, is not seen.
    The factor of a latent is that which explains most on other folds.

    nan where all factors together explain nothing by its 95 % interval. ValueError: fewer than two factors, a factor of
    one value, every latent constant, fewer than two folds, shapes that do not fit, values that are not finite.
    """
    latents, known, generator = chosen_items(representation, factors, items, categorical, generator, 2, True)
    z = np.hstack([latents.inputs(latent) for latent in latents.subsets()[-1]])
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    fold_of = generator.permutation(known.n) % require_int("folds", folds, 2)
    designs = [design(known, [k]) for k in range(known.count)] + [design(known, range(known.count))]
    gained = np.stack([explained(x, z, fold_of) for x in designs])  # [K + 1, n, L]
    own = np.empty_like(z)
    for fold in range(folds):
        held = fold_of == fold
        best = gained[:-1, ~held].mean(axis=1).argmax(axis=0)
        own[held] = np.take_along_axis(gained[:-1, held], best[None, None], axis=0)[0]
    how = f"means by sums over factors, {folds} folds, {known.n} items; over items"
    whole = mean_of(gained[-1].sum(axis=1), unit=SHARE, method=how)
    if not whole.low > 0:
        return undefined(
            f"All factors explain {whole!r} of the latents: nothing is a share of it.", SHARE, known.n, how
        )
    return mean_of(own.sum(axis=1), unit=SHARE, method=how).share_of(whole, SHARE)


def minimality_of_codes(inputs: Inputs) -> Estimate:
    """The score for `registry.SCORES`."""
    return minimality(
        inputs.codes, inputs.factors, items=inputs.items, categorical=inputs.categorical,
        generator=inputs.stream("minimality"),
    )  # fmt: skip


def design(known: Factors, some: Sequence[int]) -> NDArray[np.float64]:
    """A column of 0 and 1 for each value of some factors, and a cubic spline of numbers [n, d]."""
    return np.hstack([
        SplineTransformer().fit_transform(known.values[:, [k]]) if known.numbers[k]
        else np.eye(int(known.codes[:, k].max()) + 1)[known.codes[:, k]]
        for k in some
    ])  # fmt: skip


def explained(x: NDArray[np.float64], z: NDArray[np.float64], fold_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how much x [n, d] lowers the squared error of z [n, L] on the items of each fold [n, L]."""
    found = np.empty_like(z)
    for fold in range(int(fold_of.max()) + 1):
        held = fold_of == fold
        centre = z[~held].mean(axis=0)
        weights = np.linalg.lstsq(x[~held], z[~held] - centre, rcond=None)[0]
        found[held] = (z[held] - centre) ** 2 - (z[held] - centre - x[held] @ weights) ** 2
    return found
