"""The folder of a cell, on the disk alone."""

import pytest

from infoscope.tracking.cell_folder import CellFolder, Superseded, cell_folders
from infoscope.tracking.tags import PARENT
from tests.tracking.cells import begun


@pytest.mark.parametrize(
    "torn", [b'{"step": 1, "metr', bytes(5), b'{"step": 1' + bytes(100)]
)
def test_an_incomplete_last_line_is_left_out(tmp_path, torn):
    """Of a process that died, or the zeros that some disks have there after a loss of
    power.
    """
    folder = begun(tmp_path)
    folder.metrics({"level": 1.0}, 0)
    with open(folder.path / "reported.jsonl", "ab") as file:
        file.write(torn)
    assert [entry["metrics"] for entry in folder.entries()] == [{"level": 1.0}]


def test_times_of_lines_grow(tmp_path):
    folder = begun(tmp_path)
    for step in range(50):
        folder.metrics({"level": 1.0}, step)
    times = [entry["time"] for entry in folder.entries()]
    assert times == sorted(set(times))
    assert len(times) == 50


def test_attempts_under_the_same_parent_are_counted(tmp_path):
    folder = CellFolder(tmp_path / "one")
    for parent, attempt in (("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3)):
        assert folder.begin({}, {PARENT: parent}) == attempt
    for _ in range(3):
        assert folder.begin({}, {}) == 1  # offline: any number


def test_a_new_attempt_is_empty_and_the_old_one_cannot_end_it(tmp_path):
    """A worker may live on for some seconds after its driver was killed."""
    old = begun(tmp_path)
    old.metrics({"level": 1.0}, 0)
    new = begun(tmp_path)
    assert new.entries() == []
    with pytest.raises(Superseded):
        old.end("complete")
    assert new.ending() == {}
    new.end("complete")
    assert new.ending()["outcome"] == "complete"


def test_an_attempt_goes_on_from_what_another_had_packed(tmp_path):
    """With its files and models, but not with its run."""
    first = begun(tmp_path)
    first.metrics({"level": 1.0}, 0)
    (first.files / "early.txt").write_text("early")
    first.model("critic").mkdir(parents=True)
    (first.model("critic") / "empty").touch()
    first.note_run("0" * 32)
    packed = first.packed()
    first.metrics({"level": 2.0}, 1)
    second = begun(tmp_path, who="second")
    second.unpack(packed)
    assert second.header()["tags"]["who"] == "second"
    assert second.run_id == ""
    assert [entry["metrics"] for entry in second.entries()] == [{"level": 1.0}]
    assert (second.files / "early.txt").read_text() == "early"
    assert (second.model("critic") / "empty").exists()


def test_the_cells_of_a_sweep_are_its_folders(tmp_path):
    keys = ("bb", "aa")
    for key in keys:
        begun(tmp_path, key)
    (tmp_path / "0123.checkpoint").touch()
    (tmp_path / "a' or 1").mkdir()
    assert [folder.key for folder in cell_folders(tmp_path)] == sorted(keys)
    assert cell_folders(tmp_path / "absent") == []


@pytest.mark.parametrize("content", [bytes(32), b"abc", b""])
def test_a_damaged_note_counts_as_none(tmp_path, content):
    folder = begun(tmp_path)
    for name in ("run", "sent", "cell.json", "end.json"):
        (folder.path / name).write_bytes(content)
    assert not folder.run_id
    assert not folder.sent
    assert not folder.header()
    assert not folder.ending()


def test_an_artifact_is_complete_or_absent(tmp_path):
    folder = begun(tmp_path)
    with pytest.raises(RuntimeError), folder.file("half.txt") as path:
        path.write_text("half")
        raise RuntimeError
    with folder.file("whole.txt") as path:
        path.write_text("whole")
    assert [path.name for path in folder.files.iterdir()] == ["whole.txt"]
