"""Values of any kind as variables: columns are typed and checked; constants are left out.

Wrappers set a type (`columns.Continuous`, `Discrete`, `Angle`). Other types are
inferred: floats of more than two values are continuous; booleans, strings and pandas
categories are discrete; integers are discrete if they look like class labels, else
numbers with ties.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infoscope.errors import NoVariation, TooFew, WrongLength
from infoscope.estimators.alignment import aligned, complete_rows, group_codes
from infoscope.estimators.columns import (
    Discrete,
    as_numbers,
    categorical,
    column_names,
    columns,
    columns_in_words,
    require_present,
)
from infoscope.estimators.guesses import (
    AS_CATEGORIES,
    MIN_LABEL_ROWS,
    PERIODS,
    are_codes_of_classes,
    has_few_repeated_values,
    period_name,
)
from infoscope.estimators.variables import Variable, factorise, joint_codes
from infoscope.notes import Note


def as_variables(
    groups: Any = None, drop_missing: bool = False, /, **values: Any
) -> tuple[dict[str, Variable], np.ndarray | None]:
    """Variables of the same rows by name, and codes 0, 1, ... int64 [n] of groups or None.

    Arguments as in `as_variable`. Pandas objects are put in the order of the first
    (`aligned`). Rows with missing values are refused, or left out (`complete_rows`).
    InfoscopeError as `as_variable` and `aligned`; WrongLength: different numbers of
    rows, or groups of another length.
    """
    values, notes = aligned(**values, groups=groups)
    groups = values.pop("groups")
    if drop_missing:
        values, groups, missing_notes = complete_rows(values, groups)
        notes = [*notes, *missing_notes]
    typed = {}
    for name, value in values.items():
        typed[name] = value if isinstance(value, Variable) else _Columns.of(name, value)
    cells = math.prod(columns.categories for columns in typed.values())
    variables = {}
    for name, value in typed.items():
        if isinstance(value, _Columns):
            value = value.variable(cells)
        variables[name] = value
    for note in notes:
        if note.argument in variables:
            variable = variables[note.argument]
            variables[note.argument] = replace(variable, notes=(*variable.notes, note))
    lengths = {name: variable.n for name, variable in variables.items()}
    if len(set(lengths.values())) != 1:
        raise WrongLength(
            f"{' and '.join(lengths)} must have the same number of rows, got {lengths}."
        )
    if groups is None:
        return variables, None
    n = next(iter(lengths.values()))
    return variables, group_codes(n, groups)[1]


def as_variable(name: str, value: Any) -> Variable:
    """`value` as a Variable; `name` is its name in errors.

    Accepted: an array, tensor, list or Series of [n] or [n, d]; a DataFrame, of polars
    or pyarrow, too; a `Continuous`, `Discrete` or `Angle` around one of these; a list
    or tuple of blocks with at least one wrapped; a Variable.

    Integers are discrete if they look like codes of classes: two values; the middle 96
    % of the rows from 0 or 1 to at most 10 with few gaps; or all codes from 0 or 1 on
    with 3 rows each, the first and last about as frequent as others. Other integers are
    ordered numbers: sums of scores, ages, years, doses. Several columns of codes are
    discrete if every possible combination has 3 rows. Constant columns are left out
    (noted).

    InfoscopeError: fewer than two rows, more than two axes, missing, masked or infinite
    values, nothing that varies, types that are neither numbers nor categories (complex,
    dates), numbers beyond 1e150, texts that are numbers or dates.
    """
    return as_variables(**{name: value})[0][name]


@dataclass(frozen=True, eq=False)
class _Integers:
    """A column of integers without a given type.

    place    its name
    numbers  float64 [n]
    codes    [n], of the values
    count    number of distinct values
    """

    place: str
    numbers: np.ndarray
    codes: np.ndarray
    count: int


@dataclass(frozen=True, eq=False)
class _Columns:
    """The typed columns of a variable, before integers become numbers or categories."""

    name: str
    rows: int
    numbers: list[np.ndarray]
    labels: list[np.ndarray]
    integers: list[_Integers]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, name: str, value: Any) -> _Columns:
        """The checked columns of a value."""
        typed_columns = columns(name, value)
        lengths = {len(column) for _, column, _ in typed_columns}
        if len(lengths) != 1 or 0 in lengths:
            raise WrongLength(
                f"{name} must have rows, and columns of one length, got lengths "
                f"{sorted(lengths)}."
            )
        rows = lengths.pop()
        if rows == 1:
            raise TooFew(f"{name} must have at least two rows, got 1.")
        numbers, labels, integers = [], [], []
        constant, repeated, periodic = [], [], []
        names = column_names(value, len(typed_columns))
        for place, (column_type, column, is_wrapped) in zip(names, typed_columns):
            require_present(name, column, place)
            if column_type is Discrete:
                labels.append(factorise(categorical(name, column))[0])
                continue
            is_integer = column_type is int
            if is_integer:
                column = categorical(name, column)
            values = as_numbers(name, column)
            is_only_integer = is_integer and len(typed_columns) == 1
            if values.min() == values.max() and not is_only_integer:
                constant.append(place)
            elif is_integer:
                integers.append(_Integers(place, values, *factorise(column)))
            else:
                numbers.append(values)
            if is_wrapped:
                continue
            unit = period_name(values)
            if unit:
                periodic.append((place, unit))
            if not is_integer and has_few_repeated_values(values):
                repeated.append(place)
        subject = f"{len(constant)} columns are"
        if len(constant) == 1:
            subject = f"column {constant[0]} is"
        if not (numbers or labels or integers):
            raise NoVariation(
                f"{name} must vary, got {subject} constant in all {rows} rows."
            )
        notes = ()
        if constant:
            sentence = f"{name}: {subject} constant and left out."
            notes = (Note(sentence, "constant column", name),)
        notes += _number_notes(name, repeated)
        if periodic:
            place, unit = periodic[0]
            period = PERIODS[unit]
            sentence = (
                f"{name}: column {place} fills a range of {period:g}; for {unit} give "
                f"Angle(values, {period:g}) "
                f"(ANGLES=NAME:{period:g} of a command)."
            )
            notes += (Note(sentence, "angle", name),)
        return cls(name, rows, numbers, labels, integers, notes)

    @property
    def categories(self) -> int:
        """Number of possible combinations of categories if all integers are labels."""
        _, combinations = joint_codes(self.labels) if self.labels else (None, 1)
        return combinations * math.prod(column.count for column in self.integers)

    def variable(self, cells: int) -> Variable:
        """The variable; `cells` is the size of the table of all variables' categories."""
        is_alone = len(self.integers) == 1 and not self.labels
        has_few_rows = not is_alone and self.rows < MIN_LABEL_ROWS * cells
        numbers = list(self.numbers)
        labels = list(self.labels)
        different, repeated = [], []
        for column in self.integers:
            if not has_few_rows and are_codes_of_classes(column.numbers):
                labels.append(column.codes)
                continue
            numbers.append(column.numbers)
            places = different if column.count == self.rows else repeated
            places.append(column.place)
        notes = self.notes + _number_notes(self.name, repeated)
        notes += _row_number_notes(self.name, different)
        codes, categories = joint_codes(labels) if labels else (None, 1)
        stacked = np.column_stack(numbers) if numbers else np.empty((self.rows, 0))
        return Variable(np.ascontiguousarray(stacked), codes, categories, notes=notes)


def _number_notes(name: str, places: Sequence[str]) -> tuple[Note, ...]:
    """A note on columns of repeated values that are taken as numbers."""
    if not places:
        return ()
    sentence = (
        f"{name}: {columns_in_words(places)} repeated values, treated as numbers; for "
        f"categories, {AS_CATEGORIES}."
    )
    return (Note(sentence, "repeated values", name),)


def _row_number_notes(name: str, places: Sequence[str]) -> tuple[Note, ...]:
    """A note on columns of whole numbers that are all different."""
    if not places:
        return ()
    subject = columns_in_words(places)
    sentence = (
        f"{name}: {subject} whole numbers that are all different (ranks or row "
        "numbers?), taken as numbers."
    )
    return (Note(sentence, "different whole numbers", name),)
