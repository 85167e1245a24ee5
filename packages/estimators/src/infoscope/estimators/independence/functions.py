"""Smooth functions of a column of any type.

Polynomials of the ranks of numbers, waves of an angle, indicators of categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermevander
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

Values = NDArray[np.float64]
Groups = NDArray[np.int64] | None
Integers = NDArray[np.intp]
Mask = NDArray[np.bool_]

RESOLUTIONS = (1, 2, 4, 8)  # functions of a number
WAVES = (2, 4, 8, 8)  # functions of an angle: cosine and sine of its multiples
# of a category with its own function; smaller categories share one function
MIN_CATEGORY_ROWS = 5
# numbers in the functions of a column of categories: 160 MB
MAX_INDICATORS = 20_000_000
# share of a column that other columns do not span; a smaller share is rounding
MIN_NEW_SHARE = 1e-6
MAX_DEGREE = 4  # of polynomials of normal scores
# kinds of a column
NUMBER, WHOLE, CATEGORY, ANGLE = "number", "whole number", "category", "angle"


@dataclass(frozen=True, eq=False)
class Smooth:
    """Functions of a column, each of mean 0, the smoothest first.

    functions    [n, d], orthonormal
    resolutions  number of functions at each resolution
    scores       [n, e], polynomials of normal scores (or indicators, or waves): their conditional means are simple
    degrees      [d], of functions; the first e are the degrees of the scores; indicators have degree 1
    """

    functions: Values
    resolutions: tuple[int, ...]
    scores: Values
    degrees: Integers

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.functions)

    @property
    def width(self) -> int:
        """Number of functions."""
        return self.functions.shape[1]

    @property
    def score_degrees(self) -> Integers:
        """The degree of each score [e]."""
        return self.degrees[: self.scores.shape[1]]

    @property
    def linear(self) -> Values:
        """The functions of degree 1."""
        return self.functions[:, self.degrees == 1]

    @cached_property
    def categories(self) -> tuple[Integers, Integers]:
        """Codes [n] of a column's categories, and the number of rows of each category.

        Rows with equal functions are of one category.
        """
        _, codes, sizes = np.unique(
            self.linear.round(9), axis=0, return_inverse=True, return_counts=True
        )
        return codes.reshape(-1), sizes


def smooth(values: Values, kind: str) -> Smooth:
    """The functions of a column [n].

    The kind is number, whole number, angle (in turns) or category (codes). A constant
    column has no function. A level of numbers with fewer than sqrt(n) rows is joined
    with a neighbouring level. A category with fewer than sqrt(n) rows is used at the
    finer resolutions only. All categories with fewer than 5 rows are one, if others
    have 5.
    """
    if kind == CATEGORY:
        functions, coarse = _indicators(values.astype(np.intp))
        count = functions.shape[1]
        resolutions = (coarse, coarse, count, count)
        degrees = np.ones(count, np.intp)
        return Smooth(functions, resolutions, functions, degrees)
    n = len(values)
    max_functions = max(int(np.sqrt(n) / 2), 1)
    if kind == ANGLE:
        radians = 2 * np.pi * _ranks_on_circle(values) / n
        max_multiple = min(max(WAVES) // 2, (max_functions + 1) // 2)
        waves = []
        for multiple in range(1, max_multiple + 1):
            waves.append(np.cos(multiple * radians))
            waves.append(np.sin(multiple * radians))
        functions = _orthonormal(np.stack(waves, axis=1))
        scores = functions[:, :4]
        degrees = np.arange(2, functions.shape[1] + 2) // 2
        counts = WAVES
    else:
        ranks = (rankdata(_merged_levels(values)) - 0.5) / n
        levels = len(np.unique(ranks))
        degree = min(max(RESOLUTIONS), max_functions, levels - 1)
        polynomials = legvander(2 * ranks - 1, degree)
        functions = _orthonormal(polynomials[:, 1:])
        score_degree = min(degree, MAX_DEGREE)
        score_polynomials = hermevander(ndtri(ranks), score_degree)
        scores = _orthonormal(score_polynomials[:, 1:])
        degrees = np.arange(1, functions.shape[1] + 1)
        counts = RESOLUTIONS
    resolutions = np.minimum(counts, functions.shape[1])
    return Smooth(functions, tuple(resolutions.tolist()), scores, degrees)


def _ranks_on_circle(values: Values) -> Values:
    """Ranks of angles [n], in turns, counted from the end of the largest gap.

    They are independent of where 0 is.
    """
    turns = _in_one_turn(values)
    levels, sizes = np.unique(turns, return_counts=True)
    gaps = levels - np.roll(levels, 1)
    gaps = np.round(gaps % 1.0, 9)
    last = np.lexsort([sizes, gaps])[-1]
    return rankdata(_in_one_turn(turns - levels[last]))


def _in_one_turn(values: Values) -> Values:
    """Angles in turns, from 0 to below 1, without rounding errors."""
    return np.round(values % 1.0, 9) % 1.0


def _orthonormal(columns: Values) -> Values:
    """The columns made orthonormal, in their order.

    A column is left out if a constant and earlier columns span it.
    """
    n = len(columns)
    columns = np.column_stack([np.ones(n), columns])[:, :n]
    is_new = independent_columns(columns)
    directions, triangle = np.linalg.qr(columns[:, is_new])
    signs = np.sign(np.diag(triangle))
    return (directions * signs)[:, 1:]


def independent_columns(columns: Values) -> Mask:
    """Which columns [d] of [n, d] earlier columns do not span."""
    triangle: Any = np.linalg.qr(columns, mode="r")
    return not_spanned(triangle)


def not_spanned(triangle: Values) -> Mask:
    """Which columns earlier columns do not span.

    `triangle` [min(n, d), d] is the second factor of the columns' QR decomposition.
    """
    new_parts = np.zeros(triangle.shape[1])  # columns after the n-th are spanned
    new_parts[: len(triangle)] = np.abs(np.diag(triangle))
    sizes = np.linalg.norm(triangle, axis=0)
    return new_parts > MIN_NEW_SHARE * sizes


def _indicators(codes: Integers) -> tuple[Values, int]:
    """Functions of the categories, and how many belong to frequent categories.

    The most frequent category is first; frequent categories have sqrt(n) rows or more.
    Categories of one size are all included or all left out: names play no part.
    """
    n = len(codes)
    sizes = np.bincount(codes)
    order = np.argsort(-sizes, kind="stable")
    sizes = sizes[order]
    min_rows = min(MIN_CATEGORY_ROWS, sizes[0])
    count = int((sizes >= min_rows).sum())
    max_count = MAX_INDICATORS // n
    if count > max_count:
        count = int((sizes > sizes[max_count]).sum())
    indicators = codes[:, None] == order[:count]
    functions = _orthonormal(indicators.astype(np.float64))
    is_frequent = sizes[:count] >= np.sqrt(n)
    coarse = int(is_frequent.sum())
    return functions, min(coarse, functions.shape[1])


def _merged_levels(values: Values) -> Values:
    """Levels of at least sqrt(n) rows each, if values repeat.

    Two levels stay as they are.
    """
    n = len(values)
    min_rows = np.sqrt(n)
    levels, level_of_row, sizes = np.unique(
        values, return_inverse=True, return_counts=True
    )
    if len(levels) == 2 or sizes.max() < min_rows:  # two values, or hardly any ties
        return values
    starts_level = np.zeros(len(levels), bool)
    start = 0
    for level, rows_before in enumerate(np.cumsum(sizes)[:-1], start=1):
        if rows_before - start >= min_rows and n - rows_before >= min_rows:
            start = rows_before
            starts_level[level] = True
    merged = np.cumsum(starts_level)
    if merged[-1] == 0:  # nearly all rows have one value
        merged = np.arange(len(levels)) != sizes.argmax()
    level_of_row = level_of_row.reshape(-1)
    return merged[level_of_row].astype(np.float64)
