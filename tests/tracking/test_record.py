"""The local record, and how it is carried to a real MLflow store: on SQLite, and to a server on PostgreSQL."""

import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from infoscope.tracking import arrays, attach, curve, load_model, log_results, parents, runs, table
from infoscope.tracking.record import Record, records
from infoscope.tracking.scheduling.worker import Assignment, RecordedReport
from infoscope.tracking.sending.flush import Flusher, close, close_all, header_tags, send
from infoscope.tracking.store.store import Store, StoreUnreachable
from tests.refusals import refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory, empty_store):
    folder = tmp_path_factory.mktemp("store")
    empty_store(folder)
    return folder


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, folder, monkeypatch):
    monkeypatch.chdir(folder)
    if request.param == "sqlite":
        monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    else:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", request.getfixturevalue("server").uri)
    return Store.open("demo", create=True)


def begun(path, key, cell, run_id=None):
    record = Record(path / key)
    record.begin(cell, header_tags(key, cell, {"infoscope.profile": "laptop"}), run_id)
    return record


def history(store, run_id, name):
    return [(metric.step, metric.value) for metric in store.client.get_metric_history(run_id, name)]


def test_a_torn_last_line_is_left_for_later(tmp_path):
    record = begun(tmp_path, "torn", {"a": 1})
    record.metrics({"level": 1.0}, 0)
    with open(record.folder / "record.jsonl", "a") as file:
        file.write('{"step": 1, "metr')
    entries = list(record.entries())
    assert ["cell" in entry for entry, _ in entries] == [True, False]
    assert list(record.entries(entries[0][1]))[0][0]["metrics"] == {"level": 1.0}


def test_outcome_is_that_of_the_last_attempt(tmp_path):
    record = begun(tmp_path, "again", {"a": 1})
    record.end("failed", "boom")
    assert record.ending()["outcome"] == "failed"
    record.begin({"a": 1}, {}, None)
    assert record.ending() is None
    assert [found.key for found in records(tmp_path)] == ["again"]


def test_sending_twice_changes_nothing(tmp_path, store):
    record = begun(tmp_path, "twice", {"a": 1, "schedule": (2.0, 4.0)})
    for step in range(3):
        record.metrics({"level": step / 2}, step)
    run_id = send(record, store)
    (record.folder / "sent.json").unlink()  # as if the process had died before it could note what was sent
    assert send(record, store) == run_id
    record.metrics({"level": 1.5}, 3)
    assert send(record, store) == run_id
    assert history(store, run_id, "level") == [(0, 0.0), (1, 0.5), (2, 1.0), (3, 1.5)]
    assert store.client.get_run(run_id).data.params == {"a": "1", "schedule": "2.0,4.0"}


def test_a_later_attempt_goes_on_under_the_same_run(tmp_path, store):
    first = begun(tmp_path, "resumed", {"a": 2})
    first.metrics({"level": 0.0}, 0)
    first.metrics({"level": 1.0}, 1)
    run_id = send(first, store)
    close(first, store, otherwise="KILLED")
    assert store.run(run_id).info.status == "KILLED" and not first.exists()
    second = begun(tmp_path, "resumed", {"a": 2}, run_id)
    second.resume({"steps": {"level": [0, 0.0]}, "models": [], "files": []})
    second.metrics({"level": 1.0}, 1)  # repeated after the checkpoint: the same point, not another one
    second.metrics({"level": 2.0}, 2)
    second.end("complete")
    close(second, store, otherwise="KILLED")
    assert store.run(run_id).info.status == "FINISHED"
    assert history(store, run_id, "level") == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_the_newest_of_differing_values_counts(tmp_path, store):
    """Of a step that is repeated with another value, as by a device that does not compute the same twice, or by a
    trial that was mended: also when the newest is the smaller one, and when it is not a number.
    """
    run_id = None
    for levels in ([1.0, 2.0, 3.0], [1.0, 1.5, math.nan], [1.0, 1.5, 2.5, 4.0]):
        record = begun(tmp_path, "differs", {"a": 20}, run_id)
        if run_id:
            record.resume({"steps": {}, "models": [], "files": []})
        for step, level in enumerate(levels):
            record.metrics({"level": level}, step)
        record.metrics({"last": levels[-1], "first": levels[0]}, 0)
        run_id = send(record, store)
        (record.folder / "sent.json").unlink()  # the process died before it could note that
        with record.lock():
            record.remove()
    assert curve(run_id, "level").to_dict() == {0: 1.0, 1: 1.5, 2: 2.5, 3: 4.0}
    assert [value for _, value in history(store, run_id, "level")].count(1.5) == 1  # what is repeated is left out
    metrics = store.client.get_run(run_id).data.metrics
    assert metrics == {"level": 4.0, "last": 4.0, "first": 1.0}


