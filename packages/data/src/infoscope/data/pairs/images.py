"""Pairs of images composed of patches that share their classes through a binary symmetric channel."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from infoscope.checks import require_ints, require_number
from infoscope.data.checks import check_size
from infoscope.data.pairs.channel import channel_information, draw_labels
from infoscope.data.pairs.protocol import LabelledPairs, Pairs
from infoscope.data.pairs.two_classes import TwoClasses
from infoscope.data.pools.canvas import Canvas
from infoscope.data.pools.pools import ImagePool
from infoscope.errors import Conflict, UnknownName, WrongShape


class ImagePairs:
    """Images whose patches are random pool images of shared classes (the benchmark, sections 4.3 to 4.5 and figure 2).

    Each of the sources = grid[0] * rows * columns patches of x shows a random image of a fair class, and the same patch
    of y another image of that class, or of the other class with the crossover probability. The canvas is resized once
    to `size` (Pillow's rounding) and divided by 255. The information sources * (ln 2 - H(crossover)) is exact as long
    as the class can be read off a patch.

    With a nuisance eta (section 5.6), eta times independent backgrounds are added to x and y, clipped at 1; a large eta
    may hide classes. The same generator gives the same patches at every eta.

    Arguments: pool, grey, of exactly two classes; grid, (channels, rows, columns); size, a side or (height, width);
    crossover; nuisance in [0, 1]; backgrounds, RGB images, for eta > 0; channels: those of the grid (None), or 3.
    ValueError for a pool that is not grey or without two classes of two images each, and arguments out of range.
    """

    def __init__(
        self,
        pool: ImagePool,
        grid: Sequence[int] = (1, 2, 5),
        size: int | Sequence[int] = 64,
        crossover: float = 0.0,
        nuisance: float = 0.0,
        backgrounds: ImagePool | None = None,
        channels: int | None = None,
    ) -> None:
        self.pool, self.backgrounds = pool, backgrounds
        self.grid = tuple(require_ints("grid", grid, 3))
        self.size = check_size(size)
        self.crossover = require_number("crossover", crossover, most=0.5)
        self.nuisance = _check_nuisance(nuisance, backgrounds)
        self.channels = _check_channels(channels, self.grid[0], self.nuisance)
        self.sources = self.grid[0] * self.grid[1] * self.grid[2]
        self.dim_x = self.dim_y = self.channels * self.size[0] * self.size[1]
        self.mutual_information = channel_information(self.crossover, self.sources)
        self._canvas = Canvas(patch_size(pool), self.grid, self.size)
        self._items = TwoClasses(pool.images.flatten(1), pool.labels)

    def sample(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> Pairs:
        """Draws n pairs: x and y, float32 [n, channels * height * width], values in [0, 1].

        An image is flattened channel by channel, row by row; its patches are numbered in the same order.
        """
        return self.sample_labelled(n, generator, device)[:2]

    def sample_labelled(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> LabelledPairs:
        """The pairs of `sample`, then the labels of x and of y: bool [n, sources], True for the higher class."""
        x_labels, y_labels = draw_labels(n, self.sources, self.crossover, generator)
        items = torch.stack(self._items.draw_pairs(x_labels, y_labels, generator)).to(device)
        images = self._canvas.compose(self._items.table(items.device), items).div_(255.0)
        if self.nuisance:
            images = self._over_backgrounds(images, generator)
        x, y = images.expand(-1, self.channels, -1, -1).reshape(2, n, self.dim_x)
        return x, y, x_labels.to(device), y_labels.to(device)

    def _over_backgrounds(self, images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Adds a background to each of the images [m, grid[0], height, width]: [m, channels, height, width]."""
        branch = _branch_of(generator)
        count = len(self.backgrounds.images)
        chosen = torch.randint(count, (len(images),), generator=branch, device=branch.device).to(images.device)
        scenes = self.backgrounds.resized(*self.size, images.device).index_select(0, chosen).float()
        scenes.mul_(self.nuisance / 255.0).add_(images).clamp_(max=1.0)
        return scenes if self.channels == 3 else scenes.mean(1, keepdim=True)


def patch_size(pool: ImagePool, name: str = "pool") -> tuple[int, int]:
    """Height and width of the images of a pool that serve as patches; ValueError, naming it, unless they are grey."""
    if pool.images.ndim != 3:
        raise WrongShape(f"{name} must hold grey images [n, h, w], got {list(pool.images.shape)}.")
    return tuple(pool.images.shape[1:])


def _branch_of(generator: torch.Generator) -> torch.Generator:
    """A stream of its own that the generator's state determines; the generator does not advance."""
    copy = generator.clone_state()
    seed = torch.randint(2**63 - 1, (), generator=copy, device=copy.device)
    return torch.Generator(copy.device).manual_seed(seed.item())


def _check_nuisance(nuisance: float, backgrounds: ImagePool | None) -> float:
    nuisance = require_number("nuisance", nuisance, most=1)
    if nuisance > 0.0 and backgrounds is None:
        raise Conflict(f"backgrounds must be given where nuisance is above 0 (it is {nuisance!r}), got None.")
    if backgrounds is not None and backgrounds.images.ndim != 4:
        raise WrongShape(f"backgrounds must hold RGB images [n, h, w, 3], got {list(backgrounds.images.shape)}.")
    return nuisance


def _check_channels(channels: int | None, of_grid: int, nuisance: float) -> int:
    if nuisance > 0.0 and of_grid not in (1, 3):
        raise WrongShape(f"grid must have 1 or 3 channels where nuisance is above 0, got {of_grid}.")
    valid = (1, 3) if of_grid == 1 else (of_grid,)
    if channels is not None and channels not in valid:
        raise UnknownName(f"channels must be one of {list(valid)} for a grid of {of_grid}, got {channels!r}.")
    return of_grid if channels is None else int(channels)
