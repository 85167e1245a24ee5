"""A test of dependence between rows at some lag in x and in y (time series, unknown groups, units in turn).

Dependence of both biases estimates upwards: independent autoregressions (coefficient 0.99, n = 1,000) give 0.2 nats.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from infoscope.estimators.variables import Variable, factorise, joint_codes
from infoscope.estimators.variables import copies as row_copies
from infoscope.notebook import InNotebook

FALSE_ALARM = 0.001  # probability that some lag is significant for a variable without memory
MIN_INFLATION = 1.5  # of the variance of a correlation of x and y over independent rows; below it the harm is small

Columns = NDArray[np.float64]


class RowsInSequence(UserWarning):
    """Rows that are treated as independent resemble those of a series."""


@dataclass(frozen=True)
class SerialDependence(InNotebook):
    """Rows at some lag are more similar than others, or more opposite, in x and in y.

    errors  autocorrelations of x and y at the lag `every` in standard errors, negative where opposite
    lag     distance in powers of two from which rows are independent; None: unknown, or `every` is more than 1
    every   the first significant lag
    """

    errors: tuple[float, float]
    lag: int | None
    every: int = 1

    def __str__(self) -> str:
        first, second = ("similar" if error > 0 else "opposite" for error in self.errors)
        which = "rows that follow one another are" if self.every == 1 else f"every {_ordinal(self.every)} row is"
        kept = "" if self.lag is None else f"; one row in {self.lag:,} may be kept, which is independent of the next"
        clear = "{:.0f} and {:.0f} standard errors".format(*map(abs, self.errors))
        units = "" if self.every == 1 else f" (of {self.every:,} units in turn, the row's number modulo {self.every:,})"
        return (
            f"{which} {first} in x and {'' if first == second else second + ' '}in y ({clear}{kept}): the rows of a "
            f"series or of unknown groups are dependent and may show information where there is none; give the groups"
            f"{units}, or shuffle the rows if their order has no meaning"
        )


def serial_dependence(x: Variable, y: Variable, copies: NDArray[np.intp] | None = None) -> SerialDependence | None:
    """The lag at which rows are similar, or opposite, in both x and y; None: not detected. Deterministic.

    Autocorrelations at all lags up to half the rows, of ranks and of indicators of categories, given sort values and
    the other variable's categories: both must be significant at one lag, and the variance inflation 1 + 2 sum |r_x r_y|
    (Bartlett 1935) at least 1.5. Copies of rows are left out: `copies` has their codes [n] (`variables.copies`).

    Not detected: fewer than 30 rows, fast memories at 30 to 80 rows (docs/series.md), short memories (autoregressions
    of coefficient 0.3), a series with a column of time that has fewer than 10 rows per value.
    """
    if x.n < 30:
        return None
    generator = np.random.default_rng(0)
    order = [codes for variable in (x, y) for codes in _sorted_columns(variable)]
    variables = [
        _columns(variable, order + [codes for codes in (other.codes,) if codes is not None], generator)
        for variable, other in ((x, y), (y, x))
    ]
    found = _autocorrelations(variables)
    if copies is not None and found.harmful():
        repeated = np.ones(x.n, bool)
        repeated[np.unique(copies, return_index=True)[1]] = False
        for variable in variables:
            variable[:, repeated] = 0
        found = _autocorrelations(variables)
    if not found.harmful():
        return None
    every, errors = found.first_significant()
    lags = [2**power for power in range(1, x.n.bit_length()) if 2**power <= x.n // 8]
    kept = (lag for lag in lags if every == 1 and found.is_harmless(lag))
    return SerialDependence(errors, next(kept, None), every)


def warn_of_series(x: Variable, y: Variable) -> None:
    """Warns, two calls up, of rows that depend on one another at some lag."""
    found = serial_dependence(x, y, row_copies(x, y))
    if found is not None:
        warnings.warn(f"{found}.", RowsInSequence, stacklevel=3)


def _sorted_columns(variable: Variable) -> list[NDArray[np.intp]]:
    """Codes [n] of monotone columns, and of the joint categories if the rows are sorted by them."""
    steps = np.diff(variable.continuous, axis=0)
    monotone = (steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)
    found = [factorise(column)[0] for column in variable.continuous.T[monotone]]
    if variable.codes is not None and np.count_nonzero(np.diff(variable.codes)) == variable.categories - 1:
        found.append(variable.codes)
    return found


def _columns(variable: Variable, given: list[NDArray[np.intp]], generator: np.random.Generator) -> Columns:
    """Ranks and indicators of categories, or random combinations of many [d, n], less their means by the given codes.

    At most 200,000 numbers, a budget of time; strata of fewer than 10 rows, with dependent residuals, are left out.
    """
    n, few = variable.n, max(1, 200_000 // variable.n)
    indicators = 0 if variable.codes is None else variable.categories - 1
    ranks = (factorise(column)[0].astype(float) for column in variable.continuous.T)
    if variable.dim + indicators <= few:
        found = np.array([*ranks, *(variable.codes == code for code in range(indicators))], float)
    else:
        found = np.zeros((few, n))
        for rank in ranks:
            found += generator.standard_normal((few, 1)) * (rank / rank.std())
        if indicators:
            found += generator.standard_normal((few, variable.categories))[:, variable.codes]
    within = joint_codes(given or [np.zeros(n, np.intp)])[0]
    counts = np.bincount(within)
    before = np.abs(found).max(axis=1)
    for column in found:
        column -= (np.bincount(within, column) / counts)[within]
    found[:, counts[within] < 10] = 0
    return found[np.abs(found).max(axis=1) > 1e-9 * before]


@dataclass(frozen=True)
class _Autocorrelations:
    """Autocorrelations of x and y, and these in standard errors, by lag [2, lags]; the critical value, and n rows."""

    correlations: NDArray[np.float64]
    errors: NDArray[np.float64]
    critical: float
    n: int

    def inflation(self, step: int = 1) -> float:
        """Variance inflation of a correlation of x and y in every `step`-th row, by significant lags."""
        lags = np.arange(step, self.errors.shape[1] + 1, step)
        product = np.abs(self.correlations[:, lags - 1].prod(axis=0)) * (1 - lags / self.n)
        return 1 + 2 * float(product[np.abs(self.errors[:, lags - 1]).min(axis=0) >= 3].sum())  # standard errors

    def harmful(self) -> bool:
        """Whether some lag is significant in both x and y, and the significant lags inflate the variance."""
        return np.abs(self.errors).min(axis=0).max() >= self.critical and self.inflation() >= MIN_INFLATION

    def is_harmless(self, lag: int) -> bool:
        """Whether this lag is not significant, and its multiples inflate the variance little."""
        return np.abs(self.errors[:, lag - 1]).min() < self.critical and self.inflation(lag) < MIN_INFLATION

    def first_significant(self) -> tuple[int, tuple[float, float]]:
        """The first lag with half the largest similarity (else the most opposite one), and its standard errors."""
        alike, apart = self.errors.min(axis=0), np.abs(self.errors).min(axis=0)
        place = int(np.argmax(apart))
        if alike[place] > 0:
            place = int(np.argmax(alike >= alike[place] / 2))
        return place + 1, (float(self.errors[0, place]), float(self.errors[1, place]))


def _autocorrelations(variables: list[Columns]) -> _Autocorrelations:
    """The largest autocorrelations of all columns [d, n] of x and y; of two standard errors the larger is taken."""
    n = variables[0].shape[1]
    most = n // 2
    length, found = next_fast_len(n + most, real=True), []
    lags = np.arange(1, most + 1)
    tests = max(max(len(variable) for variable in variables), 1) * most
    for variable in variables:
        correlations, errors = np.zeros(most), np.zeros(most)
        for column in variable:
            squares = column**2
            power = float(squares.mean())
            sums, own = (
                irfft(np.abs(rfft(one.astype(np.float32), length)) ** 2, length)[1 : most + 1].astype(np.float64)
                for one in (column, squares)
            )
            sums += power * (n - lags) / (n - 1)  # lost by centring
            of_column = sums / np.sqrt(np.maximum(own, power**2 * (n - lags)))
            further = np.abs(of_column) > np.abs(errors)
            errors[further] = of_column[further]
            correlations[further] = (sums / (power * (n - lags)))[further]
        found.append((correlations, errors))
    correlations, errors = (np.array(both) for both in zip(*found))
    return _Autocorrelations(correlations, errors, float(-ndtri(FALSE_ALARM / 2 / tests)), n)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
