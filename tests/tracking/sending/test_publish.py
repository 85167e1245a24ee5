"""Records, published in a real MLflow store: on SQLite, and on a server with PostgreSQL.

Whatever died, and whoever else made the same cell, a cell has one run, and that is whole.
"""

import math
import threading
import time
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from infoscope.estimators import make_critic
from infoscope.tracking import arrays, curve, load_model, log_results, runs, table
from infoscope.tracking.models import write_model
from infoscope.tracking.record import Record, milliseconds, records
from infoscope.tracking.scheduling.worker import RecordedReport
from infoscope.tracking.sending import publish as publishing
from infoscope.tracking.sending.live_updates import PartlySent
from infoscope.tracking.sending.publish import header_tags, open_run, publish, publish_all, unique_runs
from infoscope.tracking.store.store import Store, is_finished
from infoscope.tracking.tags import ALIVE, CELLS, DRIVER, OUTCOME, PARENT, PROFILE
from tests.refusals import refused
from tests.tracking.cells import assigned, begun, closed, history


def critic_in(record, owner=None):
    """Writes a critic down, for a cell or for one that shares another's."""
    row = np.ones((1, 2), np.float32)
    if owner is None:
        write_model(make_critic("inner", 2, 2), {"x": row, "y": row}, record.model_folder("critic"))
    record.append({"model": "critic", "owner": owner or record.key})


def states(store):
    """Status, outcome and metrics of all runs of cells."""
    return [(run.info.status, run.data.tags[OUTCOME], run.data.metrics) for run in store.cells()]


def invocation(store, seconds):
    """The id of the run of another invocation, which said so many seconds ago that it lives."""
    tags = {CELLS: "2", ALIVE: str(milliseconds() - 1000 * seconds), DRIVER: "elsewhere:/runs"}
    return store.client.create_run(store.experiment_id, tags=tags).info.run_id


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
    (record,) = report.records
    record.begin(cell, header_tags("items", cell, {}))
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
    publish(record, store)
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
    ids = [publish(record, store) for record in (owner, other)]
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


def test_a_sharer_before_its_owner_is_published_all_the_same(tmp_path, store):
    """As after a crash, when only the order of the keys is left."""
    first, owner, lost = (begun(tmp_path, key, {"a": key}) for key in ("aa", "zz", "bb"))
    critic_in(owner)
    critic_in(first, "zz")
    critic_in(lost, "never begun")
    for record in (first, owner, lost):
        record.end("complete")
    sent, failed = publish_all(records(tmp_path), store)
    assert set(sent) == {"aa", "zz"} and {key: type(error) for key, error in failed.items()} == {"bb": LookupError}
    assert not first.exists() and not owner.exists() and lost.exists()


def test_publishing_twice_changes_nothing(tmp_path, store):
    """The process died when the run was whole, before it could remove the record; and before it could close the run."""
    record = begun(tmp_path, "twice", {"a": 1, "schedule": (2.0, 4.0)})
    for step in range(3):
        record.metrics({"level": step / 2}, step)
    run_id, _ = open_run(record, store)
    record.end("complete")
    kept = record.packed() | {"run": run_id.encode()}
    for _ in range(2):
        again = Record(record.folder.with_name("twice@9"))
        for name, content in kept.items():
            again.files.mkdir(parents=True, exist_ok=True)
            (again.folder / name).write_bytes(content)
        assert publish(again, store) == run_id and not again.exists()
        assert history(store, run_id) == [(0, 0.0), (1, 0.5), (2, 1.0)]
        assert store.client.get_run(run_id).data.params == {"a": "1", "schedule": "2.0,4.0"}
        store.client.update_run(run_id, status="RUNNING")
    (run,) = store.cells()
    assert run.info.run_id == run_id


def test_the_last_value_of_a_repeated_step_counts(tmp_path, store):
    """For MLflow, too, which by itself takes the largest; in whatever order it was sent."""
    record = begun(tmp_path)
    for value in (3.0, 1.0, 2.0, 1.0, math.nan, math.nan, 1.0):
        record.metrics({"again": value}, 0)
    for step in (0, 2, 1, 2, 0):
        record.metrics({"jumps": -float(step)}, step)
    run_id = closed(record, store)
    assert store.run(run_id).data.metrics == {"again": 1.0, "jumps": -2.0}
    assert curve(run_id, "again").to_dict() == {0: 1.0}