def test_a_late_record_of_a_finished_cell_changes_nothing(tmp_path, store):
    """Another machine has finished the cell meanwhile: what lies here of an earlier attempt is dropped."""
    late, begun_before = begun(tmp_path / "here", "late", {"a": 21}), begun(tmp_path / "there", "late", {"a": 21})
    late.metrics({"level": 1.0}, 0)
    half_sent = begun(tmp_path / "third", "late", {"a": 21})
    run_id = send(half_sent, store)
    begun_before.metrics({"level": 2.0}, 0)
    begun_before.end("complete")
    close(begun_before, store, otherwise="KILLED")
    finished = store.run(run_id)
    half_sent.end("failed", "RuntimeError: too late")
    for record in (late, half_sent):
        close(record, store, otherwise="KILLED")
        assert not record.exists()
    after = store.run(run_id)
    assert (after.info.status, after.info.end_time) == ("FINISHED", finished.info.end_time)
    assert after.data.tags["infoscope.outcome"] == "complete" and history(store, run_id, "level") == [(0, 2.0)]


def test_a_run_without_params_gets_them(tmp_path, store):
    """Its maker died, or lost the store, between two requests."""
    cell = {"a": 22}
    tags = header_tags("bare", cell, {"infoscope.profile": "laptop"})
    made = store.client.create_run(store.experiment_id, tags=tags).info.run_id
    record = begun(tmp_path, "bare", cell)
    record.metrics({"level": 1.0}, 0)
    assert send(record, store) == made and store.run(made).data.params == {"a": "22"}


def test_a_record_without_a_whole_header_is_removed(tmp_path, store):
    record = Record(tmp_path / "headless")
    record.files.mkdir(parents=True)
    (record.folder / "record.jsonl").write_text('{"cell": {"a"')
    record.end("failed", "the worker died")
    assert send(record, store) == "" and close_all([record], store, otherwise="KILLED") == []
    assert not record.exists() and store.run_of("headless") is None


def test_a_note_that_was_torn_is_no_note(tmp_path, store):
    record = begun(tmp_path, "noted", {"a": 23})
    record.metrics({"level": 1.0}, 0)
    run_id = send(record, store)
    assert not record.waiting()
    (record.folder / "sent.json").write_text("")
    assert record.waiting() and send(record, store) == run_id and not record.waiting()
    assert history(store, run_id, "level") == [(0, 1.0)]


def test_a_finished_cell_is_read_back_with_its_values_metrics_and_table(tmp_path, store):
    record = begun(tmp_path, "whole", {"kind": "10", "depth": 3, "schedule": (2.0,)})
    record.metrics({"mse_bits2": 0.25, "infinite": math.inf}, 0)
    pd.DataFrame({"estimate_bits": np.arange(5.0)}).to_parquet(record.files / "trace.parquet")
    record.end("complete")
    close(record, store, otherwise="KILLED")
    other = begun(tmp_path, "smaller", {"kind": "11"})
    other.end("complete")
    close(other, store, otherwise="KILLED")
    frame = runs("demo").set_index("key")
    assert frame.loc["smaller", "depth"] is None
    row = frame.loc["whole"]
    assert isinstance(row["depth"], int)
    assert (row["kind"], row["depth"], row["schedule"], row["mse_bits2"]) == ("10", 3, [2.0], 0.25)  # types are kept
    assert math.isnan(row["infinite"])  # not the largest double
    assert table(row["run_id"], "trace")["estimate_bits"].tolist() == [0, 1, 2, 3, 4]


