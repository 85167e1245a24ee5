"""A promoted model: its card, its alias, loaded by it; and one search over all sweeps."""

import numpy as np
import pytest
import torch

from infoscope.estimators import make_critic
from infoscope.tracking import load_model
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.promote import promote
from infoscope.tracking.store import Store
from infoscope.tracking.weights import write_model
from tests.tracking.cells import begun, closed, example


@pytest.fixture
def logged(own_folder, monkeypatch):
    """(run id, weights) of a critic that a cell of the sweep demo has logged."""
    monkeypatch.setenv("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    store = Store.open("demo", create=True)
    record = begun(own_folder, "cell", {"bits": 2}, **{"infoscope.code": "abc"})
    record.append(
        {"datasets": [DataSet("made up", "here", lambda: {"x": np.arange(3)}).entry]}
    )
    record.metrics(
        {"estimate_bits": 1.5, "estimate_bits_error": 0.25, "loss": 0.125}, 0
    )
    critic = make_critic(
        "joint", 3, 2, depth=1, width=4, generator=torch.Generator().manual_seed(0)
    )
    write_model(critic, example(3, 2), record.model("critic"))
    record.append({"model": "critic", "owner": "cell"})
    return closed(record, store), critic.state_dict()


def test_a_promoted_model_is_loaded_by_its_alias_and_has_a_card(logged, command):
    run_id, weights = logged
    code, output, errors = command("promote", run_id, "--alias", "champion")
    assert (code, output.strip()) == (0, "models:/demo-critic@champion"), errors
    for address in (output.strip(), "demo-critic@champion"):
        loaded = load_model(address).state_dict()
        for name, values in weights.items():
            assert torch.equal(loaded[name], values)
    client = Store.open("demo").client
    version = client.get_model_version_by_alias("demo-critic", "champion")
    card = version.description
    for word in (
        "JointCritic",
        "made up (training)",
        "no pickle",
        "bits=2",
        f"runs/{run_id}",
    ):
        assert word in card
    assert "| estimate\\_bits | 1.5 | 1.01 to 1.99 |" in card
    assert "| loss | 0.125 |  |" in card
    assert promote(run_id, "challenger") == "models:/demo-critic@challenger"
    (same,) = client.search_model_versions("name = 'demo-critic'")
    assert same.version == version.version  # another alias of the same


def test_a_model_that_cannot_be_promoted_is_refused(logged, rejected):
    run_id, _ = logged
    for words, part in (
        ((run_id, "--alias", "a b"), "'a b'"),
        ((run_id, "--alias", "a", "--model", "vae"), "name of one: critic"),
        ((run_id, "--alias", "a", "--name", "a/b"), "'a/b'"),
        (("nonsense", "--alias", "a"), "not found"),
    ):
        assert part in rejected("promote", *words)
    assert not Store.open("demo").client.search_registered_models()
