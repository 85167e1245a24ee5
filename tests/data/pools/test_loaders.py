"""Loaders: the bundled digits, and real data sets from a small folder of their own formats."""

from __future__ import annotations

import gzip
import os
import struct
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from filelock import FileLock, Timeout

from infoscope.data import cifar10, data_root, digits, imdb_embeddings, mnist
from tests.refusals import refused

IMAGES = np.arange(5 * 3 * 2, dtype=np.uint8).reshape(5, 3, 2)
LABELS = np.array([0, 1, 9, 1, 0], dtype=np.uint8)
with_real_data = pytest.mark.skipif(
    not os.environ.get("INFOSCOPE_DATA"), reason="INFOSCOPE_DATA names no folder of real data"
)


def idx(values: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()


COLOUR = np.arange(6 * 32 * 32 * 3, dtype=np.uint8).reshape(6, 32, 32, 3)


@pytest.fixture(params=["raw", "gz"])
def root(request, tmp_path) -> Path:
    """A folder with a tiny MNIST, its test set only, and tiny embeddings."""
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for name, values in (("t10k-images-idx3-ubyte", IMAGES), ("t10k-labels-idx1-ubyte", LABELS)):
        if request.param == "raw":
            (folder / name).write_bytes(idx(values))
        else:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(values)))
    (tmp_path / "imdb_embeddings").mkdir()
    vectors = np.linspace(-1, 1, 8, dtype=np.float16).reshape(4, 2)
    np.savez(tmp_path / "imdb_embeddings" / "bert.npz", x=vectors, y=np.array([0, 0, 1, 1], dtype=np.uint8))
    return tmp_path


def test_digits_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    pool, bundled = digits(), load_digits()
    assert pool.name == "digits"
    assert not pool.synthetic
    assert pool.labels.tolist() == bundled.target.tolist()
    assert (pool.images.double() / 255 * 16 - torch.from_numpy(bundled.images)).abs().max() <= 0.5 / 255 * 16
    assert pool.images.max() == 255


def test_zeros_and_ones_of_the_digits_can_be_told_apart():
    """The premise of the nominal information: a nearest neighbour among the others is of the same class."""
    pool = digits().restrict((0, 1))
    x = pool.images.flatten(1).double()
    nearest = torch.cdist(x, x).fill_diagonal_(torch.inf).argmin(1)
    assert torch.equal(pool.labels[nearest], pool.labels)


def test_mnist_reads_idx_files(root):
    pool = mnist("test", root=root)
    assert np.array_equal(pool.images.numpy(), IMAGES)
    assert np.array_equal(pool.labels.numpy(), LABELS)
    assert pool.name == "mnist-test"


def test_the_variable_names_the_root(root, monkeypatch):
    monkeypatch.setenv("INFOSCOPE_DATA", str(root))
    assert data_root() == root
    assert len(mnist("test").images) == 5
    pool = imdb_embeddings()
    assert pool.name == "imdb-bert"
    assert torch.allclose(pool.vectors.flatten(), torch.linspace(-1, 1, 8), atol=1e-3)
    assert pool.labels.tolist() == [0, 0, 1, 1]


def test_what_is_not_there_is_said_to_be_missing(root, monkeypatch):
    monkeypatch.setenv("INFOSCOPE_DATA", str(root))
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte"):
        mnist("train")
    with pytest.raises(FileNotFoundError, match="roberta.npz is not there"):
        imdb_embeddings("roberta")


@pytest.mark.parametrize("load", [data_root, mnist, cifar10, imdb_embeddings])
def test_a_folder_that_does_not_exist_is_refused(load, tmp_path, monkeypatch):
    monkeypatch.setenv("INFOSCOPE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="INFOSCOPE_DATA names the folder '.*nowhere', which does not exist"):
        load()


def test_a_root_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="root names the folder '.*nowhere', which does not exist"):
        mnist(root=tmp_path / "nowhere")


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable(value, monkeypatch):
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("INFOSCOPE_DATA", value)
    assert data_root() is None
    with pytest.raises(FileNotFoundError, match="INFOSCOPE_DATA must name the folder"):
        imdb_embeddings()


def test_a_download_that_fails_says_what_to_do(tmp_path, monkeypatch):
    def offline(*_, **__):
        raise RuntimeError("Error downloading train-images-idx3-ubyte.gz:\nTried several mirrors")

    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    datasets = ModuleType("torchvision.datasets")
    datasets.MNIST = offline
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.datasets", datasets)
    with pytest.raises(FileNotFoundError, match="could not be downloaded; INFOSCOPE_DATA can name a folder"):
        mnist()


@pytest.fixture
def torchvision_of(tmp_path, monkeypatch):
    """(class) -> None: a stand-in for torchvision, which would need a network, whose MNIST is that."""

    def put(mnist_class):
        datasets = ModuleType("torchvision.datasets")
        datasets.MNIST = mnist_class
        monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
        monkeypatch.setitem(sys.modules, "torchvision.datasets", datasets)
        monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))

    return put


def test_without_the_variable_mnist_is_downloaded_by_torchvision(tmp_path, torchvision_of):
    calls = []

    class Downloaded:
        data, targets = torch.from_numpy(IMAGES), torch.from_numpy(LABELS).long()

        def __init__(self, root, train, download):
            calls.append((Path(root), train, download))

    torchvision_of(Downloaded)
    assert np.array_equal(mnist("test").images.numpy(), IMAGES)
    assert calls == [(tmp_path / ".cache" / "infoscope", False, True)]


