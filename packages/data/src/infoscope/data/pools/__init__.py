"""Items with labels, of which pairs of images and of texts are made.

pools       ImagePool, EmbeddingPool
loaders     digits, mnist, cifar10, imdb_embeddings; data_root, the folder that INFOSCOPE_DATA names
idx         read_idx: the files of MNIST
textures    textures: generated colour backgrounds
canvas      Canvas: patches laid out on an image
resampling  bicubic resizing with the arithmetic of Pillow
"""

from infoscope.data.pools.loaders import cifar10, data_root, digits, imdb_embeddings, mnist
from infoscope.data.pools.pools import EmbeddingPool, ImagePool
from infoscope.data.pools.textures import textures

__all__ = [
    "EmbeddingPool", "ImagePool", "cifar10", "data_root", "digits", "imdb_embeddings", "mnist", "textures",
]  # fmt: skip
