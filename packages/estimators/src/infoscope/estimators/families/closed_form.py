"""Families whose least log loss is a closed form (Xu et al. 2020, propositions 2, 3).

Table               all conditional distributions of categories: V-information is mutual information
Gaussian(variance)  N(polynomial of x, variance I): (total - residual sum of squares) / (2 variance n)
Gaussian()          N(polynomial of x, any covariance): 1/2 ln(det covariance / det residual covariance)
Ridge               linear means with a penalty; errors of rows that were left out
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from infoscope.checks import require_int, require_number
from infoscope.errors import MissingValues
from infoscope.estimators.columns import as_matrix
from infoscope.estimators.families.complexity import Complexity, table_on_sample
from infoscope.estimators.families.distributions import (
    Categorical,
    normal_around,
    without_input,
)
from infoscope.estimators.families.protocol import (
    CLASSES,
    NUMBERS,
    Features,
    Predictor,
    needed,
)

MIN_SINGULAR_VALUE = 1e-10  # share of the largest; smaller ones are rounding


@dataclass(frozen=True)
class Table:
    """All conditional distributions of a class given categories [n] or [n, d].

    Inputs that are not in the training set get the class frequencies.
    """

    name = "table"
    outcomes = (CLASSES,)

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        """The predictive distribution of the classes y [n] given x."""
        classes = needed(classes)
        if x is None:
            return without_input(y, classes)
        codes, code_of = numbered(categories(x))
        # the last row is for inputs that are not in the training set
        unseen = len(code_of)
        cells = codes * classes + y
        counts = np.bincount(cells, minlength=unseen * classes)
        counts = counts.reshape(-1, classes)
        conditional = counts / counts.sum(axis=1, keepdims=True)
        prior = np.bincount(y, minlength=classes) / len(y)
        with np.errstate(divide="ignore"):
            logs = np.log(np.vstack([conditional, prior]))

        def predict(inputs: Any) -> np.ndarray:
            rows = [code_of.get(item, unseen) for item in categories(inputs)]
            return logs[rows]

        return Categorical(predict)

    def complexity(
        self,
        x: Any,
        y: np.ndarray,
        classes: int | None,
        floor: float,
        generator: np.random.Generator,
    ) -> Complexity | None:
        """The Rademacher complexity on a sample, nats; None without a floor."""
        if not floor > 0.0:
            return None
        classes = needed(classes)
        codes, _ = numbered(categories(x))
        cells = codes * classes + y
        value, error = table_on_sample(cells, classes, floor, generator)
        slack = -math.log1p(-(classes - 1) * floor)
        return Complexity(value, error, -math.log(floor), slack)


def categories(x: Any) -> list[Any]:
    """The items of x [n] or [n, d], hashable. ValueError for missing values."""
    values = np.asarray(x)
    is_missing = pd.isna(values).reshape(len(values), -1)
    missing = int(is_missing.any(axis=1).sum())
    if missing:
        raise MissingValues(
            f"x must have no missing categories, got {missing} of {len(values)}."
        )
    return [tuple(item) if isinstance(item, list) else item for item in values.tolist()]


def numbered(items: list[Any]) -> tuple[np.ndarray, dict[Any, int]]:
    """The code of every item [n], by first appearance, and the code of each value."""
    code_of = {value: code for code, value in enumerate(dict.fromkeys(items))}
    return np.array([code_of[item] for item in items]), code_of


@dataclass(frozen=True)
class Gaussian:
    """Gaussians whose mean is a polynomial of x, fitted by least squares.

    variance  of every component, known; None: the covariance is fitted as well
    degree    of the polynomial, products of inputs included; 0 is a constant mean
    """

    variance: float | None = None
    degree: int = 1
    outcomes = (NUMBERS,)

    def __post_init__(self) -> None:
        if self.variance is not None:
            require_number("variance", self.variance, ends=False)
        require_int("degree", self.degree, 0)

    @property
    def name(self) -> str:
        """The name with its settings."""
        variance = "fitted" if self.variance is None else f"{self.variance:g}"
        return f"gaussian(variance={variance}, degree={self.degree})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        """The predictive distribution of y [n, q] given x."""
        if x is None or self.degree == 0:
            return without_input(y, None, self.variance)
        inputs = as_matrix("x", x)
        features = Features.of(inputs, self.degree)
        constant = np.ones((len(y), 1))
        design = np.hstack([features(inputs), constant])
        weights, *_ = np.linalg.lstsq(design, y, rcond=None)

        def mean(new: Any) -> np.ndarray:
            return features(new) @ weights[:-1] + weights[-1]

        residuals = y - design @ weights
        return normal_around(mean, y, residuals, self.variance)


@dataclass(frozen=True)
class Ridge:
    """Gaussians around linear means, fitted by ridge regression (Hoerl & Kennard 1970).

    The weights minimise squared error + penalty * |weights|^2. The covariance is of
    leave-one-out residuals (Allen 1974). ValueError: y is predicted without error.
    """

    penalty: float = 1.0
    outcomes = (NUMBERS,)

    def __post_init__(self) -> None:
        require_number("penalty", self.penalty, ends=False)

    @property
    def name(self) -> str:
        """The name with its settings."""
        return f"ridge(penalty={self.penalty:g})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        """The predictive distribution of y [n, q] given x."""
        if x is None:
            return without_input(y, None)
        inputs = as_matrix("x", x)
        features = Features.of(inputs, 1)
        left, sizes, right = np.linalg.svd(features(inputs), full_matrices=False)
        is_spanned = sizes > MIN_SINGULAR_VALUE * sizes.max(initial=0.0)
        left = left[:, is_spanned]
        sizes = sizes[is_spanned]
        right = right[is_spanned]
        centre = y.mean(axis=0)
        projections = left.T @ (y - centre)

        def mean(new: Any) -> np.ndarray:
            return features(new) @ weights + centre

        if (
            len(sizes) < len(y) - 1
        ):  # with more columns, every y is fitted without error
            weights = right.T @ (projections / sizes[:, None])
            normal_around(mean, y, y - mean(inputs))
        squares = sizes**2
        shrinkage = squares / (squares + self.penalty)
        factors = shrinkage / sizes
        weights = right.T @ (factors[:, None] * projections)
        leverage = (left**2) @ shrinkage
        free = 1.0 - 1.0 / len(y) - leverage
        residuals = y - mean(inputs)
        return normal_around(mean, y, residuals / free[:, None])
