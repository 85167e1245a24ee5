"""Density networks: closed forms, sides of every type, and nothing learnt from rows that are held out."""

import numpy as np
import pandas as pd
import pytest
import torch

from infoscope.estimators.arrays import as_pairs, estimate
from infoscope.estimators.arrays.chains import Chain
from infoscope.estimators.arrays.densities import METHODS, DifferenceOfEntropies, JointEntropies, Mixtures, predicted
from infoscope.estimators.arrays.fitting import Schedule
from tests.refusals import refused

NAMES = [method.name for method in METHODS]
QUICK = Schedule(learning_rate=5e-3, epochs=25, patience=4)
SMALL = {"width": 24, "folds": 2, "schedule": QUICK}


def normal(rho, n, columns=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=(n, columns)), -0.5 * columns * np.log(1 - rho**2)


def labelled(n, seed=0):
    """A label through a channel that errs in a fifth of the rows, seen as a number without overlap: I is exact."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    seen = np.where(rng.random(n) < 0.2, 1 - label, label)
    truth = np.log(2) + 0.2 * np.log(0.2) + 0.8 * np.log(0.8)
    return 6.0 * seen + rng.normal(size=n), np.array(["no", "yes"])[label], truth


@pytest.mark.parametrize("name", ["ba", "doe", "l1out", "njee"])
@pytest.mark.parametrize("rho", [0.6, 0.9])
def test_two_normal_columns(name, rho):
    x, y, truth = normal(rho, 1200)
    found = estimate(x, y, name, **SMALL)
    assert found == pytest.approx(truth, abs=0.09 if rho < 0.8 else 0.16)
    assert 0.005 < found.standard_error < 0.06
    assert found.local.shape == (1200,)


def test_club_is_above_and_says_of_what_it_bounds():
    x, y, truth = normal(0.6, 1200)
    found = estimate(x, y, "club", **SMALL)
    assert found == pytest.approx(0.6**2 / (1 - 0.6**2), abs=0.12)  # its value for the true q, not the truth
    assert found > truth + 0.1
    assert "only if the fitted q(y|x) is right" in found.notes[0]


@pytest.mark.parametrize("covariance", ["chain", "diagonal"])
def test_three_columns_on_each_side(covariance):
    x, y, truth = normal(0.6, 1500, 3)
    assert estimate(x, y, "doe", covariance=covariance, **SMALL) == pytest.approx(truth, abs=0.15)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_shared_is_about_nothing(name):
    rng = np.random.default_rng(5)
    found = estimate(rng.normal(size=(600, 2)), rng.normal(size=(600, 2)), name, **SMALL)
    assert abs(found) < (0.12 if name == "ba" else 0.06)  # ba's entropy has an error of its own


@pytest.mark.parametrize("name", ["ba", "doe", "l1out", "njee"])
def test_labels_on_either_side(name):
    x, y, truth = labelled(1000)
    for left, right in ((x, y), (y, x)):
        assert estimate(left, right, name, **SMALL) == pytest.approx(truth, abs=0.08)


def test_of_categories_njee_and_the_difference_of_entropies_are_one():
    x, y, _ = labelled(400)
    pairs = as_pairs(x, y)
    values = [
        method(**SMALL).estimate(pairs, np.random.default_rng(0)) for method in (DifferenceOfEntropies, JointEntropies)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_mixed_sides_are_a_chain_of_category_and_number():
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 1500)
    x = np.where(label == 1, 8.0, 0.0) + rng.normal(size=1500)
    side = pd.DataFrame(
        {"label": np.array(["a", "b"])[label], "value": 0.6 * (x - 8 * label) + 0.8 * rng.normal(size=1500)}
    )
    truth = np.log(2) - 0.5 * np.log(1 - 0.36)
    assert estimate(x, side, "doe", predict="y", **SMALL) == pytest.approx(truth, abs=0.12)


def test_the_side_that_is_predicted_is_labels_then_that_of_fewer_columns():
    rng = np.random.default_rng(2)
    wide, narrow, label = (
        rng.normal(size=(50, 4)),
        rng.normal(size=(50, 1)),
        np.array(["a", "b"])[rng.integers(0, 2, 50)],
    )
    assert predicted(as_pairs(wide, narrow), "auto") == "y"
    assert predicted(as_pairs(narrow, wide), "auto") == "x"
    assert predicted(as_pairs(label, narrow), "auto") == "x"
    assert predicted(as_pairs(wide, wide + rng.normal(size=(50, 4))), "auto") == "y"
    assert predicted(as_pairs(narrow, wide), "y") == "y"


@pytest.mark.parametrize("name", ["doe", "njee"])
def test_held_out_rows_change_neither_fit_nor_preparation(name):
    x, y, _ = normal(0.6, 300)
    before = estimate(x, y, name, **SMALL)
    fold = as_pairs(x, y).folds(2, np.random.default_rng(0))
    changed = np.flatnonzero(fold == 0)[0]
    y[changed] = 40.0
    after = estimate(x, y, name, **SMALL)
    same = (fold == 0) & (np.arange(300) != changed)
    assert (before.local[same] == after.local[same]).all()
    assert (before.local[fold == 1] != after.local[fold == 1]).any()


def test_a_generator_repeats_everything_and_another_does_not():
    x, y, _ = normal(0.6, 200)
    values = [estimate(x, y, "club", generator=np.random.default_rng(seed), **SMALL) for seed in (1, 1, 2)]
    assert values[0].local.tolist() == values[1].local.tolist()
    assert float(values[0]) != float(values[2])


def test_no_row_is_compared_with_its_own_group():
    x, y, _ = normal(0.9, 120)
    groups = np.repeat(np.arange(6), 20)
    found = estimate(x, y, "club", groups, **SMALL)
    assert np.isfinite(found.local).all() and found.units == 6
    with refused("groups", "few"):
        estimate(x, y, "club", groups, **{**SMALL, "folds": 6})


def test_bad_settings_are_said():
    for settings, said in (
        ({"predict": "z"}, "predict must be one of auto, x, y, got 'z'."),
        ({"covariance": "full"}, "covariance must be one of chain, diagonal, got 'full'."),
        ({"width": 0}, "width must be a whole number of at least 1, got 0."),
        ({"folds": 1}, "folds must be a whole number of at least 2, got 1."),
        ({"margins": "log"}, "margins must be one of auto, scaled, rank, given, got 'log'."),
    ):
        with pytest.raises(ValueError) as error:
            estimate(np.arange(100.0) ** 0.5, np.arange(100.0) ** 0.3, "doe", **settings)
        assert str(error.value) == said
    with refused("bins", "range"):
        JointEntropies(bins=1)
    with refused("learning_rate", "range"):
        Schedule(learning_rate=0.0)


def test_repeated_numbers_have_no_entropy_for_ba():
    x, y, _ = normal(0.6, 200)
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


@pytest.mark.parametrize("diagonal", [False, True])
def test_densities_integrate_to_one(diagonal):
    density = Mixtures(0, 2, 3, 8, diagonal, torch.Generator().manual_seed(1))
    axis = torch.linspace(-12, 12, 401)
    grid = torch.cartesian_prod(axis, axis)
    with torch.no_grad():
        total = density(torch.empty(len(grid), 0), grid, None).exp().sum() * (axis[1] - axis[0]) ** 2
    assert float(total) == pytest.approx(1.0, abs=2e-3)
