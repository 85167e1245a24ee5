"""Entropies of categories from their counts [m], nats.

    plug_in        of the frequencies: biased low by about (m - 1) / (2 n) with m categories
    chao_shen      allows for unseen categories (Chao & Shen 2003, eqs. 5 and 7)
    shrinkage      of frequencies shrunk towards equal frequencies (Hausser & Strimmer 2009)
    nsb            posterior mean, prior nearly uniform in the entropy (Nemenman, Shafee & Bialek 2002)
    label_entropy  of the frequencies, with an upper limit: the largest information about a label

`shrinkage` and `nsb` take the number of possible categories (None: the categories that
occur) and fractional counts.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln, polygamma, xlogy

from infoscope.checks import require_int
from infoscope.errors import InvalidInput, OutOfRange
from infoscope.estimators.result import Estimate, Groups, Values, mean_of


def plug_in(counts: ArrayLike) -> float:
    """The entropy of the frequencies, nats."""
    counts = as_counts(counts)
    shares = counts / counts.sum()
    terms = shares * np.log(shares)
    return float(-terms.sum())


def chao_shen(counts: ArrayLike) -> float:
    """The entropy, nats.

    The coverage is kept above 0: of n categories with a single row each, only n - 1 are
    taken as single.
    """
    counts = as_counts(counts)
    n = counts.sum()
    if len(counts) == 1:
        return 0.0
    single = np.count_nonzero(counts == 1)
    coverage = 1 - min(single, n - 1) / n
    shares = counts / n * coverage
    seen = -np.expm1(n * np.log1p(-shares))
    terms = shares * np.log(shares) / seen
    return float(-terms.sum())


def label_entropy(codes: NDArray[np.intp], groups: Groups = None) -> Estimate:
    """The entropy of a label [n] by its frequencies, nats.

    It is the largest information that anything can carry about the label. The upper
    limit, with 97.5 % confidence, allows for unseen categories (Chao & Shen 2003). It is
    at most the log of the estimated number of categories (Chao 1984), which equals the
    number of observed categories if at most one occurs in a single row (or group).
    """
    shares = np.bincount(codes) / len(codes)
    surprisal = -np.log(shares[codes])
    entropy = mean_of(surprisal, groups, method="frequencies")
    units = np.arange(len(codes)) if groups is None else groups
    categories, _ = np.unique(np.stack([codes, units]), axis=1)
    # the units in which each category occurs
    _, counts = np.unique(categories, return_counts=True)
    once = np.count_nonzero(counts == 1)
    twice = np.count_nonzero(counts == 2)
    unseen = once * (once - 1) / (2 * (twice + 1))
    high = math.log(len(counts) + unseen)
    if entropy.influence is not None and math.isfinite(entropy.high):
        bias = (len(counts) - 1) / (2 * len(entropy.influence))
        coverage_bias = chao_shen(counts) - plug_in(counts)
        high = min(high, entropy.high + max(bias, coverage_bias))
    interval = (entropy.low, max(entropy.value, high))
    return replace(entropy, interval=interval)


def shrinkage(
    counts: ArrayLike, categories: int | None = None, weight: float | None = None
) -> float:
    """The entropy of frequencies shrunk towards equal frequencies, nats.

    weight  of equal frequencies, 0 to 1; None: `shrinkage_weight`
    """
    counts = as_counts(counts, whole=False)
    categories = _possible(counts, categories)
    if weight is None:
        weight = shrinkage_weight(counts, categories)
    shares = (1 - weight) * counts / counts.sum() + weight / categories
    observed = -xlogy(shares, shares).sum()
    unseen_share = (categories - len(counts)) / categories
    unseen = unseen_share * xlogy(weight, weight / categories)
    return float(observed - unseen)


def shrinkage_weight(counts: ArrayLike, categories: int | None = None) -> float:
    """The weight of equal frequencies, 0 to 1; 1 for a single row and for equal counts."""
    counts = as_counts(counts, whole=False)
    shares = counts / counts.sum()
    categories = _possible(counts, categories)
    squares = (shares - 1 / categories) ** 2
    unseen_squares = (categories - len(counts)) / categories**2
    distance = squares.sum() + unseen_squares
    signal = (counts.sum() - 1) * distance
    noise = 1 - (shares**2).sum()
    if noise >= signal:
        return 1.0
    return float(noise / signal)


def nsb(
    counts: ArrayLike, categories: int | None = None, steps: int = 400
) -> tuple[float, Values]:
    """Posterior mean of the entropy, nats, and its change with another row of each [m].

    The entropy is of `categories` possible categories. The prior is a symmetric
    Dirichlet distribution; its pseudocount b has weight d E[H] / db and is integrated
    over `steps` values of ln b.
    """
    counts = as_counts(counts, whole=False)
    categories = _possible(counts, categories)
    if categories == 1:
        return 0.0, np.zeros(1)
    sizes, size_codes, many = np.unique(counts, return_inverse=True, return_counts=True)
    low = np.log(1e-10 / categories)  # the prior entropy is 0
    high = np.log(1e7)  # the prior entropy is log(categories)
    for _ in range(3):
        grid = np.linspace(low, high, steps)
        pseudocounts = np.exp(grid)
        log_weights = _log_posterior(pseudocounts, sizes, many, categories)
        log_weights -= log_weights.max()
        relevant = np.flatnonzero(log_weights > -35.0)
        first = max(relevant[0] - 1, 0)
        last = min(relevant[-1] + 1, steps - 1)
        low = grid[first]
        high = grid[last]
    weights = np.exp(log_weights)
    weights /= weights.sum()
    means, slopes = _given_pseudocount(pseudocounts, sizes, many, categories)
    mean = weights @ means
    totals = counts.sum() + categories * pseudocounts
    parts = sizes + pseudocounts[:, None]
    score = digamma(parts) - digamma(totals)[:, None]
    deviations = (means - mean)[:, None]
    mean_slopes = weights @ (slopes + deviations * score)
    return float(mean), mean_slopes[size_codes.reshape(-1)]


def _log_posterior(
    pseudocounts: Values, sizes: Values, many: NDArray, categories: int
) -> Values:
    """Log density [steps] of the logarithm of the pseudocount.

    `many` [m] categories have the counts `sizes` [m].
    """
    n = (sizes * many).sum()
    total = categories * pseudocounts
    prior = categories * polygamma(1, total + 1) - polygamma(1, pseudocounts + 1)
    parts = sizes + pseudocounts[:, None]
    rising = gammaln(parts) - gammaln(pseudocounts)[:, None]
    log_prior = np.log(prior * pseudocounts)
    return log_prior + gammaln(total) - gammaln(n + total) + rising @ many


def _given_pseudocount(
    pseudocounts: Values, sizes: Values, many: NDArray, categories: int
) -> tuple[Values, Values]:
    """Mean entropy [steps] given the pseudocount, and its changes [steps, sizes].

    Source: Wolpert & Wolf 1995.
    """
    sizes = np.append(sizes, 0.0)
    many = np.append(many, categories - many.sum())
    parts = sizes + pseudocounts[:, None]
    total = (parts @ many)[:, None]
    psi = digamma(parts + 1)
    inner = ((parts * psi) @ many)[:, None]
    means = digamma(total + 1) - inner / total
    part_slopes = psi + parts * polygamma(1, parts + 1)
    total_slopes = polygamma(1, total + 1)
    slopes = total_slopes - part_slopes / total + inner / total**2
    return means[:, 0], slopes[:, :-1]


def _possible(counts: Values, categories: int | None) -> int:
    """The number of possible categories; None: the categories that occur."""
    if categories is None:
        return len(counts)
    categories = require_int("categories", categories, 1)
    if categories < len(counts):
        raise OutOfRange(
            f"categories must be at least the {len(counts)} that occur, got "
            f"{categories}."
        )
    return categories


def as_counts(counts: ArrayLike, whole: bool = True) -> Values:
    """Positive counts as float64 [m]. ValueError: not one axis, all 0, or not counts."""
    counts = np.asarray(counts, dtype=np.float64)
    is_valid = counts.ndim == 1 and (counts >= 0).all() and 0 < counts.sum() < np.inf
    if is_valid and whole:
        is_valid = not np.mod(counts, 1).any()
    if not is_valid:
        kind = "whole numbers" if whole else "finite and at least 0"
        raise InvalidInput(
            f"counts must be {kind} [m] and not all 0, got {counts.tolist()!r:.80}."
        )
    return counts[counts > 0]
