"""The search of a domain model's settings: its space, and what a trial is judged by."""

import math

import pytest

from infoscope.models.domain import MODELS
from sweeps.partition import _domains
from sweeps.partition.tune_domain import (
    PROFILES,
    RANGES,
    cells,
    check,
    space,
    trial,
    whole,
)
from tests.refusals import refused
from tests.sweeps.keeper import Keeper


def profile(**overrides):
    return PROFILES["smoke"].override(
        {"sample": "300", "steps": "6", "size": "8"} | overrides
    )


@pytest.mark.parametrize("model", MODELS)
def test_the_setting_itself_is_in_the_space_and_nothing_else_changes(model):
    cell, searched, (fixed,) = (
        part(profile(model=model)) for part in (whole, space, cells)
    )
    check(cell)
    values = cell.values()
    fixed_names = set(fixed.values())
    assert fixed_names | set(searched) == set(values)
    assert not fixed_names & set(searched)
    assert fixed.replaced({name: values[name] for name in searched}) == cell
    for name, one in searched.items():
        assert one.low < values[name] < one.high
    plain = _domains.config_of(model, "crmnist", "quick")
    for name in (*RANGES[model], *("l1" for _ in [1] if "l1.z_dy" in RANGES[model])):
        assert _domains.setting_of(model, cell.config, name) == _domains.setting_of(
            model, plain, name
        )


@pytest.mark.parametrize(
    "selection, part",
    [("training-domain-validation", None), ("oracle", "out_of_domain")],
)
def test_a_trial_is_judged_by_its_rule(selection, part):
    cell = whole(profile(selection=selection))
    keeper = Keeper.ran(trial, [cell], "model")
    (final,) = keeper.finals.values()
    judged = [one["criterion"] for one in keeper.decided]
    assert len(judged) == 2
    for value in judged:
        assert math.isfinite(value)
    assert judged[-1] == final["selection_accuracy"]
    if part:
        assert judged[-1] == pytest.approx(final[f"{part}_accuracy/average"])


def test_a_rule_that_judges_nothing_is_refused():
    with refused("selection", "invalid"):
        check(whole(profile(selection="last")))
