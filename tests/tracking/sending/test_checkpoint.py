"""Checkpoints of packs: on the local disk, and their copies in a store that is a server."""

import dataclasses
import json
import os
import platform

import pytest
import torch
from mlflow.exceptions import MlflowException

from infoscope.tracking import curve
from infoscope.tracking.record import Record, records
from infoscope.tracking.scheduling.worker import Assignment, RecordedReport, _flusher, work
from infoscope.tracking.sending import checkpoint
from infoscope.tracking.sending.checkpoint import TAG, Checkpoint
from infoscope.tracking.sending.flush import Flusher, close_all
from infoscope.tracking.store.store import Store

NOTE = "mlflow.note.content"
CELLS = {"one": {"seed": 0}, "two": {"seed": 1}}
STEPS = 12


@pytest.fixture
def at_once(monkeypatch):
    """Every call of `save` saves, every round of the flusher sends a copy."""
    monkeypatch.setattr("infoscope.tracking.scheduling.worker.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "STORED_SECONDS", 0.0)


@pytest.fixture
def assignment(tmp_path, monkeypatch, server, request):
    """Two cells on a machine that is not the driver's; their experiment is the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    (tmp_path / "machine").mkdir()
    tags = {key: {"infoscope.profile": "smoke", "mlflow.runName": key, NOTE: "A cell."} for key in CELLS}
    store = Store.open(request.node.name, create=True)
    return Assignment(CELLS, {}, tags, store, tmp_path / "machine", "cpu", "the driver's", 1.0)


def on_another_machine(assignment):
    """The machine is lost, with the records and checkpoints on its disk; another one takes the pack. Moved away at
    once: what is deleted a file at a time, a flusher that still lives could write into.
    """
    assignment.records.rename(assignment.records.with_name("lost"))
    other = assignment.records.with_name("another")
    other.mkdir()
    return dataclasses.replace(assignment, records=other)


class Lost(BaseException):
    """The machine is gone: nothing that handles errors runs any more."""


def trial(lost_at=None, begun=None):
    """Reports the steps of a curve, which are sent at once; at `lost_at` the machine is lost, two steps after its last
    checkpoint.
    """

    def run(pack, report):
        flusher = _flusher(report.checkpoint.store)
        state = report.restore() or {"step": 0, "level": torch.zeros(1)}
        if begun is not None:
            begun.append(state["step"])
        level = state["level"]
        for step in range(state["step"], STEPS):
            if step == lost_at:
                raise Lost
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
    run_id = store.run_of(key).info.run_id
    return [(point.step, point.value) for point in store.client.get_metric_history(run_id, "level")]


def artifacts(store, run_id):
    return [file.path for file in store.client.list_artifacts(run_id, "checkpoint")]


def test_a_pack_goes_on_on_another_machine(assignment, at_once):
    """Every step once, in the same runs; the copy is deleted when the pack is done."""
    with pytest.raises(Lost):
        work(trial(lost_at=7), assignment, lambda told: None)
    store = assignment.store
    assert [step for step, _ in steps(store, "two")] == list(range(7))  # more than the checkpoint has
    first = {key: store.run_of(key).info.run_id for key in CELLS}
    told = json.loads(store.run(first["one"]).data.tags[TAG])
    assert f"checkpoint/{told['file']}" in artifacts(store, first["one"])
    assert len(artifacts(store, first["one"])) == 2  # the last one stays until the next is whole
    begun, ends = [], []
    work(trial(begun=begun), on_another_machine(assignment), ends.append)
    assert begun == [5] and not ends[-1]["errors"] and ends[-1]["run_ids"] == first
    for seed, key in enumerate(CELLS):
        assert steps(store, key) == [(step, 0.5 * (step + 1) + seed) for step in range(STEPS)]
        assert curve(first[key], "level").tolist() == [value for _, value in steps(store, key)]
    tags = store.run(first["one"]).data.tags
    assert tags[NOTE].startswith("**Curves**: height 0.5 ▁") and f"(steps 0 to {STEPS - 1})" in tags[NOTE]
    assert TAG not in tags and artifacts(store, first["one"]) == []
    assert not list(assignment.records.with_name("another").glob("*.checkpoint"))


def test_a_copy_that_is_not_whole_is_not_used(assignment, at_once, tmp_path, caplog):
    with pytest.raises(Lost):
        work(trial(lost_at=7), assignment, lambda told: None)
    store, run_id = assignment.store, assignment.store.run_of("one").info.run_id
    name = json.loads(store.run(run_id).data.tags[TAG])["file"]
    (tmp_path / name).write_bytes(b"half")
    store.client.log_artifact(run_id, str(tmp_path / name), "checkpoint")
    begun = []
    work(trial(begun=begun), on_another_machine(assignment), lambda told: None)
    assert begun == [0] and "is not the one that its tag names" in caplog.text
    assert [step for step, _ in steps(store, "one")] == list(range(STEPS))


@pytest.mark.parametrize("tag", ["[1]", '{"file": "../../etc/passwd", "time": 1, "sha256": ""}', "no JSON"])
def test_a_tag_that_names_no_checkpoint_is_passed_over(assignment, tag, caplog):
    report = RecordedReport(assignment, lambda told: None)
    run = assignment.store.client.create_run(
        assignment.store.experiment_id, tags={"infoscope.key": "one", TAG: tag, "test": tag}
    )
    report.checkpoint._run_id = run.info.run_id
    assert report.restore() is None and "no checkpoint from the store" in caplog.text


def test_the_newer_of_two_is_restored(assignment, at_once, tmp_path):
    record = Record(assignment.records / "one")
    record.begin(CELLS["one"], {"infoscope.key": "one", "infoscope.cell": "{}"}, None)
    local = Checkpoint(assignment.checkpoint, assignment.store, record, None)
    local.save({"step": 1}, [record])
    flusher = Flusher(assignment.store)
    flusher._round([record], local)
    assert local.restore() == {"step": 1}
    local.save({"step": 2}, [record])
    assert local.restore() == {"step": 2}  # the copy is of step 1
    flusher._round([record], local)
    elsewhere = Checkpoint(tmp_path / assignment.checkpoint.name, assignment.store, record, None)
    torch.save({"step": 0}, elsewhere.path)
    os.utime(elsewhere.path, (1, 1))
    assert elsewhere.restore() == {"step": 2}
    assert torch.load(elsewhere.path, weights_only=True) == {"step": 2}
    assert artifacts(assignment.store, record.sent()["run_id"]) == [
        f"checkpoint/{assignment.checkpoint.stem}-{slot}.checkpoint" for slot in (0, 1)
    ]


def test_a_closed_run_keeps_no_copy(assignment, at_once):
    """Though its worker could not delete it: the driver does, when it closes the run."""
    with pytest.raises(Lost):
        work(trial(lost_at=7), assignment, lambda told: None)
    store, run_id = assignment.store, assignment.store.run_of("one").info.run_id
    for record in records(assignment.records):
        record.end("complete")
    assert close_all(records(assignment.records), store, otherwise="KILLED") == []
    assert TAG not in store.run(run_id).data.tags and artifacts(store, run_id) == []


def test_a_store_that_is_down_is_waited_for_where_there_is_something_to_win(tmp_path, monkeypatch):
    """That is, where the driver knows of an earlier attempt, and nothing of it lies here."""
    record, failures = Record(tmp_path / "one"), []
    record.begin(CELLS["one"], {"infoscope.key": "one"}, "abc")
    path, store = tmp_path / "0123456789abcdef.checkpoint", Store("http://127.0.0.1:9", "x", "1")
    monkeypatch.setattr(Store, "answers", lambda store: False)
    monkeypatch.setattr(checkpoint.time, "sleep", lambda seconds: None)

    def fetch(kept):
        failures.append(kept)
        if len(failures) % 3:
            raise MlflowException("connection refused")
        torch.save({"step": 7}, kept.path)

    monkeypatch.setattr(Checkpoint, "_fetch", fetch)
    assert Checkpoint(path, store, record, None).restore() is None and len(failures) == 1
    failures.clear()
    assert Checkpoint(path, store, record, "abc").restore() == {"step": 7} and len(failures) == 3
    assert Checkpoint(path, store, record, "abc").restore() == {"step": 7} and len(failures) == 4
    path.unlink()
    failures.clear()
    monkeypatch.setattr(checkpoint, "PATIENCE_SECONDS", 0.0)
    assert Checkpoint(path, store, record, "abc").restore() is None and len(failures) == 1


def test_a_store_of_artifacts_that_refuses_costs_a_copy_and_nothing_else(assignment, at_once, monkeypatch, caplog):
    """Whatever its client raises: here one that is allowed neither to read nor to delete."""

    class AccessDenied(Exception):
        pass

    def refuses(*given, **named):
        raise AccessDenied("403")

    with pytest.raises(Lost):
        work(trial(lost_at=7), assignment, lambda told: None)
    registry = "mlflow.store.artifact.artifact_repository_registry.get_artifact_repository"
    begun, ends = [], []
    with monkeypatch.context() as patch:
        patch.setattr(registry, refuses)
        patch.setattr("mlflow.tracking.MlflowClient.download_artifacts", refuses)
        work(trial(begun=begun), on_another_machine(assignment), ends.append)
    assert begun == [0] and not ends[-1]["errors"]
    assert "no checkpoint from the store (403)" in caplog.text and "is not deleted (403)" in caplog.text
    assert [step for step, _ in steps(assignment.store, "one")] == list(range(STEPS))


def test_a_large_checkpoint_stays_where_it_is(assignment, at_once, monkeypatch, caplog):
    monkeypatch.setattr(checkpoint, "STORED_MEGABYTES", 0.001)
    with pytest.raises(Lost):
        work(trial(lost_at=7), assignment, lambda told: None)
    assert TAG not in assignment.store.run_of("one").data.tags and "the limit is 0.001 MB" in caplog.text


def local(tmp_path):
    """A checkpoint whose store lies on the same disk."""
    record = Record(tmp_path / "one")
    record.begin(CELLS["one"], {"infoscope.key": "one"}, None)
    return Checkpoint(tmp_path / "0123456789abcdef.checkpoint", Store("sqlite:////nowhere", "x", "1"), record, None)


def test_no_copy_where_the_store_is_on_the_same_disk(tmp_path, at_once):
    kept = local(tmp_path)
    kept.save({"step": 3}, [kept.record])
    with kept.due() as copy:
        assert copy is None
    assert kept.restore() == {"step": 3}


def test_a_damaged_checkpoint_is_none(tmp_path, caplog):
    kept = local(tmp_path)
    kept.save({"step": 3, "weights": torch.ones(100)}, [kept.record])
    whole = kept.path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2]):
        kept.path.write_bytes(damaged)
        assert kept.restore() is None
    assert caplog.text.count("starting afresh") == 2


def test_a_checkpoint_executes_nothing(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (tmp_path / "executed").touch, ()

    kept = local(tmp_path)
    torch.save({"state": Harmful()}, kept.path)
    assert kept.restore() is None and not (tmp_path / "executed").exists()


def test_what_was_reported_is_on_the_disk_before_the_checkpoint(tmp_path, monkeypatch):
    kept, order = local(tmp_path), []
    monkeypatch.setattr(Record, "secure", lambda record: order.append("record"))
    save = torch.save
    monkeypatch.setattr(torch, "save", lambda *arguments: (order.append("checkpoint"), save(*arguments)))
    kept.save({"step": 1}, [kept.record])
    assert order == ["record", "checkpoint"]


def test_a_member_that_has_failed_stays_failed(tmp_path, monkeypatch, empty_store, at_once):
    """Although its pack goes on from a checkpoint that was made after it had failed."""
    empty_store(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "records").mkdir()
    tags = {key: {} for key in CELLS}
    store = Store.open("members", create=True)
    assignment = Assignment(CELLS, {}, tags, store, tmp_path / "records", "cpu", platform.node(), 1.0)

    def fails_once(pack, report):
        if report.restore():
            return
        with report.member(CELLS["two"]):
            raise ArithmeticError("no result")
        report._save_from = 0.0
        report.save(lambda: {"step": 1})
        raise Lost

    with pytest.raises(Lost):
        work(fails_once, assignment, lambda told: None)
    ends = []
    work(fails_once, assignment, ends.append)
    assert ends[-1]["errors"] == {"two": "ArithmeticError: no result"}
