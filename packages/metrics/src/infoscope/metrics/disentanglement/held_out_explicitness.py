"""InfoE (Hsu et al. 2023) of held-out items: what linear models can use of a
representation about each factor.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression

from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.protocol import Outcome
from infoscope.estimators.families.scikit import Sklearn
from infoscope.estimators.families.stacked import Stacked
from infoscope.estimators.result import Estimate
from infoscope.metrics.disentanglement.information_based import mean_share
from infoscope.metrics.factor_information.arrays import Latents
from infoscope.metrics.factor_information.inputs import (
    as_array,
    as_factors,
    categorical_mask,
    random_items,
)
from infoscope.metrics.factor_information.result import OF_ENTROPY
from infoscope.metrics.v_information.predictions import Split, fold_splits
from infoscope.metrics.v_information.usable import GAINS, Term, predictions

LBFGS_STEPS = 100  # as in the published code
LINEAR = Stacked(
    (Sklearn(LogisticRegression(C=np.inf, max_iter=LBFGS_STEPS), "logistic"),)
)


@aligns("representation", "factors")
def explicitness(
    representation: Any,
    factors: ArrayLike,
    folds: int = 3,
    items: int | None = 10_000,
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
    progress: Callable[[float], None] | None = None,
) -> Estimate:
    """InfoE: mean over factors [N, K] of the logistic-regression V-information of a
    representation [N, L] as a share of entropy; R2 of linear regression for numbers
    (Hsu et al. 2023; Xu et al. 2020).

    Held-out predictions, mixed with class frequencies (`Stacked`). The interval extends
    to the value extrapolated to more items (`usable.Term`). items: number of random
    items, None: all; categorical: indices of the latents that are categories.
    ValueError: a factor of one value or with a value of one item, every latent
    constant, other shapes, values that are not finite, fewer than two folds.
    """
    generator = generator_or_default(generator)
    all_factors = as_factors(factors, numbers=True)
    codes = as_array(representation, all_factors.n)
    rows = np.sort(random_items(all_factors.n, items, generator))
    latents = Latents(codes[rows], categorical_mask(categorical, codes.shape[1]))
    sample = all_factors.take(rows)
    sample.require_items(2, "a second fold")
    x = np.hstack([latents.inputs(latent) for latent in latents.subsets()[-1]])
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    groups = np.arange(sample.n)
    gains, further, null_loss = np.empty((3, sample.n, sample.count))
    for k, y in enumerate(sample.codes.T):
        if sample.numbers[k]:
            values = sample.values[:, k]
            outcome = Outcome(values[:, None], None)
            splits = fold_splits(outcome, groups, folds, generator)
            gains[:, k], further[:, k], null_loss[:, k] = squares(
                x, values, splits, generator
            )
            continue
        outcome = Outcome(y, np.unique(y))
        splits = fold_splits(outcome, groups, folds, generator)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            full, half = predictions(LINEAR, x, outcome, splits, groups, generator)
        gains[:, k] = full.informed - full.null
        further[:, k] = gains[:, k] + GAINS * (full.informed - half.informed)
        null_loss[:, k] = -full.null
        if progress is not None:
            progress((k + 1) / sample.count)
    models = np.unique(np.where(sample.numbers, "linear", "logistic"))
    method = f"usable by {' and '.join(models)} regression, {folds} folds, {sample.n} items; over items"
    measured = mean_share(gains, null_loss, OF_ENTROPY, method)
    extrapolated = mean_share(further, null_loss, OF_ENTROPY, method)
    share = Term(measured, extrapolated).estimate
    most = max(1.0, share.value)
    high = min(share.high, most)
    return replace(share, interval=(share.low, high))


def squares(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    splits: Sequence[Split],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Reduction of the held-out squared error of y [n] by linear regression, the same
    extrapolated to more items, and the error without regression [3, n].
    """
    reductions = np.empty((3, len(y)))
    for training, held_out in splits:
        rows = generator.permutation(np.flatnonzero(training))
        error = (y[held_out] - y[training].mean()) ** 2
        gains = []
        for rows_of_fit in (rows, rows[: len(rows) // 2]):
            fit = LinearRegression().fit(x[rows_of_fit], y[rows_of_fit])
            residual = y[held_out] - fit.predict(x[held_out])
            gains.append(error - residual**2)
        gain, gain_of_half = gains
        reductions[:, held_out] = gain, 2 * gain - gain_of_half, error
    return reductions
