"""Entropies of categories from their counts [m], nats.

    plug_in       of the frequencies: biased low by about (m - 1) / (2 n) with m categories
    chao_shen     allows for unseen categories (Chao & Shen 2003, eqs. 5 and 7)
    shrinkage     frequencies shrunk towards equal ones (Hausser & Strimmer 2009)
    nsb           posterior mean, prior nearly uniform in the entropy (Nemenman, Shafee & Bialek 2002)
    label_entropy of the frequencies, with an upper limit: the most that anything can
    carry about a label

`shrinkage` and `nsb` take the number of possible categories (default: those that occur)
and fractional counts.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln, polygamma, xlogy

from infoscope.checks import require_int
from infoscope.errors import InvalidInput, OutOfRange
from infoscope.estimators.result import Estimate, mean_of


def plug_in(counts: ArrayLike) -> float:
    """The entropy of the frequencies, nats."""
    shares = _frequencies(as_counts(counts))
    return float(-(shares * np.log(shares)).sum())


def chao_shen(counts: ArrayLike) -> float:
    """The entropy, nats; if every row is alone in its category, one counts as a pair,
    so that coverage is above 0.
    """
    counts = as_counts(counts)
    n = counts.sum()
    if len(counts) == 1:
        return 0.0
    alone = (counts == 1).sum()
    shares = _frequencies(counts) * (1 - min(alone, n - 1) / n)
    seen = -np.expm1(n * np.log1p(-shares))
    return float(-(shares * np.log(shares) / seen).sum())


def label_entropy(
    codes: NDArray[np.intp], groups: NDArray[np.int64] | None = None
) -> Estimate:
    """The entropy of a label [n] by its frequencies, nats: the most that anything can
    carry about it.

    The upper limit, with 97.5 % confidence, allows for unseen categories (Chao & Shen
    2003), and is at most the log of how many there may be (Chao 1984), which are those
    that occur if at most one occurs in a single row (or group).
    """
    shares = np.bincount(codes) / len(codes)
    entropy = mean_of(-np.log(shares[codes]), groups, method="frequencies")
    units = np.arange(len(codes)) if groups is None else groups
    categories, _ = np.unique(np.stack([codes, units]), axis=1)
    # the units in which each category occurs
    _, counts = np.unique(categories, return_counts=True)
    once = np.sum(counts == 1)
    twice = np.sum(counts == 2)
    max_categories = len(counts) + once * (once - 1) / (2 * (twice + 1))
    high = math.log(max_categories)
    if math.isfinite(entropy.high):
        bias = max(
            (len(counts) - 1) / (2 * len(entropy.influence)),
            chao_shen(counts) - plug_in(counts),
        )
        high = min(high, entropy.high + bias)
    return replace(entropy, interval=(entropy.low, max(entropy.value, high)))


def shrinkage(
    counts: ArrayLike, categories: int | None = None, weight: float | None = None
) -> float:
    """The entropy of frequencies shrunk by `weight` (None: `shrinkage_weight`) towards
    equal ones, nats.
    """
    counts = as_counts(counts, whole=False)
    categories = _possible(counts, categories)
    if weight is None:
        weight = shrinkage_weight(counts, categories)
    shares = (1 - weight) * counts / counts.sum() + weight / categories
    unseen = (
        (categories - len(counts)) / categories * xlogy(weight, weight / categories)
    )
    return float(-xlogy(shares, shares).sum() - unseen)


def shrinkage_weight(counts: ArrayLike, categories: int | None = None) -> float:
    """The weight of equal frequencies, 0 to 1; 1 for a single row and for equal counts."""
    counts = as_counts(counts, whole=False)
    shares = _frequencies(counts)
    categories = _possible(counts, categories)
    distance = ((shares - 1 / categories) ** 2).sum() + (
        categories - len(counts)
    ) / categories**2
    signal = (counts.sum() - 1) * distance
    noise = 1 - (shares**2).sum()
    return 1.0 if noise >= signal else float(noise / signal)


def nsb(
    counts: ArrayLike, categories: int | None = None, steps: int = 400
) -> tuple[float, NDArray[np.float64]]:
    """Posterior mean of the entropy of `categories` possible ones, nats, and its change
    with one more row of each [m].

    Symmetric Dirichlet prior with pseudocount b weighted by d E[H] / db, integrated
    over `steps` values of ln b.
    """
    counts = as_counts(counts, whole=False)
    categories = _possible(counts, categories)
    if categories == 1:
        return 0.0, np.zeros(1)
    sizes, size_codes, many = np.unique(counts, return_inverse=True, return_counts=True)
    # the prior entropy is 0, and log(categories)
    low, high = np.log(1e-10 / categories), np.log(1e7)
    for _ in range(3):
        grid = np.linspace(low, high, steps)
        pseudocounts = np.exp(grid)
        log_weights = _log_posterior(pseudocounts, sizes, many, categories)
        relevant = np.flatnonzero(log_weights > log_weights.max() - 35.0)
        low = grid[max(relevant[0] - 1, 0)]
        high = grid[min(relevant[-1] + 1, steps - 1)]
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    means, slopes = _given_pseudocount(pseudocounts, sizes, many, categories)
    mean = weights @ means
    totals = counts.sum() + categories * pseudocounts
    score = digamma(sizes + pseudocounts[:, None]) - digamma(totals)[:, None]
    slopes = weights @ (slopes + (means - mean)[:, None] * score)
    return float(mean), slopes[size_codes.reshape(-1)]


def _log_posterior(
    pseudocounts: NDArray, sizes: NDArray, many: NDArray, categories: int
) -> NDArray[np.float64]:
    """Log density [steps] of the logarithm of the pseudocount, for counts `sizes` that
    `many` categories each have.
    """
    n = (sizes * many).sum()
    total = categories * pseudocounts
    prior = categories * polygamma(1, total + 1) - polygamma(1, pseudocounts + 1)
    rising = gammaln(sizes + pseudocounts[:, None]) - gammaln(pseudocounts)[:, None]
    return (
        np.log(prior * pseudocounts)
        + gammaln(total)
        - gammaln(n + total)
        + rising @ many
    )


def _given_pseudocount(
    pseudocounts: NDArray, sizes: NDArray, many: NDArray, categories: int
) -> tuple[NDArray, NDArray]:
    """Mean [steps] of the entropy given the pseudocount (Wolpert & Wolf 1995), changes
    [steps, sizes].
    """
    sizes = np.append(sizes, 0.0)
    many = np.append(many, categories - many.sum())
    parts = sizes + pseudocounts[:, None]
    total = (parts @ many)[:, None]
    psi = digamma(parts + 1)
    inner = (parts * psi) @ many
    means = digamma(total + 1)[:, 0] - inner / total[:, 0]
    part_slopes = psi + parts * polygamma(1, parts + 1)
    slopes = polygamma(1, total + 1) - part_slopes / total + inner[:, None] / total**2
    return means, slopes[:, :-1]


def _possible(counts: NDArray[np.float64], categories: int | None) -> int:
    categories = (
        len(counts) if categories is None else require_int("categories", categories, 1)
    )
    if categories < len(counts):
        raise OutOfRange(
            f"categories must be at least the {len(counts)} that occur, got {categories}."
        )
    return categories


def _frequencies(counts: ArrayLike) -> NDArray[np.float64]:
    counts = as_counts(counts, whole=False)
    return counts / counts.sum()


def as_counts(counts: ArrayLike, whole: bool = True) -> NDArray[np.float64]:
    """Positive counts as float64 [m]. ValueError: not one axis, all 0, or not counts."""
    counts = np.asarray(counts, dtype=np.float64)
    is_valid = counts.ndim == 1 and (counts >= 0).all() and 0 < counts.sum() < np.inf
    if not is_valid or (whole and np.mod(counts, 1).any()):
        kind = "whole numbers" if whole else "finite and at least 0"
        raise InvalidInput(
            f"counts must be {kind} [m] and not all 0, got {counts.tolist()!r:.80}."
        )
    return counts[counts > 0]
