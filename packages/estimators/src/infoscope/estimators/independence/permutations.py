"""p-values by permutations, for few rows or for rare values in both columns.

At most 8 rows: all permutations. Two columns of two values: the hypergeometric
distribution (Fisher 1935). Other columns: drawn permutations, more of them for smaller
p-values (Besag & Clifford 1991). The statistic is the weighted sum of squared
correlations of `association`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.stats import hypergeom

from infoscope.estimators.independence.functions import Integers, Smooth, Values

MAX_ENUMERATED = 8  # rows of which all permutations are taken
# permutations with a statistic as large as the observed one, at which drawing ends
MIN_EXCEEDANCES = 20
FIRST_DRAWN = 1_000  # permutations of the first draw
MIN_DRAWN, MAX_DRAWN = 50_000, 1_000_000  # permutations for a small p-value
# many pairs need smaller p-values, after their correction for multiple tests
DRAWN_PER_PAIR = 400
# multiplications for all pairs; beyond it only the first permutations are drawn
MAX_PRODUCTS = 10_000_000_000
MAX_NUMBERS = 10_000_000  # in memory at once
ROUNDING = 1e-9  # relative; statistics that differ less are equal


def permutation_p_values(
    x: Sequence[Smooth],
    y: Sequence[Smooth],
    pairs: Sequence[tuple[int, int]],
    weights: Sequence[Values],
) -> Values:
    """p-values of independence of x[i] and y[j] for each pair (i, j).

    weights  [a, b] for each pair, of the squared correlations of a functions of x and b functions of y

    A p-value is at least 1 / (permutations + 1). It is the same for every order of rows.
    """
    n = x[0].n
    p = np.ones(len(pairs))
    tested_x = {i for i, _ in pairs}
    tested_y = {j for _, j in pairs}
    columns_x = {i: _Column.of(x[i]) for i in tested_x}
    columns_y = {j: _Column.of(y[j]) for j in tested_y}
    undecided = {}
    for place, (i, j) in enumerate(pairs):
        squares = (x[i].functions.T @ y[j].functions) ** 2
        column_x = columns_x[i]
        column_y = columns_y[j]
        if column_x.rarer and column_y.rarer:
            square = squares.item()
            p[place] = fisher_p_value(n, column_x.rarer, column_y.rarer, square)
        elif squares.size:
            statistic = (weights[place] * squares).sum()
            observed = (1 - ROUNDING) * statistic
            undecided[place] = _Pair.of(column_x, column_y, weights[place], observed)
    if not undecided:
        return p
    drawn = 0
    exceedances = np.zeros(len(pairs))
    needed_rows = max(len(pair.changed) for pair in undecided.values())
    for orders in _orders(n, needed_rows, len(pairs)):
        drawn += len(orders)
        products = 0
        for place, pair in list(undecided.items()):
            is_as_large = pair.statistics(orders) >= pair.observed
            exceedances[place] += is_as_large.sum()
            if n <= MAX_ENUMERATED:
                p[place] = exceedances[place] / drawn
            else:
                p[place] = (exceedances[place] + 1) / (drawn + 1)
            if exceedances[place] >= MIN_EXCEEDANCES:
                del undecided[place]
            else:
                products += len(pair.changed) * pair.weights.size
        if drawn * products > MAX_PRODUCTS or not undecided:
            break
    return p


@dataclass(frozen=True, eq=False)
class _Column:
    """A column whose rows have no order.

    rows     sorted functions [n, d]
    changed  [m, d], rows that differ from the most frequent row, minus the most frequent row
    rarer    number of rows with the rarer one of two values; 0 for other columns
    """

    rows: Values
    changed: Values
    rarer: int

    @classmethod
    def of(cls, column: Smooth) -> _Column:
        functions = column.functions
        if column.width == 0:
            return cls(functions, functions, 0)
        keys = functions.round(9).T[::-1]
        rows = functions[np.lexsort(keys)]
        steps = np.abs(np.diff(rows, axis=0)).max(axis=1)
        is_new = np.append(True, steps > ROUNDING)
        starts = np.flatnonzero(is_new)
        sizes = np.diff(np.append(starts, len(rows)))
        most_frequent = rows[starts[sizes.argmax()]]
        differences = rows - most_frequent
        is_changed = np.abs(differences).max(axis=1) > ROUNDING
        changed = differences[is_changed]
        return cls(rows, changed, rows_of_rarer_value(column))


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two columns whose rows are paired in another order.

    changed   `_Column.changed` [m, a] of one column
    rows      functions [n, b] of the other column
    weights   [a, b] of squared correlations
    observed  weighted sum of the squared correlations in the data
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

    def statistics(self, orders: Integers) -> Values:
        """The statistic of each order [m, rows] of the rows of the other column."""
        m, functions = self.changed.shape
        permuted = self.rows[orders[:, :m].T].reshape(m, -1)
        correlations = self.changed.T @ permuted
        correlations = correlations.reshape(functions, len(orders), -1)
        return np.einsum("apb,ab->p", correlations**2, self.weights)


def _orders(n: int, needed: int, pairs: int) -> Iterator[Integers]:
    """Batches of permutations [m, needed] of n rows, with the first `needed` rows each.

    All permutations of at most 8 rows; of more rows, drawn permutations.
    """
    if n <= MAX_ENUMERATED:
        yield np.array(list(permutations(range(n))))
        return
    generator = np.random.default_rng(0)
    drawn = 0
    target = np.clip(DRAWN_PER_PAIR * pairs, MIN_DRAWN, MAX_DRAWN)
    while drawn < target:
        count = max(FIRST_DRAWN, drawn)
        if needed**2 < n:  # few orders repeat a row; they are left out
            count = min(count, MAX_NUMBERS // (8 * needed))
            orders = generator.integers(n, size=(count, needed))
            steps = np.diff(np.sort(orders, axis=1), axis=1)
            is_permutation = (steps > 0).all(axis=1)
            orders = orders[is_permutation]
        else:
            max_count = max(1, MAX_NUMBERS // (8 * n))
            count = min(count, max_count)
            rows = np.tile(np.arange(n), (count, 1))
            orders = generator.permuted(rows, axis=1)
            orders = orders[:, :needed]
        drawn += len(orders)
        yield orders


def rows_of_rarer_value(column: Smooth) -> int:
    """The rows of the rarer value of a column of two values; 0 of any other column."""
    if column.width != 1:
        return 0
    values = column.functions[:, 0]
    is_high = values > 0
    low_range = np.ptp(values[~is_high])
    if np.ptp(values[is_high]) > ROUNDING or low_range > ROUNDING:
        return 0
    count = int(is_high.sum())
    return min(count, column.n - count)


def fisher_p_value(n: int, size_x: int, size_y: int, square: float) -> float:
    """The probability of a squared correlation of `square` or more under independence.

    One value of x is in `size_x` of n rows, and one value of y in `size_y`.
    """
    smallest = max(0, size_x + size_y - n)
    largest = min(size_x, size_y)
    overlaps = np.arange(smallest, largest + 1)
    share_x = size_x / n
    share_y = size_y / n
    covariances = overlaps / n - share_x * share_y
    variance_x = share_x * (1 - share_x)
    variance_y = share_y * (1 - share_y)
    squares = covariances**2 / (variance_x * variance_y)
    is_as_large = squares >= square * (1 - ROUNDING)
    probabilities = hypergeom.pmf(overlaps, n, size_x, size_y)
    return float(min(1.0, probabilities[is_as_large].sum()))
