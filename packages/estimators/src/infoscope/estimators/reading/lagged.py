"""Series as rows: the past of x, the past of y and y now, with the figures of a reading
in the order of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators.pairs import Pairs
from infoscope.estimators.reading import figures_memory
from infoscope.estimators.reading.figures_conditional import (
    Triples,
    as_conditions,
    left_out,
    principal,
)
from infoscope.estimators.reading.figures_memory import series_of
from infoscope.estimators.reading.figures_sample import Values, prepared
from infoscope.estimators.reading.reader import SERIES_TYPE, kind_of
from infoscope.estimators.reading.result import type_of
from infoscope.estimators.variables import Variable, join


@dataclass(frozen=True, eq=False)
class Lagged:
    """Series as rows: one row for every time that has a whole past.

    pairs   the past of x, and y now
    y_past  conditions: numbers of the past of y together, and labels of each lag
    units   int [n], the series of each row; rows of a series are in the order of time
    """

    pairs: Pairs
    y_past: tuple[Variable, ...]
    units: NDArray[np.intp]

    @property
    def triples(self) -> Triples:
        """The past of x, y now and the past of y: I(x; y | z) is a transfer entropy."""
        return Triples(self.pairs, self.y_past)

    @property
    def type(self) -> str:
        """The type of the sample, by which intervals are calibrated."""
        return SERIES_TYPE + type_of(self.pairs)


def lagged(
    x: Variable, y: Variable, lags: Sequence[int], units: NDArray[np.intp]
) -> Lagged:
    """Series as rows, with the values of x and y at some lags (1: one step ago).

    units [n] is the series of each row of x and y.
    """
    earlier, now = rows_before(units, lags)
    x_past = join(*(x.take(rows) for rows in earlier))
    numbers = Variable(y.continuous, None, 1)
    labels = Variable(np.empty((y.n, 0)), y.codes, y.categories)
    columns = []
    for rows in earlier:
        if y.dim:
            columns.append(numbers.take(rows))
        if y.codes is not None:
            columns.append(labels.take(rows))
    varied = [column for column in columns if column.dim or column.categories > 1]
    return Lagged(Pairs(x_past, y.take(now)), as_conditions(varied), units[now])


def rows_before(
    units: NDArray[np.intp], lags: Sequence[int]
) -> tuple[list[NDArray[np.intp]], NDArray[np.intp]]:
    """For each lag the rows (indices) so many steps earlier, and the rows now."""
    longest = max(lags)
    long_enough = [series for series in series_of(units) if len(series) > longest]
    if not long_enough:
        none = np.empty(0, np.intp)
        return [none] * len(lags), none
    now = np.concatenate([series[longest:] for series in long_enough])
    earlier = []
    for lag in lags:
        parts = [series[longest - lag : len(series) - lag] for series in long_enough]
        earlier.append(np.concatenate(parts))
    return earlier, now


def figures_of(sample: Lagged, given: bool, generator: np.random.Generator) -> Values:
    """The figures of the past of x and y now, float64 [p].

    given  whether they are given the past of y
    """
    kind = kind_of(given)
    order = generator.permutation(sample.pairs.n)
    shuffled = sample.triples.take(order)
    row = kind.figures(shuffled if given else shuffled.pairs, generator)
    memory = memory_of(sample, given, generator)
    for name, value in memory.items():
        row[kind.NAMES.index(name)] = value
    return row


def memory_of(
    sample: Lagged, given: bool, generator: np.random.Generator
) -> dict[str, float]:
    """The figures of memory by name.

    given  whether x and y are replaced by their residuals given the past of y
    """
    x = prepared(sample.pairs.x).linear
    y = prepared(sample.pairs.y).linear
    residual_x = x
    residual_y = y
    if given:
        conditions = [prepared(condition).linear for condition in sample.y_past]
        past = principal(np.hstack(conditions))
        residual_x, _ = left_out(past, principal(x))
        residual_y, _ = left_out(past, principal(y))
    with np.errstate(all="ignore"):
        return figures_memory.memory_figures(
            x, y, residual_x, residual_y, sample.units, generator
        )
