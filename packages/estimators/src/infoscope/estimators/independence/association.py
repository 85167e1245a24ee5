"""Tests of independence of single columns of any types, for hundreds of columns at once: smooth functions of ranks.

A column becomes a few orthonormal functions: polynomials of the ranks of numbers, waves of an angle, indicators of
categories. The statistic is a sum of squared correlations of the functions of two columns (Pillai's trace). Under
independence its mean and variance over permutations are known exactly (Kazi-Aoual et al. 1995, as given by Josse, Pagès
& Husson 2008), and it follows closely the beta distribution with these, except where rows or values are few
(`permutations`). The sums at four resolutions, from one function
of each column to all, give one p-value by the Cauchy combination (Liu & Xie 2020), with more weight on the coarser
ones. These are smooth tests (Neyman 1937; Kallenberg & Ledwina 1999). With groups, mean and variance are those of sums
over independent groups (Satterthwaite 1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import beta, gamma

from infoscope.estimators.independence.functions import RESOLUTIONS, Smooth, Values
from infoscope.estimators.independence.permutations import ROUNDING, permutation_p_values, rows_of_rarer_value

WEIGHTS = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])
MAX_COMBINED_P = 0.99  # at one resolution, so that a p-value near 1 does not outweigh a small one
MIN_BETA_ROWS, MIN_BETA_CLASS = 20, 10  # rows, and rows of a value, of which sums follow a beta distribution
MAX_SMALL_ROWS = 100  # of a table in which every category must have so many rows for it
MAX_UNEVEN = 0.1  # share of the variance by uneven leverages up to which they do: rare values in both columns have more
MAX_PRODUCTS = 20_000_000  # correlations of functions that are held at once
MIN_ROWS = 4  # for which the variance over permutations is defined


@dataclass(frozen=True, eq=False)
class Tested:
    """p-values [p, q] of independence, and the strength of dependence [p, q] for ranking: the largest sum of squared
    correlations over resolutions, in standard deviations above its mean.
    """

    p: Values
    strength: Values


def independence(x: Sequence[Smooth], y: Sequence[Smooth], groups: NDArray[np.int64] | None = None) -> Tested:
    """Tests of every column of x [p] with every column of y [q]; groups [n] of dependent rows are independent."""
    if groups is not None:
        found = [
            tested_products(a.functions, b.functions, list(zip(a.resolutions, b.resolutions)), groups)
            for a in x
            for b in y
        ]
        return stacked_tests(found, (len(x), len(y)))
    functions_y = _stacked(y)
    blocks, size = [], 0
    for column in x:  # so that no table of products is too large
        if size == 0 or size + column.functions.shape[1] > MAX_PRODUCTS // max(functions_y.shape[1], 1):
            blocks.append([])
            size = 0
        blocks[-1].append(column)
        size += column.functions.shape[1]
    tests = [_independence(block, y, functions_y) for block in blocks]
    return Tested(np.vstack([test.p for test in tests]), np.vstack([test.strength for test in tests]))


def _independence(x: Sequence[Smooth], y: Sequence[Smooth], functions_y: Values) -> Tested:
    n = x[0].n
    squares = (_stacked(x).T @ functions_y) ** 2
    p, taken, standardised, deviations = [], [], [], []
    rare_x, rare_y = ([_has_rare_value(column) for column in columns] for columns in (x, y))
    unlike_beta = np.logical_or.outer(rare_x, rare_y) | (n < MIN_BETA_ROWS)
    for place in range(len(RESOLUTIONS)):
        rows, a, leverage_x = _of_resolution(x, place)
        columns, b, leverage_y = _of_resolution(y, place)
        total = _block_sums(_block_sums(squares[np.ix_(rows, columns)], a).T, b).T
        mean = np.outer(a, b) / (n - 1)
        even, uneven = _variance_parts(a, leverage_x, b, leverage_y, n)
        variance = np.maximum(even + uneven, 1e-300)
        largest = np.maximum(np.minimum.outer(a, b), 1)  # value of the sum
        share = mean / largest
        scale = np.clip(share * (1 - share) / (variance / largest**2) - 1, 1e-3, 1e6)
        p.append(np.where(mean > 0, beta.sf(total / largest, share * scale, (1 - share) * scale), 1.0))
        taken.append(a[:, None] + 1j * b)
        standardised.append((total - mean) / np.sqrt(variance))
        deviations.append(np.sqrt(variance))
        unlike_beta |= uneven > MAX_UNEVEN * even
    found = np.maximum(combined(np.array(p), np.array(taken)), np.exp(-gammaln(n + 1)))
    pairs = list(zip(*np.nonzero(unlike_beta)))
    if pairs:
        weights = [_weights(x[i], y[j], [deviation[i, j] for deviation in deviations]) for i, j in pairs]
        found[unlike_beta] = permutation_p_values(x, y, pairs, weights)
    return Tested(found, np.max(standardised, axis=0))


def _has_rare_value(column: Smooth) -> bool:
    """Whether one of two values has few rows, or one of several categories of a small table."""
    two_values = rows_of_rarer_value(column)
    if two_values or column.n > MAX_SMALL_ROWS or column.degrees.max(initial=1) > 1:
        return 0 < two_values < MIN_BETA_CLASS
    return bool((column.functions**2).sum(axis=1).max() + 1 / column.n > 1 / MIN_BETA_CLASS)


def _weights(x: Smooth, y: Smooth, deviations: Sequence[float]) -> Values:
    """Weights [a, b] of squared correlations: their sum is that of the sums at each resolution, in deviations."""
    weights = np.zeros((x.functions.shape[1], y.functions.shape[1]))
    before = (0, 0)
    for weight, a, b, deviation in zip(WEIGHTS, x.resolutions, y.resolutions, deviations):
        if (a, b) != before and a * b > 0:
            weights[:a, :b] += weight / max(deviation, ROUNDING)
        before = a, b
    return weights


def stacked_tests(found: Sequence[Tested], shape: tuple[int, ...]) -> Tested:
    """Tests of one pair each, in an array."""
    return Tested(*(np.array([getattr(one, name) for one in found]).reshape(shape) for name in ("p", "strength")))


def _stacked(columns: Sequence[Smooth]) -> Values:
    return np.hstack([column.functions for column in columns])


def _of_resolution(columns: Sequence[Smooth], place: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Values]:
    """At a resolution: places of its functions among all, how many of each column, and sums of squared leverages."""
    starts = np.cumsum([0, *(column.functions.shape[1] for column in columns)])
    counts = np.array([column.resolutions[place] for column in columns])
    places = np.concatenate([np.arange(start, start + count) for start, count in zip(starts, counts)])
    leverages = [(column.functions[:, :count] ** 2).sum(axis=1) for column, count in zip(columns, counts)]
    return places.astype(np.intp), counts, np.array([leverage @ leverage for leverage in leverages])


def _block_sums(values: Values, counts: NDArray[np.intp]) -> Values:
    """Sums over successive rows, so many each: [sum of counts, m] -> [len(counts), m]."""
    ends = np.cumsum(counts)
    totals = np.vstack([np.zeros(values.shape[1]), np.cumsum(values, axis=0)])
    return totals[ends] - totals[ends - counts]


def _variance_parts(a: Values, leverage_x: Values, b: Values, leverage_y: Values, n: int) -> tuple[Values, Values]:
    """The variance [p, q] over permutations of a sum of squared correlations of a [p] and b [q] functions, in two
    parts: that of rows of equal leverage, and what uneven leverages add.
    """
    even = 2 * np.outer(a * (n - 1 - a), b * (n - 1 - b)) / ((n - 1) ** 2 * (n + 1) * (n - 2))
    uneven_x = n * (n + 1) * leverage_x - (n - 1) * (a * a + 2 * a)
    uneven_y = n * (n + 1) * leverage_y - (n - 1) * (b * b + 2 * b)
    return even, np.outer(uneven_x, uneven_y) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))


def combined(p: Values, taken: Values) -> Values:
    """One p-value from those at each resolution [r, ...], without resolutions that add no functions."""
    new = np.concatenate([np.ones_like(taken[:1], bool), taken[1:] != taken[:-1]]) & (taken.real * taken.imag > 0)
    weights = WEIGHTS[: len(p)].reshape(-1, *[1] * (p.ndim - 1)) * new
    inverse = np.maximum(p, 1e-300) * np.pi
    far = np.where(p < 1e-8, 1 / inverse, np.tan((0.5 - np.clip(p, 1e-8, MAX_COMBINED_P)) * np.pi))
    mean = (weights * far).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-300)
    found = np.where(mean > 1e8, 1 / (np.maximum(mean, 1) * np.pi), 0.5 - np.arctan(mean) / np.pi)
    return np.where(((p > MAX_COMBINED_P) | ~new).all(axis=0), p.max(axis=0), found)


def tested_products(
    x: Values, y: Values, sizes: Sequence[tuple[int, int]], groups: NDArray[np.int64] | None, fitted: int = 0
) -> Tested:
    """A test of functions x [n, a] and y [n, b] by the variance of their products over rows or groups.

    sizes   how many functions of x and y each resolution takes
    fitted  how many functions were fitted to obtain both as residuals
    """
    n = len(x)
    p, above = np.ones(len(sizes)), np.zeros(len(sizes))
    sums = None if groups is None else _sums_of_products(x, y, groups)
    for place, (a, b) in enumerate(sizes):
        if a * b == 0:
            continue
        if sums is None and a * b > n:  # squares of sums over rows, from products of rows
            gram = (x[:, :a] @ x[:, :a].T) * (y[:, :b] @ y[:, :b].T)
            total = gram.sum()
        else:
            products = x[:, :a, None] * y[:, None, :b] if sums is None else sums[:, :a, :b]
            products = products.reshape(-1, a * b)
            total = (products.sum(axis=0) ** 2).sum()
            gram = products.T @ products if a * b < len(products) else products @ products.T
        mean = np.trace(gram)
        spread = (gram**2).sum()
        if mean > 0:
            scale = n / (n - fitted)
            mean, variance = mean * scale, 2 * spread * scale**2
            p[place] = gamma.sf(total, mean**2 / variance, scale=variance / mean)
            above[place] = (total - mean) / np.sqrt(variance)
    return Tested(combined(p, np.array([a + 1j * b for a, b in sizes])), above.max())


def _sums_of_products(x: Values, y: Values, groups: NDArray[np.int64]) -> Values:
    """Sums over groups [g, a, b] of products of each column of x [n, a] with each of y [n, b]."""
    sums = np.zeros((int(groups.max()) + 1, x.shape[1], y.shape[1]))
    for place, column in enumerate(x.T):
        np.add.at(sums[:, place], groups, column[:, None] * y)
    return sums
