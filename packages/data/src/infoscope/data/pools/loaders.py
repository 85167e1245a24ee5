"""Loaders of pools: bundled digits, MNIST, CIFAR-10, sentence embeddings of IMDB.

Real data is read from the folder that the environment variable INFOSCOPE_DATA names.
"""

from __future__ import annotations

import contextlib
import math
import struct
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock

from infoscope.checks import one_of
from infoscope.data.pools.pools import EmbeddingPool, ImagePool
from infoscope.data.root import DATA_VARIABLE, data_root, required_root
from infoscope.errors import UnreadableFile
from infoscope.files import read_arrays, read_gzip, reading

_ENCODERS = ("bert", "roberta")
_CACHE = Path("~/.cache/infoscope")
_SPLITS = ("train", "test")
_MNIST_FILES = {"train": "train", "test": "t10k"}
_CIFAR10_COUNT = {"train": 50_000, "test": 10_000}


def digits() -> ImagePool:
    """Pool of the 1,797 digits of 8 x 8 pixels in scikit-learn; no download.

    Alpaydin and Kaynak 1998.

    Returns
    -------
    ImagePool
        Images uint8 [1797, 8, 8], scaled to 0..255, and their digits.

    Examples
    --------
    >>> pool = digits()
    >>> list(pool.images.shape), pool.classes
    ([1797, 8, 8], (0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
    """
    # Finding the package does not import it: sklearn.datasets takes seconds to import,
    # the file milliseconds to read.
    spec = find_spec("sklearn")
    assert spec is not None and spec.submodule_search_locations is not None
    (package,) = spec.submodule_search_locations
    path = Path(package, "datasets", "data", "digits.csv.gz")
    table = np.loadtxt(path, delimiter=",", dtype=np.int64)
    levels = np.rint(table[:, :-1] * (255.0 / 16.0))
    images = levels.astype(np.uint8).reshape(-1, 8, 8)
    labels = table[:, -1].copy()
    return ImagePool(torch.from_numpy(images), torch.from_numpy(labels), "digits")


def mnist(split: str = "train", root: Path | str | None = None) -> ImagePool:
    """MNIST: handwritten digits of 28 x 28 pixels (LeCun, Cortes and Burges 1998).

    Reads <root>/MNIST/raw.

    Parameters
    ----------
    split : {"train", "test"}
        60,000 or 10,000 digits.
    root : str or Path, optional
        Folder of real data; by default the folder that INFOSCOPE_DATA names, else
        torchvision downloads to ~/.cache/infoscope.

    Returns
    -------
    ImagePool
        Images uint8 [n, 28, 28] and their digits.

    Raises
    ------
    UnknownName
        If there is no such split.
    UnreadableFile
        If a file is damaged.
    FileNotFoundError
        If the folder or a file does not exist.
    """
    one_of("split", split, _SPLITS)
    root = data_root(root)
    if root is None:
        stored = _torchvision("MNIST", _CACHE.expanduser(), split, "MNIST/raw")
        images = stored.data
        labels = stored.targets
    else:
        stem = root / "MNIST" / "raw" / _MNIST_FILES[split]
        images = read_idx(stem.with_name(stem.name + "-images-idx3-ubyte"))
        labels = read_idx(stem.with_name(stem.name + "-labels-idx1-ubyte")).long()
    return ImagePool(images, labels, f"mnist-{split}")


def cifar10(split: str = "train", root: Path | str | None = None) -> ImagePool:
    """CIFAR-10: photographs of 32 x 32 RGB pixels in ten classes (Krizhevsky 2009).

    Reads <root>/cifar-10-batches-py (pickles of the published checksums) or
    <root>/cifar10/cifar10_subset.npz.

    Parameters
    ----------
    split : {"train", "test"}
        50,000 or 10,000 photographs.
    root : str or Path, optional
        Folder of real data; by default the folder that INFOSCOPE_DATA names, else
        torchvision downloads to ~/.cache/infoscope.

    Returns
    -------
    ImagePool
        Images uint8 [n, 32, 32, 3] and their classes.

    Raises
    ------
    UnknownName
        If there is no such split.
    UnreadableFile
        If a file is damaged.
    FileNotFoundError
        If the folder or a file does not exist.
    """
    one_of("split", split, _SPLITS)
    root = data_root(root)
    if root is not None and not (root / "cifar-10-batches-py").is_dir():
        return _cifar10_subset(root / "cifar10" / "cifar10_subset.npz", split)
    folder = root or _CACHE.expanduser()
    content = "cifar-10-batches-py"
    stored = _torchvision("CIFAR10", folder, split, content, download=root is None)
    images = torch.from_numpy(stored.data.copy())
    return ImagePool(images, torch.tensor(stored.targets), f"cifar10-{split}")


