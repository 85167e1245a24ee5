"""Local families: neighbours' classes, or a Gaussian around a local mean.

A prediction averages the k nearest training rows (Cover & Hart 1967), or all by a Gaussian kernel (Nadaraya 1964,
Watson 1964), and one pseudo-row with the training mean. For numbers the covariance is that of residuals without a row's
own group, mixed with the Gaussian without input, which bounds the loss of outliers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from infoscope.errors import OutOfRange
from infoscope.estimators.families.laws import (
    CategoricalLaw,
    check_floor,
    check_variance,
    floored_law,
    variance_name,
    without_input,
)
from infoscope.estimators.families.protocol import CLASSES, NUMBERS, Features, Predictor
from infoscope.estimators.variables import as_matrix

ROWS = 1024  # of distances at once

Average = Callable[[np.ndarray], np.ndarray]
"""Standardised inputs [m, d] -> weighted means of the training outcomes [m, q]."""


@dataclass(frozen=True)
class NearestNeighbours:
    """The k nearest training rows; ties at the k-th place share what is left.

    neighbours  None: the square root of the number of training rows
    variance    of numbers, known; None: fitted
    floor       share of the distribution without input in a prediction of numbers, in (0, 1)
    """

    neighbours: int | None = None
    variance: float | None = None
    floor: float = 0.01
    outcomes = (CLASSES, NUMBERS)

    def __post_init__(self) -> None:
        check_variance(self.variance)
        check_floor(self.floor)

    @property
    def name(self) -> str:
        chosen = "sqrt(n)" if self.neighbours is None else self.neighbours
        return f"knn(neighbours={chosen}{variance_name(self.variance)})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if x is None:
            return without_input(y, classes, self.variance)
        features, inputs, targets = prepared(x, y, classes)
        k = round(len(y) ** 0.5) if self.neighbours is None else self.neighbours
        if not 1 <= k < len(y):
            raise OutOfRange(f"neighbours must be from 1 to {len(y) - 1}, fewer than a training set has, got {k}.")
        index = NearestNeighbors(n_neighbors=k).fit(inputs)
        prior = targets.mean(axis=0)

        def average(rows: np.ndarray) -> np.ndarray:
            far, near = index.kneighbors(rows, k + 1)
            sums = targets[near[:, :k]].sum(axis=1)
            tied = np.flatnonzero(far[:, k] <= far[:, k - 1] * (1.0 + 1e-12))
            for part in np.split(tied, range(ROWS, len(tied), ROWS)):
                sums[part] = shared_sums(rows[part], inputs, targets, k)
            return (sums + prior) / (k + 1.0)

        def left_out() -> np.ndarray:
            own = group_codes(groups, len(y), self.name)
            wide, found = min(k + int(np.bincount(own).max()), len(y)), np.empty_like(targets)
            for part in parts(len(y)):
                near = index.kneighbors(inputs[part], wide, return_distance=False)
                others = own[near] != own[part, None]
                others &= others.cumsum(axis=1) <= k
                sums = (targets[near] * others[:, :, None]).sum(axis=1)
                found[part] = (sums + prior) / (others.sum(axis=1, keepdims=True) + 1.0)
            return found

        return predictor(average, left_out, features, targets, classes, self.variance, self.floor)


def shared_sums(rows: np.ndarray, inputs: np.ndarray, targets: np.ndarray, k: int) -> np.ndarray:
    """The k nearest rows' outcomes, summed [m, q]; rows at the k-th distance count in equal parts."""
    far = cdist(rows, inputs)
    last = np.partition(far, k - 1, axis=1)[:, k - 1 : k]
    closer, level = (far < last).astype(float), (far == last).astype(float)
    left = (k - closer.sum(axis=1, keepdims=True)) / level.sum(axis=1, keepdims=True)
    return closer @ targets + left * (level @ targets)


