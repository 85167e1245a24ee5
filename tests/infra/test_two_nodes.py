"""Sweeps on a Ray cluster of two nodes with an MLflow server: the numbers of one machine, and a search."""

import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from infoscope.tracking import runs
from infoscope.tracking.cell_folder import cell_folders
from tests.infra.conftest import plain_environment
from tests.infra.documents import REPOSITORY
from tests.tracking.processes import counts

pytestmark = pytest.mark.system

SWEEP = "sweeps.mi_benchmark.estimator_choice"
# longer than a second worker takes to load
CELLS = "domains=gaussian,images images=digits bounds=infonce,smile-5 seeds=0,1 schedule_bits=2 steps=400"
TOYS = REPOSITORY / "tests" / "tracking"


def start(folder, environment, words=CELLS, program="infoscope sweep estimator-choice"):
    """A sweep in a folder that has nothing but what is sent to the nodes."""
    for name in ("packages", "sweeps"):
        if not (folder / name).exists():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(REPOSITORY / name, folder / name, ignore=ignored)
    for name in ("toy_search.py", "toy_sweep.py", "inline_sweep.py"):
        shutil.copy(TOYS / name, folder)
    command = [sys.executable, "-m", *program.split(), "--profile", "smoke", "--set", words]
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)


def finish(process):
    """(exit status, standard output, standard error)"""
    output, errors = process.communicate(timeout=900)
    return process.returncode, output, errors


def recorded(place, environment, experiment, **which):
    """The cells of an experiment by key, as they are seen from a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        if "MLFLOW_TRACKING_URI" in environment:
            patch.setenv("MLFLOW_TRACKING_URI", environment["MLFLOW_TRACKING_URI"])
        return runs(experiment, **which).set_index("key").sort_index()


@pytest.fixture(scope="module")
def both(two_nodes, tmp_path_factory):
    """The cells of the sweep by key, from one machine without Ray and from the cluster, which run it at once."""
    alone = tmp_path_factory.mktemp("alone")
    on_cluster = start(two_nodes.tree, two_nodes.settings)
    here = start(alone, plain_environment(INLINE=SWEEP), program="inline_sweep")
    for process in (here, on_cluster):
        code, _, errors = finish(process)
        assert code == 0, errors
    places = {"machine": (alone, {}), "cluster": (two_nodes.tree, two_nodes.settings)}
    return {name: recorded(*place, "estimator-choice") for name, place in places.items()}


def test_the_numbers_are_the_same(both):
    """Every value and metric of every cell, exactly: only where and when a cell ran differs. Eight trained critics, and
    a classifier that decodes the images.
    """
    machine, cluster = both["machine"], both["cluster"]
    assert len(machine) == 9 and (machine["status"] == "FINISHED").all() and (cluster["status"] == "FINISHED").all()
    columns = [name for name in machine if name not in ("run_id", "start", "seconds", "tags")]
    measured = [name for name in columns if pd.api.types.is_float_dtype(machine[name])]
    assert np.isfinite(machine[measured].to_numpy()).any(axis=0).sum() > 20
    kept = [name for name in columns if "seconds" not in name]
    pd.testing.assert_frame_equal(machine[kept], cluster[kept], check_exact=True)


def test_both_nodes_had_work(both, two_nodes):
    if not two_nodes.apart:
        pytest.skip("nodes look alike")
    assert len({tags["infoscope.host"] for tags in both["cluster"]["tags"]}) == 2
    assert not cell_folders(two_nodes.tree / "runs" / "cells" / "estimator-choice")


def test_a_finished_sweep_is_not_run_again(both, two_nodes, tmp_path):
    """From another folder, as after the loss of the machine it was started on: the store knows."""
    code, _, errors = finish(start(tmp_path, two_nodes.settings))
    assert code == 0 and counts(errors) == {"cells": 9}


def test_a_search_stops_the_worse_and_goes_on_with_more_trials(two_nodes, tmp_path):
    """A third of the space fails. The first ten suggestions of a search are the same in every run, and these have some
    of each outcome, whichever of two workers is the faster.
    """
    found = []
    for trials in (6, 8):
        code, _, errors = finish(start(tmp_path, two_nodes.settings, f"trials={trials}", "toy_search"))
        assert code == 1 and counts(errors)["cells"] == trials, errors
        found.append(recorded(tmp_path, two_nodes.settings, "toy-search", finished=False))
        assert len(found[-1]) == trials
    first, second = found
    assert set(first["outcome"]) == {"stopped", "complete", "failed"} and set(first["profile"]) == {"smoke"}
    assert set(first.loc[first["outcome"] == "failed", "kind"]) == {"broken"}
    stopped, complete = (first[first["outcome"] == outcome] for outcome in ("stopped", "complete"))
    assert (stopped["progress/fraction"] < 1).all() and stopped["final_loss"].isna().all()
    assert (complete["progress/fraction"] == 1).all()  # none is stopped when it has everything
    assert (complete["progress/loss"] == complete["final_loss"] + 1 / 30).all()
    assert not list((tmp_path / "runs" / "cells" / "toy-search").iterdir())  # no checkpoint either
    finished = first.index[first["outcome"] != "failed"]  # the failed ones are run again
    assert counts(errors)["already"] == len(finished)
    assert second["run_id"].is_unique and not second[["rate", "width", "kind"]].duplicated().any()
    unchanged = ["run_id", "start", "seconds"]
    assert second.loc[finished, unchanged].equals(first.loc[finished, unchanged])


def test_without_the_token_nobody_gets_in(two_nodes, tmp_path):
    """One sentence, and no run. The stranger has another home folder, where Ray would look for a token. Ray itself
    takes half a minute to give up.
    """
    stranger = two_nodes.settings | {"HOME": str(tmp_path), "RAY_AUTH_MODE": "disabled"}
    del stranger["RAY_AUTH_TOKEN_PATH"]
    code, output, errors = finish(start(tmp_path, stranger, "kinds=plain", "toy_sweep"))
    assert code == 2 and not output, errors
    assert f"RAY_ADDRESS={stranger['RAY_ADDRESS']} cannot be used" in errors, errors
    assert "Traceback" not in errors
