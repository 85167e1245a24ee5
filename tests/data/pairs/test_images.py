"""Where the patches of an image lie and how it is resized, against Pillow.

The reference learns which items were drawn from a second source, of one-pixel patches that hold their number: the same
generator draws the same items.
"""

import numpy as np
import pytest
import torch
from PIL import Image

from infoscope.data import ImagePairs, ImagePool, digits

LABELS = torch.arange(100) % 2


def noise(height: int, width: int) -> ImagePool:
    """Random bytes, the hardest images for a resize: every rounding and clipping occurs."""
    generator = torch.Generator().manual_seed(1)
    images = torch.randint(256, (100, height, width), dtype=torch.uint8, generator=generator)
    return ImagePool(images, LABELS, "noise", synthetic=True)


def fifty_of_each() -> ImagePool:
    pool = digits().restrict((0, 1))
    kept = torch.cat([torch.nonzero(pool.labels == label)[:50, 0] for label in (0, 1)]).sort().values
    return ImagePool(pool.images[kept], pool.labels[kept], "digits")


def composed(pool: ImagePool, grid: tuple[int, int, int], size: int | tuple[int, int], n: int) -> np.ndarray:
    """The images x, then y, of n pairs composed and resized one by one with Pillow: uint8 [2 n, channels, h, w]."""
    height, width = size if isinstance(size, tuple) else (size, size)
    channels, rows, columns = grid
    numbers = ImagePool(torch.arange(100, dtype=torch.uint8).view(-1, 1, 1), pool.labels, "numbers")
    source = ImagePairs(numbers, grid=(channels * rows * columns, 1, 1), size=1)
    items = (255 * torch.cat(source.sample(n, torch.Generator().manual_seed(0)))).round().long()
    images = []
    for canvas in pool.images[items].numpy().reshape(-1, rows, columns, *pool.images.shape[1:]):
        canvas = np.concatenate([np.concatenate(list(row), axis=1) for row in canvas])
        images.append(np.asarray(Image.fromarray(canvas).resize((width, height), Image.Resampling.BICUBIC)))
    return np.stack(images).reshape(-1, channels, height, width)


def sampled(pool: ImagePool, grid: tuple[int, int, int], size: int | tuple[int, int], n: int) -> np.ndarray:
    source = ImagePairs(pool, grid, size)
    images = torch.cat(source.sample(n, torch.Generator().manual_seed(0)))
    return images.view(-1, grid[0], *source.size).numpy() * 255.0


@pytest.mark.parametrize(
    ("pool", "grid", "size"),
    [
        (noise(28, 28), (1, 2, 5), 64),
        (noise(28, 28), (1, 10, 10), 60),
        (noise(28, 28), (1, 2, 5), (80, 96)),
        (noise(9, 13), (3, 1, 2), (61, 5)),
        (noise(9, 13), (2, 3, 4), 31),
        (noise(5, 3), (1, 1, 2), 50),
        (fifty_of_each(), (1, 2, 5), 32),
        (noise(2, 6), (2, 3, 1), 6),  # no resize at all
    ],
    ids=lambda value: value.name if isinstance(value, ImagePool) else str(value),
)
def test_images_agree_with_pillow(pool, grid, size):
    """At most one grey level, on fewer than two pixels in a thousand (from 28 to 60 pixels near ties are common)."""
    ours, theirs = sampled(pool, grid, size, 32), composed(pool, grid, size, 32).astype(float)
    assert np.abs(ours - ours.round()).max() < 1e-4  # every value is a multiple of 1/255
    off = np.abs(ours.round() - theirs)
    assert off.max() <= 1
    assert off.mean() < 2e-3
