"""Shared by methods that learn from the columns: splits, and columns prepared on
training rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from infoscope.checks import one_of
from infoscope.errors import OutOfRange
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.scales import MARGINS, heavy_tails
from infoscope.estimators.variables import Variable

_STOPPING_SHARE = 0.2  # of the units outside a fold


@dataclass(frozen=True, eq=False)
class Split:
    """Rows (indices) of one fold: what a network is trained on, what stops it early,
    and what is estimated from.
    """

    training: NDArray[np.intp]
    stopping: NDArray[np.intp]
    held: NDArray[np.intp]

    @property
    def seen(self) -> NDArray[np.intp]:
        """The rows that are not held out."""
        return np.concatenate([self.training, self.stopping])


def splits(pairs: Pairs, folds: int, generator: np.random.Generator) -> Iterator[Split]:
    """One split for every fold; a fifth of the training units stop. OutOfRange: fewer
    than two such units.
    """
    fold_of = pairs.folds(folds, generator)
    for fold in range(folds):
        held = fold_of == fold
        outside = generator.permutation(np.unique(pairs.units[~held]))
        if len(outside) < 2:
            raise OutOfRange(
                f"groups must be at least 2 outside each of {folds} folds, to train and to stop, got 1."
            )
        count = max(1, round(_STOPPING_SHARE * len(outside)))
        stops = np.isin(pairs.units, outside[:count])
        trains = ~held & ~stops
        yield Split(np.flatnonzero(trains), np.flatnonzero(stops), np.flatnonzero(held))


@dataclass(frozen=True, eq=False)
class Preparation:
    """A map from rows of a variable to numbers [m, d], fitted to some of its rows:
    `Preparation.fit`.

    centre, scale  [c] of the numeric columns; scale 1 for a constant one
    knots          values and normal scores, ascending, of each ranked column; else None
    rotation       [c, p] leading principal components; None: the columns themselves
    categories     how many categories follow as columns of 0 and 1
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    knots: tuple[tuple[NDArray[np.float64], NDArray[np.float64]] | None, ...]
    rotation: NDArray[np.float64] | None = None
    categories: int = 0

    @classmethod
    def fit(
        cls,
        variable: Variable,
        rows: NDArray,
        margins: str = "auto",
        components: int | None = None,
    ) -> Preparation:
        """Fitted to `rows` (indices or a mask) of the variable.

        margins     as in `scales.prepared`; given: centred only
        components  how many principal components of the numeric columns are kept at most; None: the columns as they are

        ValueError: another word, or no row.
        """
        one_of("margins", margins, MARGINS)
        numbers = variable.continuous[rows]
        if not len(numbers):
            raise OutOfRange("rows must be at least one, got none.")
        ranked = np.full(variable.dim, margins == "rank")
        if margins == "auto" and variable.dim:
            varies = np.ptp(numbers, axis=0) > 0
            ranked[varies] = heavy_tails(numbers[:, varies])
        knots = tuple(
            _normal_scores(column) if rank else None
            for column, rank in zip(numbers.T, ranked)
        )
        unscaled = cls(np.zeros(variable.dim), np.ones(variable.dim), knots)
        values = unscaled._numbers(numbers)
        centre = values.mean(axis=0)
        centred = values - centre
        scale = np.ones(variable.dim)
        if margins != "given":
            scale = centred.std(axis=0)
        scale[scale <= 1e-12 * np.abs(centre)] = 1.0
        scale[scale == 0.0] = 1.0
        rotation = None
        if components is not None:
            rotation = _leading(centred / scale, components)
        categories = 0 if variable.codes is None else variable.categories
        return cls(centre, scale, knots, rotation, categories)

    def __call__(self, variable: Variable) -> NDArray[np.float64]:
        """A variable of the same columns as float64 [n, d]: its numbers, then its
        categories as 0 and 1.
        """
        moved = (self._numbers(variable.continuous) - self.centre) / self.scale
        if self.rotation is not None:
            moved = moved @ self.rotation
        if not self.categories:
            return moved
        return np.hstack([moved, np.eye(self.categories)[variable.codes]])

    def _numbers(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Columns [m, c] with scores in the place of values where knots are."""
        if all(knots is None for knots in self.knots):
            return numbers
        columns = []
        for column, knots in zip(numbers.T, self.knots):
            columns.append(column if knots is None else _scored(column, *knots))
        return np.column_stack(columns)


def _normal_scores(
    column: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The distinct values of a column [m], ascending, and the normal quantile of (mean
    rank / (m + 1)) of each.
    """
    values, counts = np.unique(column, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return values, ndtri(ranks / (len(column) + 1))


def _scored(
    column: NDArray[np.float64],
    values: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Scores of new values [m]: linear between neighbours; beyond the ends d score = d
    log(distance) / score.
    """
    scored = np.interp(column, values, scores)
    if len(values) < 2:
        # it did not vary: nothing is known of its scale
        return scored + column - values[0]
    centre = np.interp(0.0, scores, values)
    below = column < values[0]
    above = column > values[-1]
    for end, beyond, sign in ((0, below, -1), (-1, above, 1)):
        tail = abs(values[end] - centre) or values[-1] - values[0]
        excess = np.log1p(np.abs(column[beyond] - values[end]) / tail)
        slope = max(abs(scores[end]), 1.0)
        scored[beyond] += sign * (excess / slope)
    return scored


def _leading(columns: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The leading principal components [c, p] of centred columns [m, c], p the least of
    count, m - 1 and c.
    """
    m, wide = columns.shape
    count = max(1, min(count, m - 1, wide))
    if wide <= m:
        _, ascending = np.linalg.eigh(columns.T @ columns)
        vectors = ascending[:, ::-1][:, :count]
    else:
        _, _, rows = np.linalg.svd(columns, full_matrices=False)
        vectors = rows[:count].T
    sizes = np.abs(vectors)
    is_largest = sizes > (1 - 1e-6) * sizes.max(axis=0)
    # the first of equal ones, whatever their rounding
    largest = is_largest.argmax(axis=0)
    # else signs are the library's choice
    signs = np.sign(vectors[largest, np.arange(count)])
    return vectors * signs
