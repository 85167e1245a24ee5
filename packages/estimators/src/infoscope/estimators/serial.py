"""Tests whether rows depend on one another at some lag in x and in y (time series).

Dependence of both biases estimates upwards: independent autoregressions (coefficient 0.99, n = 1,000) give 0.2 nats.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from infoscope.estimators.variables import Variable, copies, factorise, joint_codes

_SURE = 4.5  # standard errors on each side, by chance once in 300,000 data sets at most
_GONE = 3.0  # below it rows are no longer said to be alike
_FEWEST = 30  # rows; of fewer hardly a series is
_ROWS = 1000  # that are compared with their successors, at most
_OTHERS = 2000  # rows that one of them may be compared with instead
_APART = 20  # rows: others are no nearer than this, or than the data's twentieth part
_WIDE = 32  # columns; of more, so many random combinations
_CHANCE = 0.001  # that one side without memory seems to have some, at any of all lags
_INFLATED = 1.5  # times the variance that a correlation of x with y has in independent rows; below it little harm
_AT_ONCE = 200_000  # numbers of a side whose lags are asked; of more columns, random combinations
_SIGNS = 4  # random halves of the categories
_FEWEST_ALIKE = 10  # rows of a value that is given; of fewer, what is left of them leans on one another
_FEWEST_UNITS = 8  # as groups
_CLEAR = 0.5  # of the largest figure: the first lag that has so much is named


class RowsInSequence(UserWarning):
    """Rows that are taken for independent draws follow one another like those of a series."""


@dataclass(frozen=True)
class SerialDependence:
    """Rows at some lag are more alike than others, or more opposite, in x and in y.

    errors  distance from chance in standard errors (x, y), negative where opposite
    lag     distance in powers of two from which rows are independent; None: unknown, or `every` is more than 1
    rows    how many there are
    every   the lag
    """

    errors: tuple[float, float]
    lag: int | None
    rows: int
    every: int = 1

    def __str__(self) -> str:
        first, second = ("alike" if error > 0 else "opposite" for error in self.errors)
        how = f"{first} in x and {'' if first == second else second + ' '}in y"
        clear = "{:.0f} and {:.0f} standard errors".format(*map(abs, self.errors))
        harm = "no independent draws, and may show information where there is none"
        if self.every > 1:
            units = f" (the row's number modulo {self.every:,}, if so many units take turns)"
            return (
                f"every {_ordinal(self.every)} row is {how} ({clear}): series in turn, seasons or unnamed groups are "
                f"{harm}; name the groups{units if self.every >= _FEWEST_UNITS else ''}, or shuffle the rows if their "
                "order means nothing"
            )
        far = f"{self.rows // 8:,} rows apart they still are"
        if self.lag is not None:
            kept = self.rows // self.lag
            far = f"{self.lag:,} rows apart they no longer are, so one row in {self.lag:,} may be kept, {kept:,} in all"
        return (
            f"rows that follow one another are {how} ({clear}; {far}): a series or unnamed groups are {harm}; name the "
            "groups, or shuffle the rows if they were only sorted"
        )


def serial_dependence(x: Variable, y: Variable) -> SerialDependence | None:
    """The lag at which rows are alike, or opposite, in both x and y; None where that is not detected. Deterministic.

    Lag 1: a sign test of up to 1,000 disjoint pairs (is the successor nearer than a random distant row?), significant
    in both variables by 4.5 standard errors. Rows that were only sorted by a column pass.

    Lags up to half the rows: autocorrelations of ranks and of random halves of the categories, given sort values and
    the other variable's categories; false alarms in 1 of 1,000 data sets. The variance inflation 1 + 2 sum |r_x r_y|
    (Bartlett 1935) must reach 1.5. Copies of rows (`variables.copies`) are left out.

    Not detected: fewer than 30 rows; fast memories at 30 to 80 rows (docs/series.md); short memories (autoregressions
    of coefficient 0.3); a series beside a column of time with fewer than 10 rows a value.
    """
    if x.n < _FEWEST:
        return None
    generator = np.random.default_rng(0)
    order = [column for side in (x, y) for column in _sorted_columns(side)]
    sides = [_points(side, generator) for side in (x, y)]
    errors = _errors(sides, order, 1, generator)
    given = [factorise(column)[0] for column in order]
    labels = [[] if side.codes is None else [side.codes] for side in (y, x)]
    columns = [_columns(points, given + of, generator) for points, of in zip(sides, labels)]
    found = _memories(columns)
    if min(errors) < _SURE:
        if not found.harmful():
            return None
        codes = copies(x, y)
        if codes is not None:
            repeated = np.ones(x.n, bool)
            repeated[np.unique(codes, return_index=True)[1]] = False
            for side in columns:
                side[:, repeated] = 0
            found = _memories(columns)
            if not found.harmful():
                return None
        every, errors = found.named()
        if every > 1:
            return SerialDependence(errors, None, x.n, every)
    lag = 2
    while lag <= x.n // 8 and (
        min(_errors(sides, order, lag, generator)) >= _GONE or found.inflation(lag) >= _INFLATED
    ):
        lag *= 2
    return SerialDependence(errors, lag if lag <= x.n // 8 else None, x.n)


def warn_of_series(x: Variable, y: Variable) -> None:
    """Warns whoever called the caller of rows that depend on one another at some lag."""
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
    """The sign test of x and of y for rows that are `lag` apart, standard errors beyond half."""
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


@dataclass(frozen=True)
class _Memories:
    """Autocorrelations of x and y in standard errors by lag [2, lags], `sure` critical values, and n rows."""

    correlations: NDArray[np.float64]
    errors: NDArray[np.float64]
    sure: float
    n: int

    def inflation(self, step: int = 1) -> float:
        """Variance inflation of a correlation of x and y in every `step`-th row, by significant lags."""
        lags = np.arange(step, self.errors.shape[1] + 1, step)
        product = np.abs(self.correlations[:, lags - 1].prod(axis=0)) * (1 - lags / self.n)
        return 1 + 2 * float(product[np.abs(self.errors[:, lags - 1]).min(axis=0) >= _GONE].sum())

    def harmful(self) -> bool:
        """Whether some lag is significant in both x and y, and all significant ones together inflate an interval."""
        return np.abs(self.errors).min(axis=0).max() >= self.sure and self.inflation() >= _INFLATED

    def named(self) -> tuple[int, tuple[float, float]]:
        """The first lag at which x and y are clearly alike (or the most opposite one), and its standard errors."""
        alike, apart = self.errors.min(axis=0), np.abs(self.errors).min(axis=0)
        place = int(np.argmax(apart))
        if alike[place] > 0:
            place = int(np.argmax(alike >= _CLEAR * alike[place]))
        return place + 1, (float(self.errors[0, place]), float(self.errors[1, place]))


def _columns(points: _Points, given: list[NDArray[np.intp]], generator: np.random.Generator) -> NDArray[np.float64]:
    """Ranks and random halves of the categories [d, n], less their means by combination of codes given."""
    numbers, codes = points
    n, halves = len(numbers), []
    if codes is not None:
        categories = int(codes.max()) + 1
        halves = [(generator.permutation(categories) % 2.0)[codes] for _ in range(_SIGNS if categories > 2 else 1)]
    few = max(1, _AT_ONCE // n)
    if numbers.shape[1] + len(halves) > few:
        some = slice(None, None, max(1, n // _ROWS))
        scales = [np.maximum(column[some].std(), 1 / n) for column in (*numbers.T, *halves)]
        weights = generator.standard_normal((few, len(scales))) / scales
        stacked = (numbers @ weights[:, : numbers.shape[1]].T).T
        for half, weight in zip(halves, weights[:, numbers.shape[1] :].T):
            stacked += weight[:, None] * half
    else:
        stacked = np.array([*numbers.T, *halves])
    within = given[0] if len(given) == 1 else joint_codes(given or [np.zeros(n, np.intp)])[0]
    counts = np.bincount(within)
    before = np.abs(stacked).max(axis=1)
    for column in stacked:
        column -= (np.bincount(within, column) / counts)[within]
    stacked[:, counts[within] < _FEWEST_ALIKE] = 0
    return stacked[np.abs(stacked).max(axis=1) > 1e-9 * before]


def _memories(sides: list[NDArray[np.float64]]) -> _Memories:
    """Autocorrelations of all columns [d, n] of x and y; their error is the larger of two, for a conservative test."""
    n = sides[0].shape[1]
    most = n // 2
    length, found = next_fast_len(n + most, real=True), []
    lags = np.arange(1, most + 1)
    tests = max(max(len(side) for side in sides), 1) * most
    for side in sides:
        correlations, errors = np.zeros(most), np.zeros(most)
        for column in side:
            squares = column**2
            power = float(squares.mean())
            sums, own = (
                irfft(np.abs(rfft(one.astype(np.float32), length)) ** 2, length)[1 : most + 1].astype(np.float64)
                for one in (column, squares)
            )
            sums += power * (n - lags) / (n - 1)  # what centring takes away
            of_column = sums / np.sqrt(np.maximum(own, power**2 * (n - lags)))
            further = np.abs(of_column) > np.abs(errors)
            errors[further] = of_column[further]
            correlations[further] = (sums / (power * (n - lags)))[further]
        found.append((correlations, errors))
    correlations, errors = (np.array(both) for both in zip(*found))
    return _Memories(correlations, errors, float(-ndtri(_CHANCE / 2 / tests)), n)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
