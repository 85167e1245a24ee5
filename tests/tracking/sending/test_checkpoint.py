"""Checkpoints of packs: on the local disk, and their copies in a store that is a server."""

import dataclasses
import json
import os

import pytest
import torch

from infoscope.tracking import curve
from infoscope.tracking.record import Record, records
from infoscope.tracking.scheduling.worker import RecordedReport, _flusher, work
from infoscope.tracking.sending import checkpoint
from infoscope.tracking.sending.checkpoint import TAG, Checkpoint
from infoscope.tracking.sending.flush import Flusher, close_all
from infoscope.tracking.store.store import Store
from tests.tracking.cells import Killed, assigned, begun, history

NOTE = "mlflow.note.content"
CELLS = {"one": {"seed": 0}, "two": {"seed": 1}}
STEPS = 12


@pytest.fixture
def away(tmp_path, monkeypatch, server, at_once):
    """Two cells on a machine that is not the driver's; their experiment is the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    store = Store.open(tmp_path.name, create=True)
    return assigned(store, tmp_path / "machine", CELLS, "the driver's", **{NOTE: "A cell."})


def on_another_machine(assignment):
    """The machine is lost, with the records and checkpoints on its disk; another one takes the pack. Moved away at
    once: what is deleted a file at a time, a flusher that still lives could write into.
    """
    assignment.records.rename(assignment.records.with_name("lost"))
    other = assignment.records.with_name("another")
    other.mkdir()
    return dataclasses.replace(assignment, records=other)


def trial(lost_at=None, begins=None):
    """Reports the steps of a curve, which are sent at once; at `lost_at` the machine is lost, two steps after its last
    checkpoint.
    """

    def run(pack, report):
        flusher = _flusher(report.checkpoint.store)
        state = report.restore() or {"step": 0, "level": torch.zeros(1)}
        if begins is not None:
            begins.append(state["step"])
        level = state["level"]
        for step in range(state["step"], STEPS):
            if step == lost_at:
                raise Killed
            level = level + 0.5
            for cell in pack.cells:
                report.metrics(cell, {"level": level.item() + cell["seed"]}, step)
                report.curve(cell, {"height": level.item()}, step)
            if lost_at is None or step < lost_at - 2:
                report._save_from = 0.0
                report.save(lambda done=step + 1, level=level: {"step": done, "level": level})
            flusher._round(report.records, report.checkpoint)

    return run


def steps(store, key):
    return history(store, store.run_of(key).info.run_id)


def artifacts(store, run_id):
    return [file.path for file in store.client.list_artifacts(run_id, "checkpoint")]


def lost(away):
    """The store, and the run of the first cell, after the machine was lost at step 7."""
    with pytest.raises(Killed):
        work(trial(lost_at=7), away, lambda told: None)
    return away.store, away.store.run_of("one").info.run_id


@pytest.mark.system
def test_a_pack_goes_on_on_another_machine(away):
    """Every step once, in the same runs; the copy is deleted when the pack is done."""
    store, run_id = lost(away)
    assert [step for step, _ in steps(store, "two")] == list(range(7))  # more than the checkpoint has
    first = {key: store.run_of(key).info.run_id for key in CELLS}
    told = json.loads(store.run(run_id).data.tags[TAG])
    assert f"checkpoint/{told['file']}" in artifacts(store, run_id)
    assert len(artifacts(store, run_id)) == 2  # the last one stays until the next is whole
    begins, ends = [], []
    work(trial(begins=begins), on_another_machine(away), ends.append)
    assert begins == [5] and not ends[-1]["errors"] and ends[-1]["run_ids"] == first
    for seed, key in enumerate(CELLS):
        assert steps(store, key) == [(step, 0.5 * (step + 1) + seed) for step in range(STEPS)]
        assert curve(first[key], "level").tolist() == [value for _, value in steps(store, key)]
    tags = store.run(run_id).data.tags
    assert tags[NOTE].startswith("**Curves**: height 0.5 ▁") and f"0 to {STEPS - 1})" in tags[NOTE]
    assert TAG not in tags and artifacts(store, run_id) == []
    assert not list(away.records.with_name("another").glob("*.checkpoint"))


@pytest.mark.system
@pytest.mark.parametrize("harm", ["torn", "forbidden"])
def test_a_copy_that_cannot_be_used_costs_the_copy_and_nothing_else(away, tmp_path, monkeypatch, caplog, harm):
    """One that is not whole, and one in a store of artifacts that may neither be read nor written."""
    store, run_id = lost(away)
    if harm == "torn":
        name = json.loads(store.run(run_id).data.tags[TAG])["file"]
        (tmp_path / name).write_bytes(b"half")
        store.client.log_artifact(run_id, str(tmp_path / name), "checkpoint")

    def refuses(*given, **named):
        raise PermissionError("403")

    begins, ends = [], []
    with monkeypatch.context() as patch:
        if harm == "forbidden":
            registry = "mlflow.store.artifact.artifact_repository_registry.get_artifact_repository"
            patch.setattr(registry, refuses)
            patch.setattr("mlflow.tracking.MlflowClient.download_artifacts", refuses)
        work(trial(begins=begins), on_another_machine(away), ends.append)
    assert begins == [0] and not ends[-1]["errors"] and "no checkpoint" in caplog.text
    assert [step for step, _ in steps(store, "one")] == list(range(STEPS))


@pytest.mark.system
def test_a_tag_that_names_no_checkpoint_is_passed_over(away, caplog):
    for tag in ("[1]", '{"file": "../../etc/passwd", "time": 1, "sha256": ""}', "no JSON"):
        run = away.store.client.create_run(away.store.experiment_id, tags={"infoscope.key": "one", TAG: tag})
        report = RecordedReport(away, lambda told: None)
        report.checkpoint._run_id = run.info.run_id
        caplog.clear()
        assert report.restore() is None and "no checkpoint" in caplog.text


@pytest.mark.system
def test_the_newer_of_two_is_restored(away, tmp_path):
    record = begun(away.records, "one", CELLS["one"])
    local = Checkpoint(away.checkpoint, away.store, record, None)
    local.save({"step": 1}, [record])
    flusher = Flusher(away.store)
    flusher._round([record], local)
    assert local.restore() == {"step": 1}
    local.save({"step": 2}, [record])
    assert local.restore() == {"step": 2}  # the copy is of step 1
    flusher._round([record], local)
    elsewhere = Checkpoint(tmp_path / away.checkpoint.name, away.store, record, None)
    torch.save({"step": 0}, elsewhere.path)
    os.utime(elsewhere.path, (1, 1))
    assert elsewhere.restore() == {"step": 2}
    assert torch.load(elsewhere.path, weights_only=True) == {"step": 2}
    assert len(artifacts(away.store, record.sent()["run_id"])) == 2


@pytest.mark.system
def test_a_closed_run_keeps_no_copy(away):
    """Though its worker could not delete it: the driver does, when it closes the run."""
    store, run_id = lost(away)
    for record in records(away.records):
        record.end("complete")
    assert close_all(records(away.records), store, otherwise="KILLED") == []
    assert TAG not in store.run(run_id).data.tags and artifacts(store, run_id) == []


@pytest.mark.system
def test_a_large_checkpoint_stays_where_it_is(away, monkeypatch, caplog):
    monkeypatch.setattr(checkpoint, "STORED_MEGABYTES", 0.001)
    store, run_id = lost(away)
    assert TAG not in store.run(run_id).data.tags and "0.001 MB" in caplog.text


@pytest.fixture
def local(tmp_path):
    """A checkpoint whose store lies on the same disk."""
    record = begun(tmp_path, "one", CELLS["one"])
    return Checkpoint(tmp_path / "0123456789abcdef.checkpoint", Store("sqlite:////nowhere", "x", "1"), record, None)


def test_a_local_checkpoint_is_restored_and_a_damaged_one_is_none(local, at_once, monkeypatch, caplog):
    """What was reported is on the disk before it; no copy goes to a store on the same disk."""
    order, save = [], torch.save
    with monkeypatch.context() as patch:
        patch.setattr(Record, "secure", lambda record: order.append("record"))
        patch.setattr(torch, "save", lambda *arguments: (order.append("checkpoint"), save(*arguments)))
        local.save({"step": 3, "weights": torch.ones(100)}, [local.record])
    assert order == ["record", "checkpoint"]
    with local.due() as copy:
        assert copy is None
    assert local.restore()["step"] == 3
    whole = local.path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2]):
        local.path.write_bytes(damaged)
        assert local.restore() is None
    assert caplog.text.count("afresh") == 2


def test_a_checkpoint_executes_nothing(local, tmp_path):
    class Harmful:
        def __reduce__(self):
            return (tmp_path / "executed").touch, ()

    torch.save({"state": Harmful()}, local.path)
    assert local.restore() is None and not (tmp_path / "executed").exists()


def test_a_member_that_has_failed_stays_failed(own_folder, at_once):
    """Although its pack goes on from a checkpoint that was made after it had failed."""
    assignment = assigned(Store.open("members", create=True), own_folder / "records", CELLS)

    def fails_once(pack, report):
        if report.restore():
            return
        with report.member(CELLS["two"]):
            raise ArithmeticError("no result")
        report._save_from = 0.0
        report.save(lambda: {"step": 1})
        raise Killed

    with pytest.raises(Killed):
        work(fails_once, assignment, lambda told: None)
    ends = []
    work(fails_once, assignment, ends.append)
    assert ends[-1]["errors"] == {"two": "ArithmeticError: no result"}
