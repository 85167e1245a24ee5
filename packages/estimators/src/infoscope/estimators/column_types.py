"""Values of any kind as variables: every column is given its type, checked, or left out where it is constant.

Types are given by wrapping (`columns.Continuous`, `Discrete`, `Angle`) or inferred: floats are continuous; booleans,
strings and pandas categories discrete; integers discrete where they look like class labels, else numbers with ties.
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
    Continuous,
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
    groups: Any = None, drop_missing: bool = False, /, **given: Any
) -> tuple[dict[str, Variable], np.ndarray | None]:
    """Variables of the same rows by the names of `given`, and the codes 0, 1, ... int64 [n] of their groups or None.

    Arguments as in `as_variable`; pandas objects are put in the order of the first (`aligned`); rows with missing
    values are refused, or left out (`complete_rows`). InfoscopeError as `as_variable` and `aligned`; WrongLength:
    different numbers of rows, or groups of another length.
    """
    given, notes = aligned(**given, groups=groups)
    groups = given.pop("groups")
    if drop_missing:
        given, groups, missing = complete_rows(given, groups)
        notes = [*notes, *missing]
    typed = {name: one if isinstance(one, Variable) else _Columns.of(name, one) for name, one in given.items()}
    cells = math.prod(one.categories for one in typed.values())
    found = {name: one if isinstance(one, Variable) else one.variable(cells) for name, one in typed.items()}
    for note in notes:
        if note.argument in found:
            variable = found[note.argument]
            found[note.argument] = replace(variable, notes=(*variable.notes, note))
    lengths = {name: one.n for name, one in found.items()}
    if len(set(lengths.values())) != 1:
        raise WrongLength(f"{' and '.join(lengths)} must have the same number of rows, got {lengths}.")
    return found, None if groups is None else group_codes(next(iter(lengths.values())), groups)[1]


def as_variable(name: str, value: Any) -> Variable:
    """`value` as a Variable; `name` is what errors call it.

    Taken: an array, tensor, list or Series of [n] or [n, d]; a DataFrame, of polars or pyarrow, too; a `Continuous`,
    `Discrete` or `Angle` around one of these; a list or tuple of blocks with at least one wrapped; a Variable.

    Integers are discrete if they look like codes of classes: two values; the middle 96 % of the rows from 0 or 1 to at
    most 10 with few gaps; or all codes from 0 or 1 on with 3 rows each, the first and last about as frequent as others.
    Other integers are ordered numbers: sums of scores, ages, years, doses. Several columns of codes are discrete if
    every possible combination has 3 rows. Constant columns are left out (noted).

    InfoscopeError: fewer than two rows, more than two axes, missing, masked or infinite values, nothing that varies,
    types that are neither numbers nor categories (complex, dates), numbers beyond 1e150, texts that are numbers or
    dates.
    """
    return as_variables(**{name: value})[0][name]


@dataclass(frozen=True, eq=False)
class _Integers:
    """A column of integers without a given type: its name, numbers float64 [n], codes [n] and number of values."""

    place: str
    numbers: np.ndarray
    codes: np.ndarray
    count: int


@dataclass(frozen=True, eq=False)
class _Columns:
    """The typed columns of a variable, before its integers are taken as numbers or categories."""

    name: str
    rows: int
    numbers: list[np.ndarray]
    labels: list[np.ndarray]
    integers: list[_Integers]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, name: str, value: Any) -> _Columns:
        found = columns(name, value)
        lengths = {len(column) for _, column, _ in found}
        if len(lengths) != 1 or 0 in lengths:
            raise WrongLength(f"{name} must have rows, and columns of one length, got lengths {sorted(lengths)}.")
        if lengths == {1}:
            raise TooFew(f"{name} must have at least two rows, got 1.")
        numbers, labels, integers, constant, whole, circles = [], [], [], [], [], []
        for place, (typed, column, wrapped) in zip(column_names(value, len(found)), found):
            require_present(name, column, place)
            if typed is Discrete:
                labels.append(factorise(categorical(name, column))[0])
                continue
            values = as_numbers(name, categorical(name, column) if typed is int else column)
            if values.min() == values.max() and not (typed is int and len(found) == 1):
                constant.append(place)
            elif typed is int:
                integers.append(_Integers(place, values, *factorise(column)))
            else:
                numbers.append(values)
            if not wrapped and (circle := period_name(values)):
                circles.append((place, circle))
            if not wrapped and typed is Continuous and has_few_repeated_values(values):
                whole.append(place)
        alike = f"column {constant[0]} is" if len(constant) == 1 else f"{len(constant)} columns are"
        if not (numbers or labels or integers):
            raise NoVariation(f"{name} must vary, got {alike} constant in all {lengths.pop()} rows.")
        notes = (Note(f"{name}: {alike} constant and left out.", "constant column", name),) if constant else ()
        notes += _number_notes(name, whole)
        if circles:
            place, circle = circles[0]
            period = PERIODS[circle]
            sentence = (
                f"{name}: column {place} fills a range of {period:g}; for {circle} give Angle(values, {period:g}) "
                f"(ANGLES=NAME:{period:g} of a command)."
            )
            notes += (Note(sentence, "angle", name),)
        return cls(name, lengths.pop(), numbers, labels, integers, notes)

    @property
    def categories(self) -> int:
        """How many combinations its categories could form if all of its integers are labels."""
        return joint_codes(self.labels)[1] * math.prod(column.count for column in self.integers)

    def variable(self, cells: int) -> Variable:
        """The variable, where the table of all categories of all variables has so many cells."""
        alone = len(self.integers) == 1 and not self.labels
        crowded = not alone and self.rows < MIN_LABEL_ROWS * cells
        numeric = [column for column in self.integers if crowded or not are_codes_of_classes(column.numbers)]
        different = [column.place for column in numeric if column.count == self.rows]
        repeated = [column.place for column in numeric if column.count < self.rows]
        notes = self.notes + _number_notes(self.name, repeated) + _row_number_notes(self.name, different)
        labels = [column.codes for column in self.integers if column not in numeric]
        codes, categories = joint_codes(self.labels + labels)
        numbers = self.numbers + [column.numbers for column in numeric]
        stacked = np.column_stack(numbers) if numbers else np.empty((self.rows, 0))
        return Variable(np.ascontiguousarray(stacked), codes, categories, notes=notes)


def _number_notes(name: str, places: Sequence[str]) -> tuple[Note, ...]:
    if not places:
        return ()
    sentence = (
        f"{name}: {columns_in_words(places)} repeated values, treated as numbers; for categories, {AS_CATEGORIES}."
    )
    return (Note(sentence, "repeated values", name),)


def _row_number_notes(name: str, places: Sequence[str]) -> tuple[Note, ...]:
    if not places:
        return ()
    which = columns_in_words(places)
    sentence = f"{name}: {which} whole numbers that are all different (ranks or row numbers?), taken as numbers."
    return (Note(sentence, "different whole numbers", name),)
