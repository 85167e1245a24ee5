"""The scale on which neighbours of rows are searched: standard deviations, normal
scores; ties within rounding.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from infoscope.checks import one_of
from infoscope.errors import OutOfRange
from infoscope.estimators.columns import as_numbers, bare_columns
from infoscope.estimators.variables import POINT_MASS, Variable, in_steps, joint_codes
from infoscope.notes import Note

_MIN_TAIL_ROWS = 20  # below which no tail is heavy
MIN_DISTINCT_SHARE = 0.98  # of the rows without repeated values
MARGINS = ("auto", "scaled", "rank", "given")


def prepared(variable: Variable, margins: str = "auto", name: str = "x") -> Variable:
    """The variable on the scale in which neighbours are searched.

    margins  scaled: standard deviation 1; rank: normal scores; auto: normal scores where tails are heavy (noted), else
             scaled; given: unchanged
    name     of the variable in its note

    ValueError: another word.
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
    sentence = f"{subject} with heavy tails or outliers, which would dominate the scale: normal scores are used."
    note = Note(sentence, "heavy tails", name)
    return replace(ranked, notes=(*variable.notes, note))


def heavy_tails(columns: np.ndarray) -> np.ndarray:
    """Which columns [c] of [n, c] have tails so heavy that a few values set the
    standard deviation.

    L-kurtosis (Hosking 1990) above 0.2 + 1.4 / sqrt(n) (normal .12, Laplace .24),
    without point masses.
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
            others = column[column != values[counts.argmax()]]
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
    weights = np.stack(
        [2 * power_1 - 1, 20 * power_3 - 30 * power_2 + 12 * power_1 - 1]
    )
    # divided out first, so that sums do not overflow
    largest = np.abs(ordered).max(axis=0)
    centred = ordered / largest - np.median(ordered, axis=0) / largest
    second_moment, fourth_moment = weights @ centred
    return fourth_moment / second_moment


def jitter(
    values: np.ndarray, generator: np.random.Generator, relative: float = 1e-10
) -> np.ndarray:
    """`values` [n] or [n, d] plus uniform noise of width `relative` standard deviations
    of its column: breaks ties.

    ValueError: a width below the resolution of the numbers.
    """
    values = np.asarray(values, dtype=np.float64)
    numbers = np.column_stack(
        [as_numbers("values", column) for column in bare_columns("values", values)]
    )
    deviations = Variable(numbers, None, 1).scales().reshape(values.shape[1:])
    width = relative * deviations
    resolution = np.spacing(np.abs(values).max(axis=0))
    if np.any(width < 4 * resolution):
        raise OutOfRange(
            f"relative must exceed the resolution of the numbers, got {relative!r}: centre the values."
        )
    return values + width * generator.uniform(-0.5, 0.5, values.shape)


def with_repeated_values(variable: Variable) -> Variable:
    """The variable with a category for each value of a tenth of the rows or more; the
    information is unchanged.
    """
    codes = [] if variable.codes is None else [variable.codes]
    for column in variable.continuous.T:
        values, value_codes, sizes = np.unique(
            column, return_inverse=True, return_counts=True
        )
        common = np.flatnonzero(sizes >= max(POINT_MASS * len(column), 2))
        other_sizes = np.delete(sizes, common)
        if len(common) and len(other_sizes) > MIN_DISTINCT_SHARE * other_sizes.sum():
            is_common = np.isin(value_codes, common)
            codes.append(np.where(is_common, value_codes, len(values)))
    if len(codes) == (variable.codes is not None):
        return variable
    joint, categories = joint_codes(codes)
    return replace(variable, codes=joint, categories=categories)


def within_steps(variable: Variable, generator: np.random.Generator) -> Variable:
    """The variable with uniform noise within the step of every rounded column; the
    information is unchanged.
    """
    continuous = variable.continuous.copy()
    for column in continuous.T:
        steps = in_steps(column)
        if steps is not None:
            step = np.ptp(column) / steps.max()
            column += step * generator.uniform(-0.5, 0.5, len(column))
    return replace(variable, continuous=continuous)
