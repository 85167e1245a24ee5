"""Damaged files and such that grow without end: every reader names the file, in one
sentence.
"""

import gzip

import numpy as np
import pytest

from infoscope.data.domains.camelyon17 import read_columns
from infoscope.files import json_object, lines, read_arrays, read_content, read_gzip
from tests.refusals import refused

MEGABYTES_80 = bytes(2**20) * 80


def content(written):
    return lambda path: path.write_bytes(written)


def npz(**arrays):
    return lambda path: np.savez_compressed(path, **arrays)


def cut(path):
    """A whole .npz of which the end is missing."""
    np.savez(path, x=np.zeros((50, 3)), y=np.zeros(50))
    path.write_bytes(path.read_bytes()[:-60])


def damaged(path):
    """A whole .npz with bytes of its contents changed."""
    np.savez_compressed(
        path, x=np.random.default_rng(0).normal(size=(500, 3)), y=np.zeros(500)
    )
    changed = bytearray(path.read_bytes())
    changed[300:400] = bytes(100)
    path.write_bytes(bytes(changed))


def arrays_of(path):
    return read_arrays(path, ["x", "y"])


def all_lines(path):
    return list(lines(path))


def two_columns(path):
    return read_columns(path, ["path", "label"])


ARRAYS = {
    "empty": (content(b""), "file"),
    "cut": (cut, "file"),
    "changed": (damaged, "file"),
    "without y": (npz(x=np.zeros((3, 2))), "file"),
    "80 megabytes": (npz(x=np.zeros((5, 2**21)), y=np.zeros(5)), "range"),
}
TEXTS = {
    "not zipped": (content(b"no gzip"), "file"),
    "cut": (content(gzip.compress(b"a line\n" * 50)[:-9]), "file"),
    "80 megabytes": (content(gzip.compress(MEGABYTES_80)), "range"),
}
CASES = [
    *((arrays_of, "a.npz", *case) for case in ARRAYS.values()),
    *((all_lines, "a.gz", *case) for case in TEXTS.values()),
    *((read_gzip, "a.gz", *case) for case in TEXTS.values()),
    (two_columns, "a.csv", content(b"path,label\na,\xe9\n"), "file"),
    (two_columns, "a.csv", content(b"path,label\na," + b"x" * 200_000), "file"),
]


@pytest.mark.parametrize("read, name, write, code", CASES)
def test_damaged_files_are_refused_by_their_name(tmp_path, read, name, write, code):
    path = tmp_path / name
    write(path)
    with refused(str(path), code) as caught:
        read(path)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 500


def test_a_line_that_is_not_utf_8_is_refused_by_its_number(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"fine\n\xe9\n")
    with refused(f"{path}, line 2,", "file"):
        all_lines(path)


@pytest.mark.parametrize("text", ["[" * 200_000, "[1]", "5", "not json"])
def test_what_is_no_object_of_json_is_refused(text):
    with pytest.raises(ValueError):
        json_object(text)


@pytest.mark.parametrize("read", [arrays_of, read_content])
def test_folders_and_missing_files_are_not_read(tmp_path, read):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing")
    with refused(code="file"):
        read(tmp_path)


def test_a_limit_can_be_raised_and_must_be_a_number(tmp_path, monkeypatch):
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(MEGABYTES_80))
    monkeypatch.setenv("INFOSCOPE_UNPACKED_GB", "0.1")
    assert len(read_gzip(path)) == 80 * 2**20
    for wrong in ("much", "-1", "nan"):
        monkeypatch.setenv("INFOSCOPE_UNPACKED_GB", wrong)
        with refused("INFOSCOPE_UNPACKED_GB", "range"):
            read_gzip(path)


def test_complete_files_are_read(tmp_path):
    text = "één\r\ntwo".encode()
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.txt").write_bytes(text)
    assert (
        all_lines(tmp_path / "a.gz") == all_lines(tmp_path / "a.txt") == ["één", "two"]
    )
    npz(x=np.arange(3), y=np.ones(2))(tmp_path / "a.npz")
    assert arrays_of(tmp_path / "a.npz")["x"].tolist() == [0, 1, 2]
    assert set(read_arrays(tmp_path / "a.npz")) == {"x", "y"}
    assert set(read_arrays(tmp_path / "a.npz", ["y"])) == {"y"}
    assert json_object('{"a": 1}') == {"a": 1}