def test_arrays_are_read_back_without_a_pickle(tmp_path, store):
    cell = {"a": 8}
    assignment = Assignment({"items": cell}, {}, {"items": {}}, store, tmp_path, "cpu", "here", 1.0)
    report = RecordedReport(assignment, lambda told: None)
    report.records[0].begin(cell, header_tags("items", cell, {"infoscope.profile": "laptop"}), None)
    report.arrays(cell, "items", {"x": np.arange(6, dtype=np.uint8).reshape(2, 3), "name": np.array(["a", "b"])})
    with pytest.raises(TypeError, match="'y' of more holds Python objects"):
        report.arrays(cell, "more", {"y": np.array([None])})
    report.records[0].end("complete")
    np.savez(report.records[0].files / "pickled.npz", x=np.array([{}]))
    (report.records[0].files / "corrupt.npz").write_bytes(b"nothing")
    close(report.records[0], store, otherwise="KILLED")
    run_id = runs("demo").set_index("key").loc["items", "run_id"]
    found = arrays(run_id, "items")
    assert found["x"].tolist() == [[0, 1, 2], [3, 4, 5]] and found["x"].dtype == np.uint8
    assert found["name"].tolist() == ["a", "b"]
    with pytest.raises(LookupError, match="no arrays 'absent'"):
        arrays(run_id, "absent")
    for name in ("pickled", "corrupt"):
        with pytest.raises(ValueError, match=f"{name}.npz of run .* cannot be read"):
            arrays(run_id, name)


def test_results_of_a_later_evaluation_replace_earlier_ones(tmp_path, store):
    record = begun(tmp_path, "evaluated", {"a": 9})
    record.end("complete")
    close(record, store, otherwise="KILLED")
    run_id = runs("demo").set_index("key").loc["evaluated", "run_id"]
    (tmp_path / "report.json").write_text("1")
    log_results(run_id, {"unique": 0.25, "seed": math.inf}, [tmp_path / "report.json"], "partition")
    time.sleep(0.002)
    (tmp_path / "report.json").write_text("2")
    log_results(run_id, {"unique": 0.5}, [tmp_path / "report.json"], "partition")
    row = runs("demo").set_index("key").loc["evaluated"]
    assert row["unique"] == 0.5 and math.isnan(row["seed"]) and row["status"] == "FINISHED"
    assert Path(store.client.download_artifacts(run_id, "partition/report.json", str(tmp_path))).read_text() == "2"
    with refused(code="invalid"):
        log_results(run_id, {"unique": 0.75}, [tmp_path / "absent.json"], "partition")
    assert runs("demo").set_index("key").loc["evaluated", "unique"] == 0.5


def test_a_run_lasts_as_long_as_its_cell_did_not_its_sending(tmp_path, store):
    began = time.time()
    record = begun(tmp_path, "timed", {"a": 7})
    time.sleep(0.3)
    record.end("complete")
    took = time.time() - began
    time.sleep(0.2)
    close(record, store, otherwise="KILLED")
    assert 0.29 <= runs("demo").set_index("key").loc["timed", "seconds"] <= took + 0.01  # it counts in whole ms


def test_a_failed_cell_is_not_among_the_finished(tmp_path, store):
    record = begun(tmp_path, "failed", {"a": 3})
    record.end("failed", "RuntimeError: boom")
    close(record, store, otherwise="KILLED")
    everything = runs("demo", finished=False).set_index("key")
    assert everything.loc["failed", "status"] == "FAILED"
    assert everything.loc["failed"]["tags"]["infoscope.error"] == "RuntimeError: boom"
    with pytest.raises(LookupError, match="no finished runs.*profile 'paper'"):
        runs("demo", "paper")


