"""The same sweep on a cluster of two nodes and on one machine: the same numbers."""

import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import psutil
import pytest

from infoscope.tracking import runs
from infoscope.tracking.record import records
from tests.infra.conftest import plain_environment
from tests.infra.documents import REPOSITORY

SETTINGS = "domains=gaussian,images images=digits bounds=infonce,smile-5 seeds=0,1 schedule_bits=2 steps=40"


def working_tree(folder):
    for name in ("packages", "sweeps"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(REPOSITORY / name, folder / name, ignore=ignored)


def start(folder, environment, settings=SETTINGS):
    command = [sys.executable, "-m", "sweeps.mi_benchmark.estimator_choice", "--profile", "smoke", "--set", settings]
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)


def finish(process):
    """(exit status, standard output, standard error)"""
    output, errors = process.communicate(timeout=1800)
    return process.returncode, output, errors


@pytest.fixture(scope="module")
def both(two_nodes, tmp_path_factory):
    """The cells of the sweep by key, from one machine and from the cluster, which run it at the same time."""
    alone, uri = tmp_path_factory.mktemp("alone"), "MLFLOW_TRACKING_URI"
    places = {"machine": (alone, plain_environment()), "cluster": (two_nodes.tree, two_nodes.settings)}
    for folder, _ in places.values():
        working_tree(folder)
    running = {where: start(*place) for where, place in places.items()}
    found = {}
    for where, (folder, environment) in places.items():
        code, _, errors = finish(running[where])
        assert code == 0, errors
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.delenv(uri, raising=False)
            if uri in environment:
                patch.setenv(uri, environment[uri])
            found[where] = runs("estimator-choice").set_index("key").sort_index()
    return found


def test_the_numbers_are_the_same(both):
    """Every value and metric of every cell, exactly: only where and when a cell ran differs. Eight trained critics, and
    a classifier that decodes the images.
    """
    machine, cluster = both["machine"], both["cluster"]
    assert len(machine) == 9 and (machine["status"] == "FINISHED").all() and (cluster["status"] == "FINISHED").all()
    columns = [name for name in machine if name not in ("run_id", "start", "seconds", "tags")]
    measured = [name for name in columns if pd.api.types.is_float_dtype(machine[name])]
    assert np.isfinite(machine[measured].to_numpy()).any(axis=0).sum() > 20
    timed = [name for name in measured if "seconds" in name]
    pd.testing.assert_frame_equal(
        machine[columns].drop(columns=timed), cluster[columns].drop(columns=timed), check_exact=True
    )


def test_both_nodes_had_work(both, two_nodes):
    hosts = {tags["infoscope.host"] for tags in both["cluster"]["tags"]}
    if not two_nodes.apart:
        pytest.skip("the second node cannot be given a host name of its own here: nothing tells them apart")
    assert len(hosts) == 2
    assert records(two_nodes.tree / "runs" / "records" / "estimator-choice") == []


def test_a_finished_sweep_is_not_run_again(both, two_nodes):
    """From another folder, as after the loss of the machine it was started on: the store knows."""
    elsewhere = two_nodes.tree.parent / "elsewhere"
    working_tree(elsewhere)
    code, _, errors = finish(start(elsewhere, two_nodes.settings))
    assert code == 0 and "all 9 cells are already recorded" in errors


@pytest.mark.slow  # Ray takes half a minute to give up
def test_without_the_token_nobody_gets_in(two_nodes, tmp_path):
    """One sentence, and no run. The stranger has another home folder, where Ray would look for a token."""
    working_tree(tmp_path)
    stranger = two_nodes.settings | {"HOME": str(tmp_path), "RAY_AUTH_MODE": "disabled"}
    del stranger["RAY_AUTH_TOKEN_PATH"]
    code, output, errors = finish(start(tmp_path, stranger, "domains=gaussian bounds=infonce seeds=9"))
    assert code == 2 and not output, errors
    assert f"the Ray cluster of RAY_ADDRESS={stranger['RAY_ADDRESS']} cannot be used" in errors, errors
    assert "Traceback" not in errors


def listening(process):
    """The addresses at which a process and its children wait for connections."""
    everyone = [process, *process.children(recursive=True)]
    found = [connection for one in everyone for connection in one.net_connections(kind="inet")]
    return {(connection.laddr.ip, connection.laddr.port) for connection in found if connection.status == "LISTEN"}


def test_the_ui_listens_on_this_machine_only(two_nodes):
    addresses = listening(psutil.Process(two_nodes.server))
    assert {ip for ip, _ in addresses} == {"127.0.0.1"} and two_nodes.port in {port for _, port in addresses}
