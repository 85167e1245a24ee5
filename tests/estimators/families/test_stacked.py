"""Mixtures of families: weights, what costs nothing, and members of half the rows."""

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators.families import Gaussian, GradientBoosting, Logistic, Stacked
from infoscope.estimators.families.stacked import (
    maximum_likelihood_weights,
    validation_half,
)
from tests.refusals import refused


def test_weights_are_those_of_the_mixture_that_was_drawn():
    """Of 4,000 draws of .3 N(0, 1) + .7 N(4, 1): a share has a standard error of .0075;
    four of them.
    """
    rng = default_rng(0)
    noise = rng.normal(size=4000)
    centre = np.where(rng.random(4000) < 0.7, 4.0, 0.0)
    y = centre + noise
    logs = -0.5 * (y[:, None] - [0.0, 4.0]) ** 2
    weights = maximum_likelihood_weights(logs)
    assert np.exp(weights) == approx([0.3, 0.7], abs=0.03)
    impossible = np.full((5, 2), -np.inf)
    with_impossible_rows = np.vstack([logs, impossible])
    assert maximum_likelihood_weights(with_impossible_rows) == approx(weights)


def test_it_is_as_good_as_the_better_family_with_half_of_the_rows():
    """y is x in normal noise, for which the linear family is right: I = log(2) / 2, and
    ten columns more are noise.
    """
    rng = default_rng(3)
    x = rng.normal(size=(3000, 11))
    noise = rng.normal(size=(3000, 1))
    y = x[:, :1] + noise
    x, new_x = np.split(x, [400])
    y, new_y = np.split(y, [400])
    family = Stacked((Gaussian(), Gaussian(degree=0)))
    fit = family.fit(x, y, None, None, rng)
    without_input = fit.members[0].log_density(None, new_y).mean()
    of_all_rows = fit.log_density(new_x, new_y).mean() - without_input
    of_half = fit.half.log_density(new_x, new_y).mean() - without_input
    assert of_all_rows == approx(np.log(2) / 2, abs=0.06)
    assert 0.0 < of_all_rows - of_half < 0.06
    assert np.exp(fit.log_weights[1]) > 0.9


def test_the_first_families_are_mixed_as_if_they_were_alone():
    rng = default_rng(4)
    x = rng.normal(size=(300, 4))
    noise = rng.normal(size=300)
    y = (x[:, 0] + noise > 0).astype(int)
    linear = (Logistic(0.1), Logistic(10.0))
    with_trees = Stacked((*linear, GradientBoosting(rounds=3)), 2)
    both = with_trees.fit(x, y, 2, None, default_rng(5))
    alone = Stacked(linear).fit(x, y, 2, None, default_rng(5))
    for first, expected in ((both.first, alone), (both.first.half, alone.half)):
        logs = expected.log_probabilities(x)
        np.testing.assert_allclose(first.log_probabilities(x), logs)


@pytest.mark.parametrize("seed", range(10))
def test_half_of_the_rows_misses_no_class(seed):
    """Also not of one row, or of one group; and where every class is common the half is
    a random one.
    """
    y = np.repeat([0, 1, 2], [60, 6, 1])
    groups = np.arange(67)
    groups[60:66] = np.repeat([60, 63], 3)
    is_held = validation_half(y, 3, groups, default_rng(seed))
    assert set(y[~is_held]) == {0, 1, 2}
    assert 29 <= is_held.sum() <= 36
    np.testing.assert_array_equal(is_held, is_held[groups])


@pytest.mark.parametrize("family", [Logistic(), GradientBoosting(rounds=3)])
@pytest.mark.parametrize("classes", [[0], [0, 2]])
def test_a_class_that_no_row_of_a_fit_has_is_impossible(family, classes):
    """Every family returns the same, also where the rows are of one class alone."""
    x = default_rng(5).normal(size=(40, 2))
    y = np.resize(classes, 40)
    fit = family.fit(x, y, 3)
    probabilities = np.exp(fit.log_probabilities(x))
    assert probabilities.shape == (40, 3)
    assert probabilities.sum(axis=1) == approx(1.0, abs=1e-6)
    largest = probabilities.max(axis=0)
    assert np.flatnonzero(largest).tolist() == classes


def test_one_group_cannot_be_halved():
    family = Stacked((Logistic(),))
    rows = np.arange(2)
    with refused("groups", "range"):
        family.fit(np.eye(2), rows, 2, np.zeros_like(rows))
