"""The local record, and how it is carried to a real MLflow store: on SQLite, and to a server on PostgreSQL."""

import math
import sqlite3
import subprocess
import time
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from mlflow.tracking._tracking_service.registry import TrackingStoreRegistry

from infoscope.estimators import make_critic
from infoscope.tracking import arrays, attach, load_model, log_results, parents, runs, table
from infoscope.tracking.models import write_model
from infoscope.tracking.record import Record, records
from infoscope.tracking.scheduling.worker import RecordedReport
from infoscope.tracking.sending.flush import Flusher, close, close_all, send
from infoscope.tracking.store.store import Store, StoreUnreachable
from tests.refusals import refused
from tests.tracking.cells import assigned, begun, history


def critic_in(record, owner=None):
    """Writes a critic down, for a cell or for one that shares another's."""
    row = np.ones((1, 2), np.float32)
    if owner is None:
        write_model(make_critic("inner", 2, 2), {"x": row, "y": row}, record.model_folder("critic"))
    record.append({"model": "critic", "owner": owner or record.key})


def closed(record, store, outcome="complete"):
    """The run of a cell that has ended."""
    record.end(outcome, "RuntimeError: boom" if outcome == "failed" else None)
    close(record, store, otherwise="KILLED")
    return store.run_of(record.key).info.run_id


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
    assert not record.waiting()
    (record.folder / "sent.json").write_text("")  # as if the process had died while it noted what was sent
    assert record.waiting() and send(record, store) == run_id and not record.waiting()
    record.metrics({"level": 1.5}, 3)
    assert send(record, store) == run_id
    assert history(store, run_id) == [(0, 0.0), (1, 0.5), (2, 1.0), (3, 1.5)]
    assert store.client.get_run(run_id).data.params == {"a": "1", "schedule": "2.0,4.0"}


def test_a_late_record_of_a_finished_cell_changes_nothing(tmp_path, store):
    """Another machine has finished the cell meanwhile: what lies here of an earlier attempt is dropped."""
    late, before = (begun(tmp_path / place, "late", {"a": 21}) for place in ("here", "there"))
    late.metrics({"level": 1.0}, 0)
    half_sent = begun(tmp_path / "third", "late", {"a": 21})
    send(half_sent, store)
    before.metrics({"level": 2.0}, 0)
    run_id = closed(before, store)
    finished = store.run(run_id)
    half_sent.end("failed", "RuntimeError: too late")
    for record in (late, half_sent):
        close(record, store, otherwise="KILLED")
        assert not record.exists()
    after = store.run(run_id)
    assert (after.info.status, after.info.end_time) == ("FINISHED", finished.info.end_time)
    assert after.data.tags["infoscope.outcome"] == "complete" and history(store, run_id) == [(0, 2.0)]


def test_a_record_without_a_whole_header_is_removed(tmp_path, store):
    record = Record(tmp_path / "headless")
    record.files.mkdir(parents=True)
    (record.folder / "record.jsonl").write_text('{"cell": {"a"')
    record.end("failed", "the worker died")
    assert send(record, store) == "" and close_all([record], store, otherwise="KILLED") == []
    assert not record.exists() and store.run_of("headless") is None


def test_a_finished_cell_is_read_back_with_its_values_metrics_and_table(tmp_path, store):
    record = begun(tmp_path, "whole", {"kind": "10", "depth": 3, "schedule": (2.0,)})
    record.metrics({"mse_bits2": 0.25, "infinite": math.inf}, 0)
    pd.DataFrame({"estimate_bits": np.arange(5.0)}).to_parquet(record.files / "trace.parquet")
    closed(record, store)
    closed(begun(tmp_path, "smaller", {"kind": "11"}), store)
    failed = closed(begun(tmp_path, "failed", {"a": 3}), store, "failed")
    frame = runs(store.experiment).set_index("key")
    assert set(frame.index) == {"whole", "smaller"} and frame.loc["smaller", "depth"] is None
    row = frame.loc["whole"]
    assert isinstance(row["depth"], int)
    assert (row["kind"], row["depth"], row["schedule"], row["mse_bits2"]) == ("10", 3, [2.0], 0.25)  # types are kept
    assert math.isnan(row["infinite"])  # not the largest double
    assert table(row["run_id"], "trace")["estimate_bits"].tolist() == [0, 1, 2, 3, 4]
    other = runs(store.experiment, finished=False).set_index("run_id").loc[failed]
    assert (other["status"], other["tags"]["infoscope.error"]) == ("FAILED", "RuntimeError: boom")
    with pytest.raises(LookupError, match="'paper'"):
        runs(store.experiment, "paper")


def test_arrays_are_read_back_without_a_pickle(tmp_path, store):
    cell = {"a": 8}
    report = RecordedReport(assigned(store, tmp_path / "records", {"items": cell}), lambda told: None)
    record = begun(tmp_path / "records", "items", cell)
    report.arrays(cell, "items", {"x": np.arange(6, dtype=np.uint8).reshape(2, 3), "name": np.array(["a", "b"])})
    with pytest.raises(TypeError, match="'y' of more"):
        report.arrays(cell, "more", {"y": np.array([None])})
    np.savez(record.files / "pickled.npz", x=np.array([{}]))
    (record.files / "corrupt.npz").write_bytes(b"nothing")
    run_id = closed(record, store)
    found = arrays(run_id, "items")
    assert found["x"].tolist() == [[0, 1, 2], [3, 4, 5]] and found["x"].dtype == np.uint8
    assert found["name"].tolist() == ["a", "b"]
    with pytest.raises(LookupError, match="'absent'"):
        arrays(run_id, "absent")
    for name in ("pickled", "corrupt"):
        with pytest.raises(ValueError, match=f"{name}.npz"):
            arrays(run_id, name)


