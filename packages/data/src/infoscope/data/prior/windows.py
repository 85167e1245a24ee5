"""Transfer entropy and information, nats, of normal windows and of their mixtures.

A window has the columns of all series at the times t - history, ..., t, one time after
the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from infoscope.data.prior.draws import Array, Generator, mean_and_error

DRAWS = 40_000  # windows of a Monte Carlo mean
ROUNDING = 1e-12  # nats; log-determinants that differ by less are equal

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Truth:
    """Two true values of a process for one history, nats, each with its standard error.

    transfer_entropy   I(past of x; y now | past of y)
    information        I(past of x; y now)
    """

    transfer_entropy: float
    information: float
    transfer_entropy_error: float = 0.0
    information_error: float = 0.0


NOTHING = Truth(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Window:
    """Columns of a window: those of the past of x, of the past of y, and of y now."""

    x_past: Places
    y_past: Places
    y_now: Places

    @classmethod
    def of(cls, x: int, y: int, width: int, history: int) -> Window:
        """The window of `width` series: the first `x` are x, the next `y` are y."""
        starts = width * np.arange(history)[:, None]
        of_x = np.arange(x)
        of_y = np.arange(x, x + y)
        x_past = (starts + of_x).ravel()
        y_past = (starts + of_y).ravel()
        return cls(x_past, y_past, width * history + of_y)


def window_covariance(autocovariances: Array) -> Array:
    """The covariance [(history + 1) * width, same] of a window.

    `autocovariances` [history + 1, width, width] are the covariances of the series at t
    + lag with those at t.
    """
    times = range(len(autocovariances))
    rows = []
    for first in times:
        row = []
        for second in times:
            block = autocovariances[abs(first - second)]
            row.append(block if first >= second else block.T)
        rows.append(row)
    return np.block(rows)


def normal_truth(covariance: Array, window: Window) -> Truth:
    """The truth of a normal process with this covariance of its window."""
    nobody = np.empty(0, np.intp)
    transfer = _normal_nats(covariance, window.x_past, window.y_now, window.y_past)
    shared = _normal_nats(covariance, window.x_past, window.y_now, nobody)
    return Truth(transfer, shared)


def _normal_nats(covariance: Array, x: Places, y: Places, z: Places) -> float:
    """I(x; y | z) of columns of a normal vector, nats."""

    def log_determinant(*columns):
        chosen = np.concatenate(columns)
        block = covariance[np.ix_(chosen, chosen)]
        return np.linalg.slogdet(block).logabsdet

    total = log_determinant(x, z) + log_determinant(y, z)
    total -= log_determinant(z)
    total -= log_determinant(x, y, z)
    if total <= ROUNDING:
        return 0.0
    return float(total) / 2


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """A mixture of c normal windows.

    weights      [c]
    means        [c, width]
    covariances  [c, width, width]
    """

    weights: Array
    means: Array
    covariances: Array

    def draw(self, n: int, generator: Generator) -> Array:
        """n independent windows [n, width]."""
        width = self.means.shape[1]
        component = generator.choice(len(self.weights), n, p=self.weights)
        values = generator.normal(size=(n, width))
        for c, covariance in enumerate(self.covariances):
            rows = component == c
            root = np.linalg.cholesky(covariance)
            values[rows] = self.means[c] + values[rows] @ root.T
        return values

    def log_density(self, values: Array, *columns: Places) -> Array:
        """Log density [n] of some columns of windows [n, width]."""
        chosen = np.concatenate(columns)
        logs = []
        for weight, mean, covariance in zip(self.weights, self.means, self.covariances):
            block = covariance[np.ix_(chosen, chosen)]
            root = np.linalg.cholesky(block)
            deviations = (values[:, chosen] - mean[chosen]).T
            scores = linalg.solve_triangular(root, deviations, lower=True)
            log_scale = np.log(np.diag(root)).sum()
            exponent = -0.5 * (scores**2).sum(axis=0)
            logs.append(np.log(weight) + exponent - log_scale)
        constant = len(chosen) / 2 * np.log(2 * np.pi)
        log_sum = special.logsumexp(logs, axis=0)
        return log_sum - constant

    def pooled(self) -> NormalMixture:
        """The one normal window of the same mean and covariance."""
        mean = self.weights @ self.means
        deviations = self.means - mean
        weighted = self.weights[:, None] * deviations
        between = weighted.T @ deviations
        within = np.tensordot(self.weights, self.covariances, axes=1)
        covariance = within + between
        return NormalMixture(np.ones(1), mean[None], covariance[None])

    def log_ratios(self, values: Array, window: Window) -> tuple[Array, Array]:
        """Log density ratios [n] whose means are transfer entropy and information."""
        now = window.y_now

        def log_density_given(*past):
            of_both = self.log_density(values, *past, now)
            return of_both - self.log_density(values, *past)

        given_x = log_density_given(window.x_past)
        given_y = log_density_given(window.y_past)
        given_both = log_density_given(window.x_past, window.y_past)
        return given_both - given_y, given_x - self.log_density(values, now)


def mixture_truth(
    mixture: NormalMixture, window: Window, generator: Generator
) -> Truth:
    """The truth of a mixture of windows: Monte Carlo means of log density ratios.

    The ratios of the pooled normal window are control variates, as their means depend
    on the covariance alone.
    """
    values = mixture.draw(DRAWS, generator)
    pooled = mixture.pooled()
    exact = normal_truth(pooled.covariances[0], window)
    ratios = mixture.log_ratios(values, window)
    controls = pooled.log_ratios(values, window)
    transfer, transfer_error = mean_and_error(ratios[0] - controls[0])
    shared, shared_error = mean_and_error(ratios[1] - controls[1])
    transfer += exact.transfer_entropy
    shared += exact.information
    return Truth(transfer, shared, transfer_error, shared_error)
