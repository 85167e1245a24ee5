"""Mutual information in closed form, and bisection: what distributions of known truth
share.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special


def table_information(joint: NDArray) -> float:
    """Mutual information of a joint table of probabilities [a, b], nats."""
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return float(special.rel_entr(joint, expected).sum())


def student_information(dim_x: int, dim_y: int, dof: float) -> float:
    """I of two blocks of an uncorrelated multivariate t, nats (from its entropies; Kotz
    & Nadarajah 2004).
    """

    def entropy(dim):
        half = (dof + dim) / 2
        log_scale = dim / 2 * np.log(dof * np.pi)
        constant = special.gammaln(dof / 2) + log_scale - special.gammaln(half)
        mean_log = special.digamma(half) - special.digamma(dof / 2)
        return constant + half * mean_log

    return float(entropy(dim_x) + entropy(dim_y) - entropy(dim_x + dim_y))


def normal_information(covariance: NDArray, columns: int) -> float:
    """I of the first `columns` of a normal vector and its other columns, nats."""
    _, log_x = np.linalg.slogdet(covariance[:columns, :columns])
    _, log_y = np.linalg.slogdet(covariance[columns:, columns:])
    _, log_both = np.linalg.slogdet(covariance)
    return 0.5 * float(log_x + log_y - log_both)


def bisected(
    below: Callable, low: float | NDArray, high: float | NDArray, steps: int
) -> tuple[NDArray, NDArray]:
    """Ends of the interval, halved `steps` times, in which `below(value)` changes from
    true to false.
    """
    for _ in range(steps):
        middle = (low + high) / 2
        under = below(middle)
        low = np.where(under, middle, low)
        high = np.where(under, high, middle)
    return low, high
