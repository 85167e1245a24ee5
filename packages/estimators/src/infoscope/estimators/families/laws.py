"""Distributions of an outcome that members of families predict: of classes, Gaussian; nats."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky

from infoscope.errors import InvalidInput, WrongType

FLOOR = 0.01  # share of the distribution without input, which bounds the loss of outliers
Mean = Callable[[Any | None], np.ndarray]
"""Inputs -> means [n, q], or [1, q] of None."""


@dataclass(frozen=True, eq=False)
class CategoricalLaw:
    """Distributions of classes: inputs -> log probabilities [n, classes], or [1, classes] of None."""

    log_probabilities: Callable[[Any | None], np.ndarray]

    def log_density(self, x: Any | None, y: np.ndarray) -> np.ndarray:
        logs = self.log_probabilities(x)
        if len(logs) not in (1, len(y)):
            raise InvalidInput(f"x must have one item for each of the {len(y)} outcomes y, got {len(logs)}.")
        return logs[np.arange(len(y)) if len(logs) == len(y) else 0, y]


@dataclass(frozen=True, eq=False)
class GaussianLaw:
    """N(mean(x), covariance)."""

    mean: Mean
    covariance: np.ndarray

    def log_density(self, x: Any | None, y: np.ndarray) -> np.ndarray:
        residuals, factor = y - self.mean(x), cholesky(self.covariance, lower=True)
        distances = np.einsum("nq,qn->n", residuals, cho_solve((factor, True), residuals.T))
        return -0.5 * (distances + len(factor) * math.log(2.0 * math.pi)) - float(np.log(np.diag(factor)).sum())


@dataclass(frozen=True, eq=False)
class FlooredLaw:
    """(1 - FLOOR) times one distribution plus FLOOR times the one without input: few residuals may be far too small."""

    law: GaussianLaw
    constant: GaussianLaw

    @classmethod
    def around(cls, mean: Mean, y: np.ndarray, residuals: np.ndarray) -> FlooredLaw:
        """Of the covariance that the residuals [n, q] have."""
        return cls(residual_law(mean, y, residuals), without_input(y, None))

    def log_density(self, x: Any | None, y: np.ndarray) -> np.ndarray:
        own = math.log1p(-FLOOR) + self.law.log_density(x, y)
        return np.logaddexp(own, math.log(FLOOR) + self.constant.log_density(None, y))


def without_input(y: np.ndarray, classes: int | None, variance: float | None = None) -> CategoricalLaw | GaussianLaw:
    """The best prediction without input: class frequencies, or a Gaussian around the mean."""
    if classes is None:
        centre = y.mean(axis=0, keepdims=True)
        return residual_law(lambda x: centre, y, y - centre, variance)
    with np.errstate(divide="ignore"):
        logs = np.log(np.bincount(y, minlength=classes) / len(y))[None]
    return CategoricalLaw(lambda x: logs)


def residual_law(mean: Mean, y: np.ndarray, residuals: np.ndarray, variance: float | None = None) -> GaussianLaw:
    """The Gaussian around a mean of y, of a given variance, or of the covariance that the residuals [n, q] have."""
    if variance is not None:
        return GaussianLaw(mean, variance * np.eye(residuals.shape[1]))
    covariance = residuals.T @ residuals / len(residuals)
    if not np.linalg.eigvalsh(covariance).min() > (1e-13 * np.abs(y).max()) ** 2:  # below it, residuals are rounding
        raise WrongType(
            "variance must be given where a family predicts y, or a sum of its columns, without error: its own "
            f"estimate from {len(residuals)} rows is 0."
        )
    return GaussianLaw(mean, covariance)


def with_absent(logs: np.ndarray, present: np.ndarray, classes: int) -> np.ndarray:
    """Log probabilities [n, present] as [n, classes]: -inf for classes that were not in the training set."""
    every = np.full((len(logs), classes), -np.inf)
    every[:, present] = logs
    return every
