"""Scores of columns for the selectors of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.errors import NoVariation, WrongLength
from infoscope.estimators.alignment import aligns
from infoscope.estimators.columns import single_columns
from infoscope.estimators.independence.association import MIN_ROWS, independence
from infoscope.estimators.independence.columns import smooth_column
from infoscope.estimators.independence.functions import NUMBER, Smooth, smooth


@aligns("X", "y")
def information_scores(
    X: Any, y: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Strength and p-value [d] of the dependence of y and each column of X [n, d], for
    scikit-learn's selectors: `SelectFdr(information_scores)` keeps columns at a false
    discovery rate, `SelectKBest(information_scores)` the best.

    The strength is in standard deviations above that of independent columns; 0 for a
    constant column. InfoscopeError: missing values, dates, texts that are numbers, a
    constant y, fewer than 4 rows.
    """
    columns, target = smooth_columns(single_columns("X", X), y)
    test = independence(columns, target)
    return test.strength[:, 0], test.p[:, 0]


def smooth_columns(columns: Sequence[Any], y: Any) -> tuple[list[Smooth], list[Smooth]]:
    """Smooth functions of the columns (0 for constant ones) and of y."""
    smooth_y = smooth_column("y", y)
    if smooth_y is None:
        raise NoVariation("y must take two values or more; categories must repeat.")
    n = smooth_y.n
    constant = smooth(np.zeros(n), NUMBER)
    smooth_x = [smooth_column("X", column) or constant for column in columns]
    lengths = {column.n for column in smooth_x}
    if lengths != {n} or n < MIN_ROWS:
        raise WrongLength(
            f"X and y must have the same rows, at least {MIN_ROWS}, got "
            f"{smooth_x[0].n} and {n}."
        )
    return smooth_x, [smooth_y]