def imdb_embeddings(
    encoder: str = "bert", root: Path | str | None = None
) -> EmbeddingPool:
    """Pool of sentence embeddings of 25,000 IMDB reviews, 12,500 of each class.

    They were published by the benchmark. Reads <root>/imdb_embeddings/<encoder>.npz.

    Parameters
    ----------
    encoder : {"bert", "roberta"}
        Model that made the embeddings.
    root : str or Path, optional
        Folder of real data; by default the folder that INFOSCOPE_DATA names.

    Returns
    -------
    EmbeddingPool
        Vectors float32 [25000, 768] and their classes.

    Raises
    ------
    UnknownName
        If there is no such encoder.
    UnreadableFile
        If the file is damaged.
    FileNotFoundError
        If the folder or the file does not exist.
    """
    one_of("encoder", encoder, _ENCODERS)
    file = f"imdb_embeddings/{encoder}.npz"
    path = required_root(root, file) / file
    stored = read_arrays(path, ("x", "y"))
    with reading(path, "embeddings and their labels"):
        vectors = torch.from_numpy(stored["x"].astype(np.float32))
        labels = torch.from_numpy(stored["y"].astype(np.int64))
        return EmbeddingPool(vectors, labels, f"imdb-{encoder}")


def _cifar10_subset(path: Path, split: str) -> ImagePool:
    """The pool of a file with some of the images."""
    if not path.is_file():
        raise FileNotFoundError(
            f"neither {path} nor the folder cifar-10-batches-py is there."
        )
    stored = read_arrays(path, (f"x_{split}", f"y_{split}"))
    with reading(path, "images and their labels"):
        images = torch.from_numpy(stored[f"x_{split}"])
        labels = torch.from_numpy(stored[f"y_{split}"].astype(np.int64))
        first = f" first {len(images)}" if len(images) < _CIFAR10_COUNT[split] else ""
        return ImagePool(images, labels, f"cifar10-{split}{first}")


def _torchvision(
    name: str, folder: Path, split: str, content: str, download: bool = True
):
    """One of torchvision's data sets, read from `folder`, or downloaded there first."""
    # only when it is needed: it takes a second to import
    from torchvision import datasets

    try:
        lock = contextlib.nullcontext()
        if download:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / f"{name}.lock")  # one process downloads
        load = getattr(datasets, name)
        with lock:
            return load(folder, train=split == "train", download=download)
    except (OSError, RuntimeError) as error:
        if not download:
            raise FileNotFoundError(
                f"{folder / content} must hold the whole {name}, but: {error}."
            ) from error
        raise FileNotFoundError(
            f"{name} could not be downloaded; {DATA_VARIABLE} can name a folder with "
            f"{content}."
        ) from error


# --- IDX files, the format of MNIST: bytes with their shape in front (LeCun, Cortes and Burges 1998) -----------------
def read_idx(path: Path) -> torch.Tensor:
    """Values of a file of unsigned bytes, or of `<path>.gz`: uint8 of the stored shape.

    FileNotFoundError if neither file exists, UnreadableFile unless the content is a
    whole IDX file of bytes.
    """
    zipped = path.with_name(path.name + ".gz")
    if path.is_file():
        content = path.read_bytes()
    elif zipped.is_file():
        content = read_gzip(zipped)
    else:
        raise FileNotFoundError(
            f"{path} and {zipped.name} (same folder) are both missing."
        )
    return _parse(content, path)


def _parse(content: bytes, path: Path) -> torch.Tensor:
    """Values of an IDX file.

    Its header has two zero bytes, the type, the number of axes, and each length as a
    big-endian uint32.
    """
    # unsigned bytes
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != 0x08:
        raise UnreadableFile(
            f"{path} must be an IDX file of unsigned bytes, got one that begins with "
            f"{content[:4]!r}."
        )
    axes = content[3]
    start = 4 + 4 * axes
    shape = ()
    if len(content) >= start:
        shape = struct.unpack(f">{axes}I", content[4:start])
    values = np.frombuffer(content, np.uint8)[start:]
    if not shape or values.size != math.prod(shape):
        raise UnreadableFile(
            f"{path} must hold as many bytes as its header states (shape {shape}), "
            f"got {values.size}."
        )
    return torch.from_numpy(values.reshape(shape).copy())
