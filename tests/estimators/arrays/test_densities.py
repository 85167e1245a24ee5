"""Density networks: which variable is predicted, mixed variables, and densities that integrate to one."""

import numpy as np
import pandas as pd
import pytest
import torch

from infoscope.estimators.arrays import as_pairs, estimate
from infoscope.estimators.arrays.densities import DifferenceOfEntropies, JointEntropies, Mixtures
from infoscope.estimators.arrays.fitting import Chain, Schedule
from tests.estimators.samples import draws, normal_information, normal_pairs
from tests.refusals import refused

SMALL = {"width": 24, "folds": 2, "schedule": Schedule(learning_rate=5e-3, epochs=25, patience=4)}


def test_club_is_above_the_information_and_states_what_it_bounds():
    found = estimate(*normal_pairs(1200, 0.6), "club", **SMALL)
    assert found == pytest.approx(0.6**2 / (1 - 0.6**2), abs=0.12)  # its value for the true q, not the truth
    assert found > normal_information(0.6) + 0.1 and "q(y|x)" in found.notes[0]


def test_three_columns_on_each_side():
    found = estimate(*normal_pairs(1200, 0.6, 3), "doe", **SMALL)
    assert found == pytest.approx(normal_information(0.6, 3), abs=0.15)


def test_of_categories_njee_and_the_difference_of_entropies_are_one():
    g = draws()
    label = g.integers(0, 2, 400)
    pairs = as_pairs(6.0 * label + g.normal(size=400), np.array(["no", "yes"])[label])
    values = [method(**SMALL).estimate(pairs, draws()) for method in (DifferenceOfEntropies, JointEntropies)]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_mixed_sides_are_a_chain_of_category_and_number():
    g = draws(1)
    label = g.integers(0, 2, 1200)
    x = np.where(label == 1, 8.0, 0.0) + g.normal(size=1200)
    number = 0.6 * (x - 8 * label) + 0.8 * g.normal(size=1200)
    variable = pd.DataFrame({"label": np.array(["a", "b"])[label], "value": number})
    truth = np.log(2) + normal_information(0.6)
    assert estimate(x, variable, "doe", **SMALL) == pytest.approx(truth, abs=0.12)


def test_the_side_that_is_predicted_is_labels_then_that_of_fewer_columns():
    g = draws(2)
    wide, narrow, label = g.normal(size=(50, 4)), g.normal(size=(50, 1)), np.array(["a", "b"])[g.integers(0, 2, 50)]
    for x, y, variable in (
        (wide, narrow, "y"),
        (narrow, wide, "x"),
        (label, narrow, "x"),
        (wide, wide + g.normal(size=(50, 4)), "y"),
    ):
        assert estimate(x, y, "doe", folds=2, schedule=Schedule(epochs=1)).settings == f"q of {variable}, 2 folds"


def test_no_row_is_compared_with_its_own_group():
    x, y = normal_pairs(120, 0.9)
    groups = np.repeat(np.arange(6), 20)
    found = estimate(x, y, "club", groups, **SMALL)
    assert np.isfinite(found.local).all() and found.units == 6
    with refused("groups", "few"):
        estimate(x, y, "club", groups, **{**SMALL, "folds": 6})


def test_repeated_numbers_have_no_entropy_for_ba():
    x, y = normal_pairs(200, 0.6)
    with refused("method", "invalid"):
        estimate(x, np.where(y > 0, y, 0.0), "ba", **SMALL)


def test_outputs_of_a_column_see_the_columns_before_it_alone():
    generator = torch.Generator().manual_seed(0)
    chain = Chain(4, 2, 16, generator)
    chain.past.data += 0.3
    seen = torch.autograd.functional.jacobian(lambda y: chain(y[None])[0], torch.randn(4, generator=generator))
    depends = (seen != 0).any(1)
    assert not depends.triu().any() and depends.tril(-1).sum() == 6
    given, y, context = chain.given(3, generator), torch.randn(5, 4), torch.ones(5, 3)
    torch.testing.assert_close(given(y, context), chain(y))


def test_densities_integrate_to_one():
    density = Mixtures(0, 2, 3, 8, torch.Generator().manual_seed(1))
    axis = torch.linspace(-12, 12, 401)
    grid = torch.cartesian_prod(axis, axis)
    with torch.no_grad():
        total = density(torch.empty(len(grid), 0), grid, None).exp().sum() * (axis[1] - axis[0]) ** 2
    assert float(total) == pytest.approx(1.0, abs=2e-3)
