"""The scale on which neighbours of rows are searched: standard deviations, normal scores; ties within rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from infoscope.checks import one_of
from infoscope.errors import OutOfRange
from infoscope.estimators.columns import as_numbers, bare_columns
from infoscope.estimators.variables import POINT_MASS, Variable, in_steps, joint_codes
from infoscope.notes import Note

_MIN_TAIL_ROWS = 20  # below which no tail is heavy
MARGINS = ("auto", "scaled", "rank", "given")


def prepared(variable: Variable, margins: str = "auto", name: str = "x") -> Variable:
    """The variable on the scale in which neighbours are searched.

    margins  scaled: standard deviation 1; rank: normal scores; auto: normal scores where tails are heavy (noted), else
             scaled; given: as it is
    name     what its note calls it

    ValueError: another word.
    """
    one_of("margins", margins, MARGINS)
    if margins == "given" or not variable.dim:
        return variable
    if margins == "rank":
        return variable.rank_normal()
    heavy = heavy_tails(variable.continuous) if margins == "auto" else np.zeros(variable.dim, bool)
    if not heavy.any():
        return variable.standardised()
    ranked, rest = variable.rank_normal(heavy), replace(variable, continuous=variable.continuous[:, ~heavy])
    if rest.dim:
        ranked.continuous[:, ~heavy] = rest.standardised().continuous
    which = f"{heavy.sum()} of {len(heavy)} continuous columns of {name}" if len(heavy) > 1 else f"Values of {name}"
    sentence = f"{which} with heavy tails or outliers, which would dominate the scale: normal scores are used."
    note = Note(sentence, "heavy tails", name)
    return replace(ranked, notes=(*variable.notes, note))


def heavy_tails(columns: np.ndarray) -> np.ndarray:
    """Which columns [c] of [n, c] have tails so heavy that a few values set the standard deviation.

    L-kurtosis (Hosking 1990) above 0.2 + 1.4 / sqrt(n) (normal .12, Laplace .24), without point masses.
    """
    n = len(columns)
    if n < _MIN_TAIL_ROWS:
        return np.zeros(columns.shape[1], bool)
    ordered = np.sort(columns, axis=0)
    repeated = np.mean(ordered[1:] == ordered[:-1], axis=0) >= POINT_MASS
    kurtosis = l_kurtosis(ordered)
    rows = np.full(columns.shape[1], n)
    for place in np.flatnonzero(repeated):
        values, counts = np.unique(ordered[:, place], return_counts=True)
        if counts.max() > POINT_MASS * n:
            others = ordered[ordered[:, place] != values[counts.argmax()], place]
            few = len(others) < _MIN_TAIL_ROWS or others[0] == others[-1]
            rows[place] = max(len(others), 1)
            kurtosis[place] = 0 if few else l_kurtosis(others[:, None])[0]
    return kurtosis > 0.2 + 1.4 / np.sqrt(rows)


def l_kurtosis(ordered: np.ndarray) -> np.ndarray:
    """Unbiased sample L-kurtosis [c] of sorted columns [n, c], n > 3 (Hosking 1990)."""
    n = len(ordered)
    place = np.arange(n, dtype=float)
    one = place / (n - 1)
    two = one * (place - 1) / (n - 2)
    three = two * (place - 2) / (n - 3)
    weights = np.stack([2 * one - 1, 20 * three - 30 * two + 12 * one - 1])
    span = np.abs(ordered).max(axis=0)  # divided out first, so that sums do not overflow
    second, fourth = weights @ (ordered / span - np.median(ordered, axis=0) / span)
    return fourth / second


def jitter(values: np.ndarray, generator: np.random.Generator, relative: float = 1e-10) -> np.ndarray:
    """`values` [n] or [n, d] plus uniform noise of width `relative` standard deviations of its column: breaks ties.

    ValueError: a width below the resolution of the numbers.
    """
    values = np.asarray(values, dtype=np.float64)
    numbers = np.column_stack([as_numbers("values", column) for column in bare_columns("values", values)])
    spread = Variable(numbers, None, 1).scales().reshape(values.shape[1:])
    width = relative * spread
    if np.any(width < 4 * np.spacing(np.abs(values).max(axis=0))):
        raise OutOfRange(f"relative must exceed the resolution of the numbers, got {relative!r}: centre the values.")
    return values + width * generator.uniform(-0.5, 0.5, values.shape)


def with_repeated_values(variable: Variable) -> Variable:
    """The variable with a category for each value of a tenth of the rows or more; the information is unchanged."""
    codes = [] if variable.codes is None else [variable.codes]
    for column in variable.continuous.T:
        values, which, sizes = np.unique(column, return_inverse=True, return_counts=True)
        common = np.flatnonzero(sizes >= max(POINT_MASS * len(column), 2))
        others = np.delete(sizes, common)
        if len(common) and len(others) > 0.98 * others.sum():
            codes.append(np.where(np.isin(which, common), which, len(values)))
    if len(codes) == (variable.codes is not None):
        return variable
    joint, categories = joint_codes(codes)
    return replace(variable, codes=joint, categories=categories)


def within_steps(variable: Variable, generator: np.random.Generator) -> Variable:
    """The variable with uniform noise within the step of every rounded column; the information is unchanged."""
    moved = variable.continuous.copy()
    for column in moved.T:
        steps = in_steps(column)
        if steps is not None:
            column += np.ptp(column) / steps.max() * generator.uniform(-0.5, 0.5, len(column))
    return replace(variable, continuous=moved)
