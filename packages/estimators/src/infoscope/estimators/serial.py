"""Whether rows that follow one another are alike: a series, or groups that nobody named.

Estimates, their intervals and tests of independence take rows for independent draws. Two series that know nothing of
one another drift through the same values together for a while, which looks like information: of two independent
autoregressions of coefficient 0.99, 1,000 rows, nearest neighbours find 0.2 nats with an interval that ends far from 0.
What decides is both sides: where one of them has no memory, rows put together at random are like the data.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators.variables import Variable, factorise

_SURE = 4.5  # standard errors on each side, by chance once in 300,000 data sets at most
_GONE = 3.0  # below it rows are no longer said to be alike
_FEWEST = 100  # rows
_ROWS = 1000  # that are compared with their successors, at most
_OTHERS = 2000  # rows that one of them may be compared with instead
_APART = 20  # rows: others are no nearer than this, or than the data's twentieth part
_WIDE = 32  # columns; of more, so many random combinations


class RowsInSequence(UserWarning):
    """Rows that are taken for independent draws follow one another like those of a series."""


@dataclass(frozen=True)
class SerialDependence:
    """That rows which follow one another are more alike than others, on both sides.

    errors  how often a row's successor is nearer to it than another row is, beyond half, in standard errors: x, y
    lag     how far apart rows must be to be alike no longer, in powers of two; None: as far as can be asked
    rows    how many there are
    """

    errors: tuple[float, float]
    lag: int | None
    rows: int

    def __str__(self) -> str:
        far = f"{self.rows // 8:,} rows apart they still are"
        if self.lag is not None:
            kept = self.rows // self.lag
            far = f"{self.lag:,} rows apart they no longer are, so one row in {self.lag:,} may be kept, {kept:,} in all"
        return (
            "rows that follow one another are alike in x and in y "
            f"({self.errors[0]:.0f} and {self.errors[1]:.0f} standard errors; {far}): a series or unnamed groups are "
            "no independent draws, and may show information where there is none; name the groups, or shuffle the rows "
            "if they were only sorted"
        )


def serial_dependence(x: Variable, y: Variable) -> SerialDependence | None:
    """The alikeness of successive rows on both sides; None where it is not seen.

    For up to 1,000 disjoint pairs of successors, a sign test: is the successor nearer than a random row far away is,
    by ranks of numbers and equality of categories? Both sides must say so by 4.5 standard errors. Where a column is
    sorted, or each category of a side comes in one run, the random row is one whose value of that column is at least as
    near: rows that were only sorted by a column of theirs pass. Always the same answer for the same rows.

    Not seen: fewer than 100 rows; a memory so short that it hardly widens an interval (autoregressions of coefficient
    0.3); a series beside a column of time, whose values never come back.
    """
    if x.n < _FEWEST:
        return None
    generator = np.random.default_rng(0)
    order = [column for side in (x, y) for column in _sorted_columns(side)]
    sides = [_points(side, generator) for side in (x, y)]
    errors = _errors(sides, order, 1, generator)
    if min(errors) < _SURE:
        return None
    lag = 2
    while lag <= x.n // 8 and min(_errors(sides, order, lag, generator)) >= _GONE:
        lag *= 2
    return SerialDependence(errors, lag if lag <= x.n // 8 else None, x.n)


def warn_of_series(x: Variable, y: Variable) -> None:
    """Warns whoever called the caller of successive rows that are alike."""
    found = serial_dependence(x, y)
    if found is not None:
        warnings.warn(f"{found}.", RowsInSequence, stacklevel=3)


_Points = tuple[NDArray[np.float64], NDArray[np.intp] | None]


def _sorted_columns(side: Variable) -> list[NDArray[np.float64]]:
    """Columns [n] that rise or fall all along, and the joint categories, if each has one run."""
    found = []
    for column in side.continuous.T:
        steps = np.diff(column)
        if (steps >= 0).all() or (steps <= 0).all():
            found.append(column)
    if side.codes is not None and np.count_nonzero(np.diff(side.codes)) == side.categories - 1:
        found.append(side.codes.astype(np.float64))
    return found


def _points(side: Variable, generator: np.random.Generator) -> _Points:
    """Ranks of the numbers [n, d], equal for equal values, and codes."""
    numbers = side.continuous
    if side.dim > _WIDE:
        numbers = side.standardised().continuous @ generator.standard_normal((side.dim, _WIDE))
    ranks = [factorise(column)[0] for column in numbers.T]
    return np.column_stack([rank / max(rank.max(), 1) for rank in ranks] or [np.empty((side.n, 0))]), side.codes


def _apart(points: _Points, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
    """Squared distances of rows [m]; other categories are as far as the ends of a column."""
    numbers, codes = points
    distances = ((numbers[first] - numbers[second]) ** 2).sum(axis=1)
    return distances if codes is None else distances + (codes[first] != codes[second])


def _errors(
    sides: list[_Points], order: list[NDArray[np.float64]], lag: int, generator: np.random.Generator
) -> tuple[float, float]:
    """The sign test of either side for rows that are `lag` apart, standard errors beyond half."""
    n = len(sides[0][0])
    rows = np.arange(n - lag)
    rows = rows[rows // lag % 2 == 0]  # no row is in two pairs
    rows = np.sort(generator.permutation(rows)[:_ROWS])
    others = np.sort(generator.permutation(n)[:_OTHERS])
    allowed = np.abs(others - rows[:, None]) > lag + max(_APART, n // 20)
    for column in order:
        allowed &= np.abs(column[others] - column[rows, None]) <= np.abs(column[rows + lag] - column[rows])[:, None]
    keys = np.where(allowed, generator.random(allowed.shape), -1.0)
    chosen = keys.argmax(axis=1)
    told = allowed[np.arange(len(rows)), chosen]
    rows, others = rows[told], others[chosen[told]]
    found = []
    for points in sides:
        signs = np.sign(_apart(points, rows, others) - _apart(points, rows, rows + lag))
        compared = np.count_nonzero(signs)
        found.append(float(signs.sum() / np.sqrt(compared)) if compared else 0.0)
    return found[0], found[1]