def test_one_process_of_a_machine_downloads_at_a_time(tmp_path, torchvision_of):
    """Two that come together take turns: while one is at it, nobody else gets the lock."""
    locked = []

    class Downloaded:
        data, targets = torch.from_numpy(IMAGES), torch.from_numpy(LABELS).long()

        def __init__(self, root, train, download):
            try:
                FileLock(Path(root) / "MNIST.lock", timeout=0).acquire()
            except Timeout:
                locked.append(True)

    torchvision_of(Downloaded)
    mnist()
    assert locked == [True]
    FileLock(tmp_path / ".cache" / "infoscope" / "MNIST.lock", timeout=0).acquire().lock.release()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "must be an IDX file"),
        (b"\0\0\x0d\x01\0\0\0\x01\0\0\0\0", "must be an IDX file of unsigned bytes"),
        (idx(IMAGES)[:9], "as many bytes as its header states"),
        (idx(IMAGES)[:-1], "as many bytes as its header states"),
        (idx(IMAGES) + b"\0", "as many bytes as its header states"),
    ],
)
def test_a_damaged_file_is_refused(content, sentence, tmp_path):
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        mnist("train", root=tmp_path)


def test_a_damaged_gzip_file_is_refused(tmp_path):
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(IMAGES))[:-9])
    with refused(code="invalid"):
        mnist("train", root=tmp_path)


def test_unknown_names_are_refused():
    with refused("split", "name"):
        mnist("valid")
    with refused("split", "name"):
        cifar10("valid")
    with refused("encoder", "name"):
        imdb_embeddings("gpt")


@pytest.fixture
def cifar10_batches(monkeypatch) -> list[tuple]:
    """A stand-in for torchvision's reader of the authors' files, which checks them against published checksums; returns
    the calls made."""
    calls = []

    class Stored:
        data, targets = COLOUR, [3, 1, 4, 1, 5, 9]

        def __init__(self, root, train, download):
            calls.append((Path(root), train, download))

    datasets = ModuleType("torchvision.datasets")
    datasets.CIFAR10 = Stored
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.datasets", datasets)
    return calls


def test_cifar10_subset(tmp_path):
    (tmp_path / "cifar10").mkdir()
    labels = np.array([3, 1, 4, 1, 5, 9], dtype=np.uint8)
    first = dict(x_train=COLOUR, y_train=labels, x_test=COLOUR[:2], y_test=labels[:2])
    np.savez(tmp_path / "cifar10" / "cifar10_subset.npz", **first)
    pool = cifar10(root=tmp_path)
    assert np.array_equal(pool.images.numpy(), COLOUR)
    assert pool.labels.tolist() == [3, 1, 4, 1, 5, 9]
    assert pool.name == "cifar10-train first 6"
    assert cifar10("test", root=tmp_path).name == "cifar10-test first 2"


def test_cifar10_as_its_authors_store_it(tmp_path, cifar10_batches):
    (tmp_path / "cifar-10-batches-py").mkdir()
    pool = cifar10("test", root=tmp_path)
    assert np.array_equal(pool.images.numpy(), COLOUR)
    assert pool.labels.tolist() == [3, 1, 4, 1, 5, 9]
    assert pool.name == "cifar10-test"
    assert cifar10_batches == [(tmp_path, False, False)]


def test_without_the_variable_cifar10_is_downloaded_by_torchvision(tmp_path, monkeypatch, cifar10_batches):
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cifar10().name == "cifar10-train"
    assert cifar10_batches == [(tmp_path / ".cache" / "infoscope", True, True)]


def test_cifar10_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="neither .*cifar10_subset.npz nor the folder cifar-10-batches-py is there"
    ):
        cifar10(root=tmp_path)


@pytest.mark.slow
def test_damaged_cifar10_files_are_refused_before_they_are_unpacked(tmp_path):
    """Slow because it imports torchvision itself: the files are pickles, which it opens only when their checksums are
    the published ones."""
    pytest.importorskip("torchvision")
    (tmp_path / "cifar-10-batches-py").mkdir()
    (tmp_path / "cifar-10-batches-py" / "test_batch").write_bytes(b"not a batch")
    with pytest.raises(
        FileNotFoundError, match="cifar-10-batches-py must hold the whole CIFAR10, but: Dataset not found"
    ):
        cifar10("test", root=tmp_path)


@with_real_data
def test_real_cifar10():
    """The usual channel means of the training set, which its first 4,000 images meet to 0.3 %."""
    pool = cifar10()
    assert pool.images.shape[1:] == (32, 32, 3)
    assert pool.classes == tuple(range(10))
    means = pool.images.double().mean((0, 1, 2)) / 255
    assert means.tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=0.003)


@with_real_data
def test_real_mnist():
    """The published class counts of the training set and its usual mean."""
    pool = mnist()
    assert pool.labels.bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert pool.images.double().mean().item() / 255 == pytest.approx(0.1307, abs=5e-5)
    assert len(pool.restrict((0, 1)).images) == 12_665


@with_real_data
@pytest.mark.parametrize("encoder", ["bert", "roberta"])
def test_real_embeddings(encoder):
    pool = imdb_embeddings(encoder)
    assert pool.vectors.shape == (25_000, 768)
    assert pool.labels.bincount().tolist() == [12_500, 12_500]
