"""Checkpoints of packs: on the local disk, and their copies in a store that is a server. An attempt that goes on from
one is a run of its own, with all that was reported before it and nothing that came after.
"""

import dataclasses
import json
import math
import os

import numpy as np
import pytest
import torch

from infoscope.estimators import make_critic
from infoscope.tracking import curve
from infoscope.tracking.record import records
from infoscope.tracking.scheduling.worker import live_updates, work
from infoscope.tracking.sending import checkpoint
from infoscope.tracking.sending.checkpoint import TAG, Checkpoint
from infoscope.tracking.sending.publish import publish_all
from infoscope.tracking.store.store import Store
from tests.tracking.cells import Killed, assigned, history

NOTE = "mlflow.note.content"
CELLS = {"one": {"seed": 0}, "two": {"seed": 1}}
STEPS = 12


@pytest.fixture
def here(own_folder, at_once):
    """Two cells in a pack, on the driver's own machine."""
    return assigned(Store.open("pack", create=True), own_folder / "records", CELLS, **{NOTE: "A cell."})


@pytest.fixture
def away(tmp_path, monkeypatch, server, at_once):
    """Two cells on a machine that is not the driver's; their experiment is the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    store = Store.open(tmp_path.name, create=True)
    return assigned(store, tmp_path / "machine", CELLS, False, **{NOTE: "A cell."})


def on_another_machine(assignment):
    """The machine is lost, with the records and checkpoints on its disk; another one takes the pack. Moved away at
    once: what is deleted a file at a time, a thread that still lives could write into.
    """
    assignment.records.rename(assignment.records.with_name("lost"))
    other = assignment.records.with_name("another")
    other.mkdir()
    return dataclasses.replace(assignment, records=other, again=True)


def trial(lost_at=None, begins=None, sign=1, files=lambda step: (), saved_at=None):
    """Reports a curve, a metric and files, which are sent at once; at `lost_at` the process is killed, two steps after
    its last checkpoint, or after that at `saved_at`.
    """

    def run(pack, report):
        state = report.restore() or {"step": 0, "level": torch.zeros(1)}
        if begins is not None:
            begins.append(state["step"])
        level = state["level"]
        for step in range(state["step"], STEPS):
            if step == lost_at:
                raise Killed
            level = level + 0.5
            for cell in pack.cells:
                report.metrics(cell, {"level": sign * (level.item() + cell["seed"])}, step)
                report.curve(cell, {"height": level.item()}, step)
                for name in files(step):
                    report.table(cell, name, {"step": np.array([step])})
            report._save_from = 0.0 if saved_at == step or saved_at is None and step < (lost_at or 99) - 2 else math.inf
            report.save(lambda done=step + 1, level=level: {"step": done, "level": level})
            live_updates(report.checkpoint.store).round()

    return run


def steps(store, key):
    return history(store, store.run_of(key).info.run_id)


def artifacts(store, run_id, folder=None):
    return {file.path for file in store.client.list_artifacts(run_id, folder)}


def lost(assignment):
    """The store, and the run of the first cell, after the machine was lost at step 7."""
    with pytest.raises(Killed):
        work(trial(lost_at=7), assignment, lambda told: None)
    return assignment.store, assignment.store.run_of("one").info.run_id


def whole(store, key, seed):
    """Whether a cell has one run, with every step once."""
    (run,) = store.cells(f"tags.`infoscope.key` = '{key}'")
    points = history(store, run.info.run_id)
    assert run.info.status == "FINISHED" and points == [(step, 0.5 * (step + 1) + seed) for step in range(STEPS)]
    assert curve(run.info.run_id, "height").tolist() == [0.5 * (step + 1) for step in range(STEPS)]
    return run


@pytest.mark.parametrize("closed", [True, False])
def test_a_pack_goes_on_from_its_checkpoint(here, closed):
    """Here the driver has closed what was left, or not yet; what came after the checkpoint is made again."""
    lost(here)
    if closed:
        assert publish_all(records(here.records), here.store)[1] == {}
        assert [run.info.status for run in here.store.cells()] == ["KILLED", "KILLED"]
    begins, ends = [], []
    work(trial(begins=begins), here, ends.append)
    assert begins == [5] and not ends[-1]["errors"] and ends[-1]["final"]["one"] == {"level": 6.0, "height": 6.0}
    for seed, key in enumerate(CELLS):
        run = whole(here.store, key, seed)
        note = run.data.tags[NOTE]
        assert note.startswith("A cell.") and f"| level | {6 + seed} |" in note
        assert run.data.params == {"seed": str(seed)} and run.info.run_name == key
    assert not list(here.records.glob("*.checkpoint"))


def test_points_after_the_checkpoint_are_not_in_the_run(here):
    """The mended trial computes other values, and does not write the table `late`."""
    dead = trial(9, files=lambda step: {2: ["early"], 8: ["late"]}.get(step, ()), saved_at=4)
    with pytest.raises(Killed):
        work(dead, here, lambda told: None)
    work(trial(sign=-1), here, lambda told: None)
    (run,) = here.store.cells("tags.`infoscope.key` = 'one'")
    assert history(here.store, run.info.run_id) == [
        (step, (0.5 if step < 5 else -0.5) * (step + 1)) for step in range(STEPS)
    ]
    assert artifacts(here.store, run.info.run_id) == {"early.parquet"}


def test_models_and_constants_of_before_the_checkpoint_are_kept(here):
    row = np.ones((1, 2), np.float32)

    def early(pack, report):
        if report.restore():
            return
        report.model(pack.cells, "critic", make_critic("inner", 2, 2), {"x": row, "y": row})
        report.constants(pack.cells[0], {"at 2 bits/floor": 0.25})
        report._save_from = 0.0
        report.save(lambda: {"step": 1})
        raise Killed

    with pytest.raises(Killed):
        work(early, here, lambda told: None)
    work(early, here, lambda told: None)
    found = list(here.store.cells())
    assert len(found) == 2 and all(len(run.outputs.model_outputs) == 1 for run in found)
    assert "floor" in here.store.run_of("one").data.tags[NOTE]


def test_a_kill_before_the_checkpoint_is_read_keeps_the_record(here):
    lost(here)

    def killed_at_once(pack, report):
        raise Killed

    with pytest.raises(Killed):
        work(killed_at_once, here, lambda told: None)
    work(trial(), here, lambda told: None)
    whole(here.store, "one", 0)


def test_a_checkpoint_is_deleted_with_an_attempt_that_did_not_continue_from_it(here):
    lost(here)

    def forgetful(pack, report):
        report.metrics(pack.cells[0], {"level": 1.0}, 0)
        raise Killed

    with pytest.raises(Killed):
        work(forgetful, here, lambda told: None)
    begins = []
    work(trial(begins=begins), here, lambda told: None)
    assert begins == [0]
    whole(here.store, "one", 0)


def test_a_member_that_has_failed_stays_failed(here):
    """Although its pack goes on from a checkpoint that was made after it had failed."""

    def fails_once(pack, report):
        if report.restore():
            return
        with report.member(CELLS["two"]):
            raise ArithmeticError("no result")
        report._save_from = 0.0
        report.save(lambda: {"step": 1})
        raise Killed

    with pytest.raises(Killed):
        work(fails_once, here, lambda told: None)
    ends = []
    work(fails_once, here, ends.append)
    assert ends[-1]["errors"] == {"two": "ArithmeticError: no result"}


@pytest.mark.system
def test_a_pack_goes_on_on_another_machine(away):
    """Every step once; the copies are deleted when the pack is done."""
    store, run_id = lost(away)
    assert [step for step, _ in steps(store, "two")] == list(range(7))  # more than the checkpoint has
    told = json.loads(store.run(run_id).data.tags[TAG])
    copies = artifacts(store, run_id, "checkpoint")
    assert f"checkpoint/{told['file']}" in copies and len(copies) == 2  # the last one stays until the next is whole
    begins, ends = [], []
    work(trial(begins=begins), on_another_machine(away), ends.append)
    assert begins == [5] and not ends[-1]["errors"] and set(ends[-1]["run_ids"]) == set(CELLS)
    for seed, key in enumerate(CELLS):
        run = whole(store, key, seed)
        assert TAG not in run.data.tags and not artifacts(store, run.info.run_id, "checkpoint")
    assert not artifacts(store, run_id, "checkpoint")  # at the first machine's run, which is deleted
    assert not list(away.records.with_name("another").iterdir())


@pytest.mark.system
@pytest.mark.parametrize("harm", ["torn", "forbidden", "named by nobody"])
def test_an_unusable_copy_of_a_checkpoint_is_ignored(away, tmp_path, monkeypatch, caplog, harm):
    """One that is not whole, and one in a store of artifacts that may neither be read nor written."""
    store, run_id = lost(away)
    name = json.loads(store.run(run_id).data.tags[TAG])["file"]
    if harm == "torn":
        (tmp_path / name).write_bytes(b"half")
        store.client.log_artifact(run_id, str(tmp_path / name), "checkpoint")
    elif harm == "named by nobody":
        stem = name.partition("-")[0]
        for tag in (f'["{stem}-"]', f'{{"file": "../../{stem}-0.checkpoint", "time": 1, "sha256": ""}}', f"{stem}-"):
            store.client.create_run(store.experiment_id, tags={TAG: tag})
        store.client.set_tag(run_id, TAG, f"{stem}-")

    def refuses(*given, **named):
        raise PermissionError("403")

    begins, ends = [], []
    with monkeypatch.context() as patch:
        if harm == "forbidden":
            registry = "mlflow.store.artifact.artifact_repository_registry.get_artifact_repository"
            patch.setattr(registry, refuses)
            patch.setattr("mlflow.tracking.MlflowClient.download_artifacts", refuses)
        work(trial(begins=begins), on_another_machine(away), ends.append)
    assert begins == [0] and not ends[-1]["errors"]
    assert ("describes no checkpoint" if harm == "named by nobody" else "cannot be fetched") in caplog.text
    whole(store, "one", 0)


@pytest.mark.system
def test_the_newer_of_two_is_restored(away, tmp_path):
    local = Checkpoint(away.checkpoint, away.store, False)
    run_id = away.store.client.create_run(away.store.experiment_id).info.run_id
    local.save({"step": 1}, {})
    local.copy(run_id)
    assert local.restore() == ({"step": 1}, {})
    local.save({"step": 2}, {})
    assert local.restore()[0] == {"step": 2}  # the copy is of step 1
    local.copy(run_id)
    elsewhere = Checkpoint(tmp_path / away.checkpoint.name, away.store, True)
    torch.save({"state": {"step": 0}, "reported": {}}, elsewhere.path)
    os.utime(elsewhere.path, (1, 1))
    assert elsewhere.restore()[0] == {"step": 2}
    assert len(artifacts(away.store, run_id, "checkpoint")) == 2
    elsewhere.discard()
    assert not artifacts(away.store, run_id, "checkpoint") and not elsewhere.path.exists()


@pytest.mark.system
def test_a_large_checkpoint_stays_where_it_is(away, monkeypatch, caplog):
    monkeypatch.setattr(checkpoint, "MAX_COPY_MEGABYTES", 0.001)
    store, run_id = lost(away)
    assert TAG not in store.run(run_id).data.tags and "0.001 MB" in caplog.text


@pytest.fixture
def local(tmp_path):
    """A checkpoint whose store lies on the same disk."""
    return Checkpoint(tmp_path / "0123456789abcdef.checkpoint", Store("sqlite:////nowhere", "x", "1"), False)


def test_a_local_checkpoint_is_restored_and_a_damaged_one_is_none(local, at_once, caplog):
    """With files of any content; no copy goes to a store on the same disk."""
    reported = {"one": {"record.jsonl": b"{}\n\0\xff", "files/empty": b""}}
    local.save({"step": 3, "weights": torch.ones(100)}, reported)
    local.copy("no run")
    state, found = local.restore()
    assert state["step"] == 3 and found == reported
    content = local.path.read_bytes()
    for damaged in (b"", content[: len(content) // 2]):
        local.path.write_bytes(damaged)
        assert local.restore() is None
    assert caplog.text.count("starting again") == 2


def test_a_checkpoint_executes_nothing(local, tmp_path):
    class Harmful:
        def __reduce__(self):
            return (tmp_path / "executed").touch, ()

    torch.save({"state": Harmful(), "reported": {}}, local.path)
    assert local.restore() is None and not (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", ["../../other", "/tmp/other", "run"])
def test_a_checkpoint_that_names_a_file_outside_its_record_is_not_taken_up(here, caplog, name):
    """It may come from a store that others write to."""
    work(trial(), here, lambda told: None)
    begins, data = [], torch.zeros(3, dtype=torch.uint8)
    reported = {key: {"record.jsonl": data, name: data} for key in CELLS}
    torch.save({"state": {"state": {"step": 9}, "errors": {}}, "reported": reported}, here.checkpoint)
    work(trial(begins=begins), here, lambda told: None)
    assert begins == [0] and name in caplog.text


def test_the_copy_of_a_lost_machine_survives_a_second_loss(away):
    store, run_id = lost(away)
    second, begins = on_another_machine(away), []
    with pytest.raises(Killed):
        work(trial(lost_at=5, begins=begins, saved_at=99), second, lambda told: None)
    publish_all(records(second.records), store)  # with what is left to a machine that is told to stop
    assert artifacts(store, run_id, "checkpoint")
    third = dataclasses.replace(second, records=second.records.with_name("third"))
    third.records.mkdir()
    work(trial(begins=begins), third, lambda told: None)
    assert begins == [5, 5] and all(whole(store, key, cell["seed"]) for key, cell in CELLS.items())
