"""Variable: a checked sample, its numeric columns and one joint category of the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

# rows per value, on average, from which a column is taken as rounded
MIN_REPEATS = 2
_STEP_TOLERANCE = 1e-4  # share of a step, for decimals in float32
_RADIUS_TOLERANCE = 1e-5  # of cosines and sines in float32, share of the radius
POINT_MASS = 0.1  # share of the rows at one value from which it is a point mass


@dataclass(frozen=True, eq=False)
class Variable:
    """A checked sample of one (possibly multivariate, possibly mixed) variable.

    continuous  float64 [n, c], the numeric columns, finite; c may be 0
    codes       intp [n] in 0..categories-1, the joint category of all discrete columns; None: no discrete columns
    ranked      number of continuous columns that hold normal scores
    notes       changes of the values, one sentence each
    """

    continuous: np.ndarray
    codes: np.ndarray | None
    categories: int
    ranked: int = 0
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of rows."""
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
    def strata(self) -> np.ndarray:
        """Codes [n] of the joint category; 0 in all rows if no column is discrete."""
        if self.codes is None:
            return np.zeros(self.n, np.intp)
        return self.codes

    @property
    def on_circles(self) -> bool:
        """Whether all columns are angles: pairs of cosine and sine on a circle."""
        if self.codes is not None or not self.dim or self.dim % 2:
            return False
        cosines = self.continuous[:, ::2]
        sines = self.continuous[:, 1::2]
        radius = np.hypot(cosines, sines)
        tolerance = _RADIUS_TOLERANCE * radius.max(axis=0)
        return bool((np.ptp(radius, axis=0) <= tolerance).all())

    def scales(self) -> np.ndarray:
        """Standard deviation of every continuous column [c], in the column's unit."""
        centred = self.continuous - self.continuous.mean(axis=0)
        # division by the largest value keeps the squares in the range of floats
        largest = np.abs(centred).max(axis=0)
        squares = (centred / largest) ** 2
        return largest * np.sqrt(np.mean(squares, axis=0))

    def standardised(self) -> Variable:
        """The variable with continuous columns of standard deviation 1 and mean near 0.

        Equal distances between values stay equal.
        """
        scores = (self.continuous - self.continuous.mean(axis=0)) / self.scales()
        for place, column in enumerate(self.continuous.T):
            steps = in_steps(column)
            if steps is not None:
                centred = steps - np.round(steps.mean())
                scores[:, place] = centred * short(1 / steps.std())
        return replace(self, continuous=scores)

    def rank_normal(self, columns: np.ndarray | None = None) -> Variable:
        """The variable with normal scores in columns [c] (a mask; None: all).

        A normal score is the normal quantile of mean rank / (n + 1).
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
        # sorting makes the rounding independent of the order of rows
        deviations = np.sort(scores, axis=0).std(axis=0)
        continuous = self.continuous.copy()
        continuous[:, columns] = scores / deviations
        return replace(self, continuous=continuous, ranked=int(columns.sum()))

    def as_numbers(self) -> np.ndarray:
        """The numbers, then a column of 0 and 1 for each joint category [n, d]."""
        if self.codes is None:
            return self.continuous
        indicators = np.eye(self.categories)[self.codes]
        return np.hstack([self.continuous, indicators])

    def take(self, rows: np.ndarray) -> Variable:
        """The sample at `rows` (indices or a mask)."""
        continuous = self.continuous[rows]
        if self.codes is None:
            return replace(self, continuous=continuous)
        codes, categories = factorise(self.codes[rows])
        return replace(self, continuous=continuous, codes=codes, categories=categories)


def join(*variables: Variable) -> Variable:
    """One variable of all columns: numeric columns stacked, categories joined."""
    numbers, labels, notes = [], [], []
    ranked = 0
    for variable in variables:
        numbers.append(variable.continuous)
        ranked += variable.ranked
        notes += variable.notes
        if variable.codes is not None:
            labels.append(variable.codes)
    codes, categories = joint_codes(labels) if labels else (None, 1)
    distinct_notes = tuple(dict.fromkeys(notes))
    return Variable(np.hstack(numbers), codes, categories, ranked, distinct_notes)


def in_steps(column: np.ndarray) -> np.ndarray | None:
    """The column [n] in whole steps from its least value.

    None unless its values repeat and are equally spaced.
    """
    first = column[:1000]
    if len(np.unique(first)) == len(first):  # no value repeats in the first rows
        return None
    distinct = np.unique(column)
    if len(column) < MIN_REPEATS * len(distinct):
        return None
    return _whole_steps(column, distinct)


def _whole_steps(column: np.ndarray, distinct: np.ndarray) -> np.ndarray | None:
    """The column [n] in whole steps from its least value.

    None unless its sorted values (`distinct`) are equally spaced.
    """
    smallest = np.diff(distinct).min()
    span = distinct[-1] - distinct[0]
    step = span / np.round(span / smallest)
    steps = (column - distinct[0]) / step
    whole_steps = np.round(steps)
    errors = np.abs(steps - whole_steps)
    if errors.max() < _STEP_TOLERANCE and whole_steps.max() < 2**30:
        return whole_steps
    return None


def grid_step(column: np.ndarray) -> float:
    """The step of values [n] that are whole multiples of a step; 0 for other values.

    At least two values must differ.
    """
    steps = _whole_steps(column, np.unique(column))
    return 0.0 if steps is None else float(np.ptp(column) / steps.max())


def row_codes(*variables: Variable) -> np.ndarray:
    """Codes 0..m-1 [n] of rows; equal rows are equal in every column of all variables."""
    numbers, labels = [], []
    for variable in variables:
        numbers.append(variable.continuous)
        if variable.codes is not None:
            labels.append(variable.codes[:, None])
    rows = np.hstack([*numbers, *labels]) + 0.0  # -0 is 0
    rows = np.ascontiguousarray(rows)
    if rows.shape[1] > 1:
        row_bytes = rows.itemsize * rows.shape[1]
        rows = rows.view(np.dtype((np.void, row_bytes)))
    codes, _ = factorise(rows[:, 0])
    return codes


def copies(*variables: Variable) -> np.ndarray | None:
    """Codes [n] of equal rows if the rows are copies; else None.

    Rows are copies if an unrounded column repeats its values in these rows only.
    """
    codes = row_codes(*variables)
    n = len(codes)
    distinct_rows = int(codes.max()) + 1
    if distinct_rows == n:
        return None
    columns = np.hstack([variable.continuous for variable in variables])
    for column in columns.T:
        values, value_codes, sizes = np.unique(
            column, return_inverse=True, return_counts=True
        )
        is_rare_value = sizes < max(POINT_MASS * n, 2)
        rare_values = values[is_rare_value]
        is_rare = is_rare_value[value_codes.reshape(-1)]
        rare_rows = np.unique(codes[is_rare])
        if len(rare_values) < 2 or len(rare_rows) != len(rare_values):
            continue
        if not _rounded(rare_values, n):
            if len(rare_values) == is_rare.sum():
                return None
            others = np.flatnonzero(~is_rare)
            codes[others] = distinct_rows + np.arange(len(others))
            codes, _ = factorise(codes)
            return codes
    return None


def _rounded(values: np.ndarray, n: int) -> bool:
    """Whether sorted distinct values are rounded so coarsely that chance repeats some.

    Rounded to equal steps, or to significant (decimal or binary) digits. Chance repeats
    values if there are fewer levels than pairs of the n rows.
    """
    steps = _whole_steps(values, values)
    if steps is not None and steps.max() <= n**2:
        return True
    sizes = np.abs(values[values != 0])
    for base in (10.0, 2.0):
        digits = math.floor(2 * math.log(n, base))
        exponents = np.floor(np.log(sizes) / math.log(base))
        mantissas = sizes / base**exponents * base ** (digits - 1)
        errors = np.abs(mantissas - np.round(mantissas))
        if errors.max() < _STEP_TOLERANCE:
            return True
    return False


def short(value: float) -> float:
    """The value to 20 binary digits.

    Whole multiples of it, and their differences, are then exact.
    """
    digits, exponent = np.frexp(value)
    whole_digits = np.round(np.ldexp(digits, 20))
    return float(np.ldexp(whole_digits, exponent - 20))


def factorise(labels: np.ndarray) -> tuple[np.ndarray, int]:
    """Codes 0..m-1 [n] of the distinct labels, and m."""
    distinct, codes = np.unique(labels, return_inverse=True)
    return codes.reshape(-1).astype(np.intp), len(distinct)


def of_kept(groups: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """The groups of some rows (indices or a mask), as codes 0, 1, ...; None: no groups."""
    if groups is None:
        return None
    codes, _ = factorise(groups[rows])
    return codes


def joint_codes(codes: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """A code for each combination that occurs, and their number."""
    first, *others = codes
    joint, count = factorise(first)
    for column in others:
        joint, count = factorise(joint * (int(column.max()) + 1) + column)
    return joint, count
