"""Argument checks shared by the modules of this package."""

from __future__ import annotations

import torch
from torch import Tensor

from infoscope.errors import NoVariation, WrongLength


def classes_of(labels: Tensor, n: int, item: str) -> int:
    """How many classes labels int64 [n] have; ValueError unless there is one per item, counted from 0, two or more."""
    if labels.dtype != torch.int64 or labels.shape != (n,):
        raise WrongLength(
            f"labels must be torch.int64 of shape [{n}], one per {item}, "
            f"got {labels.dtype} of shape {list(labels.shape)}."
        )
    classes = labels.unique()
    if len(classes) < 2 or not torch.equal(classes, torch.arange(len(classes), device=classes.device)):
        raise NoVariation(f"labels must be the whole numbers from 0 of at least two classes, got {classes.tolist()}.")
    return len(classes)