def test_a_model_is_shown_at_every_cell_that_shares_it(tmp_path, store, monkeypatch):
    """Also through MLflow's own loader, which must give the same scores."""
    import mlflow
    import torch

    from infoscope.estimators import make_critic
    from infoscope.tracking.models import write_model

    critic = make_critic("joint", 3, 2, depth=1, width=4)
    example = {"x": np.ones((2, 3), np.float32), "y": np.ones((5, 2), np.float32)}
    owner, other = begun(tmp_path, "owner", {"a": 4}), begun(tmp_path, "other", {"a": 5})
    write_model(critic, example, owner.model_folder("critic"))
    for record in (owner, other):
        record.append({"model": "critic", "owner": "owner"})
        record.end("complete")
    ids = [send(record, store) for record in (owner, other)]
    expected = critic(*map(torch.as_tensor, example.values())).detach()
    models = {store.client.get_run(run_id).outputs.model_outputs[0].model_id for run_id in ids}
    assert len(models) == 1
    for address in (*ids, f"models:/{models.copy().pop()}"):
        loaded = load_model(address)
        torch.testing.assert_close(loaded(*map(torch.as_tensor, example.values())), expected, rtol=0, atol=0)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri)
    logged = mlflow.pyfunc.load_model(f"models:/{models.pop()}")
    np.testing.assert_array_equal(logged.predict(example), expected.numpy())
    assert {column.name for column in logged.metadata.signature.inputs} == {"x", "y"}
    assert logged.input_example is not None


def test_a_sharer_before_its_owner_is_closed_all_the_same(tmp_path, store):
    """As after a crash, when only the order of the keys is left."""
    from infoscope.estimators import make_critic
    from infoscope.tracking.models import write_model

    first, owner = begun(tmp_path, "aa", {"a": 8}), begun(tmp_path, "zz", {"a": 9})
    lost = begun(tmp_path, "bb", {"a": 10})
    write_model(make_critic("inner", 2, 2), {"x": np.ones((1, 2), np.float32), "y": np.ones((1, 2), np.float32)},
                owner.model_folder("critic"))  # fmt: skip
    for record in (first, owner):
        record.append({"model": "critic", "owner": "zz"})
        record.end("complete")
    lost.append({"model": "critic", "owner": "never begun"})
    failed = close_all(records(tmp_path), store, otherwise="KILLED")
    assert [(record.key, type(error)) for record, error in failed] == [("bb", LookupError)]
    assert not first.exists() and not owner.exists() and lost.exists()


def test_a_record_sent_to_another_store_starts_afresh(tmp_path, store, monkeypatch, empty_store):
    record = begun(tmp_path, "moved", {"a": 11})
    record.metrics({"level": 1.0}, 0)
    send(record, store)
    (tmp_path / "other").mkdir()
    empty_store(tmp_path / "other")
    monkeypatch.chdir(tmp_path / "other")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    other = Store.open("demo", create=True)
    run_id = send(record, other)
    assert other.uri != store.uri and history(other, run_id, "level") == [(0, 1.0)]
    other.client.delete_run(run_id)
    again = send(record, other)
    assert again != run_id and history(other, again, "level") == [(0, 1.0)]


@pytest.mark.parametrize("torn", [b'{"step": 1, "metr', bytes(5), b'{"step": 1' + bytes(100)])
def test_what_follows_a_torn_line_stays_readable(tmp_path, torn):
    """Of a process that died, or the zeros that some disks have there after a loss of power."""
    record = begun(tmp_path, "mended", {"a": 12})
    with open(record.folder / "record.jsonl", "ab") as file:
        file.write(torn)
    record.end("failed", "the worker died")
    assert record.ending()["outcome"] == "failed" and len(list(record.entries())) == 2


