"""Local families: classes of neighbours, or a normal distribution around a local mean.

A prediction averages the k nearest training rows (Cover & Hart 1967), or all by a Gaussian kernel (Nadaraya 1964,
Watson 1964), and one pseudo-row with the training mean. For numbers the covariance is that of residuals without a row's
own group, mixed with the distribution without input, which bounds the loss of outliers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn import neighbors

from infoscope.checks import require_number
from infoscope.errors import OutOfRange
from infoscope.estimators.columns import as_matrix
from infoscope.estimators.families.distributions import Categorical, FlooredNormal, without_input
from infoscope.estimators.families.protocol import CLASSES, NUMBERS, Features, Predictor

ROWS_AT_ONCE = 1024  # of a distance matrix


class _Local:
    """Base: classes by averages of one-hot outcomes, or Gaussians around averages of numbers."""

    outcomes = (CLASSES, NUMBERS)
    name: str

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        if x is None:
            return without_input(y, classes)
        raw = as_matrix("x", x)
        features = Features.of(raw, 1)
        inputs, targets = features(raw), y if classes is None else np.eye(classes)[y]
        average, left_out = self._averager(inputs, targets, groups, classes)

        def mean(new: Any) -> np.ndarray:
            return average(features(new))

        def predict(new: Any) -> np.ndarray:
            with np.errstate(divide="ignore"):  # a class that is not in the training set
                return np.log(mean(new))

        return FlooredNormal.around(mean, y, y - left_out()) if classes is None else Categorical(predict)

    def _averager(
        self, inputs: np.ndarray, targets: np.ndarray, groups: np.ndarray | None, classes: int | None
    ) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[], np.ndarray]]:
        """Functions for the mean targets at standardised inputs [m, d], and at training rows without their group."""
        raise NotImplementedError

    def _codes(self, groups: np.ndarray | None, n: int) -> np.ndarray:
        if groups is None:
            return np.arange(n)
        codes = np.unique(groups, return_inverse=True)[1]
        if not codes.max():
            raise OutOfRange(f"groups must be at least 2 in every training set of {self.name}, got 1.")
        return codes


@dataclass(frozen=True)
class NearestNeighbours(_Local):
    """The k nearest training rows; rows tied at the k-th place share its weight.

    neighbours  None: the square root of the number of training rows
    """

    neighbours: int | None = None

    @property
    def name(self) -> str:
        return f"knn(neighbours={'sqrt(n)' if self.neighbours is None else self.neighbours})"

    def _averager(self, inputs, targets, groups, classes):
        n = len(targets)
        k = round(n**0.5) if self.neighbours is None else self.neighbours
        if not 1 <= k < n:
            raise OutOfRange(f"neighbours must be from 1 to {n - 1}, fewer than a training set has, got {k}.")
        index = neighbors.NearestNeighbors(n_neighbors=k).fit(inputs)
        prior = targets.mean(axis=0)

        def average(rows: np.ndarray) -> np.ndarray:
            far, near = index.kneighbors(rows, k + 1)
            sums = targets[near[:, :k]].sum(axis=1)
            tied = np.flatnonzero(far[:, k] <= far[:, k - 1] * (1.0 + 1e-12))
            for part in np.split(tied, range(ROWS_AT_ONCE, len(tied), ROWS_AT_ONCE)):
                sums[part] = sums_with_ties(rows[part], inputs, targets, k)
            return (sums + prior) / (k + 1.0)

        def left_out() -> np.ndarray:
            own = self._codes(groups, n)
            wide, found = min(k + int(np.bincount(own).max()), n), np.empty_like(targets)
            for part in row_slices(n):
                near = index.kneighbors(inputs[part], wide, return_distance=False)
                others = own[near] != own[part, None]
                others &= others.cumsum(axis=1) <= k
                sums = (targets[near] * others[:, :, None]).sum(axis=1)
                found[part] = (sums + prior) / (others.sum(axis=1, keepdims=True) + 1.0)
            return found

        return average, left_out


def sums_with_ties(rows: np.ndarray, inputs: np.ndarray, targets: np.ndarray, k: int) -> np.ndarray:
    """Sums [m, q] of the outcomes of the k nearest rows; rows at the k-th distance have equal weights."""
    far = cdist(rows, inputs)
    last = np.partition(far, k - 1, axis=1)[:, k - 1 : k]
    closer, level = (far < last).astype(float), (far == last).astype(float)
    left = (k - closer.sum(axis=1, keepdims=True)) / level.sum(axis=1, keepdims=True)
    return closer @ targets + left * (level @ targets)


@dataclass(frozen=True)
class Kernel(_Local):
    """All training rows, by a Gaussian kernel. Time and memory grow with n^2.

    bandwidth   standard deviation as a share of the median distance between training rows; None: the one of
                `bandwidths` with the least error when rows are predicted without their own group
    """

    bandwidth: float | None = None
    bandwidths: tuple[float, ...] = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5)

    def __post_init__(self) -> None:
        if self.bandwidth is not None:
            require_number("bandwidth", self.bandwidth, ends=False)

    @property
    def name(self) -> str:
        return f"kernel(bandwidth={'chosen' if self.bandwidth is None else f'{self.bandwidth:g}'})"

    def _averager(self, inputs, targets, groups, classes):
        n = len(targets)
        some = inputs[np.linspace(0, n - 1, min(n, ROWS_AT_ONCE)).astype(int)]  # across all, should rows be sorted
        unit = float(np.median(cdist(some, some)[np.triu_indices(len(some), 1)]))
        unit = unit if unit > 0.0 else 1.0

        def without_own_group(bandwidths: tuple[float, ...]) -> list[np.ndarray]:
            own = self._codes(groups, n)
            return kernel_means(inputs, inputs, targets, [share * unit for share in bandwidths], own)

        share = self.bandwidth
        if share is None:
            tried = without_own_group(self.bandwidths)
            share = self.bandwidths[int(np.argmin([mean_loss(mean, targets, classes) for mean in tried]))]
        return (
            lambda rows: kernel_means(rows, inputs, targets, [share * unit])[0],
            lambda: without_own_group((share,))[0],
        )


def kernel_means(
    rows: np.ndarray, inputs: np.ndarray, targets: np.ndarray, bandwidths: list[float], groups: np.ndarray | None = None
) -> list[np.ndarray]:
    """Nadaraya-Watson means of targets [n, q] at rows [m, d] by bandwidth; no row is predicted by its own group."""
    prior = targets.mean(axis=0)
    found = [np.empty((len(rows), targets.shape[1])) for _ in bandwidths]
    for part in row_slices(len(rows)):
        squares = cdist(rows[part], inputs, "sqeuclidean")
        if groups is not None:
            squares[groups[part, None] == groups] = np.inf
        for means, bandwidth in zip(found, bandwidths):
            weights = np.exp(-0.5 * squares / bandwidth**2)
            means[part] = (weights @ targets + prior) / (weights.sum(axis=1, keepdims=True) + 1.0)
    return found


def row_slices(n: int) -> list[slice]:
    return [slice(start, start + ROWS_AT_ONCE) for start in range(0, n, ROWS_AT_ONCE)]


def mean_loss(means: np.ndarray, targets: np.ndarray, classes: int | None) -> float:
    """Mean log loss of one-hot targets [n, classes], nats; mean squared error of numbers."""
    if classes is None:
        return float(((means - targets) ** 2).mean())
    return float(-np.log((means * targets).sum(axis=1)).mean())
