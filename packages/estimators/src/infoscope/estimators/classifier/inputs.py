"""Inputs of a cross-fitted classifier: blocks, joint classes of labels, groups, folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.errors import (
    NoVariation,
    OutOfRange,
    TooFew,
    UnknownName,
    WrongLength,
    WrongShape,
)
from infoscope.estimators.columns import as_codes, as_matrix

MIN_FOLDS = 3  # one to evaluate, one to calibrate, one to train


@dataclass(frozen=True, eq=False)
class JointLabels:
    """Label variables and their joint classes, numbered by first appearance.

    values   name -> int64 [classes], code of the label in each joint class
    classes  int64 [n], the joint class of each row
    """

    values: dict[str, np.ndarray]
    classes: np.ndarray

    @property
    def count(self) -> int:
        """Number of joint classes."""
        return int(self.classes.max()) + 1


def as_blocks(blocks: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    """Blocks by name as float64 [n, d]; a single array is "z".

    ValueError: no block, another shape, different lengths, values that are not finite.
    """
    if not isinstance(blocks, Mapping):
        blocks = {"z": blocks}
    if not blocks:
        raise UnknownName("blocks must name at least one array [n, d], got none.")
    arrays = {}
    for name, block in blocks.items():
        arrays[name] = as_matrix(f"block {name!r}", block)
    lengths = {name: len(block) for name, block in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise WrongLength(f"blocks must be equally long, got lengths {lengths}.")
    return arrays


def as_joint_labels(labels: ArrayLike | Mapping[str, ArrayLike], n: int) -> JointLabels:
    """Joint classes of discrete label variables, each [n] or [n, 1].

    A single array is the variable "y"; the columns of a DataFrame are variables.
    ValueError: no variable, a wrong length, missing values, one class only.
    """
    if not isinstance(labels, Mapping | pd.DataFrame):
        labels = {"y": labels}
    if not len(labels.keys()):
        raise UnknownName(
            "labels must name at least one discrete variable [n], got none."
        )
    codes = {}
    for name, values in labels.items():
        codes[name] = coded(f"labels[{name!r}]", values, n)
    for name, code in codes.items():
        if code.max() == 0:
            raise NoVariation(
                f"labels[{name!r}] has one class only; it must take at least two "
                "values."
            )
    classes = combined(list(codes.values()))
    _, first_rows = np.unique(classes, return_index=True)
    codes_by_class = {name: code[first_rows] for name, code in codes.items()}
    return JointLabels(codes_by_class, classes)


def coded(name: str, values: ArrayLike, n: int) -> np.ndarray:
    """Categories [n] as codes 0, 1, ... by first appearance, int64.

    ValueError: another length, or missing values.
    """
    codes = as_codes(name, values)
    if len(codes) != n:
        raise WrongShape(
            f"{name} must have shape [{n}], one category for each row, got "
            f"{list(codes.shape)}."
        )
    return by_first_appearance(codes)


def by_first_appearance(values: np.ndarray) -> np.ndarray:
    """Codes 0, 1, ... of values [n], in the order in which they first appear, int64."""
    return pd.factorize(values)[0].astype(np.int64)


def combined(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Codes [n] of the combinations of several columns of codes [n].

    By first appearance, int64.
    """
    code = columns[0]
    for column in columns[1:]:
        count = int(column.max()) + 1
        code = by_first_appearance(code * count + column)
    return by_first_appearance(code)


def assign_folds(
    classes: np.ndarray, groups: np.ndarray, folds: int, generator: np.random.Generator
) -> np.ndarray:
    """The fold of every row, int64 [n]: whole groups, classes spread evenly.

    TooFew: a class in fewer than two groups or folds.
    """
    group_count = int(groups.max()) + 1
    is_whole = isinstance(folds, int | np.integer) and not isinstance(folds, bool)
    if not is_whole or not MIN_FOLDS <= folds <= group_count:
        raise OutOfRange(
            f"folds must be a whole number from {MIN_FOLDS} to {group_count}, the "
            f"groups, got {folds!r}."
        )
    # every pair that occurs
    class_codes, group_codes = np.unique(np.stack([classes, groups]), axis=1)
    groups_per_class = np.bincount(class_codes)
    rare = np.flatnonzero(groups_per_class < 2)
    if len(rare):
        row = np.flatnonzero(classes == rare[0])[0]
        raise TooFew(
            "labels must have every joint class in 2 groups (or rows) or more, "
            f"better in {folds}, got {len(rare)} of "
            f"{len(groups_per_class)} in one, such as that of row {row}: merge or "
            "drop them."
        )
    fold_of_group = np.full(group_count, -1)
    for rarest in np.argsort(groups_per_class, kind="stable"):
        members = group_codes[class_codes == rarest]
        member_folds = fold_of_group[members]
        class_sizes = np.bincount(member_folds[member_folds >= 0], minlength=folds)
        fold_sizes = np.bincount(fold_of_group[fold_of_group >= 0], minlength=folds)
        order = np.lexsort((fold_sizes, class_sizes))
        unassigned = generator.permutation(members[member_folds < 0])
        fold_of_group[unassigned] = order[np.arange(len(unassigned)) % folds]
    has_class = np.zeros((len(groups_per_class), folds), dtype=bool)
    has_class[class_codes, fold_of_group[group_codes]] = True
    if has_class.sum(axis=1).min() < 2:
        raise TooFew(
            f"labels must have every joint class in two of {folds} folds, got one in "
            "a single fold; merge or drop rare "
            "classes, or draw other folds with another generator."
        )
    return fold_of_group[groups]
