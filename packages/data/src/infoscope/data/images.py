"""Pairs of images composed of patches that share their classes through a binary symmetric channel."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .channel import channel_information
from .checks import check_count, check_crossover
from .classes import TwoClasses
from .pools import ImagePool
from .resampling import Band, bands, round_to_uint8_


class ImagePairs:
    """Images whose patches are random pool images of shared classes (the benchmark, sections 4.3 to 4.5 and figure 2).

    Each of the sources = channels * rows * columns patches of x shows a random image of a fair class, and the same
    patch of y another image of that class, or of the other class with the crossover probability. The canvas
    [channels, rows * h, columns * w] is resized once, bicubic and antialiased, to size x size with Pillow's rounding to
    uint8, and divided by 255. The information sources * (ln 2 - H(crossover)) is exact as long as the class can be read
    off a patch.

    Arguments: pool, of exactly two classes; grid, (channels, rows, columns); size, the side of the image; crossover.
    Raises ValueError for a pool without two classes of at least two images each, a grid that is not three positive
    whole numbers, a size that is not one, or a crossover outside [0, 1/2].
    """

    def __init__(
        self, pool: ImagePool, grid: Sequence[int] = (1, 2, 5), size: int = 64, crossover: float = 0.0
    ) -> None:
        if len(grid) != 3:
            raise ValueError(f"grid must be (channels, rows, columns), not {tuple(grid)}.")
        self.pool = pool
        self.grid = tuple(check_count(f"grid[{axis}]", length) for axis, length in enumerate(grid))
        self.size = check_count("size", size)
        self.crossover = check_crossover(crossover)
        channels, rows, columns = self.grid
        self.sources = channels * rows * columns
        self.dim_x = self.dim_y = channels * self.size**2
        self.mutual_information = channel_information(self.crossover, self.sources)
        self._patch_height, self._patch_width = pool.images.shape[1:]
        self._items = TwoClasses(pool.images.flatten(1), pool.labels)
        self._across = bands(columns * self._patch_width, self.size, columns)
        self._down = bands(rows * self._patch_height, self.size, rows)
        self._weights: dict[torch.device, tuple[list[Band], list[Band]]] = {}

    def sample(
        self, n: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Draws n pairs: x and y, float32 [n, channels * size * size], values in [0, 1].

        An image is flattened channel by channel, row by row; its patches are numbered in the same order.
        """
        items = torch.stack(self._items.draw(n, self.sources, self.crossover, generator)).to(device)
        x, y = self._compose(items).view(2, n, self.dim_x)
        return x, y

    def _compose(self, items: torch.Tensor) -> torch.Tensor:
        """Lays out pool items [..., sources] and resizes: float32 [images, channels * size * size]."""
        channels, rows, columns = self.grid
        height, width, size = self._patch_height, self._patch_width, self.size
        table = self._items.table(items.device)
        across, down = self._weights_on(items.device)
        items = items.view(-1, columns)
        wide = across[0].weights.new_zeros(len(items) * height, size)
        for column, band in enumerate(across):
            patches = table.index_select(0, items[:, column]).view(-1, width).to(wide.dtype)
            wide[:, band.start : band.stop].addmm_(patches, band.weights)
        wide = round_to_uint8_(wide).view(-1, rows * height, size)
        images = wide.new_zeros(len(wide), size, size)
        for row, band in enumerate(down):
            images[:, band.start : band.stop] += band.weights.T @ wide[:, row * height : (row + 1) * height]
        return round_to_uint8_(images).div_(255.0).float().view(-1, self.dim_x)

    def _weights_on(self, device: torch.device) -> tuple[list[Band], list[Band]]:
        """The weights on `device`. In float32 a pixel in 100,000 is rounded the other way, which a CPU is better off
        with; on a GPU float64 is cheap, exact, and out of reach of reduced-precision (TF32) products."""
        if device not in self._weights:
            dtype = torch.float64 if device.type == "cuda" else torch.float32
            self._weights[device] = tuple(
                [band._replace(weights=band.weights.to(device, dtype)) for band in side]
                for side in (self._across, self._down)
            )
        return self._weights[device]
