"""Rows of several values: matched by the index of pandas objects, and complete."""

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
    """Aligned values in the complete rows, the rows' groups, and notes.

    A row is complete if no value is missing. A note reports each value with missing
    ones. MissingValues: no row is complete.
    """
    missing, notes = {}, []
    for name, value in values.items():
        if isinstance(value, Variable):
            continue
        masks = _missing_by_column(name, value)
        is_missing = np.any(masks, axis=0)
        missing[name] = is_missing
        if is_missing.any():
            names = column_names(value, len(masks))
            incomplete = [column for column, mask in zip(names, masks) if mask.any()]
            sentence = (
                f"{name}: {is_missing.sum():,} of {len(is_missing):,} rows have "
                "missing values and are left out "
                f"({columns_in_words(incomplete)} some)."
            )
            notes.append(Note(sentence, "missing values", name))
    lengths = {len(rows) for rows in missing.values()}
    if not notes or len(lengths) > 1:
        return values, groups, []
    is_incomplete = np.any(list(missing.values()), axis=0)
    complete = np.flatnonzero(~is_incomplete)
    if not len(complete):
        raise MissingValues(
            f"{' and '.join(missing)} must have rows without missing values, got "
            f"none. {notes[0]}"
        )
    codes = None
    if groups is not None:
        _, codes = group_codes(len(is_incomplete), groups)
        codes = of_kept(codes, complete)
    parts = {name: take_rows(value, complete) for name, value in values.items()}
    return parts, codes, notes


def _missing_by_column(name: str, value: Any) -> list[np.ndarray]:
    """Which rows [n] are missing in each column of a value."""
    return [pd.isna(column) for _, column, _ in columns(name, value)]


def rows_with_missing_values(values: dict[str, Any]) -> np.ndarray:
    """Which rows [n] have a missing value. WrongLength: values of different lengths."""
    masks = {}
    for name, value in values.items():
        masks[name] = np.any(_missing_by_column(name, value), axis=0)
    lengths = {name: len(mask) for name, mask in masks.items()}
    if len(set(lengths.values())) > 1:
        raise WrongLength(
            f"{' and '.join(lengths)} must have the same number of rows, got {lengths}."
        )
    return np.any(list(masks.values()), axis=0)


def take_rows(value: Any, rows: np.ndarray) -> Any:
    """The rows (indices) of a value.

    A Series of whole numbers that had missing values becomes integers again.
    """
    if isinstance(value, (Continuous, Discrete, Angle)):
        return replace(value, values=take_rows(value.values, rows))
    if isinstance(value, Variable):
        return value.take(rows)
    if isinstance(value, pd.DataFrame):
        return value.apply(take_rows, rows=rows)
    if isinstance(value, pd.Series):
        part = value.iloc[rows]
        if value.dtype.kind == "f" and value.hasnans:
            return pd.to_numeric(part, downcast="integer")
        return part
    if isinstance(value, (list, tuple)):
        if any(isinstance(block, (Continuous, Discrete, Angle)) for block in value):
            return [take_rows(block, rows) for block in value]
        return [value[row] for row in rows]
    if sparse.issparse(value):
        value = value.tocsr()
    return value[rows]


def group_codes(n: int, groups: ArrayLike) -> tuple[int, np.ndarray]:
    """The number of groups, and each row's group code, int64 [n], by first appearance.

    The names of the groups play no part. WrongLength; MissingValues: missing names;
    TooFew: one group.
    """
    codes = pd.factorize(as_codes("groups", groups))[0]
    if codes.shape != (n,):
        raise WrongLength(
            f"groups must have one entry for each of the {n} rows, got shape "
            f"{codes.shape}."
        )
    count = int(codes.max()) + 1
    if count == 1:
        raise TooFew(
            "groups must be at least two, as rows of one group are dependent, got "
            f"one for all {n} rows."
        )
    return count, codes.astype(np.int64)


def aligned(**values: Any) -> tuple[dict[str, Any], list[Note]]:
    """The values with pandas rows in the order of the first index, and notes on changes.

    Tables without an index (`as_pandas`), or with the index 0, 1, ..., are paired by
    position, with a note if the other table has other labels. WrongOrder: other labels,
    or the same labels in another order if some of them occur twice.
    """
    indexes = []
    for name, value in values.items():
        for table in tables(value):
            indexes.append((name, table.index))
    first, reference = indexes[0] if indexes else ("", pd.RangeIndex(0))
    reordered, notes = [], []
    for name, index in indexes[1:]:
        if len(index) != len(reference) or index.equals(reference):
            continue
        if index.value_counts().to_dict() != reference.value_counts().to_dict():
            positions = pd.RangeIndex(len(index))
            if not index.equals(positions) and not reference.equals(positions):
                raise WrongOrder(
                    f"{name} must have the index of {first} or none, got other "
                    f"labels: {name}.loc[{first}.index] pairs "
                    "rows by label, to_numpy() by position."
                )
            sentence = (
                f"The rows of {name} and {first} have different index labels: they "
                "are paired by position."
            )
            notes.append(Note(sentence, "paired by position", name))
            continue
        if not reference.is_unique:
            raise WrongOrder(
                f"{name} must have its rows in the order of {first}, got the same "
                "index in another order, with "
                "repeated labels: give arrays (to_numpy()) to match rows by position."
            )
        reordered.append(name)
        sentence = f"The rows of {name} are reordered by the index of {first}."
        notes.append(Note(sentence, "reordered rows", name))
    tabled = {}
    for name, value in values.items():
        as_table = partial(as_pandas, name, index=reference)
        tabled[name] = apply_to_values(value, as_table)
    in_order = partial(_reordered, reference=reference)
    for name in dict.fromkeys(reordered):
        tabled[name] = apply_to_values(tabled[name], in_order)
    return tabled, notes


def aligns(*names: str) -> Callable:
    """A decorator: pandas objects in these arguments are aligned before the call."""

    def decorated(function: Callable) -> Callable:
        signature = inspect.signature(function)

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            present = [name for name in names if name in bound.arguments]
            values = {name: bound.arguments[name] for name in present}
            aligned_values, _ = aligned(**values)
            bound.arguments.update(aligned_values)
            return function(*bound.args, **bound.kwargs)

        return called

    return decorated


def _reordered(value: Any, reference: pd.Index) -> Any:
    """A data frame or Series with the rows in the order of `reference`.

    Unchanged if its labels differ.
    """
    if not isinstance(value, (pd.DataFrame, pd.Series)):
        return value
    if len(value) != len(reference) or not value.index.is_unique:
        return value
    places = value.index.get_indexer(reference)
    return value.iloc[places] if (places >= 0).all() else value
