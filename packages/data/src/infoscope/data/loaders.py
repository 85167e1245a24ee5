"""Loaders of pools: the bundled digits, MNIST, and the published sentence embeddings of IMDB.

Real data is read from the folder that the environment variable INFOSCOPE_DATA names.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from .idx import read_idx
from .pools import EmbeddingPool, ImagePool

DATA_VARIABLE = "INFOSCOPE_DATA"
ENCODERS = ("bert", "roberta")
_CACHE = Path("~/.cache/infoscope")
_MNIST_FILES = {"train": "train", "test": "t10k"}


def data_root() -> Path | None:
    """The folder that INFOSCOPE_DATA names, or None when it is unset or empty.

    Raises FileNotFoundError when it names a folder that does not exist.
    """
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        return None
    root = Path(named).expanduser()
    if not root.is_dir():
        raise FileNotFoundError(f"{DATA_VARIABLE} names the folder {named!r}, which does not exist.")
    return root


def digits() -> ImagePool:
    """The 1,797 handwritten digits of 8 x 8 pixels that come with scikit-learn: the default that needs no download.

    Their values 0..16 are scaled to 0..255 (Alpaydin and Kaynak 1998, the UCI test set).
    """
    # Finding the package does not import it: sklearn.datasets takes seconds to import, the file milliseconds to read.
    (package,) = find_spec("sklearn").submodule_search_locations
    table = np.loadtxt(Path(package, "datasets", "data", "digits.csv.gz"), delimiter=",", dtype=np.int64)
    images = np.rint(table[:, :-1] * (255.0 / 16.0)).astype(np.uint8).reshape(-1, 8, 8)
    return ImagePool(torch.from_numpy(images), torch.from_numpy(table[:, -1].copy()), "digits")


def mnist(split: str = "train", root: Path | str | None = None) -> ImagePool:
    """MNIST: 60,000 (train) or 10,000 (test) handwritten digits of 28 x 28 pixels (LeCun, Cortes and Burges 1998).

    Reads the IDX files of <root>/MNIST/raw, as they are or gzipped; root None is the folder of INFOSCOPE_DATA. With
    neither, torchvision downloads them into ~/.cache/infoscope. Raises ValueError for another split or a damaged file,
    FileNotFoundError when the folder or a file is not there.
    """
    if split not in _MNIST_FILES:
        raise ValueError(f"split must be one of {list(_MNIST_FILES)}, not {split!r}.")
    name = f"mnist-{split}"
    root = _root(root)
    if root is None:
        images, labels = _downloaded_mnist(split)
    else:
        stem = root / "MNIST" / "raw" / _MNIST_FILES[split]
        images = read_idx(stem.with_name(stem.name + "-images-idx3-ubyte"))
        labels = read_idx(stem.with_name(stem.name + "-labels-idx1-ubyte")).long()
    return ImagePool(images, labels, name)


def imdb_embeddings(encoder: str = "bert", root: Path | str | None = None) -> EmbeddingPool:
    """Sentence embeddings of 25,000 IMDB reviews, 12,500 of each class, 768 values each, published by the benchmark.

    Reads <root>/imdb_embeddings/<encoder>.npz (x float [n, d], y integer [n]); root None is the folder of
    INFOSCOPE_DATA. Raises ValueError for another encoder, FileNotFoundError when the folder or the file is not there.
    """
    if encoder not in ENCODERS:
        raise ValueError(f"encoder must be one of {list(ENCODERS)}, not {encoder!r}.")
    root = _root(root)
    if root is None:
        raise FileNotFoundError(
            f"the IMDB embeddings cannot be downloaded; {DATA_VARIABLE} must name the folder that holds "
            f"imdb_embeddings/{encoder}.npz."
        )
    path = root / "imdb_embeddings" / f"{encoder}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there.")
    with np.load(path, allow_pickle=False) as stored:
        vectors = torch.from_numpy(stored["x"].astype(np.float32))
        labels = torch.from_numpy(stored["y"].astype(np.int64))
    return EmbeddingPool(vectors, labels, f"imdb-{encoder}")


def _root(root: Path | str | None) -> Path | None:
    if root is None:
        return data_root()
    root = Path(root).expanduser()
    if not root.is_dir():
        raise FileNotFoundError(f"root names the folder {str(root)!r}, which does not exist.")
    return root


def _downloaded_mnist(split: str) -> tuple[torch.Tensor, torch.Tensor]:
    from torchvision.datasets import MNIST  # only to download: it takes a second to import

    try:
        stored = MNIST(_CACHE.expanduser(), train=split == "train", download=True)
    except (OSError, RuntimeError) as error:
        raise FileNotFoundError(
            f"MNIST could not be downloaded; {DATA_VARIABLE} can name a folder that holds MNIST/raw."
        ) from error
    return stored.data, stored.targets
