"""Bicubic antialiased resizing with the arithmetic of Pillow (PIL) on uint8 images, as banded matrix products.

Cubic convolution with a = -1/2 (Keys 1981) in fixed point of 22 bits, along rows, then columns, rounding halves up
after each pass: Pillow's pixels bit for bit. (Pillow 13 takes columns first where height shrinks and width grows.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

_FRACTION = float(1 << 22)


class Band(NamedTuple):
    """The outputs that one block of the inputs reaches, start <= output < stop, and their weights
    [stop - start, block length], float64."""

    start: int
    stop: int
    weights: torch.Tensor


def resampling_weights(n_in: int, n_out: int) -> np.ndarray:
    """The weight of every input in every output of one pass: float64 [n_out, n_in], multiples of 2^-22."""
    scale = n_in / n_out
    stretch = max(scale, 1.0)
    centres = (np.arange(n_out) + 0.5) * scale
    weights = _cubic((np.arange(n_in) + 0.5 - centres[:, None]) / stretch)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.trunc(weights * _FRACTION + np.copysign(0.5, weights)) / _FRACTION


def bands(n_in: int, n_out: int, blocks: int) -> list[Band]:
    """Cuts one pass into equal blocks of inputs: each reaches only its band of outputs, and the bands add up."""
    bands = []
    for block in np.split(resampling_weights(n_in, n_out), blocks, axis=1):
        reached = np.flatnonzero(block.any(axis=1))
        start, stop = int(reached[0]), int(reached[-1]) + 1
        bands.append(Band(start, stop, torch.from_numpy(block[start:stop].copy())))
    return bands


def _cubic(t: np.ndarray) -> np.ndarray:
    """Cubic convolution kernel with a = -1/2."""
    t = np.abs(t)
    near = (1.5 * t - 2.5) * t * t + 1.0
    far = ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
    return np.where(t < 1.0, near, np.where(t < 2.0, far, 0.0))
