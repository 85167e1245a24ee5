"""Handwritten digits as domains are made of them: where they come from, at one size, turned by an angle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from infoscope.data.checks import check_size
from infoscope.data.pools.loaders import digits, mnist, root_or_default
from infoscope.data.pools.pools import ImagePool
from infoscope.errors import MissingValues, WrongShape, WrongType

_BUNDLED = "digits"
INTERPOLATIONS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}


def base_digits(
    base: ImagePool | str | None, root: Path | str | None, splits: Sequence[str], size: int | Sequence[int]
) -> tuple[np.ndarray, np.ndarray, str]:
    """Grey images uint8 [n, height, width], their labels int64 [n], and the pool's name; `base` as in `crmnist`.

    ValueError for a pool that is not grey and for another base, FileNotFoundError as `mnist`.
    """
    if isinstance(base, ImagePool):
        pools = [base]
    elif base not in (None, _BUNDLED):
        raise WrongType(f"base must be an ImagePool, {_BUNDLED!r} or None, got {base!r}.")
    elif base == _BUNDLED or root_or_default(root) is None:
        pools = [_bundled()]
    else:
        pools = [mnist(split, root) for split in splits]
    height, width = check_size(size)
    if any(pool.images.ndim != 3 for pool in pools):
        raise WrongShape(f"base must hold grey images [n, h, w], got images {list(pools[0].images.shape)}.")
    images = [
        pool.images if pool.images.shape[1:] == (height, width) else pool.resized(height, width)[:, 0] for pool in pools
    ]
    name = "+".join(dict.fromkeys(pool.name for pool in pools))
    return torch.cat(images).cpu().numpy(), torch.cat([pool.labels for pool in pools]).cpu().numpy(), name


def _bundled() -> ImagePool:
    """The bundled digits in a black frame of two pixels, 12 x 12: they fill their 8 x 8 pixels, and half the diagonal
    of those is 5.7, so that no rotation cuts anything off."""
    pool = digits()
    return replace(pool, images=torch.nn.functional.pad(pool.images, (2, 2, 2, 2)))


def rotated(images: np.ndarray, degrees: float, interpolation: str) -> np.ndarray:
    """Images uint8 [n, h, w] turned counterclockwise about their centre by Pillow, black from outside."""
    if degrees % 360 == 0:
        return images
    resample = INTERPOLATIONS[interpolation]
    return np.stack([np.asarray(Image.fromarray(image).rotate(degrees, resample)) for image in images])


def source_pixels(height: int, width: int, degrees: float) -> np.ndarray:
    """The pixel that Pillow's nearest-neighbour rotation copies to each pixel: int64 [height * width], -1 for black."""
    numbers = np.arange(1, height * width + 1, dtype=np.int32).reshape(height, width)
    return np.asarray(Image.fromarray(numbers).rotate(degrees, Image.Resampling.NEAREST)).ravel().astype(np.int64) - 1


def check_angles(argument: str, angles: Sequence[float]) -> tuple[float, ...]:
    """Returns the angles, degrees; ValueError unless they are finite numbers, at least one."""
    try:
        degrees = np.asarray(tuple(angles), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise WrongType(f"{argument} must be angles in degrees, got {angles!r}.") from error
    if degrees.ndim != 1 or not degrees.size or not np.isfinite(degrees).all():
        raise MissingValues(f"{argument} must be at least one finite angle in degrees, got {angles!r}.")
    return tuple(degrees.tolist())
