"""Sweeps on a Ray cluster of two nodes with MLflow's server on PostgreSQL and an
S3-like bucket: one that survives the loss of a worker, the driver's machine and the
server, and a search.
"""

import shutil
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest

from infoscope.tracking import load_model, runs, table
from infoscope.tracking.cell_folder import cell_folders, milliseconds
from infoscope.tracking.store import Store
from infoscope.tracking.sync import sync
from infoscope.tracking.trial import STORAGE
from tests.infra.conftest import plain_environment
from tests.infra.documents import REPOSITORY
from tests.tracking.processes import counts, wait_until

pytestmark = pytest.mark.system

SWEEP = "critic-capacity"
CELLS = "domains=gaussian"  # 12: three depths, two estimators, two seeds
AWAY_SECONDS = 30.0
TOYS = REPOSITORY / "tests" / "tracking"


def start(
    folder, environment, words=CELLS, program=f"infoscope sweep {SWEEP}", options=()
):
    """A sweep in a folder that has nothing but what is sent to the nodes."""
    for name in ("packages", "sweeps"):
        if not (folder / name).exists():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(REPOSITORY / name, folder / name, ignore=ignored)
    for name in ("toy_search.py", "toy_sweep.py"):
        shutil.copy(TOYS / name, folder)
    command = [
        sys.executable,
        "-m",
        *program.split(),
        "--profile",
        "smoke",
        "--set",
        words,
        *options,
    ]
    pipes = dict(
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)


def finish(process):
    """(exit status, standard output, standard error)"""
    output, errors = process.communicate(timeout=900)
    return process.returncode, output, errors


def recorded(place, environment, experiment, **which):
    """The cells of an experiment by key, as they are seen from a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        if "MLFLOW_TRACKING_URI" in environment:
            patch.setenv("MLFLOW_TRACKING_URI", environment["MLFLOW_TRACKING_URI"])
        return runs(experiment, **which).set_index("key").sort_index()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A folder for the same sweep in peace: on this machine, offline."""
    return tmp_path_factory.mktemp("alone")


@pytest.fixture(scope="module")
def stranger(two_nodes, tmp_path_factory):
    """A sweep without the token, with a store and a home folder of its own, where Ray
    would look for a token.
    """
    folder = tmp_path_factory.mktemp("stranger")
    environment = two_nodes.settings | {
        "HOME": str(folder),
        "RAY_AUTH_MODE": "disabled",
    }
    del environment["RAY_AUTH_TOKEN_PATH"], environment["MLFLOW_TRACKING_URI"]
    return start(folder, environment, "kinds=plain", "toy_sweep")


@pytest.fixture(scope="module")
def killed(two_nodes, server, alone, request):
    """The times, in ms, at which the workers and then the driver were killed, after
    which the sweep was completed.

    Meanwhile the server was away. The second driver has nothing of the disk of the
    first.
    """
    storage = {
        STORAGE: f"s3://{server.bucket.NAME}/checkpoints",
        "INFOSCOPE_CHECKPOINT_SECONDS": "0.2",
    }
    first = start(two_nodes.tree, two_nodes.settings | storage)
    wait_until(lambda: server.bucket.names(".checkpoint"), first, "a checkpoint")
    times = [milliseconds()]
    for process in two_nodes.processes.trials():
        process.kill()
    server.kill()
    peace = start(alone, plain_environment(), options=("--offline", "offline"))
    request.getfixturevalue("stranger")  # whom Ray keeps waiting for half a minute, too
    time.sleep(AWAY_SECONDS)
    server.start()
    wait_until(
        lambda: server.bucket.names("/trace.parquet"), first, "a cell that has ended"
    )
    wait_until(
        lambda: server.bucket.names(".checkpoint"), first, "a checkpoint of another"
    )
    times.append(milliseconds())
    first.kill()
    first.wait()
    psutil.wait_procs(two_nodes.processes.trials(), timeout=60)  # Ray ends them
    shutil.rmtree(two_nodes.tree / "runs")
    for process in (start(two_nodes.tree, two_nodes.settings | storage), peace):
        code, _, errors = finish(process)
        assert code == 0, errors
    return times


@pytest.fixture(scope="module")
def cells(killed, two_nodes):
    return recorded(two_nodes.tree, two_nodes.settings, SWEEP)


