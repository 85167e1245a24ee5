"""Canvases of equal patches, resized to an image as Pillow (PIL) resizes uint8.

Cubic convolution with a = -1/2 (Keys 1981) in fixed point of 22 bits, along rows, then
columns. Each pass rounds halves up, which gives Pillow's pixels bit for bit. (Pillow 13
takes columns first where height shrinks and width grows.) A pass is a banded product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

_FRACTION = float(1 << 22)


class Band(NamedTuple):
    """Outputs that one block of inputs reaches, and their weights [outputs, block]."""

    outputs: slice
    weights: Tensor


Bands = list[Band]


class Canvas:
    """A grid of patches [h, w] on a canvas that is resized as Pillow does (bicubic).

    patch   height and width of a patch, pixels
    grid    channels, rows and columns of the canvas, patches
    size    height and width of the image, pixels
    """

    def __init__(
        self, patch: tuple[int, int], grid: tuple[int, int, int], size: tuple[int, int]
    ) -> None:
        self.patch = patch
        self.grid = grid
        self.size = size
        self._bands: dict[torch.device, tuple[Bands, Bands]] = {}

    def compose(self, table: Tensor, items: Tensor) -> Tensor:
        """Images of the patches table[items], float32 of grey levels 0 to 255.

        items: int64 [..., channels * rows * columns]; the images are [images, channels,
        height, width].
        """
        patch_height, patch_width = self.patch
        channels, rows, columns = self.grid
        height, width = self.size
        across, down = self._bands_on(items.device)
        canvas_rows = items.view(-1, columns)
        # Outputs are the first axis: a band is then a run of rows, into which products
        # are written at full speed. One half turns the floor into a rounding.
        shape = (width, len(canvas_rows) * patch_height)
        wide = across[0].weights.new_full(shape, 0.5)
        for items_of_column, band in zip(canvas_rows.unbind(1), across):
            patches = table.index_select(0, items_of_column).to(wide.dtype)
            pixel_rows = patches.view(-1, patch_width)
            outputs = wide[band.outputs]
            outputs.addmm_(band.weights, pixel_rows.T)
        wide = _levels_(wide).view(width, -1, rows * patch_height)
        wide = wide.permute(1, 2, 0)
        images = wide.new_full((len(wide), height, width), 0.5)
        for block, band in zip(wide.split(patch_height, 1), down):
            images[:, band.outputs] += band.weights @ block
        levels = _levels_(images).float()
        return levels.view(-1, channels, height, width)

    def _bands_on(self, device: torch.device) -> tuple[Bands, Bands]:
        """Bands of the passes along rows and along columns, kept on `device`."""
        if device not in self._bands:
            patch_height, patch_width = self.patch
            _, rows, columns = self.grid
            height, width = self.size
            across = bands(columns * patch_width, width, columns, device)
            down = bands(rows * patch_height, height, rows, device)
            self._bands[device] = (across, down)
        return self._bands[device]


def _levels_(values: Tensor) -> Tensor:
    """Grey levels without fractions, in place, as Pillow rounds after each pass."""
    return values.clamp_(0.0, 255.0).floor_()


def resampling_weights(n_in: int, n_out: int) -> np.ndarray:
    """Weight of every input in every output of a pass: float64 [n_out, n_in], in 2^-22."""
    scale = n_in / n_out
    stretch = max(scale, 1.0)
    centres = (np.arange(n_out) + 0.5) * scale
    distances = np.arange(n_in) + 0.5 - centres[:, None]
    weights = _cubic(distances / stretch)
    weights /= weights.sum(axis=1, keepdims=True)
    halves = np.copysign(0.5, weights)
    rounded = np.trunc(weights * _FRACTION + halves)
    return rounded / _FRACTION


def bands(n_in: int, n_out: int, blocks: int, device: torch.device) -> Bands:
    """Bands of a pass over equal blocks of inputs; their sum is the pass.

    On a CPU the weights are float32, as float64 would take twice as long. Few pixels
    are then rounded the other way: of digits up to 3 in 100,000, and of noise up to 1
    in 1,000, where the scale makes near ties common. On a GPU float64 is cheap and
    exact, and reduced-precision (TF32) products do not apply to float64.
    """
    dtype = torch.float64 if device.type == "cuda" else torch.float32
    bands = []
    weights = resampling_weights(n_in, n_out)
    for block in np.split(weights, blocks, axis=1):
        reached = np.flatnonzero(block.any(axis=1))
        outputs = slice(reached[0], reached[-1] + 1)
        weights_of_block = torch.from_numpy(block[outputs].copy())
        bands.append(Band(outputs, weights_of_block.to(device, dtype)))
    return bands


def _cubic(t: np.ndarray) -> np.ndarray:
    """Cubic convolution kernel with a = -1/2."""
    t = np.abs(t)
    near = (1.5 * t - 2.5) * t * t + 1.0
    far = ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
    return np.select([t < 1.0, t < 2.0], [near, far])