def test_results_of_a_later_evaluation_replace_earlier_ones(tmp_path, store):
    run_id = closed(begun(tmp_path, "evaluated", {"a": 9}), store)
    (tmp_path / "report.json").write_text("1")
    log_results(run_id, {"unique": 0.25, "seed": math.inf}, [tmp_path / "report.json"], "partition")
    time.sleep(0.002)
    (tmp_path / "report.json").write_text("2")
    log_results(run_id, {"unique": 0.5}, [tmp_path / "report.json"], "partition")
    row = runs(store.experiment).set_index("key").loc["evaluated"]
    assert row["unique"] == 0.5 and math.isnan(row["seed"]) and row["status"] == "FINISHED"
    assert Path(store.client.download_artifacts(run_id, "partition/report.json", str(tmp_path))).read_text() == "2"
    with refused(code="invalid"):
        log_results(run_id, {"unique": 0.75}, [tmp_path / "absent.json"], "partition")
    assert runs(store.experiment).set_index("key").loc["evaluated", "unique"] == 0.5


def test_a_run_lasts_as_long_as_its_cell_did_not_its_sending(tmp_path, store):
    began = time.time()
    record = begun(tmp_path, "timed", {"a": 7})
    time.sleep(0.1)
    record.end("complete")
    took = time.time() - began
    time.sleep(0.1)
    close(record, store, otherwise="KILLED")
    assert 0.09 <= runs(store.experiment).set_index("key").loc["timed", "seconds"] <= took + 0.01  # in whole ms


def test_a_model_is_shown_at_every_cell_that_shares_it(tmp_path, store, monkeypatch):
    """Also through MLflow's own loader, which must give the same scores."""
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
    first, owner, lost = (begun(tmp_path, key, {"a": key}) for key in ("aa", "zz", "bb"))
    critic_in(owner)
    critic_in(first, "zz")
    critic_in(lost, "never begun")
    for record in (first, owner):
        record.end("complete")
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
    other = Store.open(store.experiment, create=True)
    run_id = send(record, other)
    assert other.uri != store.uri and history(other, run_id) == [(0, 1.0)]
    other.client.delete_run(run_id)
    again = send(record, other)
    assert again != run_id and history(other, again) == [(0, 1.0)]


@pytest.mark.parametrize("torn", [b'{"step": 1, "metr', bytes(5), b'{"step": 1' + bytes(100)])
def test_what_follows_a_torn_line_stays_readable(tmp_path, torn):
    """Of a process that died, or the zeros that some disks have there after a loss of power."""
    record = begun(tmp_path, "mended", {"a": 12})
    with open(record.folder / "record.jsonl", "ab") as file:
        file.write(torn)
    record.end("failed", "boom")
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
    assert "'../../secret'" in store.run(run_id).data.tags["infoscope.set_aside"]


VERSION = "select version_num from alembic_version"
SET_VERSION = "update alembic_version set version_num = ?"


def test_an_old_store_is_upgraded(own_folder, monkeypatch):
    """The schema of an earlier MLflow: what `mlflow db upgrade` is for."""
    path = Path(Store.open("demo", create=True).uri.removeprefix("sqlite:///"))
    with sqlite3.connect(path) as database:
        (current,) = database.execute(VERSION).fetchone()
        database.execute(SET_VERSION, ("451aebb31d03",))
    database.close()

    TrackingStoreRegistry._get_store_with_resolved_uri.cache_clear()  # as in a new process
    upgraded = []

    def upgrade(command, **_):
        upgraded.append(command[1:])
        with sqlite3.connect(path) as database:
            database.execute(SET_VERSION, (current,))
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


def test_files_are_attached_to_the_newest_finished_invocation(tmp_path, own_folder):
    store = Store.open("demo", create=True)
    older, newer = (invocation(store, "laptop", start, "FINISHED") for start in (1000, 2000))
    failed, running = invocation(store, "laptop", 3000, "FAILED"), invocation(store, "laptop", 4000, "RUNNING")
    other = invocation(store, "laptop steps=5", 5000, "FINISHED")
    send(begun(tmp_path / "records", "cell", {"a": 1}), store)  # a cell is no invocation
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
    with pytest.raises(LookupError, match="'paper' has finished"):
        attach("demo", "paper", paths)


def test_only_classes_of_the_house_are_written_and_loaded(tmp_path):
    with pytest.raises(TypeError, match="infoscope namespace"):
        write_model(torch.nn.Linear(1, 1), {}, tmp_path / "linear")
    for text in (
        '{"module": "os", "class": "system", "config": {"command": "true"}}',
        '{"module": "infoscope.tracking.models", "class": "load_model", "config": {}}',
    ):
        (tmp_path / "model.json").write_text(text)
        with pytest.raises(TypeError, match="infoscope namespace|torch module"):
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


def test_a_server_that_does_not_answer_is_said_so(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(StoreUnreachable, match="not answer"):
        Store.open("demo")


def test_an_experiment_that_is_not_there(store):
    with pytest.raises(LookupError, match="make sweep-nothing"):
        runs("nothing")
