"""Canvases of equal patches, resized to an image with the arithmetic of Pillow (PIL) on
uint8, as banded products.

Cubic convolution with a = -1/2 (Keys 1981) in fixed point of 22 bits, along rows, then
columns, rounding halves up after each pass: Pillow's pixels bit for bit. (Pillow 13
takes columns first where height shrinks and width grows.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

_FRACTION = float(1 << 22)


class Canvas:
    """Lays patches [h, w] out on canvases [channels, rows * h, columns * w] and resizes
    each as Pillow (bicubic).
    """

    def __init__(
        self, patch: tuple[int, int], grid: tuple[int, int, int], size: tuple[int, int]
    ) -> None:
        self.patch = patch
        self.grid = grid
        self.size = size
        _, rows, columns = grid
        self._across = bands(columns * patch[1], size[1], columns)
        self._down = bands(rows * patch[0], size[0], rows)
        self._weights: dict[torch.device, tuple[list[Band], list[Band]]] = {}

    def compose(self, table: Tensor, items: Tensor) -> Tensor:
        """The images of patches table[items], items int64 [..., channels * rows *
        columns]: float32 [images, channels, height, width] of grey levels 0 to 255.
        """
        patch_height, patch_width = self.patch
        channels, rows, columns = self.grid
        height, width = self.size
        across, down = self._weights_on(items.device)
        items = items.view(-1, columns)
        # Outputs first, so that a band is a run of rows: products write into those at
        # full speed. One half turns the floor into a rounding.
        wide = across[0].weights.new_full((width, len(items) * patch_height), 0.5)
        for column, band in enumerate(across):
            patches = table.index_select(0, items[:, column])
            pixel_rows = patches.view(-1, patch_width).to(wide.dtype)
            wide[band.start : band.stop].addmm_(band.weights, pixel_rows.T)
        wide = _levels_(wide).view(width, -1, rows * patch_height)
        wide = wide.permute(1, 2, 0)
        images = wide.new_full((len(wide), height, width), 0.5)
        for row, band in enumerate(down):
            top = row * patch_height
            block = wide[:, top : top + patch_height]
            images[:, band.start : band.stop] += band.weights @ block
        return _levels_(images).float().view(-1, channels, height, width)

    def _weights_on(self, device: torch.device) -> tuple[list[Band], list[Band]]:
        """The weights on `device`. In float32 few pixels are rounded the other way (of
        digits up to 3 in 100,000; of noise up to 1 in 1,000, where the scale makes near
        ties common): acceptable on a CPU, where float64 would take twice as long. On a
        GPU float64 is cheap, exact, and out of reach of reduced-precision (TF32)
        products.
        """
        if device not in self._weights:
            dtype = torch.float64 if device.type == "cuda" else torch.float32
            across = [band.to(device, dtype) for band in self._across]
            down = [band.to(device, dtype) for band in self._down]
            self._weights[device] = (across, down)
        return self._weights[device]


def _levels_(values: Tensor) -> Tensor:
    """Clips to 0..255 and drops the fractions, in place, as Pillow does after each
    pass; the type stays floating.
    """
    return values.clamp_(0.0, 255.0).floor_()


class Band(NamedTuple):
    """The outputs that one block of the inputs reaches, start <= output < stop, and
    their weights [stop - start, block length], float64.
    """

    start: int
    stop: int
    weights: Tensor

    def to(self, device: torch.device, dtype: torch.dtype) -> Band:
        return self._replace(weights=self.weights.to(device, dtype))


def resampling_weights(n_in: int, n_out: int) -> np.ndarray:
    """The weight of every input in every output of one pass: float64 [n_out, n_in],
    multiples of 2^-22.
    """
    scale = n_in / n_out
    stretch = max(scale, 1.0)
    centres = (np.arange(n_out) + 0.5) * scale
    distances = np.arange(n_in) + 0.5 - centres[:, None]
    weights = _cubic(distances / stretch)
    weights /= weights.sum(axis=1, keepdims=True)
    rounded = np.trunc(weights * _FRACTION + np.copysign(0.5, weights))
    return rounded / _FRACTION


def bands(n_in: int, n_out: int, blocks: int) -> list[Band]:
    """Cuts one pass into equal blocks of inputs: each reaches only its band of outputs,
    and the bands add up.
    """
    bands = []
    weights = resampling_weights(n_in, n_out)
    for block in np.split(weights, blocks, axis=1):
        reached = np.flatnonzero(block.any(axis=1))
        start = int(reached[0])
        stop = int(reached[-1]) + 1
        band = torch.from_numpy(block[start:stop].copy())
        bands.append(Band(start, stop, band))
    return bands


def _cubic(t: np.ndarray) -> np.ndarray:
    """Cubic convolution kernel with a = -1/2."""
    t = np.abs(t)
    near = (1.5 * t - 2.5) * t * t + 1.0
    far = ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
    return np.where(t < 1.0, near, np.where(t < 2.0, far, 0.0))
