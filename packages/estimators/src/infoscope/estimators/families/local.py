"""Nearest neighbours as a predictive family.

Predicts the classes of neighbours, or a normal distribution around their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn import neighbors

from infoscope.errors import OutOfRange
from infoscope.estimators.columns import as_matrix
from infoscope.estimators.families.distributions import (
    Categorical,
    FlooredNormal,
    without_input,
)
from infoscope.estimators.families.protocol import CLASSES, NUMBERS, Features, Predictor

ROWS_AT_ONCE = 1024  # of a distance matrix


@dataclass(frozen=True)
class NearestNeighbours:
    """Prediction from the k nearest training rows (Cover & Hart 1967).

    One pseudo-row with the training mean is added to them. Rows tied at the k-th place
    share its weight. For numbers, the covariance is estimated from residuals, with
    neighbours from other groups only. The mixture with the distribution without input
    bounds the loss of outliers.

    neighbours  k; None: the square root of the number of training rows
    """

    neighbours: int | None = None
    outcomes = (CLASSES, NUMBERS)

    @property
    def name(self) -> str:
        """The name with its settings."""
        neighbours = "sqrt(n)" if self.neighbours is None else self.neighbours
        return f"knn(neighbours={neighbours})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        """The predictive distribution of y [n] (classes) or [n, q] (numbers) given x."""
        if x is None:
            return without_input(y, classes)
        inputs = as_matrix("x", x)
        features = Features.of(inputs, 1)
        targets = y if classes is None else np.eye(classes)[y]
        means = _Means(features(inputs), targets, self._count(len(targets)))

        def mean(new: Any) -> np.ndarray:
            return means.at(features(new))

        def predict(new: Any) -> np.ndarray:
            # log 0 = -inf for a class that is not in the training set
            with np.errstate(divide="ignore"):
                return np.log(mean(new))

        if classes is not None:
            return Categorical(predict)
        codes = self._codes(groups, len(y))
        residuals = y - means.from_other_groups(codes)
        return FlooredNormal.around(mean, y, residuals)

    def _count(self, n: int) -> int:
        """The number of neighbours among n training rows."""
        k = round(n**0.5) if self.neighbours is None else self.neighbours
        if not 1 <= k < n:
            raise OutOfRange(
                f"neighbours must be from 1 to {n - 1}, fewer than a training set "
                f"has, got {k}."
            )
        return k

    def _codes(self, groups: np.ndarray | None, n: int) -> np.ndarray:
        if groups is None:
            return np.arange(n)
        _, codes = np.unique(groups, return_inverse=True)
        if not codes.max():
            raise OutOfRange(
                f"groups must be at least 2 in every training set of {self.name}, got "
                "1."
            )
        return codes


class _Means:
    """Mean targets [n, q] of the k nearest standardised inputs [n, d]."""

    def __init__(self, inputs: np.ndarray, targets: np.ndarray, k: int) -> None:
        self._inputs = inputs
        self._targets = targets
        self._k = k
        self._prior = targets.mean(axis=0)
        self._index = neighbors.NearestNeighbors(n_neighbors=k).fit(inputs)

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Predictions at new rows [m, d]."""
        k = self._k
        distances, places = self._index.kneighbors(rows, k + 1)
        nearest = places[:, :k]
        sums = self._targets[nearest].sum(axis=1)
        radius = distances[:, k - 1] * (1.0 + 1e-12)
        tied = np.flatnonzero(distances[:, k] <= radius)
        for start in range(0, len(tied), ROWS_AT_ONCE):
            part = tied[start : start + ROWS_AT_ONCE]
            sums[part] = sums_with_ties(rows[part], self._inputs, self._targets, k)
        return (sums + self._prior) / (k + 1.0)

    def from_other_groups(self, groups: np.ndarray) -> np.ndarray:
        """Predictions at the training rows [n, q], each from rows of other groups [n]."""
        n = len(self._targets)
        largest_group = int(np.bincount(groups).max())
        count = min(self._k + largest_group, n)
        means = np.empty_like(self._targets)
        for start in range(0, n, ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            places = self._index.kneighbors(
                self._inputs[part], count, return_distance=False
            )
            is_neighbour = groups[places] != groups[part, None]
            is_neighbour &= is_neighbour.cumsum(axis=1) <= self._k
            included = self._targets[places] * is_neighbour[:, :, None]
            sums = included.sum(axis=1)
            counts = is_neighbour.sum(axis=1, keepdims=True)
            means[part] = (sums + self._prior) / (counts + 1.0)
        return means


def sums_with_ties(
    rows: np.ndarray, inputs: np.ndarray, targets: np.ndarray, k: int
) -> np.ndarray:
    """Sums [m, q] of the outcomes of the k nearest rows.

    All rows at the k-th distance have equal weights.
    """
    distances = cdist(rows, inputs)
    radius = np.partition(distances, k - 1, axis=1)
    radius = radius[:, k - 1 : k]
    closer = (distances < radius).astype(float)
    tied = (distances == radius).astype(float)
    missing = k - closer.sum(axis=1, keepdims=True)
    weight = missing / tied.sum(axis=1, keepdims=True)
    return closer @ targets + weight * (tied @ targets)
