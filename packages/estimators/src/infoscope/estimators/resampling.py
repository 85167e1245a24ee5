"""Subsamples of rows (groups stay together), without replacement: a repeated row is its own nearest neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import require_int
from infoscope.errors import OutOfRange, TooFew, WrongLength
from infoscope.estimators.variables import as_codes

FEWEST_UNITS = 8  # of which subsamples are drawn: fewer say next to nothing about a variance
HALVES, JACKKNIFE, PARTITIONS = "half-subsamples", "delete-group jackknife", "partitions"


@dataclass(frozen=True, eq=False)
class Resamples:
    """Subsamples of one data set; estimates that share one have paired errors.

    weights uint8 [n, B]: 1 where a row is in a subsample
    parts   int [B]: number of parts of the division
    units   number of rows or groups drawn from
    """

    weights: NDArray[np.uint8]
    scheme: str
    parts: NDArray[np.int64]
    units: int

    @property
    def n(self) -> int:
        return len(self.weights)

    @property
    def count(self) -> int:
        return self.weights.shape[1]


def halves(n: int, count: int, generator: np.random.Generator, groups: ArrayLike | None = None) -> Resamples:
    """`count` independent random half-samples of n rows, or of their groups [n], without replacement."""
    units, of_row = _units(n, groups)
    count = require_int("count", count, 10)
    chosen = np.zeros((units, count), np.uint8)
    for column in chosen.T:
        column[generator.permutation(units)[: units // 2]] = 1
    return Resamples(_rows(chosen, of_row), HALVES, np.full(count, 2), units)


def partitions(
    n: int, parts: Sequence[int], generator: np.random.Generator, groups: ArrayLike | None = None
) -> Resamples:
    """For each number in `parts` a random division of n rows, or of their groups [n], into that many equal parts."""
    units, of_row = _units(n, groups)
    if not len(parts) or min(parts) < 2 or max(parts) > units:
        raise OutOfRange(f"parts must be whole numbers from 2 to {units} (what there is to divide), got {list(parts)}.")
    chosen = []
    for number in parts:
        part = np.empty(units, np.int64)
        part[generator.permutation(units)] = np.arange(units) % number
        chosen.append(part[:, None] == np.arange(number))
    weights = _rows(np.hstack(chosen).astype(np.uint8), of_row)
    return Resamples(weights, PARTITIONS, np.repeat(parts, parts), units)


def leave_one_out(n: int, blocks: int, generator: np.random.Generator, groups: ArrayLike | None = None) -> Resamples:
    """The sample without each of `blocks` random equal blocks of n rows; with groups [n], of whole groups."""
    units, of_row = _units(n, groups)
    blocks = min(require_int("blocks", blocks, FEWEST_UNITS), units)
    part = np.empty(units, np.int64)
    part[generator.permutation(units)] = np.arange(units) % blocks
    weights = _rows((part[:, None] != np.arange(blocks)).astype(np.uint8), of_row)
    return Resamples(weights, JACKKNIFE, np.full(blocks, blocks), units)


def group_codes(n: int, groups: ArrayLike) -> tuple[int, NDArray[np.int64]]:
    """How many groups there are, and the number of each row's [n]. ValueError: another length, or missing names."""
    codes = as_codes("groups", groups)
    if codes.shape != (n,):
        raise WrongLength(f"groups must have one entry for each of the {n} rows, got shape {codes.shape}.")
    return int(codes.max()) + 1, codes.astype(np.int64)


def _units(n: int, groups: ArrayLike | None) -> tuple[int, NDArray[np.int64] | None]:
    units, codes = (n, None) if groups is None else group_codes(n, groups)
    if units < FEWEST_UNITS:
        what = "rows" if groups is None else "groups"
        raise TooFew(f"{what} must be at least {FEWEST_UNITS} to draw subsamples from, got {units}.")
    return units, codes


def _rows(chosen: NDArray[np.uint8], of_row: NDArray[np.int64] | None) -> NDArray[np.uint8]:
    return np.ascontiguousarray(chosen if of_row is None else chosen[of_row])
