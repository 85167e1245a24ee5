"""Splits of rows, and columns prepared on training rows, for methods that are trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


Rows = NDArray[np.intp]
Values = NDArray[np.float64]
Knots = tuple[Values, Values]


@dataclass(frozen=True, eq=False)
class Split:
    """Rows (indices) of one fold.

    training  trains a network
    stopping  stops its training early
    held      held out: the information is estimated from these rows
    """

    training: Rows
    stopping: Rows
    held: Rows

    @property
    def seen(self) -> Rows:
        """The rows that are not held out."""
        return np.concatenate([self.training, self.stopping])


def splits(pairs: Pairs, folds: int, generator: np.random.Generator) -> Iterator[Split]:
    """One split for every fold; a fifth of the training units stop the training early.

    OutOfRange: fewer than two units outside a fold.
    """
    fold_of_row = pairs.folds(folds, generator)
    for fold in range(folds):
        is_held = fold_of_row == fold
        units = np.unique(pairs.units[~is_held])
        outside = generator.permutation(units)
        if len(outside) < 2:
            raise OutOfRange(
                f"groups must be at least 2 outside each of {folds} folds, to train "
                "and to stop, got 1."
            )
        count = max(1, round(_STOPPING_SHARE * len(outside)))
        is_stopping = np.isin(pairs.units, outside[:count])
        training = np.flatnonzero(~is_held & ~is_stopping)
        stopping = np.flatnonzero(is_stopping)
        held = np.flatnonzero(is_held)
        yield Split(training, stopping, held)


@dataclass(frozen=True, eq=False)
class Preparation:
    """A map from rows of a variable to numbers [m, d], fitted to some of its rows.

    centre, scale  [c] of the numeric columns; scale 1 for a constant column
    knots          values and normal scores, ascending, of each ranked column; None for other columns
    rotation       [c, p] leading principal components; None: the columns themselves
    categories     number of categories, which follow as columns of 0 and 1
    """

    centre: Values
    scale: Values
    knots: tuple[Knots | None, ...]
    rotation: Values | None = None
    categories: int = 0

    @classmethod
    def fit(
        cls,
        variable: Variable,
        rows: NDArray | slice,
        margins: str = "auto",
        components: int | None = None,
    ) -> Preparation:
        """Fitted to `rows` (indices or a mask) of the variable.

        margins     as in `scales.prepared`; given: centred only
        components  largest number of principal components of the numeric columns; None: the columns themselves

        ValueError: another value of margins, or no row.
        """
        one_of("margins", margins, MARGINS)
        numbers = variable.continuous[rows]
        if not len(numbers):
            raise OutOfRange("rows must be at least one, got none.")
        is_ranked = np.full(variable.dim, margins == "rank")
        if margins == "auto" and variable.dim:
            varies = np.ptp(numbers, axis=0) > 0
            is_ranked[varies] = heavy_tails(numbers[:, varies])
        knots: list[Knots | None] = [None] * variable.dim
        for place in np.flatnonzero(is_ranked):
            knots[place] = _normal_scores(numbers[:, place])
        values = _with_scores(numbers, knots)
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
        return cls(centre, scale, tuple(knots), rotation, categories)

    def __call__(self, variable: Variable) -> Values:
        """A variable with the same columns as float64 [n, d].

        Its numbers come first, then its categories as 0 and 1.
        """
        numbers = _with_scores(variable.continuous, self.knots)
        scaled = (numbers - self.centre) / self.scale
        if self.rotation is not None:
            scaled = scaled @ self.rotation
        if not self.categories:
            return scaled
        indicators = np.eye(self.categories)[variable.codes]
        return np.hstack([scaled, indicators])


def _with_scores(numbers: Values, knots: Sequence[Knots | None]) -> Values:
    """Columns [m, c], with scores in the columns that have knots."""
    scored = numbers
    for place, column_knots in enumerate(knots):
        if column_knots is not None:
            if scored is numbers:
                scored = numbers.copy()
            scored[:, place] = _scored(numbers[:, place], *column_knots)
    return scored


def _normal_scores(column: Values) -> Knots:
    """The distinct values of a column [m], ascending, and the normal score of each.

    The score is the normal quantile of mean rank / (m + 1).
    """
    values, counts = np.unique(column, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return values, ndtri(ranks / (len(column) + 1))


def _scored(column: Values, values: Values, scores: Values) -> Values:
    """Scores of new values [m], linear between knots.

    Beyond the knots d score = d log(distance) / score.
    """
    scored = np.interp(column, values, scores)
    if len(values) < 2:
        # a constant training column, whose scale is unknown
        return scored + column - values[0]
    centre = np.interp(0.0, scores, values)
    below = column < values[0]
    above = column > values[-1]
    for end, beyond, sign in ((0, below, -1), (-1, above, 1)):
        tail = abs(values[end] - centre) or values[-1] - values[0]
        distances = np.abs(column[beyond] - values[end])
        excess = np.log1p(distances / tail)
        slope = max(abs(scores[end]), 1.0)
        scored[beyond] += sign * (excess / slope)
    return scored


def _leading(columns: Values, count: int) -> Values:
    """The leading principal components [c, p] of centred columns [m, c].

    p is the smallest of count, m - 1 and c, and at least 1.
    """
    m, wide = columns.shape
    count = max(1, min(count, m - 1, wide))
    if wide <= m:
        _, ascending = np.linalg.eigh(columns.T @ columns)
        vectors = ascending[:, ::-1][:, :count]
    else:
        _, _, rows = np.linalg.svd(columns, full_matrices=False)
        vectors = rows[:count].T
    # the sign of a component is arbitrary: its largest entry becomes positive, the
    # first entry if several are equal up to rounding
    sizes = np.abs(vectors)
    is_largest = sizes > (1 - 1e-6) * sizes.max(axis=0)
    largest = is_largest.argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(count)])
    return vectors * signs
