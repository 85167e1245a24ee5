"""Stores with made-up finished runs, and a step from one store to the next."""

import json
import math

import numpy as np
import pytest
from mlflow.entities import Metric, Param, RunTag
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE, MLFLOW_USER

from infoscope.tracking.cell_folder import COMPLETE
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.driver import own_tag
from infoscope.tracking.store import Store
from infoscope.tracking.sweep import Sweep, grid
from infoscope.tracking.tags import CONSTANTS, CURVES, OUTCOME, PARENT, PROFILE
from tests.tracking.cells import Seeds, tags_of

HOST = "lab-node-17"
USER = "mary.shelley"
FOLDER = "/home/mary.shelley/secret-project"


SWEEP = Sweep("made", lambda profile: grid(depth=[1, 2], seed=list(profile.seeds)), print,
              {"smoke": Seeds(), "laptop": Seeds((0, 1, 2))})  # fmt: skip
DATA = DataSet("digits", f"{FOLDER}/my digits.npz", lambda: {"x": np.arange(6.0)})


def make(store, depth, seed, profile="laptop", outcome=COMPLETE, status="FINISHED"):
    """A run as a sweep leaves it, on a machine and in a folder that are told in many
    places.
    """
    cell = {"depth": depth, "seed": seed}
    start = 1_700_000_000_000 + 1000 * seed
    client = store.client
    parent = "0" * 32
    machine = {"infoscope.host": HOST, MLFLOW_USER: USER, "mlflow.source.name": f"{FOLDER}/sweep.py --profile laptop",
               "mlflow.source.git.repoURL": f"https://{USER}:word@git.lab/x"}  # fmt: skip
    further = {
        "version.torch": "2.9",
        "note": f"see {FOLDER}/notes.txt",
        CONSTANTS: json.dumps({"truth": 1.5}),
    }
    about = {
        PROFILE: profile,
        PARENT: parent,
        MLFLOW_RUN_NAME: f"depth={depth} seed={seed}",
    }
    tags = tags_of(
        SWEEP.key(cell), cell, **{**own_tag(), **machine, **further, **about}
    )
    run_id = client.create_run(
        store.experiment_id, start_time=start, tags=tags
    ).info.run_id
    points = [Metric("error", 0.1 * seed, start, 0), Metric("none", math.nan, start + 7, 7),
              Metric("system/cpu_utilization_percentage", 3.0, start, 0)]  # fmt: skip
    points += [
        Metric(f"{CURVES}loss", 1 / (step + 1), start + step, step) for step in range(5)
    ]
    note = f"[page](http://tracker.example/{HOST})"
    client.log_batch(run_id, points, [Param(name, str(value)) for name, value in cell.items()],
                     [RunTag(OUTCOME, outcome), RunTag(MLFLOW_RUN_NOTE, note)])  # fmt: skip
    client.log_inputs(run_id, datasets=[DATA.input])
    client.set_terminated(run_id, status, start + 5000)
    return run_id


@pytest.fixture
def enter(tmp_path, monkeypatch, empty_store):
    """(name) -> goes to a folder of this name, with an empty store of its own the first
    time.
    """

    def go(name):
        folder = tmp_path / name
        if not folder.exists():
            folder.mkdir()
            empty_store(folder)
        monkeypatch.chdir(folder)
        return folder

    return go


@pytest.fixture
def made(enter, tmp_path):
    """(folder) -> the store there with the experiment "made"; it is where the test
    works from now on.
    """

    def go(name="first"):
        enter(name)
        return Store.open("made", create=True)

    return go
