"""Loaders: the bundled digits, and real data sets from a small folder of their own formats."""

import gzip
import struct
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from filelock import FileLock, Timeout

from infoscope.data import cifar10, data_root, digits, imdb_embeddings, mnist
from tests.data.common import with_real_data
from tests.refusals import refused

IMAGES = np.arange(5 * 3 * 2, dtype=np.uint8).reshape(5, 3, 2)
LABELS = np.array([0, 1, 9, 1, 0], dtype=np.uint8)
COLOUR = np.arange(6 * 32 * 32 * 3, dtype=np.uint8).reshape(6, 32, 32, 3)
COLOUR_LABELS = [3, 1, 4, 1, 5, 9]


def idx(values: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()


@pytest.fixture(params=["raw", "gz"])
def root(request, tmp_path) -> Path:
    """A folder with a tiny MNIST, its test set only, and tiny embeddings."""
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for name, values in (("t10k-images-idx3-ubyte", IMAGES), ("t10k-labels-idx1-ubyte", LABELS)):
        if request.param == "raw":
            (folder / name).write_bytes(idx(values))
        else:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(values), mtime=0))
    (tmp_path / "imdb_embeddings").mkdir()
    vectors = np.linspace(-1, 1, 8, dtype=np.float16).reshape(4, 2)
    np.savez(tmp_path / "imdb_embeddings" / "bert.npz", x=vectors, y=np.array([0, 0, 1, 1], dtype=np.uint8))
    return tmp_path


@pytest.fixture
def torchvision(tmp_path, monkeypatch) -> ModuleType:
    """A stand-in for torchvision's data sets, which would need a network, where INFOSCOPE_DATA is not set."""
    datasets = ModuleType("torchvision.datasets")
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.datasets", datasets)
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return datasets


def stored(data, targets, seen=lambda root, train, download: None):
    """A data set of torchvision: a class that holds these; `seen` is called as it is made."""

    class Stored:
        def __init__(self, root, train, download):
            seen(Path(root), train, download)
            self.data, self.targets = data, targets

    return Stored


def test_digits_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    pool, bundled = digits(), load_digits()
    assert pool.name == "digits" and not pool.synthetic
    assert pool.labels.tolist() == bundled.target.tolist()
    assert (pool.images.double() / 255 * 16 - torch.from_numpy(bundled.images)).abs().max() <= 0.5 / 255 * 16
    assert pool.images.max() == 255


def test_files_are_read_from_a_root_or_the_folder_of_the_variable(root, monkeypatch):
    monkeypatch.setenv("INFOSCOPE_DATA", str(root))
    assert data_root() == root
    for pool in (mnist("test"), mnist("test", root=root)):
        assert np.array_equal(pool.images.numpy(), IMAGES) and np.array_equal(pool.labels.numpy(), LABELS)
        assert pool.name == "mnist-test"
    pool = imdb_embeddings()
    assert pool.name == "imdb-bert"
    assert torch.allclose(pool.vectors.flatten(), torch.linspace(-1, 1, 8), atol=1e-3)
    assert pool.labels.tolist() == [0, 0, 1, 1]
    for load, missing in (
        (lambda: mnist("train"), "train-images-idx3-ubyte"),
        (lambda: imdb_embeddings("roberta"), r"roberta\.npz"),
        (cifar10, r"cifar10_subset\.npz.*cifar-10-batches-py"),
    ):
        with pytest.raises(FileNotFoundError, match=missing):
            load()