def test_a_complete_attempt_takes_the_place_of_those_before_it(tmp_path, store):
    """Of one that failed, and of one whose process died: nothing of them is in the run, and they do not count."""
    failed = begun(tmp_path)
    failed.metrics({"level": 123.0, "only_here": 1.0}, 999)
    with failed.file("traceback.txt") as path:
        path.write_text("boom")
    dead = closed(failed, store, "failed")
    assert states(store) == [("FAILED", "failed", {"level": 123.0, "only_here": 1.0})]
    assert "traceback.txt" in {file.path for file in store.client.list_artifacts(dead)}
    killed = begun(tmp_path)
    killed.metrics({"level": 5.0}, 5)
    publish(killed, store)
    assert [state[0] for state in states(store)] == ["KILLED"]
    record = begun(tmp_path)
    record.metrics({"level": 1.9}, 19)
    run_id = closed(record, store)
    assert states(store) == [("FINISHED", "complete", {"level": 1.9})] and not store.client.list_artifacts(run_id)
    assert runs(store.experiment, finished=False)["level"].tolist() == [1.9]


@pytest.mark.parametrize("outcome", [None, "failed", "complete"])
def test_a_late_record_of_a_finished_cell_is_dropped(tmp_path, store, outcome):
    """Another machine has finished the cell meanwhile; this attempt may be seen in MLflow already."""
    late, unseen = begun(tmp_path), begun(tmp_path)
    late.metrics({"level": 1.0}, 0)
    open_run(late, store)
    first = begun(tmp_path)
    first.metrics({"level": 2.0}, 0)
    run_id = closed(first, store)
    before = store.run(run_id)
    for record in (late, unseen):
        if outcome:
            record.end(outcome, "too late")
        assert publish(record, store) == run_id and not record.exists()
    assert states(store) == [("FINISHED", "complete", {"level": 2.0})]
    assert store.run(run_id).info.end_time == before.info.end_time


@pytest.mark.parametrize("outcome", [None, "failed"])
def test_a_late_record_of_a_dead_attempt_changes_nothing(tmp_path, store, outcome):
    """Though the attempt after it has not finished either."""
    late = begun(tmp_path)
    late.metrics({"level": 123.0}, 999)
    time.sleep(0.002)
    later = begun(tmp_path)
    later.metrics({"level": 3.0}, 3)
    publish(later, store)
    if outcome:
        late.end(outcome)
    publish(late, store)
    assert not late.exists() and states(store) == [("KILLED", "", {"level": 3.0})]


@pytest.mark.parametrize("again", [True, False])
def test_a_late_record_of_a_complete_attempt_is_published(tmp_path, store, again):
    """It was taken for dead; its run was closed, or another attempt came to nothing after it."""
    late = begun(tmp_path)
    late.metrics({"level": 123.0}, 999)
    run_id, _ = open_run(late, store)
    store.client.set_tag(run_id, "infoscope.error", "its machine was taken for dead")
    store.client.set_terminated(run_id, "FAILED")
    if again:
        closed(begun(tmp_path), store, "failed")
    assert (closed(late, store) == run_id) != again
    (run,) = store.cells()
    assert is_finished(run) and run.data.metrics == {"level": 123.0} and "infoscope.error" not in run.data.tags


def test_a_complete_run_takes_the_place_of_one_stopped_early(tmp_path, store):
    closed(begun(tmp_path), store, "stopped")
    run_id = closed(begun(tmp_path), store)
    assert unique_runs(store)["one"].info.run_id == run_id
    assert [state[1] for state in states(store)] == ["complete"]


@pytest.mark.parametrize(("silent", "kept"), [(10, True), (1000, False)])
def test_a_failure_keeps_the_run_of_a_living_driver(tmp_path, store, silent, kept):
    theirs = begun(tmp_path, **{PARENT: invocation(store, silent)})
    run_id, _ = open_run(theirs, store)
    time.sleep(0.002)
    closed(begun(tmp_path), store, "failed")
    assert (store.run(run_id) is not None) == kept


