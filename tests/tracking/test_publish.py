"""Folders of cells, published in a real MLflow store: on SQLite, and on a server with
PostgreSQL.
"""

import math
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
from infoscope.tracking.publishing import publish, publish_all
from infoscope.tracking.store import by_key, is_finished
from infoscope.tracking.tags import PARENT, PROFILE
from infoscope.tracking.weights import write_model
from tests.refusals import refused
from tests.tracking.cells import begun, closed, example, history


def critic_in(folder, owner=""):
    """Writes a critic, for a cell or for one that shares another's."""
    if not owner:
        write_model(make_critic("inner", 2, 2), example(), folder.model("critic"))
    folder.append({"model": "critic", "owner": owner or folder.key})


def test_a_finished_cell_is_read_back_with_its_values_metrics_and_table(
    tmp_path, store
):
    folder = begun(tmp_path, "whole", {"kind": "10", "depth": 3, "schedule": (2.0,)})
    folder.metrics({"mse_bits2": 0.25, "infinite": math.inf}, 0)
    pd.DataFrame({"estimate_bits": np.arange(5.0)}).to_parquet(
        folder.files / "trace.parquet"
    )
    closed(folder, store)
    closed(begun(tmp_path, "smaller", {"kind": "11"}), store)
    failed = closed(begun(tmp_path, "failed", {"a": 3}), store, "failed")
    frame = runs(store.experiment).set_index("key")
    assert set(frame.index) == {"whole", "smaller"}
    assert frame.loc["smaller", "depth"] is None
    row = frame.loc["whole"]
    assert isinstance(row["depth"], int)
    # types are kept
    assert row["kind"] == "10"
    assert row["depth"] == 3
    assert row["schedule"] == [2.0]
    assert row["mse_bits2"] == 0.25
    assert math.isnan(row["infinite"])  # not the largest double
    assert table(row["run_id"], "trace")["estimate_bits"].tolist() == [0, 1, 2, 3, 4]
    other = runs(store.experiment, finished=False).set_index("run_id").loc[failed]
    assert other["status"] == "FAILED"
    assert other["tags"]["infoscope.error"] == "RuntimeError: boom"
    with pytest.raises(LookupError, match="'paper'"):
        runs(store.experiment, "paper")


def test_arrays_are_read_back_without_a_pickle(tmp_path, store):
    folder = begun(tmp_path)
    np.savez(
        folder.files / "items.npz",
        x=np.arange(6, dtype=np.uint8).reshape(2, 3),
        name=np.array(["a", "b"]),
    )
    np.savez(folder.files / "pickled.npz", x=np.array([{}]))
    (folder.files / "corrupt.npz").write_bytes(b"nothing")
    run_id = closed(folder, store)
    items = arrays(run_id, "items")
    assert items["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert items["x"].dtype == np.uint8
    assert items["name"].tolist() == ["a", "b"]
    with pytest.raises(LookupError, match="'absent'"):
        arrays(run_id, "absent")
    for name in ("pickled", "corrupt"):
        with pytest.raises(ValueError, match=f"{name}.npz"):
            arrays(run_id, name)


def test_results_of_a_later_evaluation_replace_earlier_ones(tmp_path, store):
    run_id = closed(begun(tmp_path, "evaluated", {"a": 9}), store)
    (tmp_path / "report.json").write_text("1")
    log_results(
        run_id,
        {"unique": 0.25, "seed": math.inf},
        [tmp_path / "report.json"],
        "partition",
    )
    time.sleep(0.002)
    (tmp_path / "report.json").write_text("2")
    log_results(run_id, {"unique": 0.5}, [tmp_path / "report.json"], "partition")
    row = runs(store.experiment).set_index("key").loc["evaluated"]
    assert row["unique"] == 0.5
    assert math.isnan(row["seed"])
    assert row["status"] == "FINISHED"
    assert (
        Path(
            store.client.download_artifacts(
                run_id, "partition/report.json", str(tmp_path)
            )
        ).read_text()
        == "2"
    )
    with refused(code="invalid"):
        log_results(run_id, {"unique": 0.75}, [tmp_path / "absent.json"], "partition")
    assert runs(store.experiment).set_index("key").loc["evaluated", "unique"] == 0.5


def test_a_run_lasts_as_long_as_its_cell_did_not_its_sending(tmp_path, store):
    began = time.time()
    folder = begun(tmp_path)
    time.sleep(0.1)
    folder.end("complete")
    took = time.time() - began
    time.sleep(0.1)
    publish(folder, store)
    # in whole ms
    assert 0.09 <= runs(store.experiment)["seconds"].iloc[0] <= took + 0.01


def test_a_model_is_shown_at_every_cell_that_shares_it(tmp_path, store, monkeypatch):
    """Also through MLflow's own loader, which must give the same scores."""
    critic = make_critic("joint", 3, 2, depth=1, width=4)
    sides = {"x": np.ones((2, 3), np.float32), "y": np.ones((5, 2), np.float32)}
    owner = begun(tmp_path, "owner")
    other = begun(tmp_path, "other")
    write_model(critic, sides, owner.model("critic"))
    for folder in (owner, other):
        folder.append({"model": "critic", "owner": "owner"})
    ids = [closed(folder, store) for folder in (owner, other)]
    expected = critic(*map(torch.as_tensor, sides.values())).detach()
    models = {
        store.client.get_run(run_id).outputs.model_outputs[0].model_id for run_id in ids
    }
    assert len(models) == 1
    for address in (*ids, f"models:/{models.copy().pop()}"):
        loaded = load_model(address)
        torch.testing.assert_close(
            loaded(*map(torch.as_tensor, sides.values())), expected, rtol=0, atol=0
        )
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri)
    logged = mlflow.pyfunc.load_model(f"models:/{models.pop()}")
    np.testing.assert_array_equal(logged.predict(sides), expected.numpy())
    assert {column.name for column in logged.metadata.signature.inputs} == {"x", "y"}
    assert logged.input_example is not None


