"""What a file of runs accepts and rejects; it contains nothing about the machine that
made it.
"""

import gzip
import json

import pytest

from infoscope.tracking.archive.format import (
    FinishedRun,
    ascii_text,
    read_archive,
    validated,
    write_archive,
)
from infoscope.tracking.tags import CELL
from tests.refusals import refused

RUN = FinishedRun(
    key="ab12",
    run="0" * 32,
    outcome="complete",
    start=1000,
    end=2000,
    tags={CELL: '{"seed": 0}', "infoscope.profile": "laptop; paper"},
    params={"seed": "0"},
    metrics={"error": [(0, 0, 0.5)], "none": [(1, 1, None)]},
    inputs=[],
    files={},
)


def run_of(line):
    return validated(FinishedRun.model_validate_json, line)


def changed(**fields):
    """The line of that run with some of its fields replaced, as anybody could write it."""
    return json.dumps(json.loads(RUN.line) | fields).encode() + b"\n"


def file_of(path, *lines, **header):
    about = {"format": "infoscope runs", "version": 1, "experiment": "toy", "runs": len(lines), "curves": False,
             "tables": False}  # fmt: skip
    path.write_bytes(
        gzip.compress(b"".join([json.dumps(about | header).encode() + b"\n", *lines]))
    )
    return path


def test_a_line_is_read_back_as_it_was():
    again = run_of(RUN.line)
    assert again == RUN
    assert again.line == RUN.line
    assert again.labels == ["laptop", "paper"]


def test_the_same_runs_are_the_same_bytes_in_whatever_order(tmp_path):
    other = run_of(changed(key="cd34"))
    for name, runs in (("a.gz", [RUN, other]), ("b.gz", [other, RUN])):
        write_archive(tmp_path / name, "toy", runs)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    archive = read_archive(tmp_path / "a.gz")
    assert [run.key for run in archive.runs] == ["ab12", "cd34"]
    assert archive.labels == {"laptop": 2, "paper": 2}


def tagged(**tags):
    return {"tags": {CELL: "{}", **tags}}


REFUSED = [
    ({"key": "' or 1"}, "its key"),
    ({"run": "../x"}, "its run"),
    ({"outcome": "failed"}, "got 'failed'"),
    ({"start": -1}, "its start"),
    ({"end": 2**60}, "its end"),
    (tagged(**{"infoscope.cells": "1"}), "tag infoscope.cells"),
    ({"tags": {CELL: '{"seed": {}}'}}, "no cell"),
    (tagged(**{"mlflow.note.content": "![x](http://x)"}), "tag mlflow.note.content"),
    (tagged(a="x" * 9000), "8000"),
    ({"metrics": {"/x": [[0, 0, 1]]}}, "name of a metric"),
    ({"metrics": {"x": [[2**60, 0, 1]]}}, "its metrics x 0 0: "),
    ({"metrics": {"x": [[0, 0, "1"]]}}, "its metrics x 0 2: "),
    ({"inputs": [{"name": "x"}]}, "its inputs 0 digest: "),
    ({"more": 1}, "its more: "),
]


def refuses(path, word):
    """Whether a file is refused in one sentence with this word."""
    with refused() as caught:
        read_archive(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value).splitlines()) == 1
    assert word in str(caught.value), str(caught.value)


def test_a_file_with_tables_is_read_without_them(tmp_path):
    archive = read_archive(
        file_of(tmp_path / "x.gz", changed(files={"x.npz": "AAAA"}), tables=True)
    )
    assert [run.key for run in archive.runs] == [RUN.key]


def test_names_that_a_store_would_refuse_are_refused(tmp_path):
    for fields, word in REFUSED:
        refuses(file_of(tmp_path / "x.gz", changed(**fields)), word)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
def test_only_values_that_are_no_numbers_are_null(value):
    line = RUN.line.replace(b"null", value.encode())
    with pytest.raises(ValueError, match="finite number"):
        run_of(line)


FOREIGN = {
    "plain": (b"not compressed", "gzip"),
    "list": (gzip.compress(b"[1]\n"), "an object, got [1]"),
    "other": (gzip.compress(b"{}\n"), "its format: "),
    "deep": (gzip.compress(b"[" * 100_000), "recursion"),
    "binary": (gzip.compress(b"\xff\xfe"), "decode"),
    "bomb": (gzip.compress(b" " * (65 << 20)), "64 MiB"),
}


def test_a_foreign_file_is_refused(tmp_path):
    for content, word in FOREIGN.values():
        (tmp_path / "x.gz").write_bytes(content)
        refuses(tmp_path / "x.gz", word)


def test_a_truncated_or_inconsistent_file_is_refused(tmp_path):
    path = file_of(tmp_path / "x.gz", RUN.line)
    whole = path.read_bytes()
    for end in range(1, len(whole), 7):  # wherever it was cut
        path.write_bytes(whole[:end])
        refuses(path, "")
    for lines, header, word in (
        ([RUN.line], {"runs": 2}, "announces 2"),
        ([RUN.line, RUN.line], {}, "1 cells"),
        ([RUN.line, RUN.line], {"runs": 1}, "2 runs"),
        ([RUN.line], {"version": 2}, "its version: "),
        ([RUN.line], {"experiment": "../x"}, "its experiment"),
    ):
        refuses(file_of(path, *lines, **header), word)
    with refused(code="file"):
        read_archive(tmp_path / "absent")


def test_runs_that_could_not_be_read_again_leave_the_file_unchanged(tmp_path):
    path = tmp_path / "toy.jsonl.gz"
    write_archive(path, "toy", [RUN])
    before = path.read_bytes()
    for wrong, word in (
        ({"key": "no key"}, "its key"),
        ({"tags": {CELL: "{}", "a": "x" * (65 << 20)}}, "64 MiB"),
    ):
        with pytest.raises(ValueError, match=word):
            write_archive(
                path, "toy", [RUN, RUN.model_copy(update={"key": "b"} | wrong)]
            )
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_what_is_printed_of_a_file_has_no_control_characters():
    assert ascii_text("\x1b]0;x\x07é") == "\\x1b]0;x\\x07\\xe9"