def test_the_run_that_was_complete_first_counts_on(tmp_path, store, monkeypatch):
    """The second record has ended earlier and arrives later: its publisher was held up after it had read the store,
    and before it had opened a run.
    """
    second, first = begun(tmp_path), begun(tmp_path)
    for level, record in enumerate((second, first)):
        record.metrics({"level": float(level)}, 0)
        record.end("complete")
        time.sleep(0.01)
    send, seen = publishing._send, []

    def late(record, *others):
        if record == second and not seen:
            seen.append(1.0)
            publish(first, store)
            assert runs(store.experiment)["level"].tolist() == seen
        return send(record, *others)

    monkeypatch.setattr(publishing, "_send", late)
    monkeypatch.setattr(Store, "has_one_driver", False)
    publish(second, store)
    assert [state[2] for state in states(store)] == [{"level": 1.0}] and not records(tmp_path)


@pytest.mark.parametrize(("silent", "kept"), [(10, True), (1000, False)])
def test_the_open_run_of_a_driver_that_lives_is_left_to_it(tmp_path, store, silent, kept):
    """It may end its cell between the look at it and its removal."""
    closed(begun(tmp_path), store)
    theirs = begun(tmp_path, **{PARENT: invocation(store, silent)})
    run_id, _ = open_run(theirs, store)
    chosen = unique_runs(store)["one"]
    assert is_finished(chosen) and (store.run(run_id) is not None) == kept
    assert closed(theirs, store) == chosen.info.run_id and len(list(store.cells())) == 1


@pytest.mark.parametrize("seen", [False, True])
def test_two_drivers_that_end_the_same_cell_at_once_leave_one_run(tmp_path, store, seen):
    """Each finds no whole run of it, but that of the other, where it is seen in MLflow already; either ends its own
    before it looks at the other's. The end of either's sweep leaves one run, with the labels of both.
    """
    meeting, found = threading.Barrier(2, timeout=60), []
    search, end = Store.cells, store.client.set_terminated

    def together(self, *given):
        result = list(search(self, *given))
        meeting.wait()
        return result

    def ended_together(*given):
        end(*given)
        meeting.wait()

    begin = [begun(tmp_path, **{PROFILE: label}) for label in ("a", "b")]
    for record in begin if seen else ():
        open_run(record, store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "cells", together)
        patch.setattr(store.client, "set_terminated", ended_together)
        threads = [threading.Thread(target=lambda one=one: found.append(closed(one, store))) for one in begin]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(found)) == 2 and len(list(store.cells())) == 2
    chosen = unique_runs(store)["one"]
    (run,) = store.cells()
    assert run.info.run_id == chosen.info.run_id and set(run.data.tags[PROFILE].split("; ")) == {"a", "b"}
    assert unique_runs(store)["one"].info.run_id == run.info.run_id


def test_a_record_without_a_whole_header_is_removed(tmp_path, store):
    record = Record.of(tmp_path, "headless")
    record.files.mkdir(parents=True)
    (record.folder / "record.jsonl").write_text('{"cell": {"a"')
    record.end("failed", "the worker died")
    assert publish_all([record], store) == ({"headless": ""}, {})
    assert not record.exists() and store.run_of("headless") is None


def test_a_record_published_in_another_store_is_whole_there(tmp_path, store, monkeypatch, empty_store):
    record = begun(tmp_path, "moved", {"a": 11})
    record.metrics({"level": 1.0}, 0)
    open_run(record, store)
    (tmp_path / "other").mkdir()
    empty_store(tmp_path / "other")
    monkeypatch.chdir(tmp_path / "other")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    other = Store.open(store.experiment, create=True)
    assert history(other, closed(record, other)) == [(0, 1.0)]


