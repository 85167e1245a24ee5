"""Data sets: a digest of the content alone, recorded at the run once, whatever happens
on the way.
"""

import json

import numpy as np
import pytest
import torch

from infoscope.estimators import make_critic
from infoscope.tracking.datasets import DataSet, inputs
from infoscope.tracking.models import ready_models
from infoscope.tracking.store import Store
from infoscope.tracking.sweep import Profile, Sweep
from tests.refusals import refused
from tests.tracking.cells import computed, example, job

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def digest(content, **settings):
    return DataSet("made up", "here", lambda: content, **settings).entry["digest"]


def test_equal_content_has_one_digest_however_it_is_held():
    whole = digest({"x": X, "y": np.arange(4)})
    assert whole == digest({"y": torch.arange(4), "x": torch.from_numpy(X)})
    assert whole == digest({"x": iter([X[:1], X[1:]]), "y": np.arange(4).astype(">i8")})
    assert whole == digest({"x": np.asfortranarray(X), "y": np.arange(8)[::2] // 2})
    assert digest({"t": ["a", "b"]}) == digest({"t": np.array(["a", "b"], object)})


def test_other_content_has_another_digest():
    values = [X, X.astype(np.float64), X.reshape(2, 6), X + 1, ["ab", "c"], ["a", "bc"]]
    digests = {digest({"x": value}) for value in values}
    digests.add(digest({"z": X}))
    assert len(digests) == len(values) + 1


def test_a_data_set_has_its_size_and_a_distribution_has_none():
    entry = DataSet(
        "made up", "here", lambda: {"x": iter([X, X]), "t": list("abcdefgh")}, "test"
    ).entry
    assert json.loads(entry["profile"]) == {"num_rows": 8, "num_elements": 32}
    assert entry["context"] == "test"
    (text, array) = json.loads(
        json.loads(entry["schema"])["mlflow_tensorspec"]["features"]
    )
    assert array["tensor-spec"] == {"dtype": "float32", "shape": [-1, 3]}
    assert text["name"] == "t"
    law = DataSet(
        "normal", "a law", lambda: {"law": "normal", "bits": (2.0, 4.0)}, endless=True
    ).entry
    assert "without end" in law["profile"]
    assert law["source_type"] == "distribution"


def test_content_without_any_block_is_refused():
    with refused("the content of a data set", "few"):
        digest({"x": iter(())})


def test_anything_but_data_sets_is_refused():
    for entries in (None, 3, [3], [{"name": "a"}], [None]):
        with pytest.raises(ValueError, match="data sets"):
            inputs(entries)


READ = []
PARTS = tuple(
    DataSet(
        "made up",
        "here",
        lambda context=context: READ.append(context) or {"x": X * len(context)},
        context,
    )
    for context in ("training", "test")
)
SWEEP = Sweep("reads", lambda profile: [{"seed": 0}], lambda pack, report: None, {"smoke": Profile()},
              data=lambda cell: PARTS)  # fmt: skip


def test_its_name_is_a_tag_and_planning_does_not_read_it():
    READ.clear()
    (cell,) = SWEEP.plan(SWEEP.profiles["smoke"]).values()
    assert SWEEP.tags_of(cell) == {"infoscope.data": "made up"}
    assert not READ


@pytest.fixture
def store(own_folder):
    return Store.open("reads", create=True)


def test_every_run_of_a_pack_has_it_once_and_a_failed_one_too(store, own_folder):
    def trial(pack, report):
        report.metrics(pack.cells[0], {"level": 1.0})
        raise RuntimeError("too late")

    cells = {"one": {"seed": 0}, "two": {"seed": 1}}
    computed(job(store, own_folder / "cells", trial, data=SWEEP.data), cells)
    recorded = list(store.cells())
    assert len(recorded) == 2
    assert {run.data.tags["infoscope.outcome"] for run in recorded} == {"failed"}
    expected = {
        (PARTS[0].entry["digest"], "training"),
        (PARTS[1].entry["digest"], "test"),
    }
    for run in recorded:
        inputs = run.inputs.dataset_inputs
        assert {(one.dataset.digest, one.tags[0].value) for one in inputs} == expected
        assert len(inputs) == 2


def test_single_figures_of_a_run_are_its_models_on_the_data_of_their_name_else_of_training(
    store, own_folder
):
    def trial(pack, report):
        (cell,) = pack.cells
        report.metrics(cell, {"test/accuracy": 0.5, "diverged": 0.0})
        report.model([cell], "critic", make_critic("inner", 2, 2), example())

    computed(
        job(store, own_folder / "cells", trial, data=SWEEP.data), {"one": {"seed": 0}}
    )
    (run,) = store.cells()
    (model,) = ready_models(run, store.client)
    of = {point.key: point.dataset_digest for point in model.metrics}
    assert of == {
        "test/accuracy": PARTS[1].entry["digest"],
        "diverged": PARTS[0].entry["digest"],
    }
