"""A promoted model: its card, its alias, loaded by it; and one search over all sweeps."""

import numpy as np
import pandas as pd
import pytest
import torch

from infoscope.estimators import make_critic
from infoscope.tracking import load_model
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.find import fields_in, find, unit
from infoscope.tracking.promote import promote
from infoscope.tracking.publishing import publish
from infoscope.tracking.store import Store
from infoscope.tracking.weights import write_model
from tests.tracking.cells import begun


@pytest.fixture
def logged(own_folder, monkeypatch):
    """(run id, weights) of a critic that a cell of the sweep demo has logged."""
    monkeypatch.setenv("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    store = Store.open("demo", create=True)
    record = begun(own_folder, "cell", {"bits": 2}, **{"infoscope.code": "abc"})
    record.append({"datasets": [DataSet("made up", "here", lambda: {"x": np.arange(3)}).entry]})
    record.metrics({"estimate_bits": 1.5, "estimate_bits_error": 0.25, "loss": 0.125}, 0)
    critic = make_critic("joint", 3, 2, depth=1, width=4, generator=torch.Generator().manual_seed(0))
    write_model(critic, {"x": np.ones((1, 3), np.float32), "y": np.ones((1, 2), np.float32)},
                record.model("critic"))  # fmt: skip
    record.append({"model": "critic", "owner": "cell"})
    record.end("complete")
    return publish(record, store), critic.state_dict()


def test_a_promoted_model_is_loaded_by_its_alias_and_has_a_card(logged, command):
    run_id, weights = logged
    code, output, errors = command("promote", run_id, "--alias", "champion")
    assert (code, output.strip()) == (0, "models:/demo-critic@champion"), errors
    for address in (output.strip(), "demo-critic@champion"):
        loaded = load_model(address).state_dict()
        assert all(torch.equal(loaded[name], values) for name, values in weights.items())
    client = Store.open("demo").client
    version = client.get_model_version_by_alias("demo-critic", "champion")
    told = version.description
    for word in ("JointCritic", "made up (training)", "no pickle", "bits=2", f"runs/{run_id}"):
        assert word in told
    assert "| estimate\\_bits | 1.5 | 1.01 to 1.99 |" in told and "| loss | 0.125 |  |" in told
    assert promote(run_id, "challenger") == "models:/demo-critic@challenger"
    (same,) = client.search_model_versions("name = 'demo-critic'")
    assert same.version == version.version  # another alias of the same


def test_a_model_that_cannot_be_promoted_is_refused(logged, command):
    run_id, _ = logged
    for words, told in (
        ((run_id, "--alias", "a b"), "'a b'"),
        ((run_id, "--alias", "a", "--model", "vae"), "name of one: critic"),
        ((run_id, "--alias", "a", "--name", "a/b"), "'a/b'"),
        (("nonsense", "--alias", "a"), "not found"),
    ):
        code, _, errors = command("promote", *words)
        assert code == 2 and told in errors and len(errors.splitlines()) == 1
    assert not Store.open("demo").client.search_registered_models()


def test_one_search_over_all_sweeps_with_units(logged, command, tmp_path):
    run_id, _ = logged
    code, output, errors = command("runs", "--where", "metrics.`estimate_bits`>1", "--csv", tmp_path / "runs.csv")
    assert code == 0 and "estimate_bits [bits]" in output and run_id in output and "1 runs" in errors
    assert pd.read_csv(tmp_path / "runs.csv")["estimate_bits_error [bits]"].tolist() == [0.25]
    assert command("runs", "--where", "metrics.estimate_bits>2")[0] == 1
    for words in (("--where", "nonsense"), ("--show", "absent")):
        code, _, errors = command("runs", *words)
        assert code == 2 and len(errors.splitlines()) == 1
    assert find().loc[0, "sweep"] == "demo" and find("params.bits = '3'").empty


def test_a_search_passes_over_a_run_that_is_superseded(own_folder):
    """One that matches, where the cell's own run does not: as two drivers on two machines leave them."""
    store, cell = Store.open("demo", create=True), {"seed": 0}
    for level in (5.0, 1.0):
        record = begun(own_folder / "records", "one", cell)
        record.metrics({"level": level}, 0)
        record.end("complete", at=record.header()["began"] + int(10 / level))
        publish(record, store)
    assert find()["level"].tolist() == [5.0] and find("metrics.level > 2")["level"].tolist() == [5.0]
    assert find("metrics.level < 2").empty


FILTER = "metrics.`in_domain/average` >= 0.9 and params.model = 'a' and tags.x = 'y'"


def test_units_come_from_names():
    named = ("a_bits", "a_bits_error", "mse_bits2", "estimate_seconds", "accuracy")
    assert [unit(name) for name in named] == ["bits", "bits", "bits²", "s", ""]
    assert fields_in(FILTER) == ["in_domain/average", "model"]
