"""Rows of several values: matched by the index of pandas objects, complete, with codes of their groups."""

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


def complete_rows(values: dict[str, Any], groups: Any = None) -> tuple[dict[str, Any], Any, list[Note]]:
    """Aligned values in the rows where none is missing, their groups, and a note on each value that has missing ones.

    MissingValues: in every row.
    """
    missing, notes = {}, []
    for name, value in values.items():
        if isinstance(value, Variable):
            continue
        masks = [pd.isna(column) for _, column, _ in columns(name, value)]
        missing[name] = np.any(masks, axis=0)
        if missing[name].any():
            places = [place for place, mask in zip(column_names(value, len(masks)), masks) if mask.any()]
            sentence = (
                f"{name}: {missing[name].sum():,} of {len(masks[0]):,} rows have missing values and are left out "
                f"({columns_in_words(places)} some)."
            )
            notes.append(Note(sentence, "missing values", name))
    if not notes or len({len(rows) for rows in missing.values()}) > 1:
        return values, groups, []
    complete = np.flatnonzero(~np.any(list(missing.values()), axis=0))
    if not len(complete):
        raise MissingValues(f"{' and '.join(missing)} must have rows without missing values, got none. {notes[0]}")
    codes = None if groups is None else of_kept(group_codes(len(missing[name]), groups)[1], complete)
    return {name: take_rows(value, complete) for name, value in values.items()}, codes, notes


def rows_with_missing_values(values: dict[str, Any]) -> np.ndarray:
    """Which rows [n] have a missing value. WrongLength: values of different lengths."""
    masks = {
        name: np.any([pd.isna(column) for _, column, _ in columns(name, value)], axis=0)
        for name, value in values.items()
    }
    lengths = {name: len(mask) for name, mask in masks.items()}
    if len(set(lengths.values())) > 1:
        raise WrongLength(f"{' and '.join(lengths)} must have the same number of rows, got {lengths}.")
    return np.any(list(masks.values()), axis=0)


def take_rows(value: Any, rows: np.ndarray) -> Any:
    """The rows (indices) of a value; whole numbers beside missing ones become integers again."""
    if isinstance(value, (Continuous, Discrete, Angle)):
        return replace(value, values=take_rows(value.values, rows))
    if isinstance(value, Variable):
        return value.take(rows)
    if isinstance(value, pd.DataFrame):
        return value.apply(take_rows, rows=rows)
    if isinstance(value, pd.Series):
        whole = value.dtype.kind == "f" and value.hasnans
        return pd.to_numeric(value.iloc[rows], downcast="integer") if whole else value.iloc[rows]
    if isinstance(value, (list, tuple)):
        wrapped = any(isinstance(block, (Continuous, Discrete, Angle)) for block in value)
        return [take_rows(block, rows) for block in value] if wrapped else [value[row] for row in rows]
    return (value.tocsr() if sparse.issparse(value) else value)[rows]


def group_codes(n: int, groups: ArrayLike) -> tuple[int, np.ndarray]:
    """The number of groups, and the group's code of each row, int64 [n], by first appearance, whatever its name.

    WrongLength; MissingValues: missing names; TooFew: one group.
    """
    codes = pd.factorize(as_codes("groups", groups))[0]
    if codes.shape != (n,):
        raise WrongLength(f"groups must have one entry for each of the {n} rows, got shape {codes.shape}.")
    count = int(codes.max()) + 1
    if count == 1:
        raise TooFew(f"groups must be at least two, as rows of one group are dependent, got one for all {n} rows.")
    return count, codes.astype(np.int64)


def aligned(**given: Any) -> tuple[dict[str, Any], list[Note]]:
    """The values with the rows of pandas objects in the order of the first index, and a note on each that was moved.

    Tables without an index (`as_pandas`), and those with the index 0, 1, ..., are paired by position, with a note
    where other labels stand beside it. WrongOrder: other labels, or the same in another order, some of them twice.
    """
    known = [(name, one.index) for name, value in given.items() for one in tables(value)]
    moved, notes = [], []
    for name, index in known[1:]:
        first, reference = known[0]
        if len(index) != len(reference) or index.equals(reference):
            continue
        if index.value_counts().to_dict() != reference.value_counts().to_dict():
            if not any(labels.equals(pd.RangeIndex(len(labels))) for labels in (index, reference)):
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
        moved.append(name)
        notes.append(Note(f"The rows of {name} are reordered by the index of {first}.", "reordered rows", name))
    reference = known[0][1] if known else None
    found = {name: apply_to_values(value, partial(as_pandas, name, index=reference)) for name, value in given.items()}
    return found | {
        name: apply_to_values(found[name], partial(_reordered, reference=reference)) for name in moved
    }, notes


def aligns(*names: str) -> Callable:
    """Decorates a public function: what these arguments hold of pandas is aligned (`aligned`) before it is called."""

    def decorated(function: Callable) -> Callable:
        signature = inspect.signature(function)

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            given = {name: bound.arguments[name] for name in names if name in bound.arguments}
            bound.arguments.update(aligned(**given)[0])
            return function(*bound.args, **bound.kwargs)

        return called

    return decorated


def _reordered(one: Any, reference: pd.Index) -> Any:
    """A data frame or Series with its rows in the order of `reference`, where it has its labels."""
    if not isinstance(one, (pd.DataFrame, pd.Series)):
        return one
    places = one.index.get_indexer(reference) if one.index.is_unique else np.array([-1])
    return one.iloc[places] if len(one) == len(reference) and (places >= 0).all() else one
