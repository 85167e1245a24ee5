"""Files and folders that are not there are named, by every loader, without a download
of what was asked for by name.
"""

import sys
from functools import partial

import pytest

from infoscope.data import (
    camelyon17,
    cifar10,
    cola,
    crmnist,
    data_root,
    dsprites,
    factor_data,
    imdb,
    imdb_embeddings,
    mnist,
    nli,
    sst2,
)

FILES = [
    (mnist, "train-images-idx3-ubyte"),
    (crmnist, "train-images-idx3-ubyte"),
    (cifar10, r"cifar10_subset\.npz.*cifar-10-batches-py"),
    (imdb_embeddings, r"bert\.npz"),
    (partial(imdb_embeddings, "roberta"), r"roberta\.npz"),
    (cola, "in_domain_train.tsv"),
    (sst2, "train.tsv.gz"),
    (nli, "snli_train.jsonl.gz"),
    (imdb, "imdb_train.jsonl.gz"),
    (camelyon17, r"metadata\.csv"),
    (factor_data, "dsprites_downsampled.npz"),
    (dsprites, "dsprites_downsampled.npz"),
    (partial(dsprites, part="subset"), "dsprites_subset.npz"),
    (partial(dsprites, part="full"), "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"),
]
ASKED_FOR = [imdb_embeddings, camelyon17, dsprites, cola, sst2, nli, imdb]


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """Without the variable, the libraries that download, and their caches."""
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "datasets", None)


@pytest.mark.parametrize(("load", "file"), FILES)
def test_a_missing_file_is_named(load, file, tmp_path):
    with pytest.raises(FileNotFoundError, match=file):
        load(root=tmp_path)


@pytest.mark.parametrize("load", [load for load, _ in FILES])
def test_a_missing_folder_is_named(load, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="root.*elsewhere"):
        load(root=tmp_path / "elsewhere")
    monkeypatch.setenv("INFOSCOPE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="INFOSCOPE_DATA.*nowhere"):
        load()


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable_there_is_no_folder(value, offline, monkeypatch):
    if value is not None:
        monkeypatch.setenv("INFOSCOPE_DATA", value)
    assert data_root() is None


@pytest.mark.parametrize("load", ASKED_FOR)
def test_without_the_variable_and_a_library_it_is_asked_for(load, offline):
    with pytest.raises(FileNotFoundError, match="INFOSCOPE_DATA"):
        load()


def test_a_split_that_is_not_offered_is_not_downloaded(offline):
    with pytest.raises(FileNotFoundError, match="split.*'dev'"):
        sst2("dev")
