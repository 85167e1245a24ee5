"""Checked images for variational autoencoders, from an array or by index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infoscope.errors import OutOfRange, TooFew, WrongShape, WrongType

Images = Any
"""An array or tensor [n, C, H, W], or an object with a length and a method `images(index)` from int64 [b] to floats
[b, C, H, W] in [0, 1]."""


class ImageSource:
    """`Images` of the shape [C, H, W] by one method. Whole numbers are divided by 255
    if any is above 1.

    ValueError for another shape, no images, or values outside the range.
    """

    def __init__(self, images: Images, shape: Sequence[int]) -> None:
        self._shape = tuple(shape)
        self._scale = 1.0
        self._array: Tensor | None = None
        self._get: Callable[[np.ndarray], Tensor] | None = None
        if isinstance(images, (Tensor, np.ndarray)):
            self._array = torch.as_tensor(images)
            self._check_array(self._array)
        else:
            self._get = getattr(images, "images", None)
            if not callable(self._get) or not hasattr(images, "__len__"):
                raise WrongType(
                    "images must be an array, or have a length and images(index), "
                    f"got {images!r}."
                )
        self.count = len(images)
        if self.count == 0:
            raise TooFew("images must be one or more, got none.")

    def batch(self, rows: Tensor, device: torch.device | str = "cpu") -> Tensor:
        """The images of rows int64 [b]: float32 [b, C, H, W] in [0, 1] on the device."""
        if self._array is not None:
            images = self._array[rows.to(self._array.device)]
            return images.to(device).float().mul_(self._scale)
        assert self._get is not None
        images = self._get(rows.numpy())
        expected = [len(rows), *self._shape]
        shape = (
            list(images.shape) if isinstance(images, Tensor) else type(images).__name__
        )
        if shape != expected:
            raise WrongShape(
                f"images must return tensors of shape {expected}, got {shape}."
            )
        return unit_range(images).to(device)

    def _check_array(self, array: Tensor) -> None:
        if array.shape[1:] != self._shape:
            sizes = ", ".join(map(str, self._shape))
            raise WrongShape(
                f"images must have shape [n, {sizes}], got {list(array.shape)}."
            )
        if array.is_floating_point():
            unit_range(array)
        elif array.numel() and array.dtype != torch.bool:
            low, high = map(int, array.aminmax())
            if low < 0 or high > 255:
                raise OutOfRange(
                    f"images must be whole numbers in 0..255, got values from {low} "
                    f"to {high}."
                )
            if high > 1:
                self._scale = 1.0 / 255.0


def unit_range(images: Tensor) -> Tensor:
    """The images as float32; ValueError unless they are floats in [0, 1]."""
    if not images.is_floating_point():
        raise OutOfRange(
            f"images must be floating-point numbers in [0, 1], got {images.dtype}."
        )
    # values are unknown while exporting
    if images.numel() and not torch.compiler.is_exporting():
        low, high = map(float, images.aminmax())
        if not (low >= 0.0 and high <= 1.0):
            raise OutOfRange(
                f"images must be in [0, 1], got values from {low:g} to {high:g}."
            )
    return images.float()
