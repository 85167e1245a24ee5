"""A test of dependence between rows at some lag, in x and in y.

Such rows come from time series, from unknown groups, or from units in turn. Dependence
of rows in both variables biases estimates upwards: independent autoregressions
(coefficient 0.99, n = 1,000) give 0.2 nats.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from infoscope.estimators.variables import Variable, factorise, joint_codes
from infoscope.estimators.variables import copies as row_copies
from infoscope.notebook import InNotebook

# probability that some lag is significant for a variable without memory
FALSE_ALARM = 0.001
# variance of a correlation of x and y / the variance over independent rows; a smaller
# inflation does little harm
MIN_INFLATION = 1.5
MIN_ERRORS = 3  # standard errors of autocorrelations that are included in the inflation
MIN_ROWS = 30
MIN_STRATUM_ROWS = 10  # residuals within smaller strata are dependent
MAX_NUMBERS = 200_000  # of the columns of a variable, a budget of time

Values = NDArray[np.float64]
Codes = NDArray[np.intp]


class RowsInSequence(UserWarning):
    """Rows that are treated as independent resemble those of a series."""


@dataclass(frozen=True)
class SerialDependence(InNotebook):
    """Rows at some lag are more similar, or more opposite, than other rows in x and y.

    errors  autocorrelations of x and y at the lag `every`, in standard errors; negative for opposite rows
    lag     power of two, the distance from which rows are independent; None: unknown, or `every` is more than 1
    every   the first significant lag
    """

    errors: tuple[float, float]
    lag: int | None
    every: int = 1

    def __str__(self) -> str:
        in_x, in_y = ("similar" if error > 0 else "opposite" for error in self.errors)
        if in_x == in_y:
            comparison = f"{in_x} in x and in y"
        else:
            comparison = f"{in_x} in x and {in_y} in y"
        rows = "rows that follow one another are"
        units = ""
        if self.every > 1:
            rows = f"every {_ordinal(self.every)} row is"
            units = (
                f" (of {self.every:,} groups in turn: the row's number modulo "
                f"{self.every:,})"
            )
        error_x, error_y = map(abs, self.errors)
        size = f"{error_x:.0f} and {error_y:.0f} standard errors"
        if self.lag is not None:
            size += f"; keep every {_ordinal(self.lag)} row for rows that are independent of one another"
        return (
            f"{rows} {comparison} ({size}): the rows of a series or of unknown groups "
            "are dependent and may show "
            f"information where there is none; give the groups{units}, or shuffle the "
            "rows if their order has no "
            "meaning"
        )


def serial_dependence(
    x: Variable, y: Variable, copies: Codes | None = None
) -> SerialDependence | None:
    """The lag at which rows are similar, or opposite, in both x and y; None: not detected.

    Uses autocorrelations at all lags up to half the rows, of ranks and of indicators of
    categories, given sort values and the other variable's categories. Both x and y must
    be significant at one lag, and the variance inflation 1 + 2 sum |r_x r_y| (Bartlett
    1935) must be at least 1.5. Copies of rows are left out; `copies` [n] has equal codes
    for them (`variables.copies`). The result is deterministic.

    Not detected: fewer than 30 rows, fast memories at 30 to 80 rows (docs/series.md),
    short memories (autoregressions of coefficient 0.3), a series with a column of time
    that has fewer than 10 rows per value.
    """
    if x.n < MIN_ROWS:
        return None
    generator = np.random.default_rng(0)
    sort_codes = _sorted_columns(x) + _sorted_columns(y)
    variables = []
    for variable, other in ((x, y), (y, x)):
        conditions = [*sort_codes, other.strata]
        variables.append(_columns(variable, conditions, generator))
    autocorrelations = _autocorrelations(variables)
    if copies is not None and autocorrelations.harmful():
        _, first_rows = np.unique(copies, return_index=True)
        is_copy = np.ones(x.n, bool)
        is_copy[first_rows] = False
        for columns in variables:
            columns[:, is_copy] = 0
        autocorrelations = _autocorrelations(variables)
    if not autocorrelations.harmful():
        return None
    every, errors = autocorrelations.first_significant()
    harmless_lag = None
    lag = 2
    while every == 1 and lag <= x.n // 8:
        if autocorrelations.is_harmless(lag):
            harmless_lag = lag
            break
        lag *= 2
    return SerialDependence(errors, harmless_lag, every)


def warn_of_series(x: Variable, y: Variable) -> None:
    """Warns, two calls up, of rows that depend on one another at some lag."""
    dependence = serial_dependence(x, y, row_copies(x, y))
    if dependence is not None:
        warnings.warn(f"{dependence}.", RowsInSequence, stacklevel=3)


def _sorted_columns(variable: Variable) -> list[Codes]:
    """Codes [n] of monotone columns, and of joint categories that rows are sorted by."""
    steps = np.diff(variable.continuous, axis=0)
    rises = (steps >= 0).all(axis=0)
    falls = (steps <= 0).all(axis=0)
    monotone = variable.continuous.T[rises | falls]
    codes = [factorise(column)[0] for column in monotone]
    if variable.codes is not None:
        changes = np.count_nonzero(np.diff(variable.codes))
        if changes == variable.categories - 1:
            codes.append(variable.codes)
    return codes


def _columns(
    variable: Variable,
    conditions: list[Codes],
    generator: np.random.Generator,
) -> Values:
    """Ranks and indicators of categories [d, n], minus their means in each stratum.

    Strata are the joint values of the conditions; rows of small strata are 0. Many
    columns are replaced by random combinations of them.
    """
    n = variable.n
    max_columns = max(1, MAX_NUMBERS // n)
    indicators = 0 if variable.codes is None else variable.categories - 1
    ranks = (factorise(column)[0].astype(float) for column in variable.continuous.T)
    if variable.dim + indicators <= max_columns:
        is_category = (variable.strata == code for code in range(indicators))
        columns = np.array([*ranks, *is_category], float)
    else:
        columns = np.zeros((max_columns, n))
        for rank in ranks:
            weights = generator.standard_normal((max_columns, 1))
            columns += weights * (rank / rank.std())
        if indicators:
            weights = generator.standard_normal((max_columns, variable.categories))
            columns += weights[:, variable.strata]
    strata = conditions[0]
    for codes in conditions[1:]:
        strata, _ = joint_codes((strata, codes))
    counts = np.bincount(strata)
    rounding = 1e-9 * np.abs(columns).max(axis=1)
    for column in columns:
        means = np.bincount(strata, column) / counts
        column -= means[strata]
    is_small = counts[strata] < MIN_STRATUM_ROWS
    columns[:, is_small] = 0
    varies = np.abs(columns).max(axis=1) > rounding
    return columns[varies]


@dataclass(frozen=True)
class _Autocorrelations:
    """Autocorrelations of x and y by lag [2, lags], also in standard errors.

    critical  size, in standard errors, from which a lag is significant
    n         number of rows
    """

    correlations: Values
    errors: Values
    critical: float
    n: int

    def inflation(self, step: int = 1) -> float:
        """Variance inflation of a correlation of x and y in every `step`-th row.

        Only significant lags are included.
        """
        lags = np.arange(step, self.errors.shape[1] + 1, step)
        products = self.correlations[:, lags - 1].prod(axis=0)
        weighted = np.abs(products) * (1 - lags / self.n)
        is_significant = self.joint_errors[lags - 1] >= MIN_ERRORS
        return 1 + 2 * float(weighted[is_significant].sum())

    @property
    def joint_errors(self) -> Values:
        """The smaller absolute autocorrelation of x and y [lags], in standard errors."""
        return np.abs(self.errors).min(axis=0)

    def harmful(self) -> bool:
        """Whether a lag is significant in x and y, and such lags inflate the variance."""
        is_significant = self.joint_errors.max() >= self.critical
        return bool(is_significant and self.inflation() >= MIN_INFLATION)

    def is_harmless(self, lag: int) -> bool:
        """Whether this lag is insignificant and its multiples inflate the variance little."""
        is_insignificant = self.joint_errors[lag - 1] < self.critical
        return bool(is_insignificant and self.inflation(lag) < MIN_INFLATION)

    def first_significant(self) -> tuple[int, tuple[float, float]]:
        """The first lag with half the largest similarity, and its two standard errors.

        If no rows are similar, the lag with the most opposite rows.
        """
        similarity = self.errors.min(axis=0)
        place = int(np.argmax(self.joint_errors))
        if similarity[place] > 0:
            place = int(np.argmax(similarity >= similarity[place] / 2))
        error_x, error_y = self.errors[:, place].tolist()
        return place + 1, (error_x, error_y)


def _autocorrelations(variables: list[Values]) -> _Autocorrelations:
    """The largest autocorrelations of all columns [d, n] of x and y.

    The standard error is the larger of two: for white noise, and by squared values.
    """
    n = variables[0].shape[1]
    max_lag = n // 2
    lags = np.arange(1, max_lag + 1)
    correlations, errors = np.zeros((2, 2, max_lag))
    for variable, columns in enumerate(variables):
        for column in columns:
            squares = column**2
            power = float(squares.mean())
            sums = _lagged_products(column, max_lag)
            sums += power * (n - lags) / (n - 1)  # lost by centring
            variance_of_squares = _lagged_products(squares, max_lag)
            white_variance = power**2 * (n - lags)
            variance = np.maximum(variance_of_squares, white_variance)
            column_errors = sums / np.sqrt(variance)
            column_correlations = sums / (power * (n - lags))
            is_larger = np.abs(column_errors) > np.abs(errors[variable])
            errors[variable, is_larger] = column_errors[is_larger]
            correlations[variable, is_larger] = column_correlations[is_larger]
    tests = max(*map(len, variables), 1) * max_lag
    critical = float(-ndtri(FALSE_ALARM / 2 / tests))
    return _Autocorrelations(correlations, errors, critical, n)


def _lagged_products(column: Values, max_lag: int) -> Values:
    """Sums [max_lag] of products of values [n] at lags 1, 2, ..."""
    length = next_fast_len(len(column) + max_lag, real=True)
    spectrum: Any = rfft(column.astype(np.float32), length)
    products: Any = irfft(np.abs(spectrum) ** 2, length)
    return products[1 : max_lag + 1].astype(np.float64)


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    if number % 100 in (11, 12, 13):
        ending = "th"
    return f"{number:,}{ending}"
