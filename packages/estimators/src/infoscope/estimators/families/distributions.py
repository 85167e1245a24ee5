"""Predicted distributions of an outcome: class probabilities, normal distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from scipy.linalg import cho_solve, cholesky

from infoscope.errors import InvalidInput, WrongType

# weight of the distribution without input, which bounds the loss of outliers
FLOOR = 0.01
# of inputs: means [n, q]; of None: [1, q]
Mean = Callable[[Any], np.ndarray]


@dataclass(frozen=True, eq=False)
class Categorical:
    """Distributions of classes.

    log_probabilities  of inputs: [n, classes], nats; of None: [1, classes]
    """

    log_probabilities: Callable[[Any], np.ndarray]

    def log_density(self, x: Any | None, y: np.ndarray) -> np.ndarray:
        """Log probabilities [n] of the classes y [n] given x, nats."""
        logs = self.log_probabilities(x)
        if len(logs) not in (1, len(y)):
            raise InvalidInput(
                f"x must have one item for each of the {len(y)} outcomes y, got "
                f"{len(logs)}."
            )
        rows = np.arange(len(y)) if len(logs) == len(y) else 0
        return logs[rows, y]


@dataclass(frozen=True, eq=False)
class Normal:
    """N(mean(x), covariance)."""

    mean: Mean
    covariance: np.ndarray

    def log_density(self, x: Any | None, y: np.ndarray) -> np.ndarray:
        """Log densities [n] of y [n, q] given x, nats."""
        residuals = y - self.mean(x)
        factor = cholesky(self.covariance, lower=True)
        scaled = cho_solve((factor, True), residuals.T)
        distances = np.einsum("nq,qn->n", residuals, scaled)
        half_log_determinant = float(np.log(np.diag(factor)).sum())
        constant = len(factor) * math.log(2.0 * math.pi)
        return -0.5 * (distances + constant) - half_log_determinant


@dataclass(frozen=True, eq=False)
class FlooredNormal:
    """A mixture of the distribution given the input, and without input (weight FLOOR)."""

    informed: Normal
    constant: Normal

    @classmethod
    def around(cls, mean: Mean, y: np.ndarray, residuals: np.ndarray) -> FlooredNormal:
        """Around a mean, with the covariance of residuals [n, q]."""
        informed = normal_around(mean, y, residuals)
        return cls(informed, without_input(y, None))

    def log_density(self, x: Any | None, y: np.ndarray) -> np.ndarray:
        """Log densities [n] of y [n, q] given x, nats."""
        informed = math.log1p(-FLOOR) + self.informed.log_density(x, y)
        constant = math.log(FLOOR) + self.constant.log_density(None, y)
        return np.logaddexp(informed, constant)


@overload
def without_input(y: np.ndarray, classes: int) -> Categorical: ...
@overload
def without_input(
    y: np.ndarray, classes: None, variance: float | None = None
) -> Normal: ...
@overload
def without_input(
    y: np.ndarray, classes: int | None, variance: float | None = None
) -> Categorical | Normal: ...
def without_input(
    y: np.ndarray, classes: int | None, variance: float | None = None
) -> Categorical | Normal:
    """The best prediction without input: class frequencies, or a normal distribution.

    The normal distribution is around the mean of y, with its covariance or `variance`.
    """
    if classes is None:
        centre = y.mean(axis=0, keepdims=True)
        residuals = y - centre
        return normal_around(lambda x: centre, y, residuals, variance)
    frequencies = np.bincount(y, minlength=classes) / len(y)
    with np.errstate(divide="ignore"):
        logs = np.log(frequencies)[None]
    return Categorical(lambda x: logs)


def normal_around(
    mean: Mean, y: np.ndarray, residuals: np.ndarray, variance: float | None = None
) -> Normal:
    """The normal distribution around a mean of y.

    Its covariance is `variance` in each direction; None: of the residuals [n, q].
    """
    if variance is not None:
        return Normal(mean, variance * np.eye(residuals.shape[1]))
    covariance = residuals.T @ residuals / len(residuals)
    rounding = 1e-13 * np.abs(y).max()
    smallest_variance = np.linalg.eigvalsh(covariance).min()
    if not smallest_variance > rounding**2:
        raise WrongType(
            "variance must be given where y is predicted without error: its estimate "
            "is 0."
        )
    return Normal(mean, covariance)


def with_absent(logs: np.ndarray, present: np.ndarray, classes: int) -> np.ndarray:
    """Log probabilities [n, present] as [n, classes].

    -inf for classes that were not in the training set.
    """
    all_classes = np.full((len(logs), classes), -np.inf)
    all_classes[:, present] = logs
    return all_classes
