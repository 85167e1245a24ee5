"""Pairs of images, of texts, or of both, whose classes are coupled by a channel."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from infoscope.checks import require_int, require_ints, require_number
from infoscope.data.checks import check_size
from infoscope.data.pairs.channel import channel_information, draw_labels
from infoscope.data.pools.canvas import Canvas
from infoscope.data.pools.pools import EmbeddingPool, ImagePool
from infoscope.errors import Conflict, InvalidInput, TooFew, UnknownName, WrongShape
from infoscope.sources import LabelledPairs, Pairs

Device = torch.device | str


class _SharedClasses:
    """Items x and y of `sources` fair classes each; the channel flips some classes."""

    def __init__(self, sources: int, crossover: float) -> None:
        self.sources = sources
        self.crossover = require_number("crossover", crossover, most=0.5)
        self.mutual_information = channel_information(self.crossover, sources)

    def sample(self, n: int, generator: Generator, device: Device = "cpu") -> Pairs:
        """Random pairs.

        Parameters
        ----------
        n : int
            Number of pairs.
        generator : torch.Generator
            Random numbers.
        device : torch.device or str
            Where the tensors are put.

        Returns
        -------
        x, y : torch.Tensor
            float32 [n, dim_x] and [n, dim_y]. Images are in [0, 1], flattened channel
            by channel and row by row, and their patches are numbered in this order;
            embeddings are source after source.
        """
        return self.sample_labelled(n, generator, device)[:2]

    def sample_labelled(
        self, n: int, generator: Generator, device: Device = "cpu"
    ) -> LabelledPairs:
        """Random pairs and the classes that they show.

        Parameters
        ----------
        n : int
            Number of pairs.
        generator : torch.Generator
            Random numbers.
        device : torch.device or str
            Where the tensors are put.

        Returns
        -------
        x, y : torch.Tensor
            As of `sample`.
        x_labels, y_labels : torch.Tensor
            bool [n, sources], True for the higher class.
        """
        x_labels, y_labels = draw_labels(n, self.sources, self.crossover, generator)
        x, y = self._drawn(x_labels, y_labels, generator, device)
        return x, y, x_labels.to(device), y_labels.to(device)

    def _drawn(
        self, x_labels: Tensor, y_labels: Tensor, generator: Generator, device: Device
    ) -> Pairs:
        """Items of these classes, on `device`."""
        raise NotImplementedError


class ImagePairs(_SharedClasses):
    """Pairs of images whose patches are random pool images of shared classes.

    The benchmark, sections 4.3 to 4.5 and figure 2. Each of the sources = grid[0] *
    rows * columns patches of x shows a random image of a fair class. The same patch of
    y shows another image of that class, or of the other class with the crossover
    probability. The canvas is resized once to `size` (Pillow's rounding) and divided by
    255. The information sources * (ln 2 - H(crossover)) is exact as long as the class
    can be read off a patch.

    With a nuisance eta (section 5.6), eta times independent backgrounds are added to x
    and y, clipped at 1; a large eta may hide classes. The same generator gives the same
    patches at every eta.

    Parameters
    ----------
    pool : ImagePool
        Grey images of exactly two classes.
    grid : sequence of int
        Channels, rows and columns of the canvas in patches.
    size : int or sequence of int
        Side, or height and width, of the images in pixels.
    crossover : float
        Probability that the class of a patch differs between x and y, 0 to 1/2.
    nuisance : float
        Weight of the backgrounds, 0 to 1.
    backgrounds : ImagePool, optional
        RGB images, required with a nuisance.
    channels : int, optional
        1 or 3 for a grid of one channel; by default the channels of the grid.

    Raises
    ------
    WrongShape, InvalidInput, TooFew
        If the pool is not grey, or does not have two classes of two images each.
    OutOfRange, Conflict, UnknownName
        If an argument is out of range, or arguments do not fit one another.

    Examples
    --------
    >>> from infoscope.data.pools.loaders import digits
    >>> pairs = ImagePairs(digits().restrict((0, 1)), size=32)
    >>> x, y = pairs.sample(3, torch.Generator().manual_seed(0))
    >>> list(x.shape), round(pairs.mutual_information, 3)
    ([3, 1024], 6.931)
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
        self.pool = pool
        self.backgrounds = backgrounds
        self.grid = _check_grid(grid)
        self.size = check_size(size)
        super().__init__(math.prod(self.grid), crossover)
        self.nuisance = _check_nuisance(nuisance, backgrounds)
        self.channels = _check_channels(channels, self.grid[0], self.nuisance)
        self.dim_x = self.dim_y = self.channels * math.prod(self.size)
        self._canvas = Canvas(patch_size(pool), self.grid, self.size)
        self._items = TwoClasses(pool.images.flatten(1), pool.labels)

    def _drawn(
        self, x_labels: Tensor, y_labels: Tensor, generator: Generator, device: Device
    ) -> Pairs:
        items = self._items.draw_pairs(x_labels, y_labels, generator).to(device)
        table = self._items.table(items.device)
        images = self._canvas.compose(table, items).div_(255.0)
        if self.nuisance and self.backgrounds is not None:
            images = self._over(self.backgrounds, images, generator)
        images = images.expand(-1, self.channels, -1, -1)
        x, y = images.reshape(2, len(x_labels), self.dim_x)
        return x, y

    def _over(
        self, backgrounds: ImagePool, images: Tensor, generator: Generator
    ) -> Tensor:
        """Images over random backgrounds: [m, channels, height, width], clipped at 1."""
        device = images.device
        pixels = backgrounds.resized(*self.size, device)
        branch = _branch_of(generator)
        rows = _draw_rows(len(pixels), (len(images),), branch)
        scenes = pixels.index_select(0, rows.to(device)).float()
        scenes.mul_(self.nuisance / 255.0)
        scenes.add_(images).clamp_(max=1.0)
        if self.channels == 3:
            return scenes
        return scenes.mean(1, keepdim=True)


class TextPairs(_SharedClasses):
    """Pairs of concatenated text embeddings of shared classes.

    The benchmark, sections 4.3 to 4.5. Classes are shared as in ImagePairs: sources *
    (ln 2 - H(crossover)) nats as long as the class can be read off a vector, which
    fails for about 1 % of the IMDB embeddings.

    Parameters
    ----------
    pool : EmbeddingPool
        Vectors [k, d] of exactly two classes.
    sources : int
        Vectors in x and in y.
    crossover : float
        Probability that the class of a vector differs between x and y, 0 to 1/2.

    Raises
    ------
    InvalidInput, TooFew
        If the pool does not have two classes of two vectors each.
    OutOfRange
        If an argument is out of range.

    Examples
    --------
    >>> from infoscope.data.pools.pools import EmbeddingPool
    >>> pool = EmbeddingPool(torch.eye(4), torch.tensor([0, 0, 1, 1]), "example")
    >>> x, y = TextPairs(pool, sources=3).sample(5, torch.Generator().manual_seed(0))
    >>> list(x.shape)
    [5, 12]
    """

    def __init__(
        self, pool: EmbeddingPool, sources: int, crossover: float = 0.0
    ) -> None:
        self.pool = pool
        super().__init__(require_int("sources", sources), crossover)
        self.dim_x = self.dim_y = self.sources * pool.vectors.shape[1]
        self._items = TwoClasses(pool.vectors, pool.labels)

    def _drawn(
        self, x_labels: Tensor, y_labels: Tensor, generator: Generator, device: Device
    ) -> Pairs:
        items = self._items.draw_pairs(x_labels, y_labels, generator).to(device)
        table = self._items.table(items.device)
        vectors = table.index_select(0, items.flatten())
        x, y = vectors.view(2, len(x_labels), self.dim_x)
        return x, y


class MixedPairs(_SharedClasses):
    """Pairs of an image of patches and concatenated embeddings of shared classes.

    The benchmark, figure 9 and supplement C. x is composed as in ImagePairs, y as in
    TextPairs. Patch p of x and vector p of y have the same class, or another with the
    crossover probability: sources * (ln 2 - H(crossover)) nats.

    Parameters
    ----------
    images : ImagePool
        Grey images of exactly two classes.
    texts : EmbeddingPool
        Vectors [k, d] of exactly two classes, which are matched with those of the
        images in order.
    grid : sequence of int
        Channels, rows and columns of the canvas in patches.
    crossover : float
        Probability that the class differs between a patch and its vector, 0 to 1/2.
    size : int or sequence of int, optional
        Side, or height and width, of the images in pixels; by default as many pixels as
        y has values: 80 x 96 for ten embeddings of 768 (published).

    Raises
    ------
    WrongShape, InvalidInput, TooFew
        If the images are not grey, or a pool does not have two classes of two items
        each.
    OutOfRange
        If an argument is out of range.

    Examples
    --------
    >>> from infoscope.data.pools.loaders import digits
    >>> from infoscope.data.pools.pools import EmbeddingPool
    >>> texts = EmbeddingPool(torch.eye(8), torch.arange(8) % 2, "example")
    >>> pairs = MixedPairs(digits().restrict((0, 1)), texts, grid=(1, 1, 2), size=16)
    >>> pairs.dim_x, pairs.dim_y
    (256, 16)
    """

    def __init__(
        self,
        images: ImagePool,
        texts: EmbeddingPool,
        grid: Sequence[int] = (1, 2, 5),
        crossover: float = 0.0,
        size: int | Sequence[int] | None = None,
    ) -> None:
        self.images = images
        self.texts = texts
        self.grid = _check_grid(grid)
        super().__init__(math.prod(self.grid), crossover)
        self.dim_y = self.sources * texts.vectors.shape[1]
        channels, _, _ = self.grid
        if size is None:
            size = _most_square(self.dim_y // channels)
        self.size = check_size(size)
        self.dim_x = channels * math.prod(self.size)
        self._canvas = Canvas(patch_size(images, "images"), self.grid, self.size)
        self._patches = TwoClasses(images.images.flatten(1), images.labels, "images")
        self._vectors = TwoClasses(texts.vectors, texts.labels, "texts")

    def _drawn(
        self, x_labels: Tensor, y_labels: Tensor, generator: Generator, device: Device
    ) -> Pairs:
        n = len(x_labels)
        patches = self._patches.draw(x_labels, generator).to(device)
        vectors = self._vectors.draw(y_labels, generator).to(device)
        patch_table = self._patches.table(patches.device)
        images = self._canvas.compose(patch_table, patches).div_(255.0)
        vector_table = self._vectors.table(vectors.device)
        y = vector_table.index_select(0, vectors.flatten())
        return images.view(n, -1), y.view(n, self.dim_y)


class TwoClasses:
    """The items of a pool of two classes, sorted by class; the lower label is bit 0.

    values [n, ...], labels int64 [n]. InvalidInput unless there are two classes, TooFew
    unless each has two items.
    """

    def __init__(self, values: Tensor, labels: Tensor, name: str = "pool") -> None:
        classes, counts = labels.unique(return_counts=True)
        if len(classes) != 2:
            raise InvalidInput(
                f"{name} must hold two classes, got {classes.tolist()}; use its "
                "restrict((a, b))."
            )
        if int(counts.min()) < 2:
            raise TooFew(
                f"{name} must hold at least two items of each class, got "
                f"{counts.tolist()}."
            )
        self.counts: list[int] = counts.tolist()
        if (labels.diff() < 0).any():
            values = values[labels.argsort(stable=True)]
        self._values = values
        self._tables: dict[torch.device, Tensor] = {}

    def draw(self, labels: Tensor, generator: Generator) -> Tensor:
        """Rows of `table`, int64: for each bool label a random item of its class."""
        of_0 = self._any(0, labels.shape, generator)
        of_1 = self._any(1, labels.shape, generator)
        return torch.where(labels, of_1, of_0)

    def draw_pairs(
        self, x_labels: Tensor, y_labels: Tensor, generator: Generator
    ) -> Tensor:
        """Rows of `table`, int64 [2, *shape], for bool labels of x and of y.

        Items are uniform in their class; no item meets itself (the benchmark, section
        4.4).
        """
        first_0, second_0 = self._distinct(0, x_labels.shape, generator)
        first_1, second_1 = self._distinct(1, x_labels.shape, generator)
        x = torch.where(x_labels, first_1, first_0)
        partner = torch.where(x_labels, second_1, second_0)
        other = torch.where(x_labels, first_0, first_1)
        y = torch.where(x_labels == y_labels, partner, other)
        return torch.stack([x, y])

    def table(self, device: Device) -> Tensor:
        """The items sorted by class, on `device`: copied there the first time only."""
        device = torch.device(device)
        if device not in self._tables:
            self._tables[device] = self._values.to(device)
        return self._tables[device]

    def _any(self, label: int, shape: torch.Size, generator: Generator) -> Tensor:
        """Random rows of one class."""
        row = _draw_rows(self.counts[label], shape, generator)
        return row + label * self.counts[0]

    def _distinct(
        self, label: int, shape: torch.Size, generator: Generator
    ) -> tuple[Tensor, Tensor]:
        """Ordered pairs of distinct rows of one class, uniform over all such pairs.

        The second row is drawn among the other rows, and steps over the first.
        """
        first = self._any(label, shape, generator)
        second = _draw_rows(self.counts[label] - 1, shape, generator)
        second += label * self.counts[0]
        second += second >= first
        return first, second


def patch_size(pool: ImagePool, name: str = "pool") -> tuple[int, int]:
    """Height and width of the images of a pool; WrongShape unless they are grey."""
    shape = list(pool.images.shape)
    if len(shape) != 3:
        raise WrongShape(f"{name} must hold grey images [n, h, w], got {shape}.")
    _, height, width = shape
    return height, width


def _draw_rows(count: int, shape: Sequence[int], generator: Generator) -> Tensor:
    """Whole numbers below `count`, each equally likely, on the generator's device."""
    return torch.randint(count, shape, generator=generator, device=generator.device)


def _branch_of(generator: Generator) -> Generator:
    """A separate stream, fixed by the generator's state, which does not change."""
    copy = generator.clone_state()
    seed = _draw_rows(2**63 - 1, (), copy)
    return Generator(copy.device).manual_seed(int(seed))


def _check_grid(grid: Sequence[int]) -> tuple[int, int, int]:
    channels, rows, columns = require_ints("grid", grid, 3)
    return channels, rows, columns


def _check_nuisance(nuisance: float, backgrounds: ImagePool | None) -> float:
    nuisance = require_number("nuisance", nuisance, most=1)
    if nuisance > 0.0 and backgrounds is None:
        raise Conflict(
            "backgrounds must be given where nuisance is above 0 (it is "
            f"{nuisance!r}), got None."
        )
    if backgrounds is not None and backgrounds.images.ndim != 4:
        raise WrongShape(
            "backgrounds must hold RGB images [n, h, w, 3], got "
            f"{list(backgrounds.images.shape)}."
        )
    return nuisance


def _check_channels(channels: int | None, of_grid: int, nuisance: float) -> int:
    if nuisance > 0.0 and of_grid not in (1, 3):
        raise WrongShape(
            f"grid must have 1 or 3 channels where nuisance is above 0, got {of_grid}."
        )
    if channels is None:
        return of_grid
    valid = [1, 3] if of_grid == 1 else [of_grid]
    if channels not in valid:
        raise UnknownName(
            f"channels must be one of {valid} for a grid of {of_grid}, got "
            f"{channels!r}."
        )
    return int(channels)


def _most_square(area: int) -> tuple[int, int]:
    """The most similar (height, width) of this area, height <= width."""
    height = math.isqrt(area)
    while area % height:
        height -= 1
    return height, area // height
