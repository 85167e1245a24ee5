"""Columns that others of the same variable determine: they hold no information of their
own, and are left out.

Exact linear combinations mislead every method, other functions of columns (squares,
products, ratios, levels) the reading, whose simulated variables have none. A column
with noise of its own, of a thousandth or more, stays.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators.variables import Variable
from infoscope.notes import Note

# residual of a linear combination, in standard deviations of the column
LINEAR_TOLERANCE = 1e-6
# residual of a function at the resolution of its values, in interquartile ranges
TOLERANCE = 1e-5
# distance of values that are one but for rounding, such as cosines of hours, in
# interquartile ranges
ROUNDING = 1e-9
# median error of interpolation between neighbours, in interquartile ranges
MAX_GAP = 5e-4
# of such errors, so that a second branch and single values of their own are seen
QUANTILES = (0.5, 0.9, 0.97)
# errors at every second / every value: 4 for smooth functions, 1 for noise
MIN_SHRINKAGE = np.array([3.3, 2.6, 2.6])
MIN_ROWS, MAX_ROWS = 200, 4_000  # that are compared
MAX_COLUMNS = 12
MIN_MOVING = 20  # values around which the function is not constant
ROWS_PER_TERM = 4

Column = NDArray[np.float64]


def without_combinations(name: str, variable: Variable) -> Variable:
    """The variable without exact linear combinations of earlier columns, with a note;
    `name` is its name in notes.
    """
    if variable.dim < 2 or variable.n <= 2 * variable.dim:
        return variable
    columns = variable.continuous - variable.continuous.mean(axis=0)
    residuals = np.diag(
        np.linalg.qr(columns / np.linalg.norm(columns, axis=0), mode="r")
    )
    return _keep(name, variable, np.abs(residuals) > LINEAR_TOLERANCE)


def without_functions(name: str, variable: Variable) -> Variable:
    """The variable without columns, and labels, that are functions of its other
    columns, with a note.

    Detects functions of one column, monotone levels of one, and up to 12 columns
    related by sums of products, ratios and logarithms. A circle stays: its sine has two
    values at each cosine.
    """
    if variable.n < MIN_ROWS or not 0 < variable.dim <= MAX_COLUMNS:
        return variable
    step = -(-variable.n // MAX_ROWS)
    columns = variable.continuous[::step]
    is_own = np.ones(variable.dim, bool)
    for place in reversed(range(variable.dim)):
        is_own[place] = False
        column, others = columns[:, place], columns[:, is_own]
        is_curve = any(is_function(other, column) for other in others.T)
        is_own[place] = not (is_curve or is_algebraic(others, column))
    reduced = _keep(name, variable, is_own)
    if variable.codes is None:
        return reduced
    codes = variable.codes[::step]
    labels = len(np.unique(codes))
    if any(_changes(column, codes) < labels for column in columns.T):
        note = Note(
            f"{name}: its label follows from one of its columns and is left out.",
            "derived column",
            name,
        )
        return replace(reduced, codes=None, categories=1, notes=(*reduced.notes, note))
    return reduced


def _keep(name: str, variable: Variable, columns: NDArray[np.bool_]) -> Variable:
    """The variable with some of its numeric columns, and a note if others are left out."""
    left_out = np.flatnonzero(~columns)
    if len(left_out) == 0:
        return variable
    subject = (
        f"numeric column {left_out[0]} is"
        if len(left_out) == 1
        else f"{len(left_out)} numeric columns are"
    )
    sentence = f"{name}: {subject} computed from the others and left out; the information is the same."
    notes = (*variable.notes, Note(sentence, "derived column", name))
    return replace(
        variable,
        continuous=np.ascontiguousarray(variable.continuous[:, columns]),
        notes=notes,
    )


def is_function(x: Column, y: Column) -> bool:
    """Whether y [n] is a function of x [n] without noise: interpolation improves with
    the density of x.
    """
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    scale = _spread(y)
    starts = np.flatnonzero(np.diff(x, prepend=-np.inf) > ROUNDING * _spread(x))
    ranges = np.maximum.reduceat(y, starts) - np.minimum.reduceat(y, starts)
    if ranges.max() > TOLERANCE * scale:
        return False
    if len(starts) <= len(x) / 10:  # ten rows a value
        return True
    x, y = x[starts], y[starts]
    windows = np.lib.stride_tricks.sliding_window_view(y, 5)
    is_moving = np.ptp(windows, axis=1) > 0
    if is_moving.sum() < MIN_MOVING:
        return _changes(x, y) < len(np.unique(y))
    near = np.quantile(_gaps(x, y, 1)[1:-1][is_moving], QUANTILES)
    far = np.quantile(_gaps(x, y, 2)[is_moving], QUANTILES)
    shrinks = far >= MIN_SHRINKAGE * (near - TOLERANCE * scale)
    return near[0] <= MAX_GAP * scale and bool(shrinks.all())


def _changes(x: Column, labels: NDArray) -> int:
    """How often labels change along x: one less than the number of labels if each is an
    interval of x.
    """
    order = np.lexsort((labels, x))
    return int(np.count_nonzero(np.diff(labels[order])))


def _gaps(x: Column, y: Column, distance: int) -> Column:
    """|y - its linear interpolation between the values `distance` places before and
    after|.
    """
    before, after = slice(None, -2 * distance), slice(2 * distance, None)
    middle = slice(distance, -distance)
    share = (x[middle] - x[before]) / (x[after] - x[before])
    return np.abs(y[middle] - y[before] - share * (y[after] - y[before]))


def is_algebraic(others: Column, column: Column) -> bool:
    """Whether column [n], its square or logarithm is a ratio a(others) / b(others), b
    linear, a of squares and logs.
    """
    n, count = others.shape
    if count < 2:
        return False
    scores = _scores(others)
    first, second = np.triu_indices(count)
    products = scores[:, first] * scores[:, second]
    positive = others[:, others.min(axis=0) > 0]
    denominator = np.hstack([np.ones((n, 1)), scores])
    numerator = np.hstack([denominator, products, _scores(np.log(positive))])
    targets = [column]
    if column.min() > 0:
        targets += [column**2, np.log(column)]
    if n < ROWS_PER_TERM * (numerator.shape[1] + count + 1):
        return False
    return any(
        _is_ratio(numerator, denominator, _scores(target[:, None]))
        for target in targets
    )


def _is_ratio(numerator: Column, denominator: Column, target: Column) -> bool:
    """Whether target * (denominator @ b) = numerator @ a for some a and b, at every
    row, without a denominator of 0.
    """
    products = target * denominator
    sizes = 1 + np.abs(numerator).max(axis=1) + np.abs(products).max(axis=1)
    scale = 1 / sizes[:, None]  # outliers do not decide
    scaled_numerator = numerator * scale
    scaled_products = products * scale
    basis, _ = np.linalg.qr(scaled_numerator)
    residuals = scaled_products - basis @ (basis.T @ scaled_products)
    weights_below = np.linalg.svd(residuals, full_matrices=False)[2][-1]
    below = denominator @ weights_below
    if np.abs(below).min() < TOLERANCE * np.abs(below).max():
        return False
    weights_above = np.linalg.lstsq(
        scaled_numerator, scaled_products @ weights_below, rcond=None
    )[0]
    errors = np.abs(target[:, 0] - numerator @ weights_above / below)
    return bool(np.quantile(errors, 0.99) <= TOLERANCE * _spread(target[:, 0]))


def _scores(columns: Column) -> Column:
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def _spread(column: Column) -> float:
    low, high = np.quantile(column, [0.25, 0.75])
    return float(high - low) or float(column.std())
