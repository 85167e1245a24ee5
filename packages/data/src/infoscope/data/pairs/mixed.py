"""Pairs of an image and a text that share their classes through a binary symmetric channel."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from infoscope.checks import one_of, require_ints, require_number
from infoscope.data.checks import check_size
from infoscope.data.pairs.channel import channel_information, draw_labels
from infoscope.data.pairs.images import patch_size
from infoscope.data.pairs.protocol import LabelledPairs, Pairs
from infoscope.data.pairs.two_classes import TwoClasses
from infoscope.data.pools.canvas import Canvas
from infoscope.data.pools.pools import EmbeddingPool, ImagePool
from infoscope.errors import OutOfRange

LAYOUTS = ("resized", "repeated")
_REPEATED_SIZE = 64


class MixedPairs:
    """An image of patches beside a concatenation of embeddings (the benchmark, figure 9 and supplement C).

    x is composed as in ImagePairs, y as in TextPairs; patch p of x and vector p of y have the same class, or another
    with the crossover probability: sources * (ln 2 - H(crossover)) nats. Two layouts of x:
        resized   to `size`, by default as many pixels as y has values: 80 x 96 for ten embeddings of 768 (published)
        repeated  resized to `size` (64 x 64), then repeated until it is as long as y (the paper's text)

    Arguments: images, grey, and texts, of two classes each, matched in order; grid, (channels, rows, columns);
    crossover; layout; size. ValueError for a pool without two classes of two items each, images that are not grey,
    arguments out of range, another layout, or a repeated image that is longer than y.
    """

    def __init__(
        self,
        images: ImagePool,
        texts: EmbeddingPool,
        grid: Sequence[int] = (1, 2, 5),
        crossover: float = 0.0,
        layout: str = "resized",
        size: int | Sequence[int] | None = None,
    ) -> None:
        self.images, self.texts, self.layout = images, texts, one_of("layout", layout, LAYOUTS)
        self.grid = tuple(require_ints("grid", grid, 3))
        self.crossover = require_number("crossover", crossover, most=0.5)
        self.sources = math.prod(self.grid)
        self.dim_y = self.sources * texts.vectors.shape[1]
        if size is None:
            size = _most_square(self.dim_y // self.grid[0]) if layout == "resized" else _REPEATED_SIZE
        self.size = check_size(size)
        pixels = self.grid[0] * self.size[0] * self.size[1]
        if layout == "repeated" and pixels > self.dim_y:
            raise OutOfRange(f"size must leave at most dim_y={self.dim_y} pixels where repeated, got {pixels}.")
        self.dim_x = self.dim_y if layout == "repeated" else pixels
        self.mutual_information = channel_information(self.crossover, self.sources)
        self._canvas = Canvas(patch_size(images, "images"), self.grid, self.size)
        self._patches = TwoClasses(images.images.flatten(1), images.labels, "images")
        self._vectors = TwoClasses(texts.vectors, texts.labels, "texts")

    def sample(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> Pairs:
        """Draws n pairs: images x, float32 [n, dim_x], values in [0, 1], and texts y, float32 [n, sources * d]."""
        return self.sample_labelled(n, generator, device)[:2]

    def sample_labelled(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> LabelledPairs:
        """The pairs of `sample`, then the labels of x and of y: bool [n, sources], True for the higher class."""
        x_labels, y_labels = draw_labels(n, self.sources, self.crossover, generator)
        patches = self._patches.draw(x_labels, generator).to(device)
        vectors = self._vectors.draw(y_labels, generator).to(device)
        x = self._canvas.compose(self._patches.table(patches.device), patches).div_(255.0).view(n, -1)
        if self.layout == "repeated":
            x = x.repeat(1, -(-self.dim_x // x.shape[1]))[:, : self.dim_x].contiguous()
        y = self._vectors.table(vectors.device).index_select(0, vectors.flatten()).view(n, self.dim_y)
        return x, y, x_labels.to(device), y_labels.to(device)


def _most_square(area: int) -> tuple[int, int]:
    """The (height, width) of this area with height <= width, as near as can be."""
    height = next(h for h in range(math.isqrt(area), 0, -1) if area % h == 0)
    return height, area // height
