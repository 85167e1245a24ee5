"""Subsamples of rows (groups stay together), without replacement: a repeated row is its own nearest neighbour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import require_int
from infoscope.errors import TooFew
from infoscope.estimators.variables import group_codes

MIN_UNITS = 8  # rows or groups to draw subsamples from: a variance of fewer is hardly known
HALVES, JACKKNIFE = "half-subsamples", "delete-group jackknife"


@dataclass(frozen=True, eq=False)
class Resamples:
    """Subsamples of one data set; estimates that share one have paired errors.

    weights uint8 [n, B]: 1 where a row is in a subsample
    units   number of rows or groups drawn from
    """

    weights: NDArray[np.uint8]
    scheme: str
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
    return Resamples(_rows(chosen, of_row), HALVES, units)


def leave_one_out(n: int, blocks: int, generator: np.random.Generator, groups: ArrayLike | None = None) -> Resamples:
    """The sample without each of `blocks` random equal blocks of n rows; with groups [n], of whole groups."""
    units, of_row = _units(n, groups)
    blocks = min(require_int("blocks", blocks, MIN_UNITS), units)
    part = np.empty(units, np.int64)
    part[generator.permutation(units)] = np.arange(units) % blocks
    weights = _rows((part[:, None] != np.arange(blocks)).astype(np.uint8), of_row)
    return Resamples(weights, JACKKNIFE, units)


def _units(n: int, groups: ArrayLike | None) -> tuple[int, NDArray[np.int64] | None]:
    units, codes = (n, None) if groups is None else group_codes(n, groups)
    if units < MIN_UNITS:
        what = "rows" if groups is None else "groups"
        raise TooFew(f"{what} must be at least {MIN_UNITS} to draw subsamples from, got {units}.")
    return units, codes


def _rows(chosen: NDArray[np.uint8], of_row: NDArray[np.int64] | None) -> NDArray[np.uint8]:
    return np.ascontiguousarray(chosen if of_row is None else chosen[of_row])
