"""Independent subsystems of a distribution, and samples of x and y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoscope.data.prior.draws import Array, Generator

EXCHANGED = " (x and y exchanged)"  # end of a description


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample of x or y: numbers [n, p] and category codes [n, q]; p or q may be 0."""

    numbers: NDArray[np.float64]
    labels: NDArray[np.int64]


Pair = tuple[Sample, Sample]  # of x and y
# information in nats and its standard error; random if Monte Carlo
Truth = Callable[[Generator], tuple[float, float]]


@dataclass(frozen=True)
class Request:
    """A requested subsystem of x and y.

    x, y     kinds: numbers, categories or both
    nats     about the mutual information
    columns  largest numbers of number columns of x and of y
    tied     whether number columns of x, and of y, have ties
    """

    x: str
    y: str
    nats: float
    columns: tuple[int, int]
    tied: tuple[bool, bool]

    @property
    def sides(self) -> zip:
        """Kind, most number columns and ties of x and of y."""
        return zip((self.x, self.y), self.columns, self.tied)


@dataclass(frozen=True, eq=False)
class Part:
    """A subsystem: draws, mutual information with its standard error, and ties.

    Of a triple, draws and ties are of x, y and z, and the truth is I(x; y | z).
    """

    family: str
    description: str
    draw: Callable[[int, Generator], tuple[Sample, ...]]
    truth: Truth
    tied: tuple[bool, ...] = (False, False)  # of all number columns of x and y

    def exchanged(self) -> Part:
        """The same subsystem with x and y exchanged."""

        def draw(n, g):
            return _exchanged(self.draw(n, g))

        text = self.description.removesuffix(EXCHANGED)
        if text == self.description:
            text += EXCHANGED
        return Part(self.family, text, draw, self.truth, _exchanged(self.tied))


def _exchanged(values: tuple) -> tuple:
    """The values with the first two exchanged."""
    x, y, *others = values
    return y, x, *others


def exactly(nats: float) -> Truth:
    """The truth of information in closed form: its standard error is 0."""
    return lambda g: (nats, 0.0)


def numbers(columns: Array) -> Sample:
    """A sample of numbers alone; [n] is one column."""
    table = columns.reshape(len(columns), -1)
    without_labels = np.empty((len(table), 0), np.int64)
    return Sample(np.ascontiguousarray(table, dtype=float), without_labels)


def categories(codes: NDArray) -> Sample:
    """A sample of categories alone; [n] is one column."""
    table = codes.reshape(len(codes), -1)
    without_numbers = np.empty((len(table), 0))
    return Sample(without_numbers, table.astype(np.int64))


def joined(samples: list[Sample]) -> Sample:
    """The columns of several samples of the same rows."""
    values = [sample.numbers for sample in samples]
    codes = [sample.labels for sample in samples]
    return Sample(np.concatenate(values, axis=1), np.concatenate(codes, axis=1))
