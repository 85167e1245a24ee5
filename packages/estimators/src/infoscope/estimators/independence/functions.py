"""Smooth functions of a column of any type: polynomials of ranks, waves of an angle,
indicators of categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial.hermite_e import hermevander
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

Values = NDArray[np.float64]

RESOLUTIONS = (1, 2, 4, 8)  # functions of a number
WAVES = (2, 4, 8, 8)  # functions of an angle: cosine and sine of its multiples
MIN_CATEGORY_ROWS = 5  # of a category with a function of its own; the others are one
# numbers in the functions of a column of categories: 160 MB
MAX_INDICATORS = 20_000_000
MIN_NEW_SHARE = 1e-6  # of a column that others do not span; less is rounding
MAX_DEGREE = 4  # of polynomials of normal scores
# kinds of a column
NUMBER, WHOLE, CATEGORY, ANGLE = "number", "whole number", "category", "angle"


@dataclass(frozen=True, eq=False)
class Smooth:
    """Functions of a column, each of mean 0, the smoothest first.

    functions    [n, d], orthonormal
    resolutions  how many of these each resolution takes
    scores       [n, e], polynomials of normal scores (indicators, waves), of which conditional means are simple
    degrees      [d], of functions; the first e are the degrees of the scores; indicators have degree 1
    """

    functions: Values
    resolutions: tuple[int, ...]
    scores: Values
    degrees: NDArray[np.intp]

    @property
    def n(self) -> int:
        return len(self.functions)

    @property
    def score_degrees(self) -> NDArray[np.intp]:
        """The degree of each score [e]."""
        return self.degrees[: self.scores.shape[1]]

    @cached_property
    def categories(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Codes [n] of the categories of a column, by values of their functions, and
        the number of rows of each.
        """
        indicators = self.functions[:, self.degrees == 1].round(9)
        _, codes, sizes = np.unique(
            indicators, axis=0, return_inverse=True, return_counts=True
        )
        return codes.reshape(-1), sizes


def smooth(values: Values, kind: str) -> Smooth:
    """The functions of a column [n] of numbers, whole numbers, angles (in turns) or
    codes of categories.

    Levels of numbers of fewer than sqrt(n) rows are joined with a neighbour; categories
    of fewer than these are left to the finer resolutions, and those of fewer than 5
    rows are one, where some have 5. A constant column has no function.
    """
    if kind == CATEGORY:
        functions, coarse = _indicators(values.astype(np.intp))
        count = functions.shape[1]
        return Smooth(
            functions,
            (coarse, coarse, count, count),
            functions,
            np.ones(count, np.intp),
        )
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
        degrees = np.arange(2, functions.shape[1] + 2) // 2
        return Smooth(functions, _at_most(WAVES, functions), functions[:, :4], degrees)
    ranks = (rankdata(_merged_levels(values)) - 0.5) / n
    degree = min(max(RESOLUTIONS), max_functions, len(np.unique(ranks)) - 1)
    functions = _orthonormal(legvander(2 * ranks - 1, degree)[:, 1:])
    scores = _orthonormal(hermevander(ndtri(ranks), min(degree, MAX_DEGREE))[:, 1:])
    return Smooth(
        functions,
        _at_most(RESOLUTIONS, functions),
        scores,
        np.arange(1, functions.shape[1] + 1),
    )


def _ranks_on_circle(values: Values) -> Values:
    """Ranks of angles [n], in turns, from the end of the largest gap on, so that they
    do not depend on where 0 is.
    """
    turns = _in_one_turn(values)
    levels, sizes = np.unique(turns, return_counts=True)
    gaps = np.round((levels - np.roll(levels, 1)) % 1.0, 9)
    start = levels[np.lexsort([sizes, gaps])[-1]]
    return rankdata(_in_one_turn(turns - start))


def _in_one_turn(values: Values) -> Values:
    """Angles in turns, from 0 to below 1, without rounding errors."""
    return np.round(values % 1.0, 9) % 1.0


def _at_most(resolutions: Sequence[int], functions: Values) -> tuple[int, ...]:
    return tuple(min(count, functions.shape[1]) for count in resolutions)


def _orthonormal(columns: Values) -> Values:
    """The columns made orthonormal, in their order, without columns that a constant and
    earlier ones span.
    """
    columns = np.column_stack([np.ones(len(columns)), columns])[:, : len(columns)]
    directions, triangle = np.linalg.qr(columns[:, independent_columns(columns)])
    return (directions * np.sign(np.diag(triangle)))[:, 1:]


def independent_columns(columns: Values) -> NDArray[np.bool_]:
    """Which columns [d] of [n, d] are not spanned by those before them."""
    return not_spanned(np.linalg.qr(columns, mode="r"))


def not_spanned(triangle: Values) -> NDArray[np.bool_]:
    """Which columns are not spanned by those before them, by the triangle [min(n, d),
    d] of their QR decomposition.
    """
    new_parts = np.zeros(triangle.shape[1])  # columns after the n-th are spanned
    new_parts[: len(triangle)] = np.abs(np.diag(triangle))
    return new_parts > MIN_NEW_SHARE * np.linalg.norm(triangle, axis=0)


def _indicators(codes: NDArray[np.intp]) -> tuple[Values, int]:
    """Functions of the categories, the most frequent first, and how many belong to
    categories of sqrt(n) rows or more.

    Categories of one size are all included or all left out, so that nothing depends on
    their names.
    """
    n = len(codes)
    sizes = np.bincount(codes)
    order = np.argsort(-sizes, kind="stable")
    sizes = sizes[order]
    count = int((sizes >= min(MIN_CATEGORY_ROWS, sizes[0])).sum())
    max_count = MAX_INDICATORS // n
    if count > max_count:
        count = int((sizes > sizes[max_count]).sum())
    indicators = codes[:, None] == order[:count]
    functions = _orthonormal(indicators.astype(np.float64))
    coarse = int((sizes[:count] >= np.sqrt(n)).sum())
    return functions, min(coarse, functions.shape[1])


def _merged_levels(values: Values) -> Values:
    """Levels of at least sqrt(n) rows each, where values repeat; two levels stay as
    they are.
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
    return merged[level_of_row.reshape(-1)].astype(np.float64)