def test_nothing_of_a_removal_that_was_cut_short_comes_back(tmp_path):
    """It takes the entries first; of the rest nothing belongs to the next attempt."""
    record = begun(tmp_path, "removed", {"a": 12})
    record.note_sent({"offset": 10})
    (record.files / "traceback.txt").touch()
    (record.folder / "record.jsonl").unlink()
    assert not record.waiting()  # as a status sees it meanwhile
    begun(tmp_path, "removed", {"a": 12})
    assert not list(record.files.iterdir()) and record.sent() == {}


def test_a_record_names_no_folder_but_its_own(tmp_path, store):
    """It may be another machine's."""
    record = begun(tmp_path, "hostile", {"a": 12})
    (tmp_path / "secret").mkdir()
    record.append({"model": "../../secret", "owner": "hostile"})
    run_id = send(record, store)
    assert not store.run(run_id).outputs.model_outputs
    assert "the name of a model must" in store.run(run_id).data.tags["infoscope.set_aside"]


def test_an_old_store_is_upgraded(tmp_path, monkeypatch, empty_store):
    """The schema of an earlier MLflow: what `mlflow db upgrade` is for."""
    import sqlite3
    import subprocess

    from mlflow.tracking._tracking_service.registry import TrackingStoreRegistry

    empty_store(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    path = Path(Store.open("demo", create=True).uri.removeprefix("sqlite:///"))
    with sqlite3.connect(path) as database:
        (current,) = database.execute("select version_num from alembic_version").fetchone()
        database.execute("update alembic_version set version_num = '451aebb31d03'")
    database.close()

    TrackingStoreRegistry._get_store_with_resolved_uri.cache_clear()  # as in a new process
    upgraded = []

    def upgrade(command, **_):
        upgraded.append(command[1:])
        with sqlite3.connect(path) as database:
            database.execute("update alembic_version set version_num = ?", (current,))
        database.close()

    monkeypatch.setattr(subprocess, "run", upgrade)
    assert Store.open("demo").experiment == "demo"
    assert upgraded == [["-m", "mlflow", "db", "upgrade", f"sqlite:///{path}"]]


def invocation(store, label, start, status):
    """The run of an invocation, as a driver makes it."""
    tags = {"infoscope.cells": "2", "infoscope.profile": label}
    run_id = store.client.create_run(store.experiment_id, start_time=start, tags=tags).info.run_id
    if status != "RUNNING":
        store.client.set_terminated(run_id, status)
    return run_id


def test_files_are_attached_to_the_newest_finished_invocation(tmp_path, monkeypatch, empty_store):
    empty_store(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    store = Store.open("demo", create=True)
    older, newer = (invocation(store, "laptop", start, "FINISHED") for start in (1000, 2000))
    failed, running = invocation(store, "laptop", 3000, "FAILED"), invocation(store, "laptop", 4000, "RUNNING")
    other = invocation(store, "laptop steps=5", 5000, "FINISHED")
    begun(tmp_path / "records", "cell", {"a": 1})
    send(Record(tmp_path / "records" / "cell"), store)  # a cell is no invocation
    assert [run.info.run_id for run in parents("demo", "laptop")] == [running, failed, newer, older]
    assert [run.info.run_id for run in parents("demo")][0] == other

    (tmp_path / "report.html").write_text("<p>first</p>")
    (tmp_path / "figure.png").write_bytes(b"png")
    paths = [tmp_path / "report.html", str(tmp_path / "figure.png")]
    assert attach("demo", "laptop", paths) == newer
    (tmp_path / "report.html").write_text("<p>second</p>")
    attach("demo", "laptop", paths[:1])
    names = {file.path for file in store.client.list_artifacts(newer, "analysis")}
    assert names == {"analysis/report.html", "analysis/figure.png"} and not store.client.list_artifacts(older)
    found = store.client.download_artifacts(newer, "analysis/report.html", str(tmp_path))
    assert Path(found).read_text() == "<p>second</p>"
    with refused("nothing.csv", "invalid"):
        attach("demo", "laptop", [*paths, "nothing.csv"])
    with pytest.raises(LookupError, match="no invocation of 'demo' under profile 'paper' has finished"):
        attach("demo", "paper", paths)


def test_a_model_is_sent_after_the_metrics_before_it_and_not_twice(tmp_path, store, monkeypatch):
    """What is noted as sent with a model covers the metrics, and a crash behind it does not send the model again."""
    from infoscope.estimators import make_critic
    from infoscope.tracking.models import write_model
    from infoscope.tracking.sending import flush

    record = begun(tmp_path, "ordered", {"a": 12})
    record.metrics({"level": 1.0}, 0)
    row = np.ones((1, 2), np.float32)
    write_model(make_critic("inner", 2, 2), {"x": row, "y": row}, record.model_folder("critic"))
    record.append({"model": "critic", "owner": "ordered"})
    record.end("complete")

    def crash(*arguments):
        raise ConnectionError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(flush, "_send_files", crash)
        with pytest.raises(ConnectionError):
            send(record, store)
    run_id = store.run_of("ordered").info.run_id
    assert history(store, run_id, "level") == [(0, 1.0)]
    assert send(record, store) == run_id
    assert len(store.client.get_run(run_id).outputs.model_outputs) == 1


def test_only_classes_of_the_house_are_written_and_loaded(tmp_path):
    import torch

    from infoscope.tracking.models import write_model

    with pytest.raises(TypeError, match="outside the infoscope namespace"):
        write_model(torch.nn.Linear(1, 1), {}, tmp_path / "linear")
    (tmp_path / "model.json").write_text('{"module": "os", "class": "system", "config": {"command": "true"}}')
    with pytest.raises(TypeError, match="outside the infoscope namespace"):
        load_model(str(tmp_path))
    (tmp_path / "model.json").write_text('{"module": "infoscope.tracking.models", "class": "load_model", "config": {}}')
    with pytest.raises(TypeError, match="not a torch module class"):
        load_model(str(tmp_path))


def test_a_store_that_is_down_loses_nothing(tmp_path, store):
    (tmp_path / "file").touch()
    down = Store(f"sqlite:///{tmp_path}/file/runs.db", store.experiment, store.experiment_id)
    record = begun(tmp_path, "patient", {"a": 6})
    record.metrics({"level": 1.0}, 0)
    flusher = Flusher(down)
    flusher.follow([record])
    assert flusher.drain(patience=0.0) == {} and record.exists()
    assert history(store, send(record, store), "level") == [(0, 1.0)]


def test_a_store_that_does_not_answer_is_not_asked_for_every_record(tmp_path, store, monkeypatch):
    """Each question may take seconds."""
    from mlflow.exceptions import MlflowException

    from infoscope.tracking.sending import flush

    asked = []

    def refused(record, *_):
        asked.append(record.key)
        raise MlflowException("connection refused")

    found = [begun(tmp_path, f"waits{number}", {"a": number}) for number in range(5)]
    monkeypatch.setattr(flush, "close", refused)
    assert len(close_all(found, store, otherwise="KILLED")) == 5 and len(asked) == 5  # it answers: all are tried
    monkeypatch.setattr(Store, "answers", lambda store: False)
    assert [record for record, _ in close_all(found, store, otherwise="KILLED")] == found and len(asked) == 6

    monkeypatch.setattr(flush, "send", refused)
    flusher = Flusher(store)
    flusher._records = found
    assert flusher.drain(patience=0.0) == {} and len(asked) == 7


def test_a_server_that_does_not_answer_is_said_so(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(StoreUnreachable, match="does not answer"):
        Store.open("demo")


def test_an_experiment_that_is_not_there(folder, store):
    with pytest.raises(LookupError, match="make sweep-nothing"):
        runs("nothing")
