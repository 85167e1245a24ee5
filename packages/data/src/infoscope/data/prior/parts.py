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


@dataclass(frozen=True)
class Request:
    """A requested subsystem: kinds (numbers, categories or both), nats, largest numbers of number columns, ties."""

    x: str
    y: str
    nats: float
    columns: tuple[int, int]
    tied: tuple[bool, bool]

    @property
    def sides(self) -> zip[tuple[str, int, bool]]:
        """Kind, most number columns and ties of x and of y."""
        return zip((self.x, self.y), self.columns, self.tied)


@dataclass(frozen=True, eq=False)
class Part:
    """A subsystem: its draws, its mutual information (nats, standard error), and which number columns have ties.

    Of a triple, draws and ties are of x, y and z, and the information is that of x and y given z.
    """

    family: str
    description: str
    draw: Callable[[int, Generator], tuple[Sample, ...]]
    truth: Callable[[Generator], tuple[float, float]]
    tied: tuple[bool, ...] = (False, False)  # of all number columns of x and y

    def exchanged(self) -> Part:
        """The same subsystem with x and y exchanged."""
        plain = self.description.removesuffix(EXCHANGED)
        text = plain if plain != self.description else plain + EXCHANGED
        return Part(self.family, text, lambda n, g: _exchanged(self.draw(n, g)), self.truth, _exchanged(self.tied))


def _exchanged(values: tuple) -> tuple:
    """The values with the first two exchanged."""
    first, second, *others = values
    return second, first, *others


def numbers(columns: Array) -> Sample:
    """A sample of numbers alone; [n] is one column."""
    columns = columns[:, None] if columns.ndim == 1 else columns
    return Sample(np.ascontiguousarray(columns, dtype=float), np.empty((len(columns), 0), np.int64))


def categories(codes: NDArray) -> Sample:
    """A sample of categories alone; [n] is one column."""
    codes = codes[:, None] if codes.ndim == 1 else codes
    return Sample(np.empty((len(codes), 0)), codes.astype(np.int64))


def joined(samples: list[Sample]) -> Sample:
    """The columns of several samples of the same rows."""
    return Sample(np.concatenate([s.numbers for s in samples], 1), np.concatenate([s.labels for s in samples], 1))
