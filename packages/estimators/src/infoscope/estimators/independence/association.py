"""Tests of independence for hundreds of columns, by smooth functions of their ranks.

The columns may be of any type.

A column becomes a few orthonormal functions: polynomials of the ranks of numbers, waves
of an angle, indicators of categories. The statistic is a sum of squared correlations of
the functions of two columns (Pillai's trace). Under independence its mean and variance
over permutations are known exactly (Kazi-Aoual et al. 1995, as given by Josse, Pagès &
Husson 2008). The statistic closely follows the beta distribution with this mean and
variance, except where rows or values are few (`permutations`). There is one statistic
at each of four resolutions, from one function of each column to all. The Cauchy
combination (Liu & Xie 2020) turns their p-values into one, with more weight on the
coarser resolutions. These are smooth tests (Neyman 1937; Kallenberg & Ledwina 1999).
With groups, mean and variance are those of sums over independent groups (Satterthwaite
1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import beta, gamma

from infoscope.estimators.independence.functions import Groups, Integers, Smooth, Values
from infoscope.estimators.independence.permutations import (
    ROUNDING,
    permutation_p_values,
    rows_of_rarer_value,
)

# of the resolutions in the combined p-value
WEIGHTS = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])
# at one resolution: a p-value near 1 must not outweigh a small one
MAX_COMBINED_P = 0.99
MIN_BETA_ROWS = 20  # with fewer rows, sums do not follow a beta distribution
# rows of a value; with fewer, sums do not follow a beta distribution
MIN_BETA_CLASS = 10
# rows of a small table, in which every category must have MIN_BETA_CLASS rows
MAX_SMALL_ROWS = 100
# variance by uneven leverages / other variance; above it, sums do not follow a beta
# distribution
MAX_UNEVEN = 0.1
MAX_PRODUCTS = 20_000_000  # correlations of functions in memory at once
MIN_ROWS = 4  # for which the variance over permutations is defined
TINY = 1e-300  # replaces a variance, a p-value or a sum of 0


Columns = Sequence[Smooth]


@dataclass(frozen=True, eq=False)
class Tested:
    """p-values [p, q] of independence, and the strength of dependence for ranking.

    strength  [p, q], the largest sum of squared correlations over resolutions, in standard deviations above its mean
    """

    p: Values
    strength: Values


def independence(x: Columns, y: Columns, groups: Groups = None) -> Tested:
    """Tests of every column of x [p] with every column of y [q].

    Rows of one group may be dependent; `groups` [n] are independent of one another.
    """
    if groups is not None:
        tests = []
        for column_x, column_y in product(x, y):
            resolutions = zip(column_x.resolutions, column_y.resolutions)
            test = tested_products(
                column_x.functions, column_y.functions, list(resolutions), groups
            )
            tests.append(test)
        shape = (len(x), len(y))
        return stacked_tests(tests, shape)
    functions_y = _stacked(y)
    width = max(functions_y.shape[1], 1)
    max_functions = MAX_PRODUCTS // width
    p_values, strengths = [], []
    for batch in _batches(x, max_functions):
        test = _independence(batch, y, functions_y)
        p_values.append(test.p)
        strengths.append(test.strength)
    return Tested(np.vstack(p_values), np.vstack(strengths))


def _batches(columns: Columns, max_functions: int) -> list[list[Smooth]]:
    """Successive columns with at most `max_functions` functions in total.

    A column with more functions is a batch of its own.
    """
    batches, size = [], 0
    for column in columns:
        if size == 0 or size + column.width > max_functions:
            batches.append([])
            size = 0
        batches[-1].append(column)
        size += column.width
    return batches


def _independence(x: Columns, y: Columns, functions_y: Values) -> Tested:
    """Tests of a batch of columns of x with all columns of y, without groups."""
    n = x[0].n
    squares = (_stacked(x).T @ functions_y) ** 2
    rare_x = [_has_rare_value(column) for column in x]
    rare_y = [_has_rare_value(column) for column in y]
    unlike_beta = np.logical_or.outer(rare_x, rare_y)
    unlike_beta |= n < MIN_BETA_ROWS
    counts_x = np.array([column.resolutions for column in x]).T
    counts_y = np.array([column.resolutions for column in y]).T
    p_values, strengths, deviations = [], [], []
    for count_x, count_y in zip(counts_x, counts_y):
        rows, leverage_x = _first_functions(x, count_x)
        columns, leverage_y = _first_functions(y, count_y)
        selected = squares[np.ix_(rows, columns)]
        sums_over_x = _block_sums(selected, count_x)
        total = _block_sums(sums_over_x.T, count_y).T
        mean = np.outer(count_x, count_y) / (n - 1)
        even, uneven = _variance_parts(count_x, leverage_x, count_y, leverage_y, n)
        variance = np.maximum(even + uneven, TINY)
        deviation = np.sqrt(variance)
        fewer = np.minimum.outer(count_x, count_y)
        largest = np.maximum(fewer, 1)
        p_values.append(_beta_p_values(total, mean, variance, largest))
        strengths.append((total - mean) / deviation)
        deviations.append(deviation)
        unlike_beta |= uneven > MAX_UNEVEN * even
    pair_counts_x = counts_x[:, :, None]
    pair_counts_y = counts_y[:, None, :]
    p = combined(np.array(p_values), pair_counts_x, pair_counts_y)
    smallest_p = np.exp(-gammaln(n + 1))
    p = np.maximum(p, smallest_p)
    pairs = list(zip(*np.nonzero(unlike_beta)))
    weights = []
    for i, j in pairs:
        pair_deviations = [deviation[i, j] for deviation in deviations]
        pair_weights = _weights(x[i], y[j], pair_deviations)
        weights.append(pair_weights)
    if pairs:
        p[unlike_beta] = permutation_p_values(x, y, pairs, weights)
    largest_strength = np.max(strengths, axis=0)
    return Tested(p, largest_strength)


def _beta_p_values(
    total: Values, mean: Values, variance: Values, largest: Values
) -> Values:
    """p-values of sums by beta distributions of this mean and variance.

    A sum is at most `largest`. The p-value is 1 where the mean is 0.
    """
    share = mean / largest
    share_variance = variance / largest**2
    scale = share * (1 - share) / share_variance - 1
    scale = np.clip(scale, 1e-3, 1e6)
    shape_1 = share * scale
    shape_2 = (1 - share) * scale
    p = beta.sf(total / largest, shape_1, shape_2)
    return np.where(mean > 0, p, 1.0)


def _has_rare_value(column: Smooth) -> bool:
    """Whether a value is rare: one of two values, or a category of a small table."""
    rows_of_rarer = rows_of_rarer_value(column)
    is_small = column.n <= MAX_SMALL_ROWS
    has_few_categories = is_small and column.degrees.max(initial=1) <= 1
    if rows_of_rarer or not has_few_categories:
        return 0 < rows_of_rarer < MIN_BETA_CLASS
    squares = column.functions**2
    largest_leverage = squares.sum(axis=1).max() + 1 / column.n
    return bool(largest_leverage > 1 / MIN_BETA_CLASS)


def _weights(x: Smooth, y: Smooth, deviations: Sequence[float]) -> Values:
    """Weights [a, b] of the squared correlations of a functions of x and b of y.

    The weighted sum adds the sums of all resolutions, each divided by its standard
    deviation.
    """
    weights = np.zeros((x.width, y.width))
    before = (0, 0)
    counts_and_deviations = zip(x.resolutions, y.resolutions, deviations)
    for weight, (count_x, count_y, deviation) in zip(WEIGHTS, counts_and_deviations):
        counts = (count_x, count_y)
        if counts != before and min(counts) > 0:
            weights[:count_x, :count_y] += weight / max(deviation, ROUNDING)
        before = counts
    return weights


def stacked_tests(tests: Sequence[Tested], shape: tuple[int, ...]) -> Tested:
    """Tests of single pairs as one array of this shape."""
    p = np.array([test.p for test in tests])
    strength = np.array([test.strength for test in tests])
    return Tested(p.reshape(shape), strength.reshape(shape))


def _stacked(columns: Columns) -> Values:
    return np.hstack([column.functions for column in columns])


def _first_functions(columns: Columns, counts: Integers) -> tuple[Integers, Values]:
    """Indices of each column's first functions, and their summed squared leverages.

    An index counts the functions of all columns; `counts` says how many functions of a
    column come first.
    """
    start = 0
    places, leverages = [], []
    for column, count in zip(columns, counts):
        indices = np.arange(start, start + count)
        places.append(indices)
        start += column.width
        squares = column.functions[:, :count] ** 2
        leverage = squares.sum(axis=1)
        leverages.append(leverage @ leverage)
    return np.concatenate(places), np.array(leverages)


def _block_sums(values: Values, counts: Integers) -> Values:
    """Sums [len(counts), m] of blocks of successive rows of values [sum of counts, m]."""
    ends = np.cumsum(counts)
    nothing = np.zeros(values.shape[1])
    totals = np.cumsum(values, axis=0)
    totals = np.vstack([nothing, totals])
    return totals[ends] - totals[ends - counts]


def _variance_parts(
    a: Values, leverage_x: Values, b: Values, leverage_y: Values, n: int
) -> tuple[Values, Values]:
    """Variance [p, q] of a sum over permutations, and its addition by uneven leverages.

    The sum is of the squared correlations of a [p] functions of x and b [q] of y. The
    first part is the variance if all rows had equal leverage.
    """
    free_x = a * (n - 1 - a)
    free_y = b * (n - 1 - b)
    even_scale = (n - 1) ** 2 * (n + 1) * (n - 2)
    even = 2 * np.outer(free_x, free_y) / even_scale
    expected_x = (n - 1) * (a * a + 2 * a)
    expected_y = (n - 1) * (b * b + 2 * b)
    uneven_x = n * (n + 1) * leverage_x - expected_x
    uneven_y = n * (n + 1) * leverage_y - expected_y
    uneven_scale = (n + 1) * n * (n - 1) * (n - 2) * (n - 3)
    uneven = np.outer(uneven_x, uneven_y) / uneven_scale
    return even, uneven


def combined(p: Values, counts_x: Integers, counts_y: Integers) -> Values:
    """One p-value from the p-values [r, ...] of r resolutions.

    A resolution is left out if it adds no functions to the one before.

    counts_x, counts_y  [r, ...], functions of x and of y at each resolution
    """
    is_new = counts_x * counts_y > 0
    has_more_x = np.diff(counts_x, axis=0) != 0
    has_more_y = np.diff(counts_y, axis=0) != 0
    is_new[1:] &= has_more_x | has_more_y
    later_axes = [1] * (p.ndim - 1)
    weights = WEIGHTS[: len(p)].reshape(-1, *later_axes)
    weights = weights * is_new
    total_weight = np.maximum(weights.sum(axis=0), TINY)
    clipped_p = np.clip(p, 1e-8, MAX_COMBINED_P)
    cotangents = np.tan((0.5 - clipped_p) * np.pi)
    positive_p = np.maximum(p, TINY)
    cauchy = np.where(p < 1e-8, 1 / (positive_p * np.pi), cotangents)
    weighted = weights * cauchy
    mean = weighted.sum(axis=0) / total_weight
    positive_mean = np.maximum(mean, 1)
    tail = 1 / (positive_mean * np.pi)
    centre = 0.5 - np.arctan(mean) / np.pi
    combined_p = np.where(mean > 1e8, tail, centre)
    is_near_1 = (p > MAX_COMBINED_P) | ~is_new
    largest_p = p.max(axis=0)
    return np.where(is_near_1.all(axis=0), largest_p, combined_p)


def tested_products(
    x: Values,
    y: Values,
    sizes: Sequence[tuple[int, int]],
    groups: Groups,
    fitted: int = 0,
) -> Tested:
    """A test of functions x [n, a] and y [n, b] by the variance of their products.

    The variance is over rows, or over groups.

    sizes   number of functions of x and of y at each resolution
    fitted  number of functions that were fitted, if x and y are residuals
    """
    n = len(x)
    p = np.ones(len(sizes))
    strengths = np.zeros(len(sizes))
    group_sums = None
    if groups is not None:
        group_sums = _sums_of_products(x, y, groups)
    for resolution, (count_x, count_y) in enumerate(sizes):
        if count_x * count_y == 0:
            continue
        if group_sums is None:
            functions_x = x[:, :count_x]
            functions_y = y[:, :count_y]
            total, gram = _square_and_gram(functions_x, functions_y)
        else:
            products = group_sums[:, :count_x, :count_y]
            total, gram = _square_and_gram_of_products(products)
        mean = np.trace(gram)
        spread = (gram**2).sum()
        if mean > 0:
            scale = n / (n - fitted)
            mean *= scale
            variance = 2 * spread * scale**2
            shape = mean**2 / variance
            p[resolution] = gamma.sf(total, shape, scale=variance / mean)
            strengths[resolution] = (total - mean) / np.sqrt(variance)
    counts_x, counts_y = np.array(sizes).T
    combined_p = combined(p, counts_x, counts_y)
    return Tested(combined_p, strengths.max())


def _square_and_gram(x: Values, y: Values) -> tuple[float, Values]:
    """Squared length of the summed products of x [n, a] and y [n, b]; their Gram matrix."""
    if x.shape[1] * y.shape[1] <= len(x):
        products = x[:, :, None] * y[:, None, :]
        return _square_and_gram_of_products(products)
    gram = (x @ x.T) * (y @ y.T)  # without the table of all products
    return gram.sum(), gram


def _square_and_gram_of_products(products: Values) -> tuple[float, Values]:
    """Squared length of the sum over rows of products [m, a, b], and their Gram matrix.

    The Gram matrix is of rows or of products, whichever are fewer.
    """
    products = products.reshape(len(products), -1)
    m, count = products.shape
    sums = products.sum(axis=0)
    total = (sums**2).sum()
    if count < m:
        return total, products.T @ products
    return total, products @ products.T


def _sums_of_products(x: Values, y: Values, groups: NDArray[np.int64]) -> Values:
    """Sums [g, a, b] over groups of the products of columns of x [n, a] and y [n, b]."""
    group_count = int(groups.max()) + 1
    sums = np.zeros((group_count, x.shape[1], y.shape[1]))
    for place, column in enumerate(x.T):
        products = column[:, None] * y
        np.add.at(sums[:, place], groups, products)
    return sums
