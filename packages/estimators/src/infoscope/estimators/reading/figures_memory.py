"""Figures of the order of rows: how long x and y remember, and what is left of a
dependence when x is shifted in time.

They are missing where rows have no order. Autocorrelations are of normal scores and of
indicators of categories.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.random import Generator
from scipy.fft import irfft, next_fast_len, rfft

from infoscope.estimators.reading.figures_heldout import in_order
from infoscope.estimators.reading.figures_neighbours import estimates
from infoscope.estimators.reading.figures_sample import (
    Values,
    gaussian_information,
    leading,
    scaled,
)

MAX_COLUMNS = 8  # of a variable; of more, leading components
MAX_NEAR = 2_000  # successive rows among which neighbours are searched
SHIFTS = 40  # circular shifts of x for Gaussian information
NEAR_SHIFTS = 4  # circular shifts of x for KSG
BLOCKS = 10  # successive parts whose means are compared
MIN_DRIFT = 100  # rows of a series that can drift
LOW_FREQUENCIES = 0.6  # exponent: n^0.6 frequencies for the slope of a spectrum

MEANING: Mapping[str, str] = {
    "memory_more": "correlation of a row with the next one, largest of the columns of x or of y, larger",
    "memory_fewer": "correlation of a row with the next one, largest of the columns of x or of y, smaller",
    "memory_inflation": "log of 1 + twice the sum over lags of products of the autocorrelations of x and y",
    "memory_slope_more": "slope of the log spectrum at low frequencies (Geweke & Porter-Hudak 1983), larger",
    "memory_slope_fewer": "slope of the log spectrum at low frequencies, smaller",
    "memory_squares_more": "correlation of a squared row with the next one, larger",
    "memory_squares_fewer": "correlation of a squared row with the next one, smaller",
    "drift_more": "share of the variance that lies between ten successive parts, larger",
    "drift_fewer": "share of the variance that lies between ten successive parts, smaller",
    "innovation_memory": "log of 1 + twice the sum over lags of products of autocorrelations of residuals",
    "shifted_gaussian": "Gaussian information of residuals when x is shifted in time, mean of 40 shifts",
    "shifted_gaussian_most": "Gaussian information of residuals when x is shifted in time, largest of 40 shifts",
    "shifted_ksg": "KSG of residuals when x is shifted in time, k = 5, mean of 4 shifts",
    "shifted_ksg_most": "KSG of residuals when x is shifted in time, k = 5, largest of 4 shifts",
}
NAMES: tuple[str, ...] = tuple(MEANING)
INFORMATION = frozenset(name for name in NAMES if name.startswith("shifted"))


def memory_figures(
    x: Values,
    y: Values,
    residual_x: Values,
    residual_y: Values,
    units: Values,
    generator: Generator,
) -> dict[str, float]:
    """The figures by name of rows in the order of time.

    x, y                    scores [n, p] and [n, q]
    residual_x, residual_y  what a condition leaves of them; x and y themselves where there is none
    units                   int [n], the series of each row; rows of a series follow one another
    """
    x = reduced(x)
    y = reduced(y)
    residual_x = reduced(residual_x)
    residual_y = reduced(residual_y)
    memory = []
    squares = []
    slopes = []
    drifts = []
    for columns in (x, y):
        memory.append(autocorrelations(columns, units))
        squares.append(autocorrelations(scaled(columns**2), units))
        slopes.append(spectral_slope(columns, units))
        drifts.append(drift(columns, units))
    memory_x, memory_y = memory
    innovations_x = autocorrelations(residual_x, units)
    innovations_y = autocorrelations(residual_y, units)
    return {
        **in_order("memory", [values[:, 1].max() for values in memory]),
        "memory_inflation": log_inflation(memory_x, memory_y),
        **in_order("memory_slope", slopes),
        **in_order("memory_squares", [values[:, 1].max() for values in squares]),
        **in_order("drift", drifts),
        "innovation_memory": log_inflation(innovations_x, innovations_y),
        **_shifted(residual_x, residual_y, units, generator),
    }


def reduced(columns: Values) -> Values:
    """At most MAX_COLUMNS columns, or leading components, at mean 0 and deviation 1."""
    return scaled(leading(columns, MAX_COLUMNS))


def autocorrelations(columns: Values, units: Values) -> Values:
    """Autocorrelations [p, lags] of columns [n, p] over all series.

    Lags are from 0 to half of the longest series.
    """
    longest = int(np.bincount(units).max())
    length = next_fast_len(2 * longest, real=True)
    sums = np.zeros((columns.shape[1], longest // 2 + 1))
    for series in series_of(units):
        power = _power(columns[series], length)
        products = np.asarray(irfft(power.T, length, axis=1))
        lags = min(sums.shape[1], len(series))
        sums[:, :lags] += products[:, :lags]
    return sums / np.maximum(sums[:, :1], np.finfo(float).tiny)


def _power(columns: Values, length: int | None) -> Values:
    """Squared moduli [frequencies, p] of the Fourier transforms of columns [n, p]."""
    coefficients = np.asarray(rfft(columns, length, axis=0))
    return np.abs(coefficients) ** 2


def log_inflation(x: Values, y: Values) -> float:
    """log(1 + 2 sum |r_x r_y|) of autocorrelations [p, lags] and [q, lags].

    The sum (Bartlett 1935) ends where the product is within its noise for the first
    time. At each lag the largest autocorrelations of the columns are used.
    """
    slowest_x = np.abs(x).max(axis=0)
    slowest_y = np.abs(y).max(axis=0)
    product = slowest_x[1:] * slowest_y[1:]
    # two standard errors, squared, of about 2 x lags rows
    noise = 4 / (2 * len(product))
    is_noise = product < noise
    end = is_noise.argmax() if is_noise.any() else len(product)
    return float(np.log1p(2 * product[:end].sum()))


def spectral_slope(columns: Values, units: Values) -> float:
    """The parameter d of long memory, from the spectrum at low frequencies.

    It is the negative slope of log power on log 4 sin^2(frequency / 2), the largest of
    the columns: 0 for short memory, at least 1/2 for series that are not stationary.
    """
    slopes = []
    for series in series_of(units):
        count = int(len(series) ** LOW_FREQUENCIES)
        if count < 5:
            continue
        frequencies = np.arange(1, count + 1) / len(series)
        values = columns[series]
        power = _power(values - values.mean(axis=0), len(series))[1 : count + 1]
        log_power = np.log(np.maximum(power, 1e-12))
        log_frequency = np.log(4 * np.sin(np.pi * frequencies) ** 2)
        slope, _ = np.polyfit(log_frequency, log_power, 1)
        slopes.append(-slope)
    if not slopes:
        return np.nan
    return float(np.mean(slopes, axis=0).max())


def drift(columns: Values, units: Values) -> float:
    """Share of the variance that lies between successive parts of a series.

    It is the largest of columns [n, p]. Series of fewer than MIN_DRIFT rows are left
    out; the share is 0 if all series are.
    """
    between = np.zeros(columns.shape[1])
    total = np.zeros(columns.shape[1])
    for series in series_of(units):
        if len(series) < MIN_DRIFT:
            continue
        values = columns[series] - columns[series].mean(axis=0)
        for part in np.array_split(values, BLOCKS):
            between += len(part) * part.mean(axis=0) ** 2
        total += (values**2).sum(axis=0)
    shares = between / np.maximum(total, np.finfo(float).tiny)
    return float(shares.max())


def series_of(units: Values) -> list[Values]:
    """The rows (indices) of each series, in their order."""
    order = np.argsort(units, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(units[order])) + 1)


def shifted_rows(units: Values, generator: Generator) -> Values:
    """For every row another row [n] of its series, by a circular shift.

    The shift is at least a tenth of the series.
    """
    rows = np.empty(len(units), np.intp)
    for series in series_of(units):
        least = max(1, len(series) // 10)
        end = max(least + 1, len(series) - least)
        shift = int(generator.integers(least, end))
        rows[series] = np.roll(series, shift)
    return rows


def _shifted(
    x: Values, y: Values, units: Values, generator: Generator
) -> dict[str, float]:
    """Estimates from y and x shifted in time, which share no information, nats."""
    gaussian = []
    for _ in range(SHIFTS):
        shifted = x[shifted_rows(units, generator)]
        gaussian.append(gaussian_information(shifted, y))
    start = int(generator.integers(max(1, len(y) - MAX_NEAR + 1)))
    near = slice(start, start + MAX_NEAR)
    near_y = (y[near], None)
    ksg = []
    for _ in range(NEAR_SHIFTS):
        shifted = x[shifted_rows(units, generator)]
        near_x = (shifted[near], None)
        ksg.append(estimates(near_x, near_y, None, (5,))[0])
    return {
        "shifted_gaussian": float(np.mean(gaussian)),
        "shifted_gaussian_most": float(np.max(gaussian)),
        "shifted_ksg": float(np.mean(ksg)),
        "shifted_ksg_most": float(np.max(ksg)),
    }
