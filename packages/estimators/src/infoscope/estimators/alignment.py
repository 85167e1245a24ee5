"""Rows of several values: matched by the index of pandas objects, complete, with codes
of their groups.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from infoscope.errors import MissingValues, TooFew, WrongLength, WrongOrder
from infoscope.estimators.columns import (
    Angle,
    Continuous,
    Discrete,
    apply_to_values,
    as_codes,
    as_pandas,
    column_names,
    columns,
    columns_in_words,
    tables,
)
from infoscope.estimators.variables import Variable, of_kept
from infoscope.notes import Note


def complete_rows(
    values: dict[str, Any], groups: Any = None
) -> tuple[dict[str, Any], Any, list[Note]]:
    """Aligned values in the rows where none is missing, their groups, and a note on
    each value that has missing ones.

    MissingValues: in every row.
    """
    missing, notes = {}, []
    for name, value in values.items():
        if isinstance(value, Variable):
            continue
        masks = [pd.isna(column) for _, column, _ in columns(name, value)]
        is_missing = np.any(masks, axis=0)
        missing[name] = is_missing
        if is_missing.any():
            names = column_names(value, len(masks))
            incomplete = [column for column, mask in zip(names, masks) if mask.any()]
            sentence = (
                f"{name}: {is_missing.sum():,} of {len(is_missing):,} rows have missing values and are left out "
                f"({columns_in_words(incomplete)} some)."
            )
            notes.append(Note(sentence, "missing values", name))
    if not notes or len({len(rows) for rows in missing.values()}) > 1:
        return values, groups, []
    complete = np.flatnonzero(~np.any(list(missing.values()), axis=0))
    if not len(complete):
        raise MissingValues(
            f"{' and '.join(missing)} must have rows without missing values, got none. {notes[0]}"
        )
    codes = None
    if groups is not None:
        _, codes = group_codes(len(missing[name]), groups)
        codes = of_kept(codes, complete)
    return (
        {name: take_rows(value, complete) for name, value in values.items()},
        codes,
        notes,
    )


def rows_with_missing_values(values: dict[str, Any]) -> np.ndarray:
    """Which rows [n] have a missing value. WrongLength: values of different lengths."""
    masks = {
        name: np.any([pd.isna(column) for _, column, _ in columns(name, value)], axis=0)
        for name, value in values.items()
    }
    lengths = {name: len(mask) for name, mask in masks.items()}
    if len(set(lengths.values())) > 1:
        raise WrongLength(
            f"{' and '.join(lengths)} must have the same number of rows, got {lengths}."
        )
    return np.any(list(masks.values()), axis=0)


def take_rows(value: Any, rows: np.ndarray) -> Any:
    """The rows (indices) of a value; a Series of whole numbers that had missing values
    becomes integers again.
    """
    if isinstance(value, (Continuous, Discrete, Angle)):
        return replace(value, values=take_rows(value.values, rows))
    if isinstance(value, Variable):
        return value.take(rows)
    if isinstance(value, pd.DataFrame):
        return value.apply(take_rows, rows=rows)
    if isinstance(value, pd.Series):
        may_be_whole = value.dtype.kind == "f" and value.hasnans
        part = value.iloc[rows]
        return pd.to_numeric(part, downcast="integer") if may_be_whole else part
    if isinstance(value, (list, tuple)):
        if any(isinstance(block, (Continuous, Discrete, Angle)) for block in value):
            return [take_rows(block, rows) for block in value]
        return [value[row] for row in rows]
    if sparse.issparse(value):
        value = value.tocsr()
    return value[rows]


def group_codes(n: int, groups: ArrayLike) -> tuple[int, np.ndarray]:
    """The number of groups, and the group's code of each row, int64 [n], by first
    appearance, whatever its name.

    WrongLength; MissingValues: missing names; TooFew: one group.
    """
    codes = pd.factorize(as_codes("groups", groups))[0]
    if codes.shape != (n,):
        raise WrongLength(
            f"groups must have one entry for each of the {n} rows, got shape {codes.shape}."
        )
    count = int(codes.max()) + 1
    if count == 1:
        raise TooFew(
            f"groups must be at least two, as rows of one group are dependent, got one for all {n} rows."
        )
    return count, codes.astype(np.int64)


def aligned(**values: Any) -> tuple[dict[str, Any], list[Note]]:
    """The values with the rows of pandas objects in the order of the first index, and a
    note on each that was moved.

    Tables without an index (`as_pandas`), and those with the index 0, 1, ..., are
    paired by position, with a note where other labels stand beside it. WrongOrder:
    other labels, or the same in another order, some of them twice.
    """
    indexes = [
        (name, table.index) for name, value in values.items() for table in tables(value)
    ]
    first, reference = indexes[0] if indexes else ("", None)
    reordered, notes = [], []
    for name, index in indexes[1:]:
        if len(index) != len(reference) or index.equals(reference):
            continue
        if index.value_counts().to_dict() != reference.value_counts().to_dict():
            positions = pd.RangeIndex(len(index))
            if not index.equals(positions) and not reference.equals(positions):
                raise WrongOrder(
                    f"{name} must have the index of {first} or none, got other labels: {name}.loc[{first}.index] pairs "
                    "rows by label, to_numpy() by position."
                )
            sentence = f"The rows of {name} and {first} have different index labels: they are paired by position."
            notes.append(Note(sentence, "paired by position", name))
            continue
        if not reference.is_unique:
            raise WrongOrder(
                f"{name} must have its rows in the order of {first}, got the same index in another order, with "
                "repeated labels: give arrays (to_numpy()) to match rows by position."
            )
        reordered.append(name)
        notes.append(
            Note(
                f"The rows of {name} are reordered by the index of {first}.",
                "reordered rows",
                name,
            )
        )
    tabled = {}
    for name, value in values.items():
        tabled[name] = apply_to_values(value, partial(as_pandas, name, index=reference))
    for name in dict.fromkeys(reordered):
        tabled[name] = apply_to_values(
            tabled[name], partial(_reordered, reference=reference)
        )
    return tabled, notes


def aligns(*names: str) -> Callable:
    """Decorates a public function: pandas objects in these arguments are aligned
    (`aligned`) before the call.
    """

    def decorated(function: Callable) -> Callable:
        signature = inspect.signature(function)

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            values = {
                name: bound.arguments[name] for name in names if name in bound.arguments
            }
            bound.arguments.update(aligned(**values)[0])
            return function(*bound.args, **bound.kwargs)

        return called

    return decorated


def _reordered(value: Any, reference: pd.Index) -> Any:
    """A data frame or Series with its rows in the order of `reference`, if it has the
    same labels.
    """
    if not isinstance(value, (pd.DataFrame, pd.Series)):
        return value
    if len(value) != len(reference) or not value.index.is_unique:
        return value
    places = value.index.get_indexer(reference)
    return value.iloc[places] if (places >= 0).all() else value
