"""Checkpoints: a pack goes on from the last one with all that was reported before it,
and nothing that came after.
"""

import math

import numpy as np
import pytest
import torch

from infoscope.estimators import make_critic
from infoscope.tracking import curve, load_model, runs, table
from infoscope.tracking.cell_folder import CellFolder
from infoscope.tracking.checkpoint import (
    STORAGE,
    Checkpoint,
    require_inside,
    require_storage,
)
from infoscope.tracking.store import Store
from tests.refusals import refused
from tests.tracking.cells import computed, example, history, job

CELLS = {"one": {"seed": 0}, "two": {"seed": 1}}
STEPS = 12


class Killed(BaseException):
    """The process is gone: nothing that handles errors runs any more."""


@pytest.fixture
def store(own_folder, monkeypatch):
    """Every call of `save` saves."""
    monkeypatch.setattr("infoscope.tracking.report.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("infoscope.tracking.report.CHECKPOINT_SHARE", math.inf)
    return Store.open("pack", create=True)


def trial(lost_at=None, begins=None):
    """Reports a curve, a table and a model; two steps after its last checkpoint the
    process is killed.
    """

    def run(pack, report):
        state = report.restore() or {"step": 0, "level": torch.zeros(1)}
        if begins is not None:
            begins.append(state["step"])
        level = state["level"]
        for step in range(state["step"], STEPS):
            if step == lost_at:
                raise Killed
            level = level + 1
            for cell in pack.cells:
                report.curve(cell, {"level": float(level) + cell["seed"]}, step)
            if step == 2:
                report.table(pack.cells[0], "early", {"step": np.arange(3)})
                report.model(
                    pack.cells, "critic", make_critic("inner", 2, 2), example()
                )
                with report.member(pack.cells[1]):
                    raise ArithmeticError("no result")
            if lost_at is None or step < lost_at - 2:
                report.save(
                    lambda step=step, level=level: {"step": step + 1, "level": level}
                )

    return run


@pytest.mark.parametrize("moves", [False, True])
def test_a_pack_goes_on_from_its_checkpoint(store, own_folder, monkeypatch, moves):
    """On the same machine, or with INFOSCOPE_STORAGE on another one."""
    first = own_folder / "first" / "pack"
    second = own_folder / "first" / "pack"
    if moves:
        monkeypatch.setenv(STORAGE, str(own_folder / "storage"))
        second = own_folder / "second" / "pack"
    with pytest.raises(Killed):
        computed(job(store, first, trial(lost_at=8)), CELLS)
    begins = []
    heard = computed(job(store, second, trial(begins=begins)), CELLS)
    assert begins == [6]
    assert dict(ended[:2] for ended in heard[-1]["ended"]) == {
        "one": "complete",
        "two": "failed",
    }
    frame = runs("pack", finished=False).set_index("key")
    for seed, key in enumerate(CELLS):
        run_id = frame.loc[key, "run_id"]
        assert history(store, run_id, "Curves/level") == [
            (step, step + 1.0 + seed) for step in range(STEPS)
        ]
    run_id = frame.loc["one", "run_id"]
    assert list(curve(run_id, "level").index) == list(range(STEPS))
    assert table(run_id, "early")["step"].tolist() == [0, 1, 2]
    assert load_model(run_id).config["dim_x"] == 2
    assert not list(own_folder.rglob("*.checkpoint"))
    assert not second.exists() or not any(second.iterdir())


def test_other_cells_or_another_device_have_another_checkpoint(tmp_path):
    made = Checkpoint(str(tmp_path), "pack", ["cpu", "one"])
    made.save({"step": 1}, {"one": {}})
    assert made.restore() == ({"step": 1}, {"one": {}})
    for keys in (["cuda", "one"], ["cpu", "one", "two"]):
        assert Checkpoint(str(tmp_path), "pack", keys).restore() is None
    made.discard()
    made.discard()
    assert made.restore() is None


@pytest.mark.parametrize("content", [b"", b"nothing", bytes(100)])
def test_a_damaged_checkpoint_is_none(tmp_path, content, caplog):
    made = Checkpoint(str(tmp_path), "pack", ["one"])
    made.save({"step": 1}, {"one": {}})
    (path,) = tmp_path.rglob("*.checkpoint")
    path.write_bytes(content)
    assert made.restore() is None
    assert "cannot be read" in caplog.text


def test_a_checkpoint_that_cannot_be_written_keeps_the_last_one(
    tmp_path, monkeypatch, caplog
):
    made = Checkpoint(str(tmp_path), "pack", ["one"])
    made.save({"step": 1}, {"one": {}})
    (path,) = tmp_path.rglob("*.checkpoint")
    path.with_name(f"{path.name}.unfinished").mkdir()
    made.save({"step": 2}, {"one": {}})
    assert made.restore() == ({"step": 1}, {"one": {}})
    assert "the last one is kept" in caplog.text


@pytest.mark.parametrize("name", ["/etc/passwd", "../one", "files/../../one"])
def test_a_path_outside_of_the_folder_is_refused(name):
    with pytest.raises(ValueError, match="must lie in the folder"):
        require_inside(name)
    assert require_inside("files/a.txt") == "files/a.txt"


def test_nothing_is_executed(tmp_path):
    """A checkpoint from a storage that others can write to."""
    made = Checkpoint(str(tmp_path), "pack", ["one"])
    made.save({}, {})
    (path,) = tmp_path.rglob("*.checkpoint")

    class Harm:
        def __reduce__(self):
            return CellFolder.remove, (CellFolder(tmp_path),)

    torch.save({"state": Harm(), "reported": {}}, path)
    assert made.restore() is None
    assert path.exists()


@pytest.mark.parametrize(
    "place",
    ["relative/folder", "nothing://bucket/path", "/proc/nothing", "{file}/below"],
)
def test_a_place_that_cannot_be_written_to_is_refused_before_anything_starts(
    tmp_path, monkeypatch, place
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(STORAGE, place.format(file=tmp_path / "file"))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with refused(STORAGE, "invalid") as caught:
        require_storage()
    assert len(str(caught.value).splitlines()) == 1
    monkeypatch.setenv(STORAGE, str(tmp_path / "new"))
    require_storage()
