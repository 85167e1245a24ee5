"""Argument checks shared by the modules of this package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral

import torch
from torch import Tensor


def require_int(name: str, value: int, least: int = 1) -> int:
    """`value` as an int; ValueError unless it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def require_ints(name: str, values: Sequence[int], length: int | None = None) -> list[int]:
    """`values` as a list of positive ints; ValueError for anything else, no values, or not `length` of them."""
    if not isinstance(values, Sequence) or not values or (length is not None and len(values) != length):
        raise ValueError(f"{name} must be {length or 'one or more'} positive whole numbers, got {values!r}.")
    return [require_int(f"{name}[{position}]", value) for position, value in enumerate(values)]


def one_of(name: str, value: str, names: Iterable[str]) -> str:
    """`value`; ValueError unless it is one of `names`."""
    if value not in (known := list(names)):
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}.")
    return value


def classes_of(labels: Tensor, n: int, item: str) -> int:
    """How many classes labels int64 [n] have; ValueError unless there is one per item, counted from 0, two or more."""
    if labels.dtype != torch.int64 or labels.shape != (n,):
        raise ValueError(
            f"labels must be torch.int64 of shape [{n}], one per {item}, "
            f"got {labels.dtype} of shape {list(labels.shape)}."
        )
    classes = labels.unique()
    if len(classes) < 2 or not torch.equal(classes, torch.arange(len(classes), device=classes.device)):
        raise ValueError(f"labels must be the whole numbers from 0 of at least two classes, got {classes.tolist()}.")
    return len(classes)