@dataclass(frozen=True)
class Kernel:
    """All training rows, by a Gaussian kernel. Time and memory grow with n^2.

    bandwidth   standard deviation as a share of the median distance between training rows; None: the one of
                `bandwidths` with the least error when rows are predicted without their own group
    variance, floor  as in NearestNeighbours
    """

    bandwidth: float | None = None
    variance: float | None = None
    floor: float = 0.01
    bandwidths: tuple[float, ...] = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5)
    outcomes = (CLASSES, NUMBERS)

    def __post_init__(self) -> None:
        check_variance(self.variance)
        check_floor(self.floor)
        if self.bandwidth is not None and not self.bandwidth > 0.0:
            raise OutOfRange(f"bandwidth must be positive, or None to choose it, got {self.bandwidth!r}.")

    @property
    def name(self) -> str:
        chosen = "chosen" if self.bandwidth is None else f"{self.bandwidth:g}"
        return f"kernel(bandwidth={chosen}{variance_name(self.variance)})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if x is None:
            return without_input(y, classes, self.variance)
        features, inputs, targets = prepared(x, y, classes)
        some = inputs[np.linspace(0, len(y) - 1, min(len(y), ROWS)).astype(int)]  # across all, should rows be sorted
        unit = float(np.median(cdist(some, some)[np.triu_indices(len(some), 1)]))
        unit = unit if unit > 0.0 else 1.0

        def without_own_group(bandwidths: tuple[float, ...]) -> list[np.ndarray]:
            own = group_codes(groups, len(y), self.name)
            return kernel_means(inputs, inputs, targets, [share * unit for share in bandwidths], own)

        share = self.bandwidth
        if share is None:
            tried = without_own_group(self.bandwidths)
            share = self.bandwidths[int(np.argmin([error(mean, targets, classes) for mean in tried]))]

        def average(rows: np.ndarray) -> np.ndarray:
            return kernel_means(rows, inputs, targets, [share * unit])[0]

        def left_out() -> np.ndarray:
            return without_own_group((share,))[0]

        return predictor(average, left_out, features, targets, classes, self.variance, self.floor)


def kernel_means(
    rows: np.ndarray,
    inputs: np.ndarray,
    targets: np.ndarray,
    bandwidths: list[float],
    groups: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Nadaraya-Watson means of targets [n, q] at rows [m, d] by bandwidth; no row is predicted by its own group."""
    prior = targets.mean(axis=0)
    found = [np.empty((len(rows), targets.shape[1])) for _ in bandwidths]
    for part in parts(len(rows)):
        squares = cdist(rows[part], inputs, "sqeuclidean")
        if groups is not None:
            squares[groups[part, None] == groups] = np.inf
        for means, bandwidth in zip(found, bandwidths):
            weights = np.exp(-0.5 * squares / bandwidth**2)
            means[part] = (weights @ targets + prior) / (weights.sum(axis=1, keepdims=True) + 1.0)
    return found


def parts(n: int) -> list[slice]:
    """Some `ROWS` of n rows at a time."""
    return [slice(start, start + ROWS) for start in range(0, n, ROWS)]


def group_codes(groups: np.ndarray | None, n: int, name: str) -> np.ndarray:
    """Codes 0, 1, ... of the groups [n] of a training set; None: every row is its own."""
    if groups is None:
        return np.arange(n)
    codes = np.unique(groups, return_inverse=True)[1]
    if not codes.max():
        raise OutOfRange(f"groups must be at least 2 in every training set of {name}, got 1.")
    return codes


def prepared(x: Any, y: np.ndarray, classes: int | None) -> tuple[Features, np.ndarray, np.ndarray]:
    """How inputs are standardised, the standardised inputs [n, d], and targets: one-hot rows or the numbers [n, q]."""
    inputs = as_matrix("x", x)
    features = Features.of(inputs, 1)
    return features, features(inputs), y if classes is None else np.eye(classes)[y]


def error(means: np.ndarray, targets: np.ndarray, classes: int | None) -> float:
    """Mean log loss of one-hot targets [n, classes], nats; mean squared error of numbers."""
    if classes is None:
        return float(((means - targets) ** 2).mean())
    return float(-np.log((means * targets).sum(axis=1)).mean())


def predictor(
    average: Average,
    left_out: Callable[[], np.ndarray],
    features: Features,
    targets: np.ndarray,
    classes: int | None,
    variance: float | None,
    floor: float,
) -> Predictor:
    """The distribution of classes or numbers around the averages; left_out: averages [n, q] without the own group."""

    def mean(new: Any) -> np.ndarray:
        return average(features(new))

    if classes is not None:

        def predict(new: Any) -> np.ndarray:
            with np.errstate(divide="ignore"):  # a class that is not in the training set
                return np.log(mean(new))

        return CategoricalLaw(predict)
    return floored_law(mean, targets, targets - left_out(), variance, floor)
