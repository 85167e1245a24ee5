"""Labelled items for pairs of images and texts: ImagePool, EmbeddingPool; loaders; idx (MNIST's files), textures,
canvas, resampling.
"""

from infoscope.data.pools.loaders import cifar10, data_root, digits, imdb_embeddings, mnist
from infoscope.data.pools.pools import EmbeddingPool, ImagePool
from infoscope.data.pools.textures import textures

__all__ = [
    "EmbeddingPool", "ImagePool", "cifar10", "data_root", "digits", "imdb_embeddings", "mnist", "textures",
]  # fmt: skip