@pytest.mark.parametrize("load", [data_root, mnist, cifar10, imdb_embeddings])
def test_a_folder_that_does_not_exist_is_refused(load, tmp_path, monkeypatch):
    monkeypatch.setenv("INFOSCOPE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="INFOSCOPE_DATA.*nowhere"):
        load()
    if load is not data_root:
        with pytest.raises(FileNotFoundError, match="root.*elsewhere"):
            load(root=tmp_path / "elsewhere")


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable(value, monkeypatch):
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("INFOSCOPE_DATA", value)
    assert data_root() is None
    with pytest.raises(FileNotFoundError, match="INFOSCOPE_DATA"):
        imdb_embeddings()


def test_a_download_that_fails_says_what_to_do(torchvision):
    def offline(*_, **__):
        raise RuntimeError("no mirror")

    torchvision.MNIST = offline
    with pytest.raises(FileNotFoundError, match="INFOSCOPE_DATA"):
        mnist()


def test_without_the_variable_torchvision_downloads(tmp_path, torchvision):
    calls = []
    torchvision.MNIST = stored(torch.from_numpy(IMAGES), torch.from_numpy(LABELS).long(), lambda *c: calls.append(c))
    torchvision.CIFAR10 = stored(COLOUR, COLOUR_LABELS, lambda *c: calls.append(c))
    assert np.array_equal(mnist("test").images.numpy(), IMAGES)
    assert cifar10().name == "cifar10-train"
    cache = tmp_path / ".cache" / "infoscope"
    assert calls == [(cache, False, True), (cache, True, True)]


def test_one_process_of_a_machine_downloads_at_a_time(tmp_path, torchvision):
    """Two that come together take turns: while one is at it, nobody else gets the lock."""
    locked = []

    def seen(root, train, download):
        with pytest.raises(Timeout):
            FileLock(root / "MNIST.lock", timeout=0).acquire()
        locked.append(True)

    torchvision.MNIST = stored(torch.from_numpy(IMAGES), torch.from_numpy(LABELS).long(), seen)
    mnist()
    assert locked == [True]
    FileLock(tmp_path / ".cache" / "infoscope" / "MNIST.lock", timeout=0).acquire().lock.release()


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("", b""),
        ("", b"\0\0\x0d\x01\0\0\0\x01\0\0\0\0"),  # floats
        ("", idx(IMAGES)[:9]),
        ("", idx(IMAGES)[:-1]),
        ("", idx(IMAGES) + b"\0"),
        (".gz", gzip.compress(idx(IMAGES), mtime=0)[:-9]),
    ],
)
def test_a_damaged_file_is_refused(suffix, content, tmp_path):
    path = tmp_path / "MNIST" / "raw" / f"train-images-idx3-ubyte{suffix}"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with refused(str(path), "file"):
        mnist("train", root=tmp_path)


def test_cifar10_subset(tmp_path):
    (tmp_path / "cifar10").mkdir()
    labels = np.array(COLOUR_LABELS, dtype=np.uint8)
    first = dict(x_train=COLOUR, y_train=labels, x_test=COLOUR[:2], y_test=labels[:2])
    np.savez(tmp_path / "cifar10" / "cifar10_subset.npz", **first)
    pool = cifar10(root=tmp_path)
    assert np.array_equal(pool.images.numpy(), COLOUR)
    assert pool.labels.tolist() == COLOUR_LABELS
    assert pool.name == "cifar10-train first 6"
    assert cifar10("test", root=tmp_path).name == "cifar10-test first 2"


def test_cifar10_as_its_authors_store_it(tmp_path, torchvision):
    calls = []
    torchvision.CIFAR10 = stored(COLOUR, COLOUR_LABELS, lambda *c: calls.append(c))
    (tmp_path / "cifar-10-batches-py").mkdir()
    pool = cifar10("test", root=tmp_path)
    assert np.array_equal(pool.images.numpy(), COLOUR)
    assert pool.labels.tolist() == COLOUR_LABELS
    assert pool.name == "cifar10-test"
    assert calls == [(tmp_path, False, False)]


@with_real_data
def test_real_pools():
    """The usual channel means of CIFAR-10, which its first 4,000 images meet to 0.3 %; the published class counts of
    MNIST's training set and the sizes of the embeddings."""
    pool = cifar10()
    assert pool.images.shape[1:] == (32, 32, 3) and pool.classes == tuple(range(10))
    means = pool.images.double().mean((0, 1, 2)) / 255
    assert means.tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=0.003)
    pool = mnist()
    assert pool.labels.bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    pool = imdb_embeddings()
    assert pool.vectors.shape == (25_000, 768)
    assert pool.labels.bincount().tolist() == [12_500, 12_500]
