"""Loaders: the bundled digits, and real data sets from a small folder of their own
formats.
"""

import gzip
import struct
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from filelock import FileLock, Timeout

from infoscope.data import cifar10, digits, imdb_embeddings, mnist
from tests.data.common import with_real_data
from tests.refusals import refused

IMAGES = np.arange(5 * 3 * 2, dtype=np.uint8).reshape(5, 3, 2)
LABELS = np.array([0, 1, 9, 1, 0], dtype=np.uint8)
COLOUR = np.arange(6 * 32 * 32 * 3, dtype=np.uint8).reshape(6, 32, 32, 3)
COLOUR_LABELS = [3, 1, 4, 1, 5, 9]


def idx(values: np.ndarray) -> bytes:
    return (
        struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
        + values.tobytes()
    )


@pytest.fixture
def torchvision(tmp_path, monkeypatch) -> ModuleType:
    """A stand-in for torchvision's data sets, which would need a network, where
    INFOSCOPE_DATA is not set.
    """
    datasets = ModuleType("torchvision.datasets")
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.datasets", datasets)
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return datasets


class Stored:
    """What a data set of torchvision holds, and how it was made."""

    def __init__(self, root, train, download):
        self.arguments = (Path(root), train, download)
        self.data, self.targets = COLOUR, COLOUR_LABELS


def test_digits_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    pool = digits()
    bundled = load_digits()
    assert pool.name == "digits"
    assert not pool.synthetic
    assert pool.labels.tolist() == bundled.target.tolist()
    levels = 255 / 16 * torch.from_numpy(bundled.images)
    assert (pool.images - levels).abs().max() <= 0.5


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_mnist_is_read_from_a_root_or_the_folder_of_the_variable(
    suffix, tmp_path, monkeypatch
):
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for name, values in (
        ("t10k-images-idx3-ubyte", IMAGES),
        ("t10k-labels-idx1-ubyte", LABELS),
    ):
        content = gzip.compress(idx(values)) if suffix else idx(values)
        (folder / f"{name}{suffix}").write_bytes(content)
    monkeypatch.setenv("INFOSCOPE_DATA", str(tmp_path))
    for pool in (mnist("test"), mnist("test", root=tmp_path)):
        assert pool.name == "mnist-test"
        assert np.array_equal(pool.images, IMAGES)
        assert np.array_equal(pool.labels, LABELS)


def test_embeddings_are_float32(tmp_path):
    path = tmp_path / "imdb_embeddings" / "bert.npz"
    path.parent.mkdir()
    vectors = np.linspace(-1, 1, 8, dtype=np.float16).reshape(4, 2)
    np.savez(path, x=vectors, y=np.array([0, 0, 1, 1], dtype=np.uint8))
    pool = imdb_embeddings(root=tmp_path)
    assert pool.name == "imdb-bert"
    assert np.array_equal(pool.vectors, vectors.astype(np.float32))
    assert pool.labels.tolist() == [0, 0, 1, 1]
    # text, and another number than of labels
    for x in (np.array(["a"]), np.zeros((3, 2))):
        np.savez(path, x=x, y=np.zeros(2))
        with refused(str(path)):
            imdb_embeddings(root=tmp_path)


def test_a_download_that_fails_says_what_to_do(torchvision):
    def offline(*_, **__):
        raise RuntimeError("no mirror")

    torchvision.MNIST = offline
    with pytest.raises(FileNotFoundError, match="INFOSCOPE_DATA"):
        mnist()


def test_without_the_variable_torchvision_downloads(tmp_path, torchvision):
    """One process of a machine at a time: while it is at it, nobody else gets the lock."""
    cache = tmp_path / ".cache" / "infoscope"
    requests = []

    class Locked(Stored):
        def __init__(self, *arguments, **settings):
            super().__init__(*arguments, **settings)
            requests.append(self.arguments)
            with pytest.raises(Timeout):
                FileLock(cache / "CIFAR10.lock", timeout=0).acquire()

    torchvision.CIFAR10 = Locked
    assert cifar10("test").name == "cifar10-test"
    assert requests == [(cache, False, True)]
    with FileLock(cache / "CIFAR10.lock", timeout=0):
        pass


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("", b""),
        ("", b"\0\0\x0d\x01\0\0\0\x01\0\0\0\0"),  # floats
        ("", idx(IMAGES)[:9]),
        ("", idx(IMAGES)[:-1]),
        (".gz", gzip.compress(idx(IMAGES), mtime=0)[:-9]),
        # a header of more bytes than there are
        (".gz", gzip.compress(b"\0\0\x08\x02" + b"\xff" * 8, mtime=0)),
    ],
    ids=[
        "empty",
        "floats",
        "torn header",
        "one byte less",
        "torn gzip",
        "too large a header",
    ],
)
def test_a_damaged_file_is_refused(suffix, content, tmp_path):
    path = tmp_path / "MNIST" / "raw" / f"train-images-idx3-ubyte{suffix}"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with refused(code="file") as caught:
        mnist("train", root=tmp_path)
    assert "train-images-idx3-ubyte" in caught.value.argument


def test_cifar10_subset(tmp_path):
    path = tmp_path / "cifar10" / "cifar10_subset.npz"
    path.parent.mkdir()
    labels = np.array(COLOUR_LABELS, dtype=np.uint8)
    np.savez(path, x_train=COLOUR, y_train=labels, x_test=COLOUR[:2], y_test=labels[:2])
    pool = cifar10(root=tmp_path)
    assert np.array_equal(pool.images, COLOUR)
    assert pool.labels.tolist() == COLOUR_LABELS
    assert pool.name == "cifar10-train first 6"
    assert cifar10("test", root=tmp_path).name == "cifar10-test first 2"
    np.savez(path, x_train=COLOUR)
    with refused(str(path), "file"):
        cifar10(root=tmp_path)


def test_cifar10_as_its_authors_store_it(tmp_path, torchvision):
    torchvision.CIFAR10 = Stored
    (tmp_path / "cifar-10-batches-py").mkdir()
    pool = cifar10("test", root=tmp_path)
    assert np.array_equal(pool.images, COLOUR)
    assert pool.labels.tolist() == COLOUR_LABELS
    assert pool.name == "cifar10-test"


@with_real_data
def test_real_pools():
    """The usual channel means of CIFAR-10, which its first 4,000 images meet to 0.3 %;
    the published class counts of MNIST's training set and the sizes of the embeddings.
    """
    pool = cifar10()
    means = pool.images.double().mean((0, 1, 2)) / 255
    assert means.tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=0.003)
    pool = mnist()
    assert pool.labels.bincount().tolist() == [
        5923,
        6742,
        5958,
        6131,
        5842,
        5421,
        5918,
        6265,
        5851,
        5949,
    ]
    pool = imdb_embeddings()
    assert pool.vectors.shape == (25_000, 768)
    assert pool.labels.bincount().tolist() == [12_500, 12_500]
