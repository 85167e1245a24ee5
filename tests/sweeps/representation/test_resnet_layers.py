"""Networks that are kept to be asked: their cells, and a trial."""

import numpy as np

from infoscope.tracking import Pack
from sweeps.representation.resnet_layers import PROFILES, SWEEP, pools, trial
from sweeps.representation.settings import TRAINED, UNTRAINED
from tests.sweeps.keeper import Keeper


def cells(**overrides):
    return list(SWEEP.plan(PROFILES["smoke"].override(overrides)).values())


def test_every_network_has_one_that_was_not_trained():
    assert [(cell["model"], cell["steps"], cell["seed"]) for cell in cells(seeds="0,1")] == [
        (UNTRAINED, 0, 0), (UNTRAINED, 0, 1), (TRAINED, 4, 0), (TRAINED, 4, 1),
    ]  # fmt: skip
    assert {cell["data"] for cell in cells()} == {"digits"}


def test_a_worker_reads_its_images_once():
    """For the networks of all its cells, and for what is recorded of the data: to read them takes longer than that."""
    given = cells(seeds="0,1")
    assert all(one is other for cell in given for one, other in zip(pools(cell), pools(given[0]), strict=True))


def test_a_trial_keeps_a_network_that_has_learnt_with_unseen_images():
    accuracy = {}
    for cell in cells(steps="120", items="400"):
        keeper = Keeper()
        trial(Pack((cell,)), keeper)
        ((key, final),) = keeper.finals.items()
        accuracy[cell["model"]] = final["accuracy"]
        kept = keeper.arrays_of[*key, "evaluation"]
        assert kept["x"].shape == (400, 1, 16, 16) and kept["x"].dtype == np.uint8
        assert set(kept["target:digit"]) == set(range(10)) and str(kept["name"]).endswith("unseen")
        assert keeper.models == [(1, (2, 10))] and keeper.fractions[-1] == 1.0
    assert accuracy[TRAINED] > accuracy[UNTRAINED] + 0.1  # chance: .1 ± .015
