"""Where the patches of an image lie and how it is resized, against Pillow.

The reference learns which items were drawn from a second source, of one-pixel patches
that hold their number: the same generator draws the same items.
"""

import numpy as np
import pytest
import torch
from PIL import Image

from infoscope.data import ImagePairs, ImagePool
from tests.data.common import generator


def noise(height: int, width: int) -> torch.Tensor:
    """Random bytes, the hardest images for a resize: every rounding and clipping
    occurs.
    """
    shape = (100, height, width)
    return torch.randint(256, shape, dtype=torch.uint8, generator=generator(1))


def drawn(images: torch.Tensor, grid: tuple[int, int, int], size) -> np.ndarray:
    """The images x, then y, of 32 pairs, in grey levels: [64, values]."""
    pool = ImagePool(images, torch.arange(100) % 2, "noise")
    source = ImagePairs(pool, grid, size)
    both = torch.cat(source.sample(32, generator()))
    return both.numpy() * 255.0


CASES = [
    (noise(28, 28), (1, 2, 5), (64, 64)),
    (noise(28, 28), (1, 10, 10), (60, 60)),
    (noise(9, 13), (3, 1, 2), (61, 5)),
    (noise(9, 13), (2, 3, 4), (31, 31)),
    (noise(2, 6), (2, 3, 1), (6, 6)),  # no resize at all
]


@pytest.mark.parametrize(("images", "grid", "size"), CASES)
def test_images_agree_with_pillow(images, grid, size):
    """At most one grey level, on fewer than two pixels in a thousand (from 28 to 60
    pixels near ties are common).
    """
    channels, rows, columns = grid
    _, height, width = images.shape
    numbers = torch.arange(100, dtype=torch.uint8).view(-1, 1, 1)
    items = drawn(numbers, (channels * rows * columns, 1, 1), 1)
    patches = images.numpy()[items.round().astype(int)]
    patches = patches.reshape(-1, rows, columns, height, width)
    canvases = patches.swapaxes(2, 3)
    canvases = canvases.reshape(-1, rows * height, columns * width)
    resized = []
    for canvas in canvases:
        image = Image.fromarray(canvas)
        resized.append(image.resize(size[::-1], Image.Resampling.BICUBIC))
    expected = np.stack(resized).reshape(64, -1).astype(float)
    values = drawn(images, grid, size)
    levels = values.round()
    # every value is a multiple of 1/255
    assert np.abs(values - levels).max() < 1e-4
    difference = np.abs(levels - expected)
    assert difference.max() <= 1
    assert difference.mean() < 2e-3
