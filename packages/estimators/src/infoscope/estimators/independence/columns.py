"""The columns of a table, each with its type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from infoscope.errors import (
    Conflict,
    InvalidInput,
    MissingValues,
    NoVariation,
    UnknownName,
)
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
from infoscope.estimators.independence.functions import (
    ANGLE,
    CATEGORY,
    NUMBER,
    WHOLE,
    Smooth,
    smooth,
)
from infoscope.estimators.variables import factorise

MAX_CATEGORIES_PER_ROW = 0.5  # with more, a column only names the rows


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table.

    kind    number, whole number, category or angle
    values  [n], numbers, turns or codes; 0 where missing
    known   [n], False where missing
    given   pandas Series [n] of the user's values
    wrap    adds the type that `estimate` needs to rows of `given`
    """

    name: str
    kind: str
    values: NDArray[np.float64]
    known: NDArray[np.bool_]
    given: pd.Series
    wrap: Callable[[pd.Series], Any]

    def smooth(self, rows: NDArray[np.bool_]) -> Smooth:
        """Functions of the values in some of the rows, all without missing values."""
        return smooth(self.values[rows], self.kind)

    def labels(self, rows: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Codes of the values in some of the rows."""
        return np.unique(self.values[rows], return_inverse=True)[1].reshape(-1)

    def typed(self, rows: NDArray[np.intp]) -> Any:
        """Some rows, as `estimate` takes them."""
        return self.wrap(self.given.iloc[rows])


def as_columns(
    table: Mapping[str, Any],
    continuous: Collection[str],
    discrete: Collection[str],
    angles: Mapping[str, float],
) -> tuple[dict[str, Column], dict[str, str]]:
    """Columns by name, and the reasons why other columns are left out.

    Types are as in `estimate`, but whole numbers are ordered. Left out are constants, and
    names or free texts that hardly repeat. InfoscopeError: an unknown name, a column of
    two types, dates, texts that are numbers, infinite values.
    """
    typed_names = [*continuous, *discrete, *angles]
    for name in typed_names:
        if name not in table:
            raise UnknownName(
                "continuous, discrete and angles must name columns of the table, got "
                f"{name!r}."
            )
    for name in typed_names:
        if typed_names.count(name) > 1:
            raise Conflict(
                "continuous, discrete and angles must name each column once, got "
                f"{name!r} twice."
            )
    wraps: dict[str, Callable[[Any], Any]] = {}
    wraps.update(dict.fromkeys(continuous, Continuous))
    wraps.update(dict.fromkeys(discrete, Discrete))
    for name, period in angles.items():
        wraps[name] = partial(Angle, period=period)
    typed_columns, left_out = {}, {}
    for name, value in table.items():
        try:
            typed_columns[name] = as_column(name, value, wraps.get(name))
        except NoVariation as error:
            left_out[name] = str(error)
    return typed_columns, left_out


def as_column(
    name: str, value: Any, wrap: Callable[[Any], Any] | None = None
) -> Column:
    """A column from values [n], or from a wrapper of values.

    NoVariation: a constant, or a category for nearly every row.
    """
    if isinstance(value, (Continuous, Discrete)):
        wrap = type(value)
        value = value.values
    elif isinstance(value, Angle):
        wrap = partial(Angle, period=value.period)
        value = value.values
    parts = bare_columns(name, value)
    if len(parts) != 1:
        raise InvalidInput(f"{name} must be one column, got {len(parts)}.")
    series: Any = pd.Series(parts[0], name=name)
    is_known = series.notna().to_numpy()
    if not is_known.any():
        raise NoVariation(
            f"{name} must have known values, got none in {len(series):,} rows."
        )
    kind, values = _typed_values(name, series[is_known], wrap)
    distinct = len(np.unique(values))
    if distinct < 2:
        raise NoVariation(
            f"{name} must have two values or more, got {distinct} in {len(values):,} "
            "rows."
        )
    if kind == CATEGORY and distinct > MAX_CATEGORIES_PER_ROW * len(values):
        raise NoVariation(
            f"{name} must have categories that repeat, got {distinct:,} in "
            f"{len(values):,} rows."
        )
    all_values = np.zeros(len(series))
    all_values[is_known] = values
    return Column(name, kind, all_values, is_known, series, wrap or (lambda rows: rows))


def _typed_values(
    name: str, values: pd.Series, wrap: Callable[[Any], Any] | None
) -> tuple[str, NDArray[np.float64] | NDArray[np.intp]]:
    """The kind of a column without missing values, and its numbers, turns or codes [n]."""
    typed = values if wrap is None else wrap(values)
    if isinstance(typed, Angle):
        (angles,) = bare_columns(name, typed.values)
        return ANGLE, as_numbers(name, angles) / typed.period
    ((column_type, column, _),) = columns(name, typed)
    if column_type is Discrete:
        return CATEGORY, factorise(categorical(name, column))[0]
    kind = NUMBER if column_type is Continuous else WHOLE
    return kind, as_numbers(name, np.asarray(column))


def smooth_column(name: str, value: Any) -> Smooth | None:
    """Functions of a column without missing values.

    None if `as_column` raises NoVariation. MissingValues: a value is missing.
    """
    try:
        column = as_column(name, value)
    except NoVariation:
        return None
    missing = int((~column.known).sum())
    if missing:
        raise MissingValues(
            f"{name} must have no missing values, got {missing:,} of "
            f"{len(column.known):,}."
        )
    return column.smooth(column.known)


def smooth_columns(name: str, value: Any) -> list[Smooth]:
    """Functions of the columns of a variable; constant columns are left out.

    An angle is one column. MissingValues: a value is missing.
    """
    is_list = isinstance(value, (list, tuple))
    if is_list and any(isinstance(block, Angle) for block in value):
        functions = []
        for block in value:
            functions += smooth_columns(name, block)
        return functions
    if isinstance(value, Angle):
        angles = bare_columns(name, value.values)
        parts = [Angle(column, value.period) for column in angles]
    else:
        parts = single_columns(name, value)
    smooth_parts = [smooth_column(name, part) for part in parts]
    return [part for part in smooth_parts if part is not None]
