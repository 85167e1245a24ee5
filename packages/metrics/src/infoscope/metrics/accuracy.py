"""Errors of a series of estimates against the truth, and means over repeated runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from infoscope.errors import MissingValues, NoVariation, WrongLength, WrongShape
from infoscope.estimators.result import Estimate, mean_of


@dataclass(frozen=True)
class Errors:
    """Bias, variance and mean squared error of a series of estimates, in the unit of
    the estimates (squared for the last two).

    bias is mean minus true value (Lee & Rhee 2024 print the opposite sign), mse =
    bias^2 + variance (ddof 0). Standard errors are within this run (batch means). Where
    an estimate is not finite (`nonfinite` of them), all others are NaN.
    """

    mean: float
    bias: float
    variance: float
    mse: float
    mean_standard_error: float
    mse_standard_error: float
    steps: int
    nonfinite: int


def errors(estimates: np.ndarray, truth: float) -> Errors:
    """Errors of a series of estimates of one true value.

    Parameters
    ----------
    estimates
        [steps].
    truth
        The true value, in the unit of the estimates.

    Raises
    ------
    ValueError
        No estimates, a truth that is not finite.

    Examples
    --------
    >>> errors(np.array([1.0, 3.0]), 1.5).bias
    0.5
    """
    estimates = np.asarray(estimates, dtype=np.float64)
    if estimates.ndim != 1 or estimates.size == 0:
        raise WrongShape(
            "estimates must be one-dimensional with at least one step, got shape "
            f"{estimates.shape}."
        )
    if not np.isfinite(truth):
        raise MissingValues(f"truth must be finite, got {truth}.")
    nonfinite = int((~np.isfinite(estimates)).sum())
    if nonfinite:
        return Errors(*[float("nan")] * 6, steps=estimates.size, nonfinite=nonfinite)
    squared = (estimates - truth) ** 2
    mean = estimates.mean()
    return Errors(
        mean=float(mean),
        bias=float(mean - truth),
        variance=float(estimates.var()),
        mse=float(squared.mean()),
        mean_standard_error=batch_means_error(estimates),
        mse_standard_error=batch_means_error(squared),
        steps=estimates.size,
        nonfinite=0,
    )


def batch_means_error(values: np.ndarray, batches: int = 20) -> float:
    """Standard error of the mean of a dependent series, by means of blocks.

    Law & Kelton 1984.

    Parameters
    ----------
    values
        [steps].
    batches
        Number of blocks.

    Returns
    -------
    float
        NaN for a series with fewer than 2 values in a block.

    Examples
    --------
    >>> print(f"{batch_means_error(np.arange(40.0)):.2f}")
    2.65
    """
    values = np.asarray(values, dtype=np.float64)
    length = len(values) // batches
    if length < 2:
        return float("nan")
    blocks = values[-batches * length :].reshape(batches, length)
    means = blocks.mean(axis=1)
    return float(means.std(ddof=1) / np.sqrt(batches))


def replicated(values: Sequence[float], unit: str = "") -> Estimate:
    """The mean over n independent runs, with Student's t interval.

    The error of a single run is NaN. ValueError: no run.

    Examples
    --------
    >>> replicated([1.0, 2.0, 3.0]).value
    2.0
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise WrongShape(
            "values must be one-dimensional, a figure for each of one or more runs, "
            f"got shape {array.shape}."
        )
    return mean_of(array, unit=unit, method="mean over runs")


def correlation(x: np.ndarray, y: np.ndarray) -> Estimate:
    """Pearson correlation of x with y, the mean of Fisher's z over runs.

    Parameters
    ----------
    x
        [points].
    y
        [runs, points].

    Returns
    -------
    Estimate
        With Student's t interval.

    Raises
    ------
    ValueError
        Unequal lengths, fewer than three points, a constant x.

    Examples
    --------
    >>> print(f"{correlation(np.arange(3), np.array([[0, 1, 3], [0, 2, 3]])).value:.2f}")
    0.98
    """
    x = np.asarray(x, dtype=np.float64)
    y = np.atleast_2d(np.asarray(y, dtype=np.float64))
    if y.shape[1] != x.size or x.size < 3:
        raise WrongLength(
            f"x and y must have the same number of points, at least 3, got {x.size} "
            f"and {y.shape[1]}."
        )
    if x.min() == x.max():
        raise NoVariation(f"x must vary for a correlation, got the constant {x[0]}.")
    spread = y.std(axis=1)
    centred = y - y.mean(axis=1, keepdims=True)
    spread[spread == 0] = np.nan  # no correlation of a constant
    r = centred @ (x - x.mean()) / (x.size * x.std() * spread)
    r = np.clip(r, -1 + 1e-12, 1 - 1e-12)
    z = replicated(np.arctanh(r))
    value, low, high = np.tanh([z.value, z.low, z.high]).tolist()
    return Estimate(
        value, unit="", n=z.n, method="Fisher's z over runs", interval=(low, high)
    )
