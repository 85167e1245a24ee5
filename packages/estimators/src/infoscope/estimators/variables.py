"""Variable: a checked sample of one variable, its numeric columns and the joint
category of the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

# rows per value, on average, from which a column is rounded; whole numbers look like
# labels
MIN_REPEATS = 2
_STEP_TOLERANCE = 1e-4  # share of a step, for decimals in float32
_RADIUS_TOLERANCE = 1e-5  # of cosines and sines in float32, share of the radius
POINT_MASS = 0.1  # share of the rows at one value from which it is a point mass


@dataclass(frozen=True, eq=False)
class Variable:
    """A checked sample of one (possibly multivariate, possibly mixed) variable.

    continuous  float64 [n, c], the numeric columns, finite; c may be 0
    codes       intp [n] in 0..categories-1, the joint category of all discrete columns; None if there are none
    ranked      how many of the continuous columns hold normal scores
    notes       changes of the values, one sentence each
    """

    continuous: np.ndarray
    codes: np.ndarray | None
    categories: int
    ranked: int = 0
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        return len(self.continuous)

    @property
    def dim(self) -> int:
        """Number of continuous columns."""
        return self.continuous.shape[1]

    @property
    def kind(self) -> str:
        """continuous, discrete or mixed."""
        if self.codes is None:
            return "continuous"
        return "mixed" if self.dim else "discrete"

    @property
    def on_circles(self) -> bool:
        """Whether all columns are angles: pairs of cosine and sine, of a constant sum
        of squares.
        """
        if self.codes is not None or not self.dim or self.dim % 2:
            return False
        radius = np.hypot(self.continuous[:, ::2], self.continuous[:, 1::2])
        return bool(
            (np.ptp(radius, axis=0) <= _RADIUS_TOLERANCE * radius.max(axis=0)).all()
        )

    def scales(self) -> np.ndarray:
        """Standard deviation of every continuous column [c], in the column's unit."""
        centred = self.continuous - self.continuous.mean(axis=0)
        # divided out, so that squares neither overflow nor underflow
        largest = np.abs(centred).max(axis=0)
        return largest * np.sqrt(np.mean((centred / largest) ** 2, axis=0))

    def standardised(self) -> Variable:
        """The variable with continuous columns of standard deviation 1 and mean near 0;
        ties stay ties.
        """
        scores = (self.continuous - self.continuous.mean(axis=0)) / self.scales()
        for place, column in enumerate(self.continuous.T):
            steps = in_steps(column)
            if steps is not None:
                scores[:, place] = (steps - np.round(steps.mean())) * short(
                    1 / steps.std()
                )
        return replace(self, continuous=scores)

    def rank_normal(self, columns: np.ndarray | None = None) -> Variable:
        """Normal scores, quantiles of (mean rank / (n + 1)), in the place of columns
        [c] (a mask; None: all).
        """
        if columns is None:
            columns = np.ones(self.dim, bool)
        if not columns.any():
            return self
        from scipy.stats import rankdata  # takes two seconds to import

        ranks = rankdata(self.continuous[:, columns], axis=0)
        mirrored_ranks = self.n + 1 - ranks
        lower_tail = np.minimum(ranks, mirrored_ranks) / (self.n + 1)
        scores = -np.sign(mirrored_ranks - ranks) * np.abs(ndtri(lower_tail))
        # sorted: rounds alike in any order of rows
        deviations = np.sort(scores, axis=0).std(axis=0)
        continuous = self.continuous.copy()
        continuous[:, columns] = scores / deviations
        return replace(self, continuous=continuous, ranked=int(columns.sum()))

    def as_numbers(self) -> np.ndarray:
        """The numbers as they are, and a column of 0 and 1 for each joint category [n,
        d].
        """
        if self.codes is None:
            return self.continuous
        indicators = np.eye(self.categories)[self.codes]
        return np.hstack([self.continuous, indicators])

    def take(self, rows: np.ndarray) -> Variable:
        """The sample at `rows` (indices or a mask)."""
        codes, categories = (
            (None, 1) if self.codes is None else factorise(self.codes[rows])
        )
        return replace(
            self, continuous=self.continuous[rows], codes=codes, categories=categories
        )


def join(*variables: Variable) -> Variable:
    """One variable of all columns: numeric columns stacked, categories joined."""
    codes, categories = joint_codes(
        [variable.codes for variable in variables if variable.codes is not None]
    )
    continuous = np.hstack([variable.continuous for variable in variables])
    ranked = sum(variable.ranked for variable in variables)
    notes = [note for variable in variables for note in variable.notes]
    return Variable(continuous, codes, categories, ranked, tuple(dict.fromkeys(notes)))