def test_a_refused_record_is_kept_and_the_others_are_sent(tmp_path, store, monkeypatch):
    """A bad record of another machine, and a store that refuses for a while: both are told, and go on later."""
    bad, good, hostile = (begun(tmp_path, key) for key in ("bad", "good", "hostile"))
    bad.append({"metrics": {"level": 7.0}, "step": 2**70})
    good.metrics({"level": 1.0}, 0)
    hostile.append({"model": "../../secret", "owner": "hostile"})
    for record in (bad, good, hostile):
        record.end("complete")
    with monkeypatch.context() as patch:

        def refuse(*given, **named):
            raise MlflowException("bad gateway")

        patch.setattr(MlflowClient, "log_batch", refuse)
        assert set(publish_all([good], store)[1]) == {"good"} and good.exists()
    sent, failed = publish_all([bad, good, hostile], store)
    assert set(sent) == {"good"} and set(failed) == {"bad", "hostile"} and bad.exists() and hostile.exists()
    assert "step of a metric" in str(failed["bad"]) and "'../../secret'" in str(failed["hostile"])
    assert runs(store.experiment)["level"].tolist() == [1.0]


def test_a_store_that_is_down_loses_nothing(tmp_path, store):
    (tmp_path / "file").touch()
    down = Store(f"sqlite:///{tmp_path}/file/runs.db", store.experiment, store.experiment_id)
    ended = [begun(tmp_path, key) for key in ("one", "two")]
    for record in ended:
        record.metrics({"level": 1.0}, 0)
        record.end("complete")
    sent, failed = publish_all(ended, down)
    assert sent == {} and set(failed) == {"one", "two"} and all(record.exists() for record in ended)
    sent, failed = publish_all(ended, store)
    assert not failed and [history(store, run_id) for run_id in sent.values()] == [[(0, 1.0)]] * 2


def test_a_clock_that_jumps_back_ends_no_run_before_its_start(tmp_path, store):
    record = begun(tmp_path)
    record.append({"outcome": "complete", "error": None, "time": record.header()["time"] - 3_600_000})
    run = store.run(publish(record, store))
    assert is_finished(run) and run.info.end_time == run.info.start_time


@pytest.mark.parametrize("harm", ["the store is down", "a metric is refused"])
def test_two_attempts_that_cannot_be_sent_are_left_at_once(tmp_path, store, monkeypatch, harm):
    first, second = begun(tmp_path), begun(tmp_path)
    first.end("failed", "RuntimeError: boom")
    second.end("complete")
    if harm == "the store is down":
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        store = Store("http://127.0.0.1:9", "demo", "1")
    else:
        for record in (first, second):
            record.append({"step": 0, "metrics": {"a*b": 1.0}})
    sent, left = publish_all([first, second], store)
    assert not sent and list(left) == ["one"] and len(records(tmp_path)) == 2


def test_a_model_is_sent_for_those_that_share_it_though_its_owner_fails(tmp_path, store):
    owner, sharer = begun(tmp_path, "owner"), begun(tmp_path, "sharer")
    critic_in(owner)
    critic_in(sharer, "owner")
    owner.end("failed", "RuntimeError: boom")
    sharer.end("complete")
    sent, left = publish_all([sharer, owner], store)
    assert not left and load_model(sent["sharer"]).config["dim_x"] == 2


def test_points_of_a_round_that_failed_are_sent_by_the_next(tmp_path, store, monkeypatch):
    record = begun(tmp_path)
    seen = PartlySent(record)
    seen.send(store, [])
    record.metrics({"level": 1.0}, 0)

    def down(*given):
        raise MlflowException("down")

    with monkeypatch.context() as patch:
        patch.setattr(store.client, "log_batch", down, raising=False)
        with pytest.raises(MlflowException):
            seen.send(store, [])
    record.metrics({"level": 2.0}, 1)
    assert history(store, seen.send(store, [])) == [(0, 1.0), (1, 2.0)]


def test_a_run_that_cannot_be_noted_on_the_disk_is_deleted(tmp_path, store, monkeypatch):
    """Each retry would create another one."""

    def full(record, run_id):
        raise OSError("no space")

    record = begun(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Record, "note_run", full)
        with pytest.raises(OSError, match="no space"):
            open_run(record, store)
    assert not list(store.cells())
