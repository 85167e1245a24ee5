"""Tests of independence of single columns of any types, for hundreds of columns at
once: smooth functions of ranks.

A column becomes a few orthonormal functions: polynomials of the ranks of numbers, waves
of an angle, indicators of categories. The statistic is a sum of squared correlations of
the functions of two columns (Pillai's trace). Under independence its mean and variance
over permutations are known exactly (Kazi-Aoual et al. 1995, as given by Josse, Pagès &
Husson 2008), and it follows closely the beta distribution with these, except where rows
or values are few (`permutations`). The sums at four resolutions, from one function of
each column to all, give one p-value by the Cauchy combination (Liu & Xie 2020), with
more weight on the coarser ones. These are smooth tests (Neyman 1937; Kallenberg &
Ledwina 1999). With groups, mean and variance are those of sums over independent groups
(Satterthwaite 1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import beta, gamma

from infoscope.estimators.independence.functions import Smooth, Values
from infoscope.estimators.independence.permutations import (
    ROUNDING,
    permutation_p_values,
    rows_of_rarer_value,
)

# of the resolutions in the combined p-value
WEIGHTS = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])
# at one resolution, so that a p-value near 1 does not outweigh a small one
MAX_COMBINED_P = 0.99
MIN_BETA_ROWS = 20  # with fewer rows, sums do not follow a beta distribution
# rows of a value; with fewer, sums do not follow a beta distribution
MIN_BETA_CLASS = 10
# rows of a small table, in which every category must have MIN_BETA_CLASS rows
MAX_SMALL_ROWS = 100
# variance by uneven leverages / other variance; above it, sums do not follow a beta
# distribution
MAX_UNEVEN = 0.1
MAX_PRODUCTS = 20_000_000  # correlations of functions that are held at once
MIN_ROWS = 4  # for which the variance over permutations is defined
TINY = 1e-300  # instead of a variance, a p-value or a sum of 0


@dataclass(frozen=True, eq=False)
class Tested:
    """p-values [p, q] of independence, and the strength of dependence [p, q] for
    ranking: the largest sum of squared correlations over resolutions, in standard
    deviations above its mean.
    """

    p: Values
    strength: Values


def independence(
    x: Sequence[Smooth], y: Sequence[Smooth], groups: NDArray[np.int64] | None = None
) -> Tested:
    """Tests of every column of x [p] with every column of y [q]; groups [n] of
    dependent rows are independent.
    """
    if groups is not None:
        tests = []
        for column_x, column_y in product(x, y):
            sizes = list(zip(column_x.resolutions, column_y.resolutions))
            tests.append(
                tested_products(column_x.functions, column_y.functions, sizes, groups)
            )
        return stacked_tests(tests, (len(x), len(y)))
    functions_y = _stacked(y)
    max_functions = MAX_PRODUCTS // max(functions_y.shape[1], 1)
    tests = [
        _independence(batch, y, functions_y) for batch in _batches(x, max_functions)
    ]
    return Tested(
        np.vstack([test.p for test in tests]),
        np.vstack([test.strength for test in tests]),
    )


def _batches(columns: Sequence[Smooth], max_functions: int) -> list[list[Smooth]]:
    """Successive columns with at most `max_functions` functions together, or one column
    with more.
    """
    batches, size = [], 0
    for column in columns:
        width = column.functions.shape[1]
        if size == 0 or size + width > max_functions:
            batches.append([])
            size = 0
        batches[-1].append(column)
        size += width
    return batches


def _independence(
    x: Sequence[Smooth], y: Sequence[Smooth], functions_y: Values
) -> Tested:
    n = x[0].n
    squares = (_stacked(x).T @ functions_y) ** 2
    rare_x = [_has_rare_value(column) for column in x]
    rare_y = [_has_rare_value(column) for column in y]
    unlike_beta = np.logical_or.outer(rare_x, rare_y) | (n < MIN_BETA_ROWS)
    counts_x = np.array([column.resolutions for column in x]).T
    counts_y = np.array([column.resolutions for column in y]).T
    p_values, strengths, deviations = [], [], []
    for count_x, count_y in zip(counts_x, counts_y):
        rows, leverage_x = _first_functions(x, count_x)
        columns, leverage_y = _first_functions(y, count_y)
        sums_over_x = _block_sums(squares[np.ix_(rows, columns)], count_x)
        total = _block_sums(sums_over_x.T, count_y).T
        mean = np.outer(count_x, count_y) / (n - 1)
        even, uneven = _variance_parts(count_x, leverage_x, count_y, leverage_y, n)
        variance = np.maximum(even + uneven, TINY)
        deviation = np.sqrt(variance)
        largest = np.maximum(np.minimum.outer(count_x, count_y), 1)
        p_values.append(_beta_p_values(total, mean, variance, largest))
        strengths.append((total - mean) / deviation)
        deviations.append(deviation)
        unlike_beta |= uneven > MAX_UNEVEN * even
    smallest_p = np.exp(-gammaln(n + 1))
    p = np.maximum(
        combined(np.array(p_values), counts_x[:, :, None], counts_y[:, None, :]),
        smallest_p,
    )
    pairs = list(zip(*np.nonzero(unlike_beta)))
    if pairs:
        weights = [
            _weights(x[i], y[j], [deviation[i, j] for deviation in deviations])
            for i, j in pairs
        ]
        p[unlike_beta] = permutation_p_values(x, y, pairs, weights)
    return Tested(p, np.max(strengths, axis=0))


def _beta_p_values(
    total: Values, mean: Values, variance: Values, largest: Values
) -> Values:
    """p-values of sums, at most `largest`, by beta distributions of this mean and
    variance; 1 where the mean is 0.
    """
    share = mean / largest
    scale = np.clip(share * (1 - share) / (variance / largest**2) - 1, 1e-3, 1e6)
    p = beta.sf(total / largest, share * scale, (1 - share) * scale)
    return np.where(mean > 0, p, 1.0)


def _has_rare_value(column: Smooth) -> bool:
    """Whether one of two values has few rows, or one of several categories of a small
    table.
    """
    rows_of_rarer = rows_of_rarer_value(column)
    has_few_categories = (
        column.n <= MAX_SMALL_ROWS and column.degrees.max(initial=1) <= 1
    )
    if rows_of_rarer or not has_few_categories:
        return 0 < rows_of_rarer < MIN_BETA_CLASS
    leverages = (column.functions**2).sum(axis=1)
    return bool(leverages.max() + 1 / column.n > 1 / MIN_BETA_CLASS)


def _weights(x: Smooth, y: Smooth, deviations: Sequence[float]) -> Values:
    """Weights [a, b] of squared correlations that sum each resolution's in units of its
    standard deviation.
    """
    weights = np.zeros((x.functions.shape[1], y.functions.shape[1]))
    before = (0, 0)
    for weight, count_x, count_y, deviation in zip(
        WEIGHTS, x.resolutions, y.resolutions, deviations
    ):
        counts = (count_x, count_y)
        if counts != before and min(counts) > 0:
            weights[:count_x, :count_y] += weight / max(deviation, ROUNDING)
        before = counts
    return weights


def stacked_tests(tests: Sequence[Tested], shape: tuple[int, ...]) -> Tested:
    """Tests of one pair each, in an array."""
    p = np.array([test.p for test in tests])
    strength = np.array([test.strength for test in tests])
    return Tested(p.reshape(shape), strength.reshape(shape))


def _stacked(columns: Sequence[Smooth]) -> Values:
    return np.hstack([column.functions for column in columns])


def _first_functions(
    columns: Sequence[Smooth], counts: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Values]:
    """Places, among all functions, of the first ones of each column, and the sum of
    their squared leverages.
    """
    start = 0
    places, leverages = [], []
    for column, count in zip(columns, counts):
        places.append(np.arange(start, start + count))
        start += column.functions.shape[1]
        leverage = (column.functions[:, :count] ** 2).sum(axis=1)
        leverages.append(leverage @ leverage)
    return np.concatenate(places), np.array(leverages)


def _block_sums(values: Values, counts: NDArray[np.intp]) -> Values:
    """Sums over successive rows, so many each: [sum of counts, m] -> [len(counts), m]."""
    ends = np.cumsum(counts)
    totals = np.vstack([np.zeros(values.shape[1]), np.cumsum(values, axis=0)])
    return totals[ends] - totals[ends - counts]


def _variance_parts(
    a: Values, leverage_x: Values, b: Values, leverage_y: Values, n: int
) -> tuple[Values, Values]:
    """The variance [p, q] over permutations of a sum of squared correlations of a [p]
    and b [q] functions, in two parts: the variance if all rows had equal leverage, and
    the addition of uneven leverages.
    """
    even = (
        2
        * np.outer(a * (n - 1 - a), b * (n - 1 - b))
        / ((n - 1) ** 2 * (n + 1) * (n - 2))
    )
    uneven_x = n * (n + 1) * leverage_x - (n - 1) * (a * a + 2 * a)
    uneven_y = n * (n + 1) * leverage_y - (n - 1) * (b * b + 2 * b)
    return even, np.outer(uneven_x, uneven_y) / (
        (n + 1) * n * (n - 1) * (n - 2) * (n - 3)
    )


def combined(
    p: Values, counts_x: NDArray[np.intp], counts_y: NDArray[np.intp]
) -> Values:
    """One p-value from one at each resolution [r, ...], without resolutions that add no
    functions.

    counts_x, counts_y  [r, ...], functions of x and of y at each resolution
    """
    is_new = counts_x * counts_y > 0
    is_new[1:] &= (np.diff(counts_x, axis=0) != 0) | (np.diff(counts_y, axis=0) != 0)
    weights = WEIGHTS[: len(p)].reshape(-1, *[1] * (p.ndim - 1)) * is_new
    cotangents = np.tan((0.5 - np.clip(p, 1e-8, MAX_COMBINED_P)) * np.pi)
    cauchy = np.where(p < 1e-8, 1 / (np.maximum(p, TINY) * np.pi), cotangents)
    mean = (weights * cauchy).sum(axis=0) / np.maximum(weights.sum(axis=0), TINY)
    tail = 1 / (np.maximum(mean, 1) * np.pi)
    combined_p = np.where(mean > 1e8, tail, 0.5 - np.arctan(mean) / np.pi)
    is_near_1 = ((p > MAX_COMBINED_P) | ~is_new).all(axis=0)
    return np.where(is_near_1, p.max(axis=0), combined_p)


def tested_products(
    x: Values,
    y: Values,
    sizes: Sequence[tuple[int, int]],
    groups: NDArray[np.int64] | None,
    fitted: int = 0,
) -> Tested:
    """A test of functions x [n, a] and y [n, b] by the variance of their products over
    rows or groups.

    sizes   how many functions of x and y each resolution takes
    fitted  how many functions were fitted to obtain both as residuals
    """
    n = len(x)
    p, strengths = np.ones(len(sizes)), np.zeros(len(sizes))
    group_sums = None if groups is None else _sums_of_products(x, y, groups)
    for resolution, (count_x, count_y) in enumerate(sizes):
        if count_x * count_y == 0:
            continue
        if group_sums is None:
            total, gram = _square_and_gram(x[:, :count_x], y[:, :count_y])
        else:
            total, gram = _square_and_gram_of_products(
                group_sums[:, :count_x, :count_y]
            )
        mean = np.trace(gram)
        spread = (gram**2).sum()
        if mean > 0:
            scale = n / (n - fitted)
            mean *= scale
            variance = 2 * spread * scale**2
            p[resolution] = gamma.sf(total, mean**2 / variance, scale=variance / mean)
            strengths[resolution] = (total - mean) / np.sqrt(variance)
    counts_x, counts_y = np.array(sizes).T
    return Tested(combined(p, counts_x, counts_y), strengths.max())


def _square_and_gram(x: Values, y: Values) -> tuple[float, Values]:
    """The squared length of the sum over rows of the products of x [n, a] and y [n, b],
    and their Gram matrix.
    """
    if x.shape[1] * y.shape[1] <= len(x):
        return _square_and_gram_of_products(x[:, :, None] * y[:, None, :])
    gram = (x @ x.T) * (y @ y.T)  # without the table of all products
    return gram.sum(), gram


def _square_and_gram_of_products(products: Values) -> tuple[float, Values]:
    """The squared length of the sum over rows of products [m, a, b], and the Gram
    matrix of rows or of products.
    """
    products = products.reshape(len(products), -1)
    m, count = products.shape
    total = (products.sum(axis=0) ** 2).sum()
    gram = products.T @ products if count < m else products @ products.T
    return total, gram


def _sums_of_products(x: Values, y: Values, groups: NDArray[np.int64]) -> Values:
    """Sums over groups [g, a, b] of products of each column of x [n, a] with each of y
    [n, b].
    """
    sums = np.zeros((int(groups.max()) + 1, x.shape[1], y.shape[1]))
    for place, column in enumerate(x.T):
        np.add.at(sums[:, place], groups, column[:, None] * y)
    return sums
