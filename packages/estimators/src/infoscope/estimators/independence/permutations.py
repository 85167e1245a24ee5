"""p-values by permutations, where few rows or rare values in both columns leave no
smooth distribution.

All permutations of at most 8 rows; the hypergeometric distribution of two columns of
two values (Fisher 1935); else drawn permutations, more of them for smaller p-values
(Besag & Clifford 1991). The statistic is a weighted sum of the squared correlations of
`association`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from infoscope.estimators.independence.functions import Smooth

Values = NDArray[np.float64]

MAX_ENUMERATED = 8  # rows of which all permutations are taken
# permutations with a statistic as large as the observed one, at which drawing ends
MIN_EXCEEDANCES = 20
FIRST_DRAWN = 1_000  # permutations of the first draw
MIN_DRAWN, MAX_DRAWN = 50_000, 1_000_000  # permutations for a small p-value
# so that the smallest p-value is small enough among those of all pairs
DRAWN_PER_PAIR = 400
# multiplications for all pairs; beyond it only the first permutations are drawn
MAX_PRODUCTS = 10_000_000_000
MAX_NUMBERS = 10_000_000  # that are held at once
ROUNDING = 1e-9  # relative; statistics that differ less are equal


def permutation_p_values(
    x: Sequence[Smooth],
    y: Sequence[Smooth],
    pairs: Sequence[tuple[int, int]],
    weights: Sequence[Values],
) -> Values:
    """p-values of independence of x[i] and y[j] for each pair (i, j).

    weights  of each pair [a, b], of the squared correlations of a functions of x and b of y

    A p-value is at least 1 / (permutations + 1). Nothing depends on the order of rows.
    """
    n = x[0].n
    p = np.ones(len(pairs))
    columns_x = {i: _Column.of(x[i]) for i in {i for i, _ in pairs}}
    columns_y = {j: _Column.of(y[j]) for j in {j for _, j in pairs}}
    undecided = {}
    for place, (i, j) in enumerate(pairs):
        correlations = x[i].functions.T @ y[j].functions
        column_x, column_y = columns_x[i], columns_y[j]
        if column_x.rarer and column_y.rarer:
            p[place] = fisher_p_value(
                n, column_x.rarer, column_y.rarer, correlations.item() ** 2
            )
        elif correlations.size:
            observed = (1 - ROUNDING) * (weights[place] * correlations**2).sum()
            undecided[place] = _Pair.of(column_x, column_y, weights[place], observed)
    if not undecided:
        return p
    drawn = 0
    exceedances = np.zeros(len(pairs))
    needed_rows = max(len(pair.changed) for pair in undecided.values())
    for orders in _orders(n, needed_rows, len(pairs)):
        drawn += len(orders)
        for place, pair in undecided.items():
            exceedances[place] += (pair.statistics(orders) >= pair.observed).sum()
            if n <= MAX_ENUMERATED:
                p[place] = exceedances[place] / drawn
            else:
                p[place] = (exceedances[place] + 1) / (drawn + 1)
        undecided = {
            place: pair
            for place, pair in undecided.items()
            if exceedances[place] < MIN_EXCEEDANCES
        }
        products = sum(
            len(pair.changed) * pair.weights.size for pair in undecided.values()
        )
        if drawn * products > MAX_PRODUCTS or not undecided:
            break
    return p


@dataclass(frozen=True, eq=False)
class _Column:
    """A column whose rows have no order.

    rows     sorted functions [n, d]
    changed  [m, d], rows that differ from the most frequent row, minus this row
    rarer    how many rows have the rarer one of two values; 0 for other columns
    """

    rows: Values
    changed: Values
    rarer: int

    @classmethod
    def of(cls, column: Smooth) -> _Column:
        functions = column.functions
        if functions.shape[1] == 0:
            return cls(functions, functions, 0)
        rows = functions[np.lexsort(functions.round(9).T[::-1])]
        steps = np.abs(np.diff(rows, axis=0)).max(axis=1)
        starts = np.flatnonzero(np.append(True, steps > ROUNDING))
        sizes = np.diff(np.append(starts, len(rows)))
        differences = rows - rows[starts[sizes.argmax()]]
        is_changed = np.abs(differences).max(axis=1) > ROUNDING
        return cls(rows, differences[is_changed], rows_of_rarer_value(column))


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two columns whose rows are paired anew.

    changed   functions [m, a] of one column in the rows without its most frequent value, minus this value's functions
    rows      functions [n, b] of the other column
    weights   [a, b] of squared correlations
    observed  their weighted sum in the data
    """

    changed: Values
    rows: Values
    weights: Values
    observed: float

    @classmethod
    def of(cls, x: _Column, y: _Column, weights: Values, observed: float) -> _Pair:
        if len(x.changed) <= len(y.changed):
            return cls(x.changed, y.rows, weights, observed)
        return cls(y.changed, x.rows, weights.T, observed)

    def statistics(self, orders: NDArray[np.intp]) -> Values:
        """The statistic of each order [m, rows] of the rows of the other column."""
        m, functions = self.changed.shape
        permuted = self.rows[orders[:, :m].T].reshape(m, -1)
        correlations = (self.changed.T @ permuted).reshape(functions, len(orders), -1)
        return np.einsum("apb,ab->p", correlations**2, self.weights)


def _orders(n: int, needed: int, pairs: int) -> Iterator[NDArray[np.intp]]:
    """Permutations of n rows, some at a time, the first `needed` rows of each: all of
    few rows, else drawn.
    """
    if n <= MAX_ENUMERATED:
        yield np.array(list(permutations(range(n))))
        return
    generator = np.random.default_rng(0)
    drawn = 0
    while drawn < np.clip(DRAWN_PER_PAIR * pairs, MIN_DRAWN, MAX_DRAWN):
        count = max(FIRST_DRAWN, drawn)
        if needed**2 < n:  # few orders repeat a row; these are left out
            count = min(count, MAX_NUMBERS // (8 * needed))
            orders = generator.integers(n, size=(count, needed))
            steps = np.diff(np.sort(orders, axis=1), axis=1)
            orders = orders[(steps > 0).all(axis=1)]
        else:
            count = min(count, max(1, MAX_NUMBERS // (8 * n)))
            rows = np.tile(np.arange(n), (count, 1))
            orders = generator.permuted(rows, axis=1)[:, :needed]
        drawn += len(orders)
        yield orders


def rows_of_rarer_value(column: Smooth) -> int:
    """The rows of the rarer value of a column of two values; 0 of any other column."""
    if column.functions.shape[1] != 1:
        return 0
    values = column.functions[:, 0]
    above = values > 0
    if np.ptp(values[above]) > ROUNDING or np.ptp(values[~above]) > ROUNDING:
        return 0
    count = int(above.sum())
    return min(count, column.n - count)


def fisher_p_value(n: int, size_x: int, size_y: int, square: float) -> float:
    """The probability that two values of so many of n rows each have a squared
    correlation of `square` or more.
    """
    overlaps = np.arange(max(0, size_x + size_y - n), min(size_x, size_y) + 1)
    share_x = size_x / n
    share_y = size_y / n
    covariances = overlaps / n - share_x * share_y
    variances = share_x * (1 - share_x) * (share_y * (1 - share_y))
    is_as_large = covariances**2 / variances >= square * (1 - ROUNDING)
    probabilities = hypergeom.pmf(overlaps, n, size_x, size_y)
    return float(min(1.0, probabilities[is_as_large].sum()))