def in_steps(column: np.ndarray) -> np.ndarray | None:
    """The column [n] in whole steps from its least value, if its values repeat and are
    equally spaced; else None.
    """
    first = column[:1000]
    if len(np.unique(first)) == len(first):  # of values that repeat, some would have
        return None
    distinct = np.unique(column)
    if len(column) < MIN_REPEATS * len(distinct):
        return None
    return _whole_steps(column, distinct)


def _whole_steps(column: np.ndarray, distinct: np.ndarray) -> np.ndarray | None:
    """The column [n] in whole steps from its least value, if its sorted values are
    equally spaced; else None.
    """
    smallest = np.diff(distinct).min()
    span = distinct[-1] - distinct[0]
    step = span / np.round(span / smallest)
    steps = (column - distinct[0]) / step
    whole_steps = np.round(steps)
    is_grid = (
        np.abs(steps - whole_steps).max() < _STEP_TOLERANCE
        and whole_steps.max() < 2**30
    )
    return whole_steps if is_grid else None


def grid_step(column: np.ndarray) -> float:
    """The step of values [n] that are whole multiples of one, at least two of them; 0
    for other values.
    """
    steps = _whole_steps(column, np.unique(column))
    return 0.0 if steps is None else float(np.ptp(column) / steps.max())


def row_codes(*variables: Variable) -> np.ndarray:
    """Codes 0..m-1 [n] of the rows that are equal in every column of all variables."""
    numbers = [variable.continuous for variable in variables]
    labels = [
        variable.codes[:, None] for variable in variables if variable.codes is not None
    ]
    rows = np.ascontiguousarray(np.hstack([*numbers, *labels]) + 0.0)  # -0 is 0
    if rows.shape[1] > 1:
        rows = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    return factorise(rows[:, 0])[0]


def copies(*variables: Variable) -> np.ndarray | None:
    """Codes [n] of equal rows if they are copies, as some unrounded column repeats in
    them only; else None.
    """
    codes = row_codes(*variables)
    n = len(codes)
    distinct_rows = int(codes.max()) + 1
    if distinct_rows == n:
        return None
    for column in np.hstack([variable.continuous for variable in variables]).T:
        values, value_codes, sizes = np.unique(
            column, return_inverse=True, return_counts=True
        )
        is_rare_value = sizes < max(POINT_MASS * n, 2)
        rare_values = values[is_rare_value]
        is_rare = is_rare_value[value_codes.reshape(-1)]
        if len(rare_values) < 2 or len(np.unique(codes[is_rare])) != len(rare_values):
            continue
        if not _rounded(rare_values, n):
            if len(rare_values) == is_rare.sum():
                return None
            codes[~is_rare] = distinct_rows + np.arange(np.sum(~is_rare))
            return factorise(codes)[0]
    return None


def _rounded(values: np.ndarray, n: int) -> bool:
    """Whether sorted distinct values are rounded, to equal steps or significant
    (decimal or binary) digits, so coarsely that n numbers repeat by chance: to no more
    levels than there are pairs of rows.
    """
    steps = _whole_steps(values, values)
    if steps is not None and steps.max() <= n**2:
        return True
    sizes = np.abs(values[values != 0])
    for base in (10.0, 2.0):
        digits = math.floor(2 * math.log(n, base))
        exponents = np.floor(np.log(sizes) / math.log(base))
        mantissas = sizes / base**exponents * base ** (digits - 1)
        if np.abs(mantissas - np.round(mantissas)).max() < _STEP_TOLERANCE:
            return True
    return False


def short(value: float) -> float:
    """The value to 20 binary digits, so that whole multiples of it, and their
    differences, are exact.
    """
    digits, exponent = np.frexp(value)
    return float(np.ldexp(np.round(np.ldexp(digits, 20)), exponent - 20))


def factorise(labels: np.ndarray) -> tuple[np.ndarray, int]:
    """Codes 0..m-1 [n] of the distinct labels, and m."""
    distinct, codes = np.unique(labels, return_inverse=True)
    return codes.reshape(-1).astype(np.intp), len(distinct)


def of_kept(groups: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """The groups of some rows (indices or a mask), as codes 0, 1, ...; None: no groups."""
    return None if groups is None else factorise(groups[rows])[0]


def joint_codes(codes: Sequence[np.ndarray]) -> tuple[np.ndarray | None, int]:
    """One code for each combination that occurs, and how many occur; (None, 1) of
    nothing.
    """
    if not codes:
        return None, 1
    first, *others = codes
    joint, count = factorise(first)
    for column in others:
        joint, count = factorise(joint * (int(column.max()) + 1) + column)
    return joint, count
