"""Families whose least log loss is a closed form (Xu et al. 2020, propositions 2, 3).

Table                   all conditional distributions of categories: V-information is mutual information
Gaussian(variance)      N(polynomial of x, variance I): (total - residual sum of squares) / (2 variance n)
Gaussian()              N(polynomial of x, any covariance): 1/2 ln(det covariance / det residual covariance)
BoundedLogistic(radius) logistic models of bounded norm, whose PAC bound is a closed form
Laplace(scale)          median regression: (mean absolute deviation without - with the input) / scale
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import QuantileRegressor

from infoscope.checks import require_int
from infoscope.errors import InvalidInput, MissingValues, OutOfRange, WrongShape
from infoscope.estimators.families.complexity import (
    Complexity,
    in_ball,
    linear,
    squared_error_on_sample,
    table_on_sample,
)
from infoscope.estimators.families.laws import (
    CategoricalLaw,
    GaussianLaw,
    LaplaceLaw,
    check_variance,
    residual_law,
    without_input,
)
from infoscope.estimators.families.protocol import CLASSES, NUMBERS, Features, needed
from infoscope.estimators.variables import as_matrix

NEWTON_STEPS = 100


@dataclass(frozen=True)
class Table:
    """All conditional distributions of a class given categories [n] or [n, d].

    smoothing is added to every count in proportion to the class frequencies, which unseen inputs get.
    """

    smoothing: float = 0.0
    outcomes = (CLASSES,)

    def __post_init__(self) -> None:
        if not self.smoothing >= 0.0:
            raise OutOfRange(f"smoothing must be at least 0, got {self.smoothing!r}.")

    @property
    def name(self) -> str:
        return f"table(smoothing={self.smoothing:g})" if self.smoothing else "table"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if x is None:
            return without_input(y, needed(classes))
        prior = np.bincount(y, minlength=needed(classes)) / len(y)
        codes, places = numbered(categories(x))
        counts = np.bincount(codes * classes + y, minlength=len(places) * classes).reshape(-1, classes)
        laws = counts + self.smoothing * prior
        with np.errstate(divide="ignore"):
            logs = np.log(np.vstack([laws / laws.sum(axis=1, keepdims=True), prior]))  # the last is of unseen inputs
        return CategoricalLaw(lambda inputs: logs[[places.get(item, len(places)) for item in categories(inputs)]])

    def complexity(
        self, x: Any, y: np.ndarray, classes: int | None, floor: float, generator: np.random.Generator
    ) -> Complexity | None:
        if not floor > 0.0 or self.smoothing:  # a smoothed table is not the one of least log loss
            return None
        codes, _ = numbered(categories(x))
        value, error = table_on_sample(codes * needed(classes) + y, classes, floor, generator)
        return Complexity(
            value,
            error,
            -math.log(floor),
            True,
            f"Monte Carlo over tables of probabilities >= {floor:g}",
            slack=-math.log1p(-(classes - 1) * floor),
        )


def categories(x: Any) -> list[Any]:
    """Every item of x [n] or [n, d] as something that can be looked up. ValueError for missing values."""
    values = np.asarray(x)
    missing = int(pd.isna(values).reshape(len(values), -1).any(axis=1).sum())
    if missing:
        raise MissingValues(f"x must have no missing categories, got {missing} of {len(values)}.")
    return [tuple(item) if isinstance(item, list) else item for item in values.tolist()]


def numbered(items: list[Any]) -> tuple[np.ndarray, dict[Any, int]]:
    """The number of every item [n], by first appearance; and of every value."""
    places: dict[Any, int] = {}
    return np.array([places.setdefault(item, len(places)) for item in items]), places


@dataclass(frozen=True)
class Gaussian:
    """Gaussians whose mean is a polynomial of x, fitted by least squares.

    variance  of every component, known; None: the covariance is fitted as well
    degree    of the polynomial, products of inputs included; 0 is a constant mean
    radius    the largest Frobenius norm of the coefficients of (features of x, 1); with a variance, a PAC bound exists
    """

    variance: float | None = None
    degree: int = 1
    radius: float | None = None
    outcomes = (NUMBERS,)

    def __post_init__(self) -> None:
        check_variance(self.variance)
        require_int("degree", self.degree, 0)
        if self.radius is not None and not (self.radius > 0.0 and self.variance is not None and self.degree == 1):
            raise OutOfRange(f"radius must be positive, with a variance and degree 1, got {self!r}.")

    @property
    def name(self) -> str:
        parts = [f"variance={'fitted' if self.variance is None else f'{self.variance:g}'}", f"degree={self.degree}"]
        parts += [] if self.radius is None else [f"radius={self.radius:g}"]
        return f"gaussian({', '.join(parts)})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if self.radius is not None:
            return self._fit_in_ball(x, y)
        if x is None or self.degree == 0:
            return without_input(y, None, self.variance)
        inputs = as_matrix("x", x)
        features = Features.of(inputs, self.degree)
        design = np.hstack([features(inputs), np.ones((len(y), 1))])
        weights = np.linalg.lstsq(design, y, rcond=None)[0]

        def mean(new: Any) -> np.ndarray:
            return features(new) @ weights[:-1] + weights[-1]

        return residual_law(mean, y, y - design @ weights, self.variance)

    def _fit_in_ball(self, x: Any, y: np.ndarray) -> GaussianLaw:
        design = with_one(x, len(y))
        values, vectors = np.linalg.eigh(design.T @ design)
        values = np.repeat(values.clip(0.0)[:, None], y.shape[1], axis=1)
        pull = vectors.T @ (design.T @ y)
        weights = vectors @ in_ball(values.ravel(), pull.ravel(), self.radius).reshape(pull.shape)

        def mean(new: Any) -> np.ndarray:
            return weights if new is None else with_one(new, len(new)) @ weights

        return GaussianLaw(mean, self.variance * np.eye(y.shape[1]))

    def complexity(
        self, x: Any, y: np.ndarray, classes: int | None, floor: float, generator: np.random.Generator
    ) -> Complexity | None:
        if self.radius is None:
            return None
        design = with_one(x, len(y))
        value, error = squared_error_on_sample(design, y, self.variance, self.radius, generator)
        largest = math.sqrt(float((design**2).sum(axis=1).max())) * self.radius + float(np.linalg.norm(y, axis=1).max())
        constant = -0.5 * y.shape[1] * math.log(2.0 * math.pi * self.variance)
        magnitude = max(abs(constant), abs(constant - largest**2 / (2.0 * self.variance)))
        return Complexity(
            value, error, magnitude, True, "Monte Carlo over the ball; B for inputs and outcomes as long as the longest"
        )


@dataclass(frozen=True)
class BoundedLogistic:
    """Two-class logistic models whose weights of (x, 1), on the scale of x, have at most the norm `radius`.

    Their in-sample PAC bound is a closed form. Fitted by Newton's method in the ball.
    """

    radius: float
    outcomes = (CLASSES,)

    def __post_init__(self) -> None:
        if not self.radius > 0.0:
            raise OutOfRange(f"radius must be positive, got {self.radius!r}.")

    @property
    def name(self) -> str:
        return f"logistic(radius={self.radius:g})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if classes != 2:
            raise InvalidInput(f"y must be of two classes for {self.name}, got {classes}.")
        weights = self._weights(with_one(x, len(y)), 2.0 * y - 1.0)

        def predict(new: Any) -> np.ndarray:
            scores = with_one(new, 1 if new is None else len(new)) @ weights
            return -np.logaddexp(0.0, np.stack([scores, -scores], axis=1))

        return CategoricalLaw(predict)

    def _weights(self, design: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """The least mean log loss of labels -1 and 1 in the ball."""

        def loss(weights: np.ndarray) -> float:
            return float(np.logaddexp(0.0, -signs * (design @ weights)).mean())

        weights = np.zeros(design.shape[1])
        for _ in range(NEWTON_STEPS):
            p = expit(design @ weights)
            gradient = design.T @ (p - (signs + 1.0) / 2.0) / len(signs)
            values, vectors = np.linalg.eigh((design * (p * (1.0 - p))[:, None]).T @ design / len(signs))
            model = vectors @ in_ball(
                values.clip(0.0), values.clip(0.0) * (vectors.T @ weights) - vectors.T @ gradient, self.radius
            )
            step = model - weights
            if -float(gradient @ step) < 1e-12:
                return weights
            length = 1.0
            while loss(weights + length * step) > loss(weights) + 1e-4 * length * float(gradient @ step):
                length /= 2.0
            weights = weights + length * step
        raise OutOfRange(f"radius is too large for {self.name} to settle in {NEWTON_STEPS} steps; give a smaller one.")

    def complexity(
        self, x: Any, y: np.ndarray, classes: int | None, floor: float, generator: np.random.Generator
    ) -> Complexity:
        largest = math.sqrt(float((with_one(x, len(y)) ** 2).sum(axis=1).max()))
        # The sign of a label is one more random sign; log sigmoid has slope at most 1, and is -ln 2 at 0.
        value = 2.0 * linear(self.radius, largest, len(y)) + math.log(2.0) / math.sqrt(len(y))
        magnitude = float(np.logaddexp(0.0, self.radius * largest))
        # Mixed with the uniform law a probability p becomes at least (1 - floor) p, and (1 - 2 floor) p + floor.
        raised = float(np.logaddexp(math.log1p(-2.0 * floor), math.log(floor) + magnitude)) if floor > 0.0 else 0.0
        return Complexity(
            value,
            0.0,
            magnitude,
            False,
            f"closed form, for inputs as long as the longest, {largest:.3g}",
            slack=raised - math.log1p(-floor),
        )


def with_one(x: Any | None, n: int) -> np.ndarray:
    """Inputs [n, d] and a column of ones [n, d + 1]; ones alone for None."""
    ones = np.ones((n, 1))
    return ones if x is None else np.hstack([as_matrix("x", x), ones])


@dataclass(frozen=True)
class Laplace:
    """Laplace distributions of known scale around the median of one number, a polynomial of x.

    Fitted by a linear programme: seconds from some 5,000 rows on.
    """

    scale: float = 1.0
    degree: int = 1
    outcomes = (NUMBERS,)

    def __post_init__(self) -> None:
        if not self.scale > 0.0:
            raise OutOfRange(f"scale must be positive, got {self.scale!r}.")
        require_int("degree", self.degree, 0)

    @property
    def name(self) -> str:
        return f"laplace(scale={self.scale:g}, degree={self.degree})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if y.shape[1] != 1:
            raise WrongShape(f"y must be one number for a Laplace family, got {y.shape[1]} columns.")
        if x is None or self.degree == 0:
            middle = np.median(y)
            return LaplaceLaw(lambda new: middle, self.scale)
        inputs = as_matrix("x", x)
        features = Features.of(inputs, self.degree)
        model = QuantileRegressor(quantile=0.5, alpha=0.0, solver="highs").fit(features(inputs), y[:, 0])
        return LaplaceLaw(lambda new: model.predict(features(new)), self.scale)