def test_each_cell_is_recorded_once_with_the_numbers_of_a_run_in_peace(
    cells, alone, monkeypatch
):
    """Every value and metric of every cell, exactly: only where and when a cell ran
    differs.
    """
    monkeypatch.chdir(alone)
    (sent,) = sync(folder=alone / "offline")
    peace = recorded(alone, {}, SWEEP)
    assert sent.published == 12 == len(peace) == len(cells)
    assert cells.index.is_unique
    assert (cells["status"] == "FINISHED").all()
    columns = []
    for name in peace:
        if name not in ("run_id", "start", "seconds", "tags"):
            columns.append(name)
    measured = []
    for name in columns:
        if pd.api.types.is_float_dtype(peace[name]):
            measured.append(name)
    assert np.isfinite(peace[measured].to_numpy()).any(axis=0).sum() > 20
    compared = []
    for name in columns:
        if "seconds" not in name:
            compared.append(name)
    pd.testing.assert_frame_equal(peace[compared], cells[compared], check_exact=True)


def test_interrupted_cells_went_on_from_the_checkpoint_in_the_bucket(
    cells, killed, server, monkeypatch
):
    """Curves have every step once; some have points from before and after the loss of
    the workers, or of the driver.
    """
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    client = Store.open(SWEEP).client
    went_on = set()
    for run_id in cells["run_id"]:
        points = client.get_metric_history(run_id, "Curves/estimate_bits")
        assert sorted(point.step for point in points) == list(range(10, 501, 10))
        times = [point.timestamp for point in points]
        went_on |= {at for at in killed if min(times) < at < max(times)}
    assert went_on == set(killed)
    assert not server.bucket.names(".checkpoint")


def test_artifacts_and_models_lie_in_the_bucket(cells, server, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    traces = server.bucket.names("/trace.parquet")
    weights = server.bucket.names("/weights.safetensors")
    assert {name.split("/")[-3] for name in traces} >= set(cells["run_id"])
    assert len(weights) >= 6
    run_id = cells["run_id"].iloc[0]
    assert len(table(run_id, "trace")) == 500
    assert load_model(run_id).config["depth"] in (1, 2, 3)


def test_both_nodes_had_work(cells, two_nodes):
    if not two_nodes.apart:
        pytest.skip("nodes look alike")
    assert len({tags["infoscope.host"] for tags in cells["tags"]}) == 2
    assert not cell_folders(two_nodes.tree / "runs" / "cells" / SWEEP)


def test_a_finished_sweep_is_not_run_again(
    cells, two_nodes, server, tmp_path, monkeypatch
):
    """From another folder, as after the loss of the machine it was started on: the
    store knows. No run is open.
    """
    code, _, errors = finish(start(tmp_path, two_nodes.settings))
    assert code == 0
    assert counts(errors) == {"cells": 12}
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    assert not list(Store.open(SWEEP).search("attributes.status = 'RUNNING'"))


def test_a_search_stops_the_worse_and_goes_on_with_more_trials(two_nodes, tmp_path):
    """A third of the space fails. The first ten suggestions of a search are the same in
    every run, and these have some of each outcome, whichever of two workers is the
    faster.
    """
    searches = []
    for trials in (6, 8):
        code, _, errors = finish(
            start(tmp_path, two_nodes.settings, f"trials={trials}", "toy_search")
        )
        assert code == 1 and counts(errors)["cells"] == trials, errors
        searches.append(
            recorded(tmp_path, two_nodes.settings, "toy-search", finished=False)
        )
        assert len(searches[-1]) == trials
    first, second = searches
    assert set(first["outcome"]) == {"stopped", "complete", "failed"}
    assert set(first["profile"]) == {"smoke"}
    assert set(first.loc[first["outcome"] == "failed", "kind"]) == {"broken"}
    stopped = first[first["outcome"] == "stopped"]
    complete = first[first["outcome"] == "complete"]
    assert (stopped["progress/fraction"] < 1).all()
    assert stopped["final_loss"].isna().all()
    # none is stopped when it has everything
    assert (complete["progress/fraction"] == 1).all()
    assert (complete["progress/loss"] == complete["final_loss"] + 1 / 30).all()
    # no checkpoint either
    assert not list((tmp_path / "runs" / "cells" / "toy-search").iterdir())
    # the failed ones are run again
    finished = first.index[first["outcome"] != "failed"]
    assert counts(errors)["already"] == len(finished)
    assert second["run_id"].is_unique
    assert not second[["rate", "width", "kind"]].duplicated().any()
    unchanged = ["run_id", "start", "seconds"]
    assert second.loc[finished, unchanged].equals(first.loc[finished, unchanged])


def test_without_the_token_nobody_gets_in(stranger, two_nodes):
    """One sentence, and no run."""
    code, output, errors = finish(stranger)
    assert code == 2 and not output, errors
    assert (
        f"RAY_ADDRESS={two_nodes.settings['RAY_ADDRESS']} cannot be used" in errors
    ), errors
    assert "Traceback" not in errors
