"""Damaged files and such that grow without end: every loader names the file, in one sentence."""

import gzip
import json
import zipfile

import numpy as np
import pytest

from infoscope.data import cifar10, cola, dsprites, imdb, imdb_embeddings, mnist, nli, sst2
from infoscope.data.domains.camelyon17 import read_columns
from infoscope.data.pools.loaders import read_idx
from infoscope.files import json_object, lines, read_arrays, read_gzip

DEEP = "[" * 200_000


def npz(**arrays):
    return lambda path: np.savez_compressed(path, **arrays)


def cut(path):
    """A whole .npz of which the end is missing."""
    np.savez(path, x=np.zeros((50, 3)), y=np.zeros(50))
    path.write_bytes(path.read_bytes()[:-60])


def damaged(path):
    """A whole .npz with bytes of its contents changed."""
    np.savez_compressed(path, x=np.random.default_rng(0).normal(size=(500, 3)), y=np.zeros(500))
    content = bytearray(path.read_bytes())
    content[300:400] = bytes(100)
    path.write_bytes(bytes(content))


def bomb(path):
    """A few kilobytes that unpack to 80 MiB."""
    npz(x=np.zeros((5, 2**21)), y=np.zeros(5))(path)


def huge_header(path):
    """An array that says that it has 2**60 values."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in "xy":
            header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,), }".ljust(117) + "\n"
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())


def content(text):
    return lambda path: path.write_bytes(text if isinstance(text, bytes) else text.encode())


def packed(text):
    return lambda path: path.write_bytes(gzip.compress(text if isinstance(text, bytes) else text.encode()))


ARRAYS = [
    (content(b""), "it is no archive of numpy.savez, or it is truncated"),
    (content("x,y\n1,2\n"), "it is no archive of numpy.savez, or it is truncated"),
    (cut, "it is no archive of numpy.savez, or it is truncated"),
    (damaged, "Bad|Error|invalid"),
    (npz(x=np.zeros((3, 2))), "it lacks y and has x"),
    (npz(x=np.array([{}]), y=np.zeros(1)), "array of objects"),
    (npz(x=np.array(["a"]), y=np.zeros(1)), "could not convert"),
    (npz(x=np.zeros((3, 2)), y=np.zeros(2)), "labels must be"),
    (bomb, "unpacks to over 64 MiB; INFOSCOPE_UNPACKED_GB can allow more"),
    (huge_header, "."),
]


@pytest.mark.parametrize(("write", "told"), ARRAYS)
def test_invalid_arrays_are_refused(tmp_path, write, told):
    path = tmp_path / "imdb_embeddings" / "bert.npz"
    path.parent.mkdir()
    write(path)
    refused(path, told, imdb_embeddings, "bert", tmp_path)


@pytest.mark.parametrize("write", [content(b""), cut, npz(other=np.zeros(2))])
@pytest.mark.parametrize(
    ("name", "load"),
    [
        ("dsprites/dsprites_downsampled.npz", lambda root: dsprites(root)),
        ("cifar10/cifar10_subset.npz", lambda root: cifar10("train", root)),
    ],
)
def test_invalid_images_are_refused(tmp_path, write, name, load):
    path = tmp_path / name
    path.parent.mkdir()
    write(path)
    refused(path, ".", load, tmp_path)


ROW = {"premise": "a", "hypothesis": "b", "label": "neutral", "text": "a", "id": "1"}
TEXTS = [
    ("nli/snli_dev.jsonl.gz", lambda root: nli("snli", "dev", root)),
    ("imdb/imdb_train.jsonl.gz", lambda root: imdb("train", root)),
    ("sst2/train.tsv.gz", lambda root: sst2("train", root)),
]


@pytest.mark.parametrize(("name", "load"), TEXTS)
@pytest.mark.parametrize(
    ("write", "told"),
    [
        (content(b""), "."),
        (content(b"no gzip"), "must be a complete UTF-8 text, but: Not a gzipped file"),
        (content(gzip.compress(json.dumps(ROW).encode() * 50)[:-9]), "ended before|line 1"),
        (packed(b"\xff\xfe\n"), r"line 1, must be UTF-8, but: 'utf-8' codec"),
        (packed(DEEP), "line 1"),
        (packed('"a"\n'), "line 1"),
        (packed("5\n"), "line 1"),
        (packed(bytes(2**20) * 80), "unpacks to over 64 MiB"),
    ],
)
def test_invalid_texts_are_refused(tmp_path, name, load, write, told):
    path = tmp_path / name
    path.parent.mkdir()
    write(path)
    refused(path, told, load, tmp_path)


def test_tables_that_are_not_utf_8_are_refused(tmp_path):
    path = tmp_path / "cola" / "in_domain_train.tsv"
    path.parent.mkdir()
    path.write_bytes(b"a\t1\t\tfine\nb\t1\t\t\xe9\n")
    refused(path, "line 2, must be UTF-8", cola, "train", tmp_path)
    (tmp_path / "labels.csv").write_bytes(b"path,label\na,\xe9\n")
    labels = tmp_path / "labels.csv"
    refused(labels, "must be a table in UTF-8, but: 'utf-8' codec", read_columns, labels, ["path"])
    (tmp_path / "labels.csv").write_text("path,label\na," + "x" * 200_000)
    refused(tmp_path / "labels.csv", "field larger than field limit", read_columns, tmp_path / "labels.csv", ["path"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (gzip.compress(bytes(2**20) * 80, mtime=0), "unpacks to over 64 MiB"),
        (gzip.compress(b"\0\0\x08\x01\0\0\0\x02ab", mtime=0)[:-3], "ended before"),
        (gzip.compress(b"\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff", mtime=0), "as many bytes as its header states"),
        (gzip.compress(b"", mtime=0), "an IDX file"),
        (b"", "an IDX file|whole gzip"),
    ],
)
def test_invalid_idx_files_are_refused(tmp_path, text, told):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "train-images-idx3-ubyte.gz").write_bytes(text)
    refused(raw / "train-images-idx3-ubyte", told, mnist, "train", tmp_path)


def test_a_limit_can_be_raised_and_must_be_a_number(tmp_path, monkeypatch):
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(2**20) * 80))
    monkeypatch.setenv("INFOSCOPE_UNPACKED_GB", "0.1")
    assert len(read_gzip(path)) == 80 * 2**20
    for wrong in ("much", "-1", "nan"):
        monkeypatch.setenv("INFOSCOPE_UNPACKED_GB", wrong)
        refused("INFOSCOPE_UNPACKED_GB", "positive number of gigabytes", read_gzip, path)


def test_complete_files_are_read(tmp_path):
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write("één\r\ntwo".encode())
    (tmp_path / "a.txt").write_bytes("één\r\ntwo".encode())
    assert list(lines(tmp_path / "a.gz")) == list(lines(tmp_path / "a.txt")) == ["één", "two"]
    np.savez(tmp_path / "a.npz", x=np.arange(3), y=np.ones(2))
    assert read_arrays(tmp_path / "a.npz")["x"].tolist() == [0, 1, 2]
    assert set(read_arrays(tmp_path / "a.npz", ["y"])) == {"y"}
    assert json_object('{"a": 1}') == {"a": 1}
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "b.npz")
    with pytest.raises(FileNotFoundError):
        read_idx(tmp_path / "b")


def refused(path, told, function, *arguments):
    with pytest.raises(ValueError, match=told) as raised:
        function(*arguments)
    message = str(raised.value)
    assert str(path) in message and len(message.splitlines()) == 1 and len(message) < 500