def test_publishing_again_changes_nothing(tmp_path, store):
    """While the cell runs, when it has ended, and after a process that died before it
    could note what was sent.
    """
    folder = begun(
        tmp_path, "twice", {"a": 1, "schedule": (2.0, 4.0)}, **{PARENT: "0" * 32}
    )
    critic_in(folder)
    for step in range(3):
        folder.metrics({"level": step / 2}, step)
        run_id = publish(folder, store)
        assert history(store, run_id) == [(done, done / 2) for done in range(step + 1)]
    folder.end("complete")
    for _ in range(2):
        folder.note_sent(0)
        assert publish(folder, store) == run_id
        (run,) = store.cells()
        assert is_finished(run)
        assert run.data.params == {"a": "1", "schedule": "2.0,4.0"}
        assert history(store, run_id) == [(0, 0.0), (1, 0.5), (2, 1.0)]
        assert len(run.outputs.model_outputs) == 1


def test_the_last_value_of_a_repeated_step_counts(tmp_path, store):
    """For MLflow, too, which by itself takes the largest; in whatever order it was
    sent.
    """
    folder = begun(tmp_path)
    for value in (3.0, 1.0, 2.0, 1.0, math.nan, math.nan, 1.0):
        folder.metrics({"again": value}, 0)
    for step in (0, 2, 1, 2, 0):
        folder.metrics({"jumps": -float(step)}, step)
    run_id = closed(folder, store)
    assert store.run(run_id).data.metrics == {"again": 1.0, "jumps": -2.0}
    assert curve(run_id, "again").to_dict() == {0: 1.0}


def test_of_several_runs_of_a_cell_the_first_complete_one_counts(tmp_path, store):
    """Two drivers may compute the same cell; a table has it once, under the labels of
    both.
    """
    levels = {}
    for level, outcome in enumerate(("failed", "stopped", "complete", "complete")):
        folder = begun(tmp_path, **{PROFILE: f"label{level}"})
        folder.metrics({"level": float(level)}, 0)
        levels[closed(folder, store, outcome)] = level
        time.sleep(0.002)
    publish(begun(tmp_path), store)
    assert len(list(store.cells())) == 5
    assert levels[by_key(store.cells())["one"].info.run_id] == 2
    (row,) = runs(store.experiment).to_dict("records")
    assert row["level"] == 2.0
    assert {f"label{level}" for level in range(4)} <= set(row["profile"].split("; "))


def test_a_refused_cell_is_kept_and_the_others_are_sent(tmp_path, store, monkeypatch):
    """A bad folder of another machine, a model that is nowhere, and a store that
    refuses for a while.
    """
    bad = begun(tmp_path, "bad")
    good = begun(tmp_path, "good")
    hostile = begun(tmp_path, "hostile")
    lost = begun(tmp_path, "lost")
    damaged = begun(tmp_path, "damaged")
    (damaged.path / "cell.json").write_bytes(bytes(20))
    bad.append({"metrics": {"level": 7.0}, "step": 2**70})
    good.metrics({"level": 1.0}, 0)
    hostile.append({"model": "../../secret", "owner": "hostile"})
    critic_in(lost, "never begun")
    for folder in (bad, good, hostile, lost):
        folder.end("complete")
    with monkeypatch.context() as patch:

        def refuse(*given, **named):
            raise MlflowException("bad gateway")

        patch.setattr(MlflowClient, "log_batch", refuse)
        assert list(publish_all([good], store)[1]) == [good]
    published, left = publish_all([bad, good, hostile, lost, damaged], store)
    assert list(published) == [good]
    errors = {folder.key: str(error) for folder, error in left.items()}
    assert "step of a metric" in errors["bad"]
    assert "'../../secret'" in errors["hostile"]
    assert "never begun" in errors["lost"]
    assert "cell.json" in errors["damaged"]
    assert runs(store.experiment)["level"].tolist() == [1.0]


def test_a_cell_may_come_before_the_owner_of_its_model(tmp_path, store):
    """Folders come in the order of their keys."""
    sharer = begun(tmp_path, "a")
    owner = begun(tmp_path, "b")
    critic_in(owner)
    critic_in(sharer, "b")
    for folder in (sharer, owner):
        folder.end("complete")
    published, left = publish_all([sharer, owner], store)
    assert set(published) == {sharer, owner}
    assert not left
    assert load_model(published[sharer]).config == load_model(published[owner]).config


def test_a_model_is_sent_for_those_that_share_it_though_its_owner_fails(
    tmp_path, store
):
    owner = begun(tmp_path, "owner")
    sharer = begun(tmp_path, "sharer")
    critic_in(owner)
    critic_in(sharer, "owner")
    closed(owner, store, "failed")
    assert load_model(closed(sharer, store)).config["dim_x"] == 2
