"""Pairs of concatenated text embeddings that share their classes through a binary symmetric channel."""

from __future__ import annotations

import torch

from infoscope.checks import require_int, require_number
from infoscope.data.pairs.channel import channel_information, draw_labels
from infoscope.data.pairs.protocol import LabelledPairs, Pairs
from infoscope.data.pairs.two_classes import TwoClasses
from infoscope.data.pools.pools import EmbeddingPool


class TextPairs:
    """Concatenations of `sources` embeddings of shared classes (the benchmark, sections 4.3 to 4.5).

    Classes as in ImagePairs; sources * (ln 2 - H(crossover)) nats as long as the class can be read off a vector (about
    1 % of the IMDB embeddings cannot). ValueError for a pool without two classes of two vectors each, or arguments out
    of range.
    """

    def __init__(self, pool: EmbeddingPool, sources: int, crossover: float = 0.0) -> None:
        self.pool = pool
        self.sources = require_int("sources", sources)
        self.crossover = require_number("crossover", crossover, most=0.5)
        self.dim_x = self.dim_y = self.sources * pool.vectors.shape[1]
        self.mutual_information = channel_information(self.crossover, self.sources)
        self._items = TwoClasses(pool.vectors, pool.labels)

    def sample(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> Pairs:
        """Draws n pairs: x and y, float32 [n, sources * d], source after source."""
        return self.sample_labelled(n, generator, device)[:2]

    def sample_labelled(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> LabelledPairs:
        """The pairs of `sample`, then the labels of x and of y: bool [n, sources], True for the higher class."""
        x_labels, y_labels = draw_labels(n, self.sources, self.crossover, generator)
        items = torch.stack(self._items.draw_pairs(x_labels, y_labels, generator)).to(device)
        x, y = self._items.table(items.device).index_select(0, items.flatten()).view(2, n, self.dim_x)
        return x, y, x_labels.to(device), y_labels.to(device)
