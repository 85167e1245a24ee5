"""The columns of a table, each with its type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from infoscope.errors import Conflict, InvalidInput, MissingValues, NoVariation, UnknownName
from infoscope.estimators.columns import (
    Angle,
    Continuous,
    Discrete,
    as_numbers,
    bare_columns,
    categorical,
    columns,
    single_columns,
)
from infoscope.estimators.independence.functions import ANGLE, CATEGORY, NUMBER, WHOLE, Smooth, smooth
from infoscope.estimators.variables import factorise

MAX_CATEGORIES_PER_ROW = 0.5  # of more, a column only names the rows


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table.

    kind    number, whole number, category or angle
    values  [n], numbers, turns or codes; 0 where missing
    known   [n], where it is not missing
    given   pandas Series [n] as it was given
    wrap    gives the rows of `given` their type for `estimate`
    """

    name: str
    kind: str
    values: NDArray[np.float64]
    known: NDArray[np.bool_]
    given: pd.Series
    wrap: Callable[[pd.Series], Any]

    def smooth(self, rows: NDArray[np.bool_]) -> Smooth:
        """Functions of its values in some of the rows, where it must be known."""
        return smooth(self.values[rows], self.kind)

    def labels(self, rows: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Codes of its values in some of the rows."""
        return np.unique(self.values[rows], return_inverse=True)[1].reshape(-1)

    def typed(self, rows: NDArray[np.intp]) -> Any:
        """Some rows of it, as `estimate` takes them."""
        return self.wrap(self.given.iloc[rows])


def as_columns(
    table: Mapping[str, Any], continuous: Collection[str], discrete: Collection[str], angles: Mapping[str, float]
) -> tuple[dict[str, Column], dict[str, str]]:
    """Columns by name, typed as by `estimate` but with ordered whole numbers; and why others are left out: constants,
    and names or free texts that hardly repeat.

    InfoscopeError: an unknown name, a column of two types, dates, texts that are numbers, infinite values.
    """
    named = [*continuous, *discrete, *angles]
    if unknown := [name for name in named if name not in table]:
        raise UnknownName(f"continuous, discrete and angles must name columns of the table, got {unknown[0]!r}.")
    if twice := [name for name in named if named.count(name) > 1]:
        raise Conflict(f"continuous, discrete and angles must name each column once, got {twice[0]!r} twice.")
    wraps: dict[str, Callable[[Any], Any]] = dict.fromkeys(continuous, Continuous) | dict.fromkeys(discrete, Discrete)
    wraps |= {name: lambda values, period=period: Angle(values, period) for name, period in angles.items()}
    found, left_out = {}, {}
    for name, value in table.items():
        try:
            found[name] = as_column(name, value, wraps.get(name))
        except NoVariation as error:
            left_out[name] = str(error)
    return found, left_out


def as_column(name: str, value: Any, wrap: Callable[[Any], Any] | None = None) -> Column:
    """A column [n], or one in a wrapper. NoVariation: constant, or a category of nearly each row; else see above."""
    if isinstance(value, (Continuous, Discrete)):
        value, wrap = value.values, type(value)
    elif isinstance(value, Angle):
        period = value.period
        value, wrap = value.values, lambda values: Angle(values, period)
    parts = bare_columns(name, value)
    if len(parts) != 1:
        raise InvalidInput(f"{name} must be one column, got {len(parts)}.")
    given = pd.Series(parts[0], name=name)
    known = ~pd.isna(given).to_numpy()
    if not known.any():
        raise NoVariation(f"{name} must have known values, got none in {len(known):,} rows.")
    typed = given[known]
    if wrap is not None:
        typed = wrap(typed)
    if isinstance(typed, Angle):
        kind, values = ANGLE, as_numbers(name, bare_columns(name, typed.values)[0]) / typed.period
    else:
        ((of_type, column, _),) = columns(name, typed)
        kind = {Continuous: NUMBER, Discrete: CATEGORY, int: WHOLE}[of_type]
        values = factorise(categorical(name, column))[0] if kind == CATEGORY else as_numbers(name, np.asarray(column))
    distinct = len(np.unique(values))
    if distinct < 2:
        raise NoVariation(f"{name} must have two values or more, got {distinct} in {len(values):,} rows.")
    if kind == CATEGORY and distinct > MAX_CATEGORIES_PER_ROW * len(values):
        raise NoVariation(f"{name} must have categories that repeat, got {distinct:,} in {len(values):,} rows.")
    all_values = np.zeros(len(given))
    all_values[known] = values
    return Column(name, kind, all_values, known, given, wrap or (lambda rows: rows))


def smooth_column(name: str, value: Any) -> Smooth | None:
    """Functions of a column without missing values; None where `as_column` has NoVariation. MissingValues."""
    try:
        column = as_column(name, value)
    except NoVariation:
        return None
    if missing := int((~column.known).sum()):
        raise MissingValues(f"{name} must have no missing values, got {missing:,} of {len(column.known):,}.")
    return column.smooth(column.known)


def smooth_columns(name: str, value: Any) -> list[Smooth]:
    """Functions of the columns of a variable that vary; an angle is one column. MissingValues."""
    if isinstance(value, (list, tuple)) and any(isinstance(block, Angle) for block in value):
        return [column for block in value for column in smooth_columns(name, block)]
    if isinstance(value, Angle):
        parts = [Angle(column, value.period) for column in bare_columns(name, value.values)]
    else:
        parts = single_columns(name, value)
    smooth = [smooth_column(name, part) for part in parts]
    return [column for column in smooth if column is not None]
