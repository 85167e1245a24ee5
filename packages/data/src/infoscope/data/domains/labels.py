"""Labels of any kind as codes with names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from infoscope.errors import WrongLength


def coded(
    argument: str, labels: Sequence, n: int, names: Sequence[str] | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels, whole numbers or strings [n], as codes int64 [n] in rising order and their names; given names: codes
    already.

    ValueError, in terms of `argument`, for other labels.
    """
    values = as_array(labels)
    if values.dtype == object and all(isinstance(value, str) for value in values.flat):
        values = values.astype(str)
    if values.dtype.kind not in "biuU" or values.shape != (n,):
        raise WrongLength(
            f"{argument} must be {n} whole numbers or strings, one per item, got {values.dtype} of shape "
            f"{list(values.shape)}."
        )
    if names is None:
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int64), tuple(map(str, distinct.tolist()))
    if values.dtype.kind == "U" or values.min() < 0 or values.max() >= len(names):
        raise WrongLength(
            f"{argument} must be codes from 0 to {len(names) - 1}, one for each of the {len(names)} names given, "
            f"got values from {values.min()} to {values.max()}."
        )
    return values.astype(np.int64), tuple(map(str, names))


def group_numbers(groups: Sequence, n: int) -> np.ndarray:
    """Groups, whole numbers or strings [n], as int64 [n]: numbers as they are, strings numbered in rising order."""
    codes, _ = coded("groups", groups, n)
    values = as_array(groups)
    return values.astype(np.int64) if values.dtype.kind in "iu" else codes


def as_array(values: Sequence) -> np.ndarray:
    """Values of any kind as an array; a tensor may be on any device."""
    return values.cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
