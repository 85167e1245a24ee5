"""Mixtures of families: weights, what costs nothing, and members of half the rows."""

import numpy as np
import pytest

from infoscope.estimators.families import Gaussian, GradientBoosting, Logistic, Stacked
from infoscope.estimators.families.stacked import maximum_likelihood_weights, validation_half
from tests.refusals import refused


def test_weights_are_those_of_the_mixture_that_was_drawn():
    """Of 4,000 draws of .3 N(0, 1) + .7 N(4, 1): a share has a standard error of .0075; four of them."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=4000) + 4.0 * (rng.random(4000) < 0.7)
    logs = np.column_stack([-0.5 * (y - centre) ** 2 for centre in (0.0, 4.0)])
    assert np.exp(maximum_likelihood_weights(logs)) == pytest.approx([0.3, 0.7], abs=0.03)
    impossible = np.vstack([logs, np.full((5, 2), -np.inf)])
    assert maximum_likelihood_weights(impossible) == pytest.approx(maximum_likelihood_weights(logs))


def test_it_is_as_good_as_the_better_family_with_half_of_the_rows():
    """y is x in normal noise, for which the linear family is right: I = log(2) / 2, and ten columns more are noise."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3000, 11))
    y = (x[:, 0] + rng.normal(size=3000))[:, None]
    fitted = Stacked((Gaussian(), Gaussian(degree=0))).fit(x[:400], y[:400], None, None, rng)
    unseen = x[400:], y[400:]
    null = fitted.members[0].log_density(None, unseen[1])
    whole, half = ((one.log_density(*unseen) - null).mean() for one in (fitted, fitted.half))
    assert whole == pytest.approx(np.log(2) / 2, abs=0.06) and 0.0 < whole - half < 0.06
    assert np.exp(fitted.log_weights[1]) > 0.9


def test_the_first_families_are_mixed_as_if_they_were_alone():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 4))
    y = (x[:, 0] + rng.normal(size=300) > 0).astype(int)
    linear, trees = (Logistic(0.1), Logistic(10.0)), GradientBoosting(rounds=3)
    both = Stacked((*linear, trees), 2).fit(x, y, 2, None, np.random.default_rng(5))
    alone = Stacked(linear).fit(x, y, 2, None, np.random.default_rng(5))
    for one, other in ((both.first, alone), (both.first.half, alone.half)):
        np.testing.assert_allclose(one.log_probabilities(x), other.log_probabilities(x))
    assert alone.first is None and len(both.members) == 4


def test_half_of_the_rows_misses_no_class():
    """Also not of one row, or of one group; and where every class is common the half is a random one."""
    y, groups = np.repeat([0, 1, 2], [60, 6, 1]), np.arange(67)
    groups[60:66] = [60, 60, 60, 63, 63, 63]
    for seed in range(30):
        held = validation_half(y, 3, groups, np.random.default_rng(seed))
        assert set(y[~held]) == {0, 1, 2} and 29 <= held.sum() <= 36
        assert all(len(set(held[groups == one])) == 1 for one in groups)
    assert (
        validation_half(np.array([0, 1]), 2, np.arange(2), np.random.default_rng(0)).sum() == 1
    )  # one row has to weigh


@pytest.mark.parametrize("family", [Logistic(), GradientBoosting(rounds=3)])
def test_a_class_that_no_row_of_a_fit_has_is_impossible(family):
    """Every family states the same of it, also where the rows are of one class alone."""
    x = np.random.default_rng(5).normal(size=(40, 2))
    for y, present in ((np.zeros(40, int), [0]), (np.repeat([0, 2], 20), [0, 2])):
        chances = np.exp(family.fit(x, y, 3).log_probabilities(x))
        assert chances.shape == (40, 3) and chances.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
        assert set(np.flatnonzero(chances.max(axis=0))) == set(present)


def test_what_it_needs():
    assert Stacked((Logistic(), GradientBoosting())).outcomes == ("classes",)
    with refused("groups", "range"):
        Stacked((Logistic(),)).fit(np.eye(2), np.array([0, 1]), 2, np.zeros(2, int))
