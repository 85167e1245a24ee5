"""Mutual information in closed form, and bisection, for distributions of known truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special


def table_information(joint: NDArray) -> float:
    """Mutual information of a joint table of probabilities [a, b], nats."""
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    terms = special.rel_entr(joint, independent)
    return float(terms.sum())


def student_information(dim_x: int, dim_y: int, dof: float) -> float:
    """I of two blocks of an uncorrelated multivariate t, nats (Kotz & Nadarajah 2004)."""

    def entropy(dim):
        half = (dof + dim) / 2
        log_scale = dim / 2 * np.log(dof * np.pi)
        constant = special.gammaln(dof / 2) + log_scale
        constant -= special.gammaln(half)
        mean_log = special.digamma(half) - special.digamma(dof / 2)
        return constant + half * mean_log

    of_both = entropy(dim_x + dim_y)
    return float(entropy(dim_x) + entropy(dim_y) - of_both)


def normal_information(covariance: NDArray, columns: int) -> float:
    """I of the first `columns` of a normal vector and its other columns, nats."""
    of_x = covariance[:columns, :columns]
    of_y = covariance[columns:, columns:]
    _, log_x = np.linalg.slogdet(of_x)
    _, log_y = np.linalg.slogdet(of_y)
    _, log_both = np.linalg.slogdet(covariance)
    return 0.5 * float(log_x + log_y - log_both)


def bisected(
    below: Callable, low: ArrayLike, high: ArrayLike, steps: int
) -> tuple[NDArray, NDArray]:
    """Ends of the interval in which `below(value)` changes from true to false.

    The interval from `low` to `high` is halved `steps` times.
    """
    low = np.asarray(low)
    high = np.asarray(high)
    for _ in range(steps):
        middle = (low + high) / 2
        under = below(middle)
        low = np.where(under, middle, low)
        high = np.where(under, high, middle)
    return low, high
