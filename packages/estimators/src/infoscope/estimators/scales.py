"""The scale of columns for the search of neighbours: standard deviations, normal scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from infoscope.checks import one_of
from infoscope.errors import OutOfRange
from infoscope.estimators.columns import as_matrix
from infoscope.estimators.variables import POINT_MASS, Variable, in_steps, joint_codes
from infoscope.notes import Note

_MIN_TAIL_ROWS = 20  # with fewer rows, no tail is called heavy
MIN_DISTINCT_SHARE = 0.98  # of the rows without repeated values
MARGINS = ("auto", "scaled", "rank", "given")


def prepared(variable: Variable, margins: str = "auto", name: str = "x") -> Variable:
    """The variable on the scale for the search of neighbours.

    margins  scaled: standard deviation 1; rank: normal scores; auto: normal scores (with a note) where tails are heavy,
             else scaled; given: unchanged
    name     of the variable in the note

    ValueError: another value of margins.
    """
    one_of("margins", margins, MARGINS)
    if margins == "given" or not variable.dim:
        return variable
    if margins == "rank":
        return variable.rank_normal()
    is_heavy = np.zeros(variable.dim, bool)
    if margins == "auto":
        is_heavy = heavy_tails(variable.continuous)
    if not is_heavy.any():
        return variable.standardised()
    ranked = variable.rank_normal(is_heavy)
    others = replace(variable, continuous=variable.continuous[:, ~is_heavy])
    if others.dim:
        ranked.continuous[:, ~is_heavy] = others.standardised().continuous
    subject = f"Values of {name}"
    if variable.dim > 1:
        subject = f"{is_heavy.sum()} of {variable.dim} continuous columns of {name}"
    sentence = (
        f"{subject} with heavy tails or outliers, which would dominate the scale: "
        "normal scores are used."
    )
    note = Note(sentence, "heavy tails", name)
    return replace(ranked, notes=(*variable.notes, note))


def heavy_tails(columns: np.ndarray) -> np.ndarray:
    """Which columns [c] of [n, c] have heavy tails.

    A few values set the standard deviation of such a column: its L-kurtosis (Hosking
    1990), without a point mass, is above 0.2 + 1.4 / sqrt(n) (normal .12, Laplace .24).
    """
    n = len(columns)
    if n < _MIN_TAIL_ROWS:
        return np.zeros(columns.shape[1], bool)
    ordered = np.sort(columns, axis=0)
    tied_share = np.mean(ordered[1:] == ordered[:-1], axis=0)
    kurtosis = l_kurtosis(ordered)
    rows = np.full(columns.shape[1], n)
    for place in np.flatnonzero(tied_share >= POINT_MASS):
        column = ordered[:, place]
        values, counts = np.unique(column, return_counts=True)
        if counts.max() > POINT_MASS * n:
            mode = values[counts.argmax()]
            others = column[column != mode]
            rows[place] = max(len(others), 1)
            if len(others) < _MIN_TAIL_ROWS or others[0] == others[-1]:
                kurtosis[place] = 0
            else:
                kurtosis[place] = l_kurtosis(others[:, None])[0]
    return kurtosis > 0.2 + 1.4 / np.sqrt(rows)


def l_kurtosis(ordered: np.ndarray) -> np.ndarray:
    """Unbiased sample L-kurtosis [c] of sorted columns [n, c], n > 3 (Hosking 1990)."""
    n = len(ordered)
    rank = np.arange(n, dtype=float)
    power_1 = rank / (n - 1)
    power_2 = power_1 * (rank - 1) / (n - 2)
    power_3 = power_2 * (rank - 2) / (n - 3)
    second_weights = 2 * power_1 - 1
    fourth_weights = 20 * power_3 - 30 * power_2 + 12 * power_1 - 1
    # division by the largest value keeps the sums in the range of floats
    largest = np.abs(ordered).max(axis=0)
    median = np.median(ordered, axis=0)
    centred = ordered / largest - median / largest
    weights = np.stack([second_weights, fourth_weights])
    second_moment, fourth_moment = weights @ centred
    return fourth_moment / second_moment


def jitter(
    values: np.ndarray, generator: np.random.Generator, relative: float = 1e-10
) -> np.ndarray:
    """`values` [n] or [n, d] plus uniform noise, which breaks ties.

    The width of the noise is `relative` standard deviations of the column. ValueError: a
    width below the resolution of the numbers.
    """
    values = np.asarray(values, dtype=np.float64)
    numbers = as_matrix("values", values)
    deviations = Variable(numbers, None, 1).scales()
    width = relative * deviations.reshape(values.shape[1:])
    resolution = np.spacing(np.abs(values).max(axis=0))
    if np.any(width < 4 * resolution):
        raise OutOfRange(
            f"relative must exceed the resolution of the numbers, got {relative!r}: "
            "centre the values."
        )
    return values + width * generator.uniform(-0.5, 0.5, values.shape)


def with_repeated_values(variable: Variable) -> Variable:
    """The variable with a category for each frequent value.

    A frequent value has a tenth of the rows or more. The information is unchanged.
    """
    codes = [] if variable.codes is None else [variable.codes]
    for column in variable.continuous.T:
        values, value_codes, sizes = np.unique(
            column, return_inverse=True, return_counts=True
        )
        min_rows = max(POINT_MASS * len(column), 2)
        common = np.flatnonzero(sizes >= min_rows)
        other_sizes = np.delete(sizes, common)
        if len(common) and len(other_sizes) > MIN_DISTINCT_SHARE * other_sizes.sum():
            is_common = np.isin(value_codes, common)
            codes.append(np.where(is_common, value_codes, len(values)))
    if len(codes) == (variable.codes is not None):
        return variable
    joint, categories = joint_codes(codes)
    return replace(variable, codes=joint, categories=categories)


def within_steps(variable: Variable, generator: np.random.Generator) -> Variable:
    """The variable with uniform noise within the step of every rounded column.

    The information is unchanged.
    """
    continuous = variable.continuous.copy()
    for column in continuous.T:
        steps = in_steps(column)
        if steps is not None:
            step = np.ptp(column) / steps.max()
            column += step * generator.uniform(-0.5, 0.5, len(column))
    return replace(variable, continuous=continuous)
