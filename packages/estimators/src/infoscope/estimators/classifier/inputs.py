"""Inputs of a cross-fitted classifier: blocks, labels as joint classes, groups and folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.errors import NoVariation, OutOfRange, TooFew, UnknownName, WrongLength, WrongShape
from infoscope.estimators.columns import as_codes, as_matrix

MIN_FOLDS = 3  # one to evaluate, one to calibrate, one to train


@dataclass(frozen=True, eq=False)
class JointLabels:
    """Label variables and the classes of their observed product, numbered by first appearance (independent of names).

    `values`: name -> int64 [classes], codes by joint class; `classes` int64 [n].
    """

    values: dict[str, np.ndarray]
    classes: np.ndarray

    @property
    def count(self) -> int:
        """Number of joint classes."""
        return int(self.classes.max()) + 1


def as_blocks(blocks: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    """Blocks by name as float64 [n, d]; a single array is "z". ValueError: none, other shapes, lengths; not finite."""
    named = blocks if isinstance(blocks, Mapping) else {"z": blocks}
    if not named:
        raise UnknownName("blocks must name at least one array [n, d], got none.")
    arrays = {name: as_matrix(f"block {name!r}", block) for name, block in named.items()}
    lengths = {name: len(block) for name, block in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise WrongLength(f"blocks must be equally long, got lengths {lengths}.")
    return arrays


def as_joint_labels(labels: ArrayLike | Mapping[str, ArrayLike], n: int) -> JointLabels:
    """Codes label variables, each [n] or [n, 1] and discrete; a single array is the variable "y".

    The columns of a DataFrame are variables. ValueError: no variable, a wrong length, missing values, one class only.
    """
    named = labels if isinstance(labels, Mapping | pd.DataFrame) else {"y": labels}
    if not len(named.keys()):
        raise UnknownName("labels must name at least one discrete variable [n], got none.")
    codes = {name: coded(f"labels[{name!r}]", values, n) for name, values in named.items()}
    for name, code in codes.items():
        if code.max() == 0:
            raise NoVariation(f"labels[{name!r}] has one class only; it must take at least two values.")
    classes = combined(list(codes.values()))
    _, first = np.unique(classes, return_index=True)
    return JointLabels({name: code[first] for name, code in codes.items()}, classes)


def coded(name: str, values: ArrayLike, n: int) -> np.ndarray:
    """Categories [n] as codes 0, 1, ... by first appearance, int64. ValueError for another length or missing values."""
    codes = as_codes(name, values)
    if len(codes) != n:
        raise WrongShape(f"{name} must have shape [{n}], one category for each row, got {list(codes.shape)}.")
    return by_first_appearance(codes)


def by_first_appearance(values: np.ndarray) -> np.ndarray:
    """Codes 0, 1, ... of values [n], in the order in which they first appear, int64."""
    return pd.factorize(values)[0].astype(np.int64)


def combined(columns: Sequence[np.ndarray]) -> np.ndarray:
    """One code for each combination of the codes in several columns [n], by first appearance, int64 [n]."""
    code = columns[0]
    for column in columns[1:]:
        code = by_first_appearance(code * (int(column.max()) + 1) + column)
    return by_first_appearance(code)


def assign_folds(classes: np.ndarray, groups: np.ndarray, folds: int, generator: np.random.Generator) -> np.ndarray:
    """The fold of every row, int64 [n]: whole groups, classes spread evenly. TooFew: groups of a class."""
    group_count = int(groups.max()) + 1
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or not MIN_FOLDS <= folds <= group_count:
        raise OutOfRange(f"folds must be a whole number from {MIN_FOLDS} to {group_count}, the groups, got {folds!r}.")
    members = np.unique(np.stack([classes, groups]), axis=1)  # every (class, group) that occurs
    groups_of = np.bincount(members[0])
    lone = np.flatnonzero(groups_of < 2)
    if len(lone):
        raise TooFew(
            f"labels must have every joint class in 2 groups (or rows) or more, better in {folds}, got {len(lone)} of "
            f"{len(groups_of)} in one, such as that of row {np.flatnonzero(classes == lone[0])[0]}: merge or drop them."
        )
    fold_of = np.full(group_count, -1)
    for rare in np.argsort(groups_of, kind="stable"):
        holding = members[1, members[0] == rare]
        placed = fold_of[holding]
        has = np.bincount(placed[placed >= 0], minlength=folds)
        sizes = np.bincount(fold_of[fold_of >= 0], minlength=folds)
        order = np.lexsort((sizes, has))
        waiting = generator.permutation(holding[placed < 0])
        fold_of[waiting] = order[np.arange(len(waiting)) % folds]
    folds_with = np.zeros((len(groups_of), folds), dtype=bool)
    folds_with[members[0], fold_of[members[1]]] = True
    if folds_with.sum(axis=1).min() < 2:
        raise TooFew(
            f"labels must have every joint class in two of {folds} folds, got one in a single fold; merge or drop rare "
            "classes, or draw other folds with another generator."
        )
    return fold_of[groups]
