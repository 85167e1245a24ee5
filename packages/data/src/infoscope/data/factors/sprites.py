"""A generated grid of sprites, with the factors and outlines of dSprites, at any size."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from infoscope.checks import require_int
from infoscope.data.factors.dataset import FactorDataset
from infoscope.errors import OutOfRange

# the published grid
_GRID = {"shape": 3, "scale": 6, "orientation": 40, "posX": 32, "posY": 32}
FACTORS = tuple(_GRID)
SHAPES = ("square", "ellipse", "heart")

# Lengths are in sides of the image, at scale 1. They were fitted to the published
# images: many orientations and positions determine the outlines to about 0.0001.
_HEART_UNIT = 0.3 / 29.0
# from the centre to the farthest point of any outline, a corner of the square
_REACH = 0.2122


def sprites(
    shapes: int = 3,
    scales: int = 6,
    orientations: int = 10,
    positions: int = 16,
    resolution: int = 64,
) -> FactorDataset:
    """Grid of white sprites on black with the five factors of dSprites.

    The grid shape x scale x orientation x posX x posY is complete. Images are rendered
    on demand (after Matthey, Higgins, Hassabis and Lerchner 2017). Fewer values take
    larger steps from the same start. (3, 6, 40, 32) gives all 737,280 images; at 64
    pixels nine of ten equal the published images, and the others differ by few pixels.
    A square repeats after pi / 2, an ellipse after pi.

    Parameters
    ----------
    shapes : int
        How many of square, ellipse and heart.
    scales : int
        Scales 0.5 to 1 in steps of 0.1, 1 to 6 of them.
    orientations : int
        Orientations 0 to 2 pi in steps of 2 pi / 39, counter-clockwise, 1 to 40 of
        them.
    positions : int
        Positions 0 to 1 in steps of 1/31 along each axis, 1 to 32 of them; the origin
        is at 1/4 + position / 2 of the side.
    resolution : int
        Side of the images in pixels, at least 16.

    Returns
    -------
    FactorDataset
        Images float32 [b, 1, side, side] and five factors.

    Raises
    ------
    OutOfRange
        If an argument is not a whole number in its range.

    Examples
    --------
    >>> data = sprites(shapes=2, scales=1, orientations=4, positions=3, resolution=16)
    >>> len(data), list(data.images([0, 5]).shape)
    (72, [2, 1, 16, 16])
    """
    sizes = (shapes, scales, orientations, positions, positions)
    arguments = ("shapes", "scales", "orientations", "positions")
    for argument, size, most in zip(arguments, sizes, _GRID.values()):
        if require_int(argument, size) > most:
            raise OutOfRange(
                f"{argument} must be at most {most}, as many as dSprites has, got "
                f"{size}."
            )
    require_int("resolution", resolution, least=16)
    # Multiples of the published steps: a thinner grid has exactly the values and images
    # of the full grid.
    scale_steps = np.arange(scales) * (_GRID["scale"] / scales)
    turn_steps = np.arange(orientations) * (_GRID["orientation"] / orientations)
    position_steps = np.arange(positions) * (_GRID["posX"] / positions)
    scale_values = 0.5 + 0.1 * scale_steps
    turn_values = 2.0 * math.pi / 39.0 * turn_steps
    position_values = position_steps / 31.0
    shape_values = np.array(SHAPES[:shapes])
    values = [shape_values, scale_values, turn_values]
    values += [position_values, position_values]

    def render(index):
        shape, *others = np.unravel_index(index, sizes)
        pose = []
        for of_code, codes in zip(values[1:], others):
            pose.append(torch.from_numpy(of_code[codes]).float())
        return _render(shape, _Pose(*pose), resolution)

    codes = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    grid = "x".join(map(str, sizes))
    return FactorDataset(
        render,
        np.stack(codes, axis=1),
        FACTORS,
        factor_values=values,
        name=f"generated-sprites {grid} at {resolution} x {resolution}",
        synthetic=True,
    )


class _Pose(NamedTuple):
    """Scales, orientations and positions of sprites, float32 [b] each."""

    scale: Tensor
    turn: Tensor
    x: Tensor
    y: Tensor


def _render(shape: np.ndarray, pose: _Pose, resolution: int) -> Tensor:
    """Sprites of these shapes (codes [b]) and poses: float32 [b, 1, side, side]."""
    area = resolution * resolution
    images = torch.zeros(len(shape) * area)
    for code, outline in enumerate((_in_square, _in_ellipse, _in_heart)):
        rows = torch.from_numpy(np.flatnonzero(shape == code))
        for batch in rows.split(256):
            pose_of_batch = _Pose._make(values[batch] for values in pose)
            pixels, u, v = _windows(pose_of_batch, resolution)
            places = pixels.add_(batch[:, None] * area).flatten()
            inside = outline(u, v).float().flatten()
            images.scatter_(0, places, inside)
    return images.view(-1, 1, resolution, resolution)


def _windows(pose: _Pose, resolution: int) -> tuple[Tensor, Tensor, Tensor]:
    """Places of the pixels that a sprite can touch, and coordinates of their centres.

    Places in the image are int64 [b, w * w]. The coordinates are in the frame of the
    sprite, u to the right and v down, float32 [b, w, w] each.
    """
    width = math.ceil(2 * _REACH * resolution) + 1
    column, across = _window(pose.x, width, resolution)
    row, down = _window(pose.y, width, resolution)
    cosine = (pose.turn.cos() / pose.scale)[:, None, None]
    sine = (pose.turn.sin() / pose.scale)[:, None, None]
    across = across[:, None, :]
    down = down[:, :, None]
    u = cosine * across - sine * down
    v = sine * across + cosine * down
    steps = torch.arange(width)
    window = (steps[:, None] * resolution + steps).flatten()
    corner = row * resolution + column
    pixels = corner[:, None] + window
    return pixels, u, v


def _window(position: Tensor, width: int, resolution: int) -> tuple[Tensor, Tensor]:
    """First pixel on an axis, int64 [b], and distances of pixels to the origin [b, w]."""
    origin = 0.25 + 0.5 * position
    first = ((origin - _REACH) * resolution).long()
    first.clamp_(max=resolution - width)
    centres = (first[:, None] + torch.arange(width) + 0.5) / resolution
    return first, centres - origin[:, None]


def _in_square(u: Tensor, v: Tensor) -> Tensor:
    """Whether points are inside a square."""
    return torch.maximum(u.abs_(), v.abs_()) <= 0.15  # half a side


def _in_ellipse(u: Tensor, v: Tensor) -> Tensor:
    """Whether points are inside an ellipse."""
    long = 0.1994  # half-axes; the longer one is horizontal at orientation 0
    short = 0.1128
    squares = u.square_().mul_(long**-2)
    return squares.addcmul_(v, v, value=short**-2) <= 1.0


def _in_heart(u: Tensor, v: Tensor) -> Tensor:
    """Whether points are inside a heart.

    The curve is x = 16 sin^3 t, y = 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t, y upwards.
    At an x, y is 4 - 2 c^2 - 8 c^4 +- (19 c - 8 c^3), c^2 = 1 - |x / 16|^(2/3); c is
    NaN beyond the width.
    """
    c2 = 1.0 - u.abs_().mul_(1.0 / 0.15).pow_(2.0 / 3.0)  # 0.15: half the width
    even = 4.0 - c2 * (2.0 + 8.0 * c2)
    odd = c2.sqrt() * (19.0 - 8.0 * c2)
    height = v.add_(0.0225).mul_(-1.0 / _HEART_UNIT)  # 0.0225: rise of the heart
    return height.sub_(even).abs_() <= odd
