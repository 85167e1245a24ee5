"""Columns that other columns of the same variable determine are left out.

Such columns add no information. Exact linear combinations mislead every method. Other
functions of columns (squares, products, ratios, levels) mislead the reading, because its
simulated variables have no such columns. A column with independent noise of a thousandth
or more stays.
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
# distance of values that differ by rounding only, such as cosines of hours, in
# interquartile ranges
ROUNDING = 1e-9
# median error of interpolation between neighbours, in interquartile ranges
MAX_GAP = 5e-4
# of interpolation errors; the high ones show a second branch and exceptional values
QUANTILES = (0.5, 0.9, 0.97)
# errors at every second / every value: 4 for smooth functions, 1 for noise
MIN_SHRINKAGE = np.array([3.3, 2.6, 2.6])
MIN_ROWS, MAX_ROWS = 200, 4_000  # compared rows
MAX_COLUMNS = 12
MIN_MOVING = 20  # values around which the function varies
ROWS_PER_TERM = 4

Column = NDArray[np.float64]


def without_combinations(name: str, variable: Variable) -> Variable:
    """The variable without exact linear combinations of earlier columns, with a note.

    The note calls the variable `name`.
    """
    if variable.dim < 2 or variable.n <= 2 * variable.dim:
        return variable
    columns = variable.continuous - variable.continuous.mean(axis=0)
    columns /= np.linalg.norm(columns, axis=0)
    triangle = np.linalg.qr(columns, mode="r")
    residuals = np.abs(np.diag(triangle))
    return _keep(name, variable, residuals > LINEAR_TOLERANCE)


def without_functions(name: str, variable: Variable) -> Variable:
    """The variable without columns and labels that are functions of its other columns.

    Adds a note. Detects functions of one column, monotone levels of one column, and up
    to 12 columns related by sums of products, ratios and logarithms. A circle stays: its
    sine has two values at each cosine.
    """
    if variable.n < MIN_ROWS or not 0 < variable.dim <= MAX_COLUMNS:
        return variable
    step = -(-variable.n // MAX_ROWS)
    columns = variable.continuous[::step]
    stays = np.ones(variable.dim, bool)
    for place in reversed(range(variable.dim)):
        stays[place] = False
        column = columns[:, place]
        others = columns[:, stays]
        is_curve = any(is_function(other, column) for other in others.T)
        stays[place] = not (is_curve or is_algebraic(others, column))
    reduced = _keep(name, variable, stays)
    if variable.codes is None:
        return reduced
    codes = variable.codes[::step]
    labels = len(np.unique(codes))
    is_level = any(_changes(column, codes) < labels for column in columns.T)
    if not is_level:
        return reduced
    note = Note(
        f"{name}: its label follows from one of its columns and is left out.",
        "derived column",
        name,
    )
    notes = (*reduced.notes, note)
    return replace(reduced, codes=None, categories=1, notes=notes)


def _keep(name: str, variable: Variable, columns: NDArray[np.bool_]) -> Variable:
    """The variable with some of its numeric columns, and a note if others are left out."""
    left_out = np.flatnonzero(~columns)
    if len(left_out) == 0:
        return variable
    subject = f"{len(left_out)} numeric columns are"
    if len(left_out) == 1:
        subject = f"numeric column {left_out[0]} is"
    sentence = (
        f"{name}: {subject} computed from the others and left out; the information is "
        "the same."
    )
    note = Note(sentence, "derived column", name)
    continuous = np.ascontiguousarray(variable.continuous[:, columns])
    return replace(variable, continuous=continuous, notes=(*variable.notes, note))


def is_function(x: Column, y: Column) -> bool:
    """Whether y [n] is a function of x [n] without noise.

    If so, the error of interpolation falls with the density of x.
    """
    order = np.lexsort((y, x))
    x = x[order]
    y = y[order]
    scale = _spread(y)
    tolerance = TOLERANCE * scale
    is_new = np.diff(x, prepend=-np.inf) > ROUNDING * _spread(x)
    starts = np.flatnonzero(is_new)
    ranges = np.maximum.reduceat(y, starts) - np.minimum.reduceat(y, starts)
    if ranges.max() > tolerance:
        return False
    if len(starts) <= len(x) / 10:  # ten rows a value
        return True

    x = x[starts]
    y = y[starts]
    windows = np.lib.stride_tricks.sliding_window_view(y, 5)
    is_moving = np.ptp(windows, axis=1) > 0
    if is_moving.sum() < MIN_MOVING:
        return _changes(x, y) < len(np.unique(y))
    near_gaps = _gaps(x, y, 1)[1:-1]
    far_gaps = _gaps(x, y, 2)
    near = np.quantile(near_gaps[is_moving], QUANTILES)
    far = np.quantile(far_gaps[is_moving], QUANTILES)
    shrinks = far >= MIN_SHRINKAGE * (near - tolerance)
    return bool(near[0] <= MAX_GAP * scale and shrinks.all())


def _changes(x: Column, labels: NDArray) -> int:
    """How often labels change along x.

    If each label is an interval of x: the number of labels minus 1.
    """
    order = np.lexsort((labels, x))
    return int(np.count_nonzero(np.diff(labels[order])))


def _gaps(x: Column, y: Column, distance: int) -> Column:
    """Absolute errors of the linear interpolation of y.

    It interpolates between the values `distance` places before and after.
    """
    before = slice(None, -2 * distance)
    middle = slice(distance, -distance)
    after = slice(2 * distance, None)
    share = (x[middle] - x[before]) / (x[after] - x[before])
    rise = share * (y[after] - y[before])
    return np.abs(y[middle] - y[before] - rise)


def is_algebraic(others: Column, column: Column) -> bool:
    """Whether column [n], its square or its logarithm is a ratio a(others) / b(others).

    b is linear, a a sum of products of two columns and of logarithms.
    """
    n, count = others.shape
    if count < 2:
        return False
    scores = _scores(others)
    first, second = np.triu_indices(count)
    products = scores[:, first] * scores[:, second]
    is_positive = others.min(axis=0) > 0
    logarithms = np.log(others[:, is_positive])
    denominator = np.hstack([np.ones((n, 1)), scores])
    numerator = np.hstack([denominator, products, _scores(logarithms)])
    targets = [column]
    if column.min() > 0:
        targets += [column**2, np.log(column)]
    terms = numerator.shape[1] + count + 1
    if n < ROWS_PER_TERM * terms:
        return False
    target_scores = [_scores(target[:, None]) for target in targets]
    return any(_is_ratio(numerator, denominator, target) for target in target_scores)


def _is_ratio(numerator: Column, denominator: Column, target: Column) -> bool:
    """Whether target * (denominator @ b) = numerator @ a for some a and b, at every row.

    False if a denominator is 0.
    """
    products = target * denominator
    sizes = 1 + np.abs(numerator).max(axis=1) + np.abs(products).max(axis=1)
    scale = 1 / sizes[:, None]  # limits the influence of outliers
    scaled_numerator = numerator * scale
    scaled_products = products * scale
    basis, _ = np.linalg.qr(scaled_numerator)
    projections = basis @ (basis.T @ scaled_products)
    residuals = scaled_products - projections
    _, _, directions = np.linalg.svd(residuals, full_matrices=False)
    weights_below = directions[-1]
    below = denominator @ weights_below
    sizes_below = np.abs(below)
    if sizes_below.min() < TOLERANCE * sizes_below.max():
        return False
    weights_above, *_ = np.linalg.lstsq(
        scaled_numerator, scaled_products @ weights_below, rcond=None
    )
    values = target[:, 0]
    errors = np.abs(values - numerator @ weights_above / below)
    return bool(np.quantile(errors, 0.99) <= TOLERANCE * _spread(values))


def _scores(columns: Column) -> Column:
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def _spread(column: Column) -> float:
    low, high = np.quantile(column, [0.25, 0.75])
    return float(high - low) or float(column.std())
