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
from infoscope.metrics.v_information.predictions import Split, fold_splits
from infoscope.metrics.v_information.usable import GAINS, Extrapolated, predictions

Values = NDArray[np.float64]

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
    """InfoE: the share of each factor that linear models predict, mean over factors.

    The V-information of logistic regression as a share of the entropy; for numbers R2
    of linear regression (Hsu et al. 2023; Xu et al. 2020). Predictions are held out and
    mixed with class frequencies (`Stacked`). The interval extends to the value
    extrapolated to more items (`usable.Extrapolated`).

    Parameters
    ----------
    representation
        Numbers [N, L].
    factors
        [N, K], as in `inputs.as_factors`.
    items
        Number of random items used; None: all.
    categorical
        Indices of the latents that are categories.

    Returns
    -------
    Estimate
        A share of H(y), with the error over items.

    Raises
    ------
    ValueError
        A factor of one value or with a value of one item, every latent constant, other
        shapes, values that are not finite, fewer than two folds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(0, 2, (200, 2))
    >>> noisy = factors + 0.1 * rng.normal(size=(200, 2))
    >>> print(f"{explicitness(noisy, factors, generator=rng).value:.2f}")
    1.00
    """
    generator = generator_or_default(generator)
    all_factors = as_factors(factors, numbers=True)
    codes = as_array(representation, all_factors.n)
    rows = np.sort(random_items(all_factors.n, items, generator))
    latents = Latents(codes[rows], categorical_mask(categorical, codes.shape[1]))
    sample = all_factors.take(rows)
    sample.require_items(2, "a second fold")
    varying = latents.subsets()[-1]
    x = np.hstack([latents.inputs(latent) for latent in varying])
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    groups = np.arange(sample.n)
    # for each factor: gain, extrapolated gain, loss without input
    gains = np.empty((3, sample.n, sample.count))
    for k, codes_of_factor in enumerate(sample.codes.T):
        number = sample.numbers[k]
        outcome = Outcome(codes_of_factor, np.unique(codes_of_factor))
        if number:
            outcome = Outcome(sample.values[:, [k]], None)
        splits = fold_splits(outcome, groups, folds, generator)
        gains_of = _squared_errors if number else _log_losses
        gains[:, :, k] = gains_of(x, outcome, splits, generator)
        if progress is not None:
            progress((k + 1) / sample.count)
    gain, extrapolated_gain, null_loss = gains
    models = " and ".join(np.unique(np.where(sample.numbers, "linear", "logistic")))
    method = (
        f"usable by {models} regression, {folds} folds, {sample.n} items; over items"
    )
    measured = mean_share(gain, null_loss, method)
    extrapolated = mean_share(extrapolated_gain, null_loss, method)
    share = Extrapolated(measured, extrapolated).estimate
    most = max(1.0, share.value)
    high = min(share.high, most)
    return replace(share, interval=(share.low, high))


def _log_losses(
    x: Values, outcome: Outcome, splits: Sequence[Split], generator: np.random.Generator
) -> Values:
    """Reduction of the held-out log loss of classes by logistic regression, the same
    extrapolated to more items, and the loss without input [3, n].
    """
    groups = np.arange(len(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        full, half = predictions(LINEAR, x, outcome, splits, groups, generator)
    gain = full.informed - full.null
    extrapolated = gain + GAINS * (full.informed - half.informed)
    return np.stack([gain, extrapolated, -full.null])


def _squared_errors(
    x: Values, outcome: Outcome, splits: Sequence[Split], generator: np.random.Generator
) -> Values:
    """Reduction of the held-out squared error of numbers by linear regression, the same
    extrapolated to more items, and the error without regression [3, n].
    """
    y = outcome.values[:, 0]
    reductions = np.empty((3, len(y)))
    for training, held_out in splits:
        rows = generator.permutation(np.flatnonzero(training))
        error = (y[held_out] - y[training].mean()) ** 2
        gains = []
        for rows_of_fit in (rows, rows[: len(rows) // 2]):
            fit = LinearRegression()
            fit.fit(x[rows_of_fit], y[rows_of_fit])
            residual = y[held_out] - fit.predict(x[held_out])
            gains.append(error - residual**2)
        gain, gain_of_half = gains
        reductions[:, held_out] = gain, 2 * gain - gain_of_half, error
    return reductions
