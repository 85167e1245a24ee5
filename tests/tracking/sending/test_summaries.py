"""The mean of a configuration over its seeds: right, once, written again when its runs change, in nobody's way."""

import math

import numpy as np
import pytest
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from infoscope.tracking import Profile, Sweep, grid, parents, runs
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.record import COMPLETE, STOPPED
from infoscope.tracking.sending.publish import header_tags
from infoscope.tracking.sending.summaries import add_data_sets, summarise
from infoscope.tracking.store.store import OUTCOME, PROFILE, VERSION, Store
from infoscope.tracking.tags import CELLS, PARENT, SUMMARY

SWEEP = Sweep("mean", lambda profile: grid(depth=[1, 2], seed=[0, 1, 2]), print, {"smoke": Profile()},
              best=("error", "min"))  # fmt: skip


@pytest.fixture
def store(own_folder):
    return Store.open("mean", create=True)


def cell(store, depth, seed, metrics, outcome=COMPLETE, version="1"):
    told = {"depth": depth, "seed": seed}
    about = {PROFILE: "smoke", VERSION: version, PARENT: f"invocation {seed}"}
    tags = header_tags(f"{depth}-{seed}-{version}", told, about) | {OUTCOME: outcome}
    run_id = store.client.create_run(store.experiment_id, tags=tags).info.run_id
    for name, value in metrics.items():
        store.client.log_metric(run_id, name, value)
    store.client.log_param(run_id, "seed", seed)
    store.client.set_terminated(run_id, "FINISHED")
    return run_id


def summaries(store):
    return list(store.search(f"tags.`{SUMMARY}` != ''"))


def test_mean_standard_error_and_links_and_only_once(store):
    ids = [
        cell(store, 1, seed, {"error": seed, "error_error": 9.0, "nan": math.nan if seed else 1.0}) for seed in range(3)
    ]
    cell(store, 1, 3, {"error": 99.0}, outcome=STOPPED)
    cell(store, 1, 4, {"error": 99.0}, version="0")
    cell(store, 2, 0, {"error": 5.0})
    assert summarise(store, SWEEP, store.cells()) == 1
    (summary,) = summaries(store)
    held = summary.data.metrics
    assert not any("error_error" in name for name in held)
    assert (held["mean/error"], held["runs"], summary.info.status) == (1.0, 3.0, "FINISHED")
    assert held["standard_error/error"] == pytest.approx(1 / math.sqrt(3)) and math.isnan(held["mean/nan"])
    assert summary.data.params == {"depth": "1"} and "of 3" in summary.info.run_name
    assert summary.data.tags[PARENT] == "invocation 2"  # under which it is listed
    note = summary.data.tags[MLFLOW_RUN_NOTE]
    assert all(f"runs/{run_id}" in note for run_id in ids) and "| error | 1 | 0.5774 | 3 |" in note
    assert summarise(store, SWEEP, store.cells()) == 0 and len(summaries(store)) == 1

    cell(store, 1, 5, {"error": 5.0, "nan": 1.0})
    assert summarise(store, SWEEP, store.cells()) == 1
    (again,) = summaries(store)
    assert again.info.run_id == summary.info.run_id and again.data.metrics["mean/error"] == 2.0


def test_an_invocation_names_the_data_of_its_cells_each_once(store):
    """One that names some already, and one of whose cells nothing is known, stay as they are."""
    ours, other, empty = (store.client.create_run(store.experiment_id, tags={CELLS: "2"}).info.run_id for _ in range(3))
    first, second = (
        DataSet(name, "made up", lambda n=n: {"x": np.arange(n)}).input for n, name in enumerate(("one", "two"))
    )
    store.client.log_inputs(other, datasets=[second])
    for seed, parent in enumerate((ours, ours, other)):
        run_id = cell(store, 1, seed, {"error": 1.0})
        store.client.set_tag(run_id, PARENT, parent)
        store.client.log_inputs(run_id, datasets=[first] if seed else [first, second])
    for _ in range(2):
        add_data_sets(store, list(store.cells()))
    named = [[one.dataset.name for one in store.run(run_id).inputs.dataset_inputs] for run_id in (ours, other, empty)]
    assert [sorted(names) for names in named] == [["one", "two"], ["two"], []]


def test_it_is_no_cell_and_no_invocation(store):
    for seed in range(2):
        cell(store, 1, seed, {"error": seed})
    before = runs("mean", "smoke")
    summarise(store, SWEEP, store.cells())
    assert runs("mean", "smoke").equals(before) and parents("mean") == [] and len(list(store.cells())) == 2
