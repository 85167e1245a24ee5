"""A disk that is full, or a quota that is reached, at every place where a cell's record is written. It is simulated at
the write itself, which takes half of what it is given and then refuses.
"""

import builtins
import errno

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from infoscope.estimators import make_critic
from infoscope.tracking import record as record_module
from infoscope.tracking import runs
from infoscope.tracking.record import Record, RecordUnwritable, records
from infoscope.tracking.scheduling.worker import INVOCATION, work
from infoscope.tracking.sending.publish import publish_all
from tests.tracking.cells import Killed, history

CELL, STEPS = {"seed": 0}, 10
FULL = "No space left"


class Disk:
    """Full from its `last`-th write on, for as long as `full` is set."""

    def __init__(self, last):
        self.left, self.full = last, True

    def open(self, path, mode="r", **settings):
        file = builtins.open(path, mode, **settings)  # noqa: SIM115
        return file if "r" in mode and "+" not in mode else _Limited(file, self)


class _Limited:
    def __init__(self, file, disk):
        self.file, self.disk = file, disk

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, data):
        if not self.disk.full or self.disk.left > 0:
            self.disk.left -= 1
            return self.file.write(data)
        if self.disk.left == 0:
            self.disk.left = -1
            return self.file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, FULL)


def test_a_line_is_written_completely_or_not_at_all(tmp_path, monkeypatch):
    record = Record.of(tmp_path / "records", "one")
    record.begin(CELL, {})
    record.metrics({"level": 0.0}, 0)
    before = (record.folder / "record.jsonl").read_bytes()
    disk = Disk(0)
    monkeypatch.setattr(record_module, "open", disk.open, raising=False)
    with pytest.raises(RecordUnwritable, match=FULL):
        record.metrics({"level": 1.0}, 1)
    assert (record.folder / "record.jsonl").read_bytes() == before
    disk.full = False
    record.metrics({"level": 1.0}, 1)
    assert [entry["step"] for entry, _ in record.entries() if "metrics" in entry] == [0, 1]


begins = []


def trial(pack, report):
    """A curve, of which every second step is saved."""
    state = report.restore() or {"step": 0}
    begins.append(state["step"])
    for step in range(state["step"], STEPS):
        report.metrics(CELL, {"level": step / 2}, step)
        report._save_from = 0.0 if step % 2 else float("inf")
        report.save(lambda done=step + 1: {"step": done})
    report.table(CELL, "trace", {"level": range(STEPS)})


def end_of_invocation(assignment):
    assert publish_all(records(assignment.records), assignment.store)[1] == {}


# of 12 writes: the header, ten steps, the outcome
@pytest.mark.parametrize(("writes", "goes_on_from"), [(0, 0), (1, 0), (6, 4), (11, 10)])
def test_a_cell_fails_with_a_sentence_and_is_completed_later(assignment, monkeypatch, writes, goes_on_from):
    disk, ends = Disk(writes), []
    with monkeypatch.context() as patch:
        patch.setattr(record_module, "open", disk.open, raising=False)
        work(trial, assignment, ends.append)
    assert ends[-1]["failed"] and FULL in ends[-1]["errors"]["one"]
    assert not list(assignment.records.rglob("unfinished-*"))
    end_of_invocation(assignment)  # as the driver closes what has no outcome
    assert all(run.info.status in ("KILLED", "FAILED") for run in assignment.store.cells())

    work(trial, assignment, ends.append)
    assert ends[-1]["errors"] == {} and begins[-1] == goes_on_from
    end_of_invocation(assignment)
    (row,) = runs("pack").to_dict("records")
    assert history(assignment.store, row["run_id"]) == [(step, step / 2) for step in range(STEPS)]
    assert [path.name for path in assignment.records.iterdir()] == [INVOCATION]


def test_a_checkpoint_that_does_not_fit_leaves_the_last_one(assignment, monkeypatch, caplog):
    """The trial goes on, and when it is killed later, it is resumed from there."""
    written, save = [], torch.save

    def save_or_not(state, file):
        if len(written) == 2:
            file.write(b"half")
            raise RuntimeError("file write failed")
        written.append(state["state"]["state"]["step"])
        save(state, file)

    def killed(pack, report):
        report._save_from = 0.0
        trial(pack, report)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", save_or_not)
        with pytest.raises(Killed):
            work(killed, assignment, lambda told: None)
    assert written == [2, 4] and "last one is kept" in caplog.text
    assert not list(assignment.records.glob("*.tmp"))
    work(trial, assignment, lambda told: None)
    assert begins[-1] == 4
    end_of_invocation(assignment)
    assert [step for step, _ in history(assignment.store, runs("pack")["run_id"].iloc[0])] == list(range(STEPS))


@pytest.mark.parametrize("error", [SafetensorError("I/O error: No space left"), OSError(errno.ENOSPC, FULL)])
def test_a_disk_that_is_full_at_a_model_leaves_the_checkpoint(assignment, monkeypatch, error):
    def ending_in_a_model(pack, report):
        trial(pack, report)
        report.model([CELL], "critic", make_critic("inner", 2, 2), {name: np.ones((1, 2), np.float32) for name in "xy"})

    def full(*given):
        raise error

    ends = []
    with monkeypatch.context() as patch:
        patch.setattr("safetensors.torch.save_file", full)
        work(ending_in_a_model, assignment, ends.append)
    assert ends[-1]["errors"]["one"].startswith("RecordUnwritable: ") and FULL in ends[-1]["errors"]["one"]
    work(ending_in_a_model, assignment, ends.append)
    assert ends[-1]["errors"] == {} and begins[-1] == STEPS
