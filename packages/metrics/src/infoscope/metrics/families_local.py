"""Local families: neighbours' classes, or a Gaussian around a local mean.

A prediction averages training rows with weights of their distance (standardised inputs, Euclidean): the k nearest
equally (Cover & Hart 1967), or all by a Gaussian kernel (Nadaraya 1964, Watson 1964), and one pseudo-row that holds the
training mean. Of classes the average of one-hot rows is the law itself. Of numbers it is the mean of a Gaussian whose
covariance is that of the leave-one-out residuals, mixed with a share of the Gaussian that sees no input: a floor, so
that a far outlier costs a known amount and not a squared distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from infoscope.metrics.families import CLASSES, NUMBERS, Features, Posterior, Predictor, as_matrix, frequencies
from infoscope.metrics.families_exact import GaussianLaw, checked_variance, constant_law, residual_law

ROWS = 1024  # of distances at once
BANDWIDTHS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5)
"""Of the kernel to choose from, as shares of the median distance between rows."""

Average = Callable[[np.ndarray, bool], np.ndarray]
"""(standardised inputs [m, d], leave one's own row out) -> weighted means of the training outcomes [m, q]."""


@dataclass(frozen=True)
class NearestNeighbours:
    """The k nearest training rows.

    neighbours  None: the square root of the number of training rows
    variance    of numbers, known; None: fitted
    floor       share of the law without an input in a prediction of numbers, in (0, 1)
    """

    neighbours: int | None = None
    variance: float | None = None
    floor: float = 0.01
    outcomes = (CLASSES, NUMBERS)

    def __post_init__(self) -> None:
        checked_variance(self.variance)
        checked_share(self.floor)

    @property
    def name(self) -> str:
        return f"knn(neighbours={'sqrt(n)' if self.neighbours is None else self.neighbours})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if x is None:
            return without_input(y, classes, self.variance)
        features, inputs, targets = prepared(x, y, classes)
        k = round(len(y) ** 0.5) if self.neighbours is None else self.neighbours
        if not 1 <= k < len(y):
            raise ValueError(f"neighbours must be from 1 to {len(y) - 1}, fewer than a training set has, got {k}.")
        index = NearestNeighbors(n_neighbors=k).fit(inputs)
        prior = targets.mean(axis=0)

        def average(rows: np.ndarray, own_out: bool) -> np.ndarray:
            near = index.kneighbors(None if own_out else rows, return_distance=False)
            return (targets[near].sum(axis=1) + prior) / (k + 1.0)

        return predictor(average, features, inputs, targets, classes, self.variance, self.floor)


@dataclass(frozen=True)
class Kernel:
    """All training rows, by a Gaussian kernel.

    bandwidth  standard deviation of the kernel as a share of the median distance between training rows; None: the one
               of `BANDWIDTHS` with the least leave-one-out error (log loss of classes, squared error of numbers)
    variance, floor  as in NearestNeighbours

    Time and memory grow with the square of the number of rows, the latter 1,024 rows at a time.
    """

    bandwidth: float | None = None
    variance: float | None = None
    floor: float = 0.01
    outcomes = (CLASSES, NUMBERS)

    def __post_init__(self) -> None:
        checked_variance(self.variance)
        checked_share(self.floor)
        if self.bandwidth is not None and not self.bandwidth > 0.0:
            raise ValueError(f"bandwidth must be positive, or None to choose it, got {self.bandwidth!r}.")

    @property
    def name(self) -> str:
        return f"kernel(bandwidth={'chosen' if self.bandwidth is None else f'{self.bandwidth:g}'})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if x is None:
            return without_input(y, classes, self.variance)
        features, inputs, targets = prepared(x, y, classes)
        first = inputs[:ROWS]
        unit = float(np.median(cdist(first, first)[np.triu_indices(len(first), 1)]))
        unit = unit if unit > 0.0 else 1.0

        def averages(rows: np.ndarray, own_out: bool, bandwidths: tuple[float, ...]) -> list[np.ndarray]:
            return kernel_means(rows, inputs, targets, own_out, [share * unit for share in bandwidths])

        share = self.bandwidth
        if share is None:
            tried = averages(inputs, True, BANDWIDTHS)
            share = BANDWIDTHS[int(np.argmin([error(mean, targets, classes) for mean in tried]))]

        def average(rows: np.ndarray, own_out: bool) -> np.ndarray:
            return averages(rows, own_out, (share,))[0]

        return predictor(average, features, inputs, targets, classes, self.variance, self.floor)


def kernel_means(
    rows: np.ndarray, inputs: np.ndarray, targets: np.ndarray, own_out: bool, bandwidths: list[float]
) -> list[np.ndarray]:
    """Nadaraya-Watson means of targets [n, q] at rows [m, d], with the pseudo-row, for every bandwidth."""
    prior = targets.mean(axis=0)
    found = [np.empty((len(rows), targets.shape[1])) for _ in bandwidths]
    for start in range(0, len(rows), ROWS):
        part = slice(start, min(start + ROWS, len(rows)))
        squares = cdist(rows[part], inputs, "sqeuclidean")
        if own_out:
            squares[np.arange(len(squares)), np.arange(part.start, part.stop)] = np.inf
        for means, bandwidth in zip(found, bandwidths):
            weights = np.exp(-0.5 * squares / bandwidth**2)
            means[part] = (weights @ targets + prior) / (weights.sum(axis=1, keepdims=True) + 1.0)
    return found


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


def without_input(y: np.ndarray, classes: int | None, variance: float | None) -> Predictor:
    """The best member that sees no input."""
    return constant_law(y, variance) if classes is None else frequencies(y, classes)


def predictor(
    average: Average,
    features: Features,
    inputs: np.ndarray,
    targets: np.ndarray,
    classes: int | None,
    variance: float | None,
    floor: float,
) -> Predictor:
    """The law of classes that the averages are, or the law of numbers around them."""

    def mean(new: Any) -> np.ndarray:
        return average(features(new), False)

    if classes is not None:

        def predict(new: Any) -> np.ndarray:
            with np.errstate(divide="ignore"):  # a class that is not in the training set
                return np.log(mean(new))

        return Posterior(predict)
    law = residual_law(mean, targets - average(inputs, True), variance)
    return Floored(law, constant_law(targets, variance), floor)


@dataclass(frozen=True, eq=False)
class Floored:
    """(1 - share) times one law plus share times the law without an input."""

    law: GaussianLaw
    constant: GaussianLaw
    share: float

    def log_density(self, x: Any | None, y: np.ndarray) -> np.ndarray:
        own = math.log1p(-self.share) + self.law.log_density(x, y)
        return np.logaddexp(own, math.log(self.share) + self.constant.log_density(None, y))


def checked_share(floor: float) -> None:
    """ValueError unless the share is inside (0, 1)."""
    if not 0.0 < floor < 1.0:
        raise ValueError(f"floor must be between 0 and 1, got {floor!r}.")
