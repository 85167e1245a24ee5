"""The search over weights and learning rates: what is fixed, what is searched, and how
a trial is judged.
"""

import math

import pytest
from pytest import approx

from sweeps.disentanglement.tune_vae import (
    EVALUATIONS,
    PROFILES,
    cells,
    check,
    space,
    trial,
)
from tests.refusals import refused
from tests.sweeps.keeper import Keeper


def suggested(**overrides):
    profile = PROFILES["smoke"].override(overrides)
    (fixed,) = cells(profile)
    searched = space(profile)
    assert not set(searched) & set(fixed.values())
    middle = {
        name: (distribution.low * distribution.high) ** 0.5
        for name, distribution in searched.items()
    }
    return fixed.replaced(middle)


def test_the_space_is_around_the_setting():
    searched = space(PROFILES["paper"].override({"data": "sprites-grid"}))
    # of a published 6
    assert (searched["weight"].low, searched["weight"].high) == approx((0.6, 24))
    assert searched["learning_rate"].low == approx(1e-4)
    assert searched["learning_rate"].high == approx(3e-3)
    assert set(
        space(PROFILES["smoke"].override({"model": "ae", "criterion": "elbo"}))
    ) == {"learning_rate"}


@pytest.mark.usefixtures("without_predictors")
@pytest.mark.parametrize("criterion", ["unibound", "elbo"])
def test_a_trial_is_judged_at_every_tenth_and_measured_at_its_end(criterion):
    cell = suggested(criterion=criterion)
    check(cell)
    keeper = Keeper.ran(trial, [cell])
    judged = [decision["criterion"] for decision in keeper.decided]
    assert len(judged) == EVALUATIONS
    assert all(map(math.isfinite, judged))
    assert keeper.fractions[-1] == 1
    final = keeper.finals[()]
    assert final["diverged"] == 0
    assert {"unibound", "mig", "unibound_error"} <= set(final)
    assert len(keeper.models) == 1
    if criterion == "elbo":
        assert judged[-1] == approx(-final["train/reconstruction"] - final["train/kl"])


def test_a_trial_that_diverges_is_no_number():
    cell = suggested(criterion="elbo").replaced({"learning_rate": 1e20})
    keeper = Keeper.ran(trial, [cell])
    assert math.isnan(keeper.decided[-1]["criterion"])
    assert keeper.finals[()]["diverged"] == 1


@pytest.mark.parametrize(
    "overrides, argument, code",
    [
        ({"model": "ae"}, "model", "invalid"),
        ({"judging_draws": "9"}, "judging_draws", "range"),
    ],
)
def test_an_unusable_search_space_is_refused(overrides, argument, code):
    with refused(argument, code):
        check(suggested(**overrides))
