"""V-information: its properties (Xu et al. 2020, section 3), its three estimators, and
what they report.
"""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators.families.closed_form import Gaussian, Table
from infoscope.estimators.families.distributions import Categorical
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.networks import Network
from infoscope.estimators.families.scikit import GradientBoosting
from infoscope.metrics.v_information.measures import estimate
from tests.refusals import refused


class Fixed:
    """A family of one predictor."""

    name = "fixed"
    outcomes = ("classes",)

    def __init__(self, member):
        self.member = member

    def fit(self, x, y, classes=None, groups=None, generator=None):
        return self.member


def pairs(n, seed):
    rng = default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = x[:, 0] + rng.normal(size=n) > 0
    return x, y.astype(int)


def test_a_larger_family_has_less_entropy_but_not_always_more_information():
    """Proposition 1 holds for both entropies. Their difference falls here from
    Gaussians of one variance, far too small for the spread of y, to Gaussians of any:
    the larger family loses more without an input than with one.
    """
    rng = default_rng(0)
    x = rng.normal(size=400)
    y = 3.0 * x + rng.normal(size=400)
    narrow = estimate(Gaussian(0.5), x, y, "in-sample")
    line = estimate(Gaussian(), x, y, "in-sample")
    cubic = estimate(Gaussian(degree=3), x, y, "in-sample")
    for small, large in ((narrow, line), (line, cubic)):
        assert large.null_entropy <= small.null_entropy + 1e-9
        assert large.conditional_entropy <= small.conditional_entropy + 1e-9
    assert line.value < narrow.value


@pytest.mark.parametrize("seed", range(10))
def test_in_sample_information_is_never_negative(seed):
    """Optional ignorance: a constant is in the family, so that the infimum with an
    input is not above it.
    """
    x, y = default_rng(seed).normal(size=(2, 30))
    assert estimate(Gaussian(1.0, 2), x, y, "in-sample").value >= -1e-9


def test_the_standard_error_is_the_spread_over_samples():
    """200 samples: their sd has a relative error of 5 %; within 20 % (fails by chance
    below 1e-4).
    """
    values = []
    errors = []
    for seed in range(200):
        x, noise = default_rng(seed).normal(size=(2, 200))
        information = estimate(Gaussian(1.0), x, 0.5 * x + noise, folds=3)
        values.append(information.value)
        errors.append(information.standard_error)
    assert np.mean(errors) == approx(np.std(values, ddof=1), rel=0.2)


def test_the_error_of_one_group_per_copy_is_that_of_the_items():
    """Four copies of every item, named as groups, leave the standard error what it was;
    unnamed they would halve it.
    """
    x, classes = pairs(200, 5)
    y = classes.astype(float)
    test = np.arange(200) < 60
    rows = np.repeat(np.arange(200), 4)
    family = Gaussian(1.0)
    once = estimate(family, x, y, "held-out", test=test)
    copies = x[rows], y[rows]
    copied = estimate(family, *copies, "held-out", test=test[rows], groups=rows)
    assert copied.units == 60
    assert copied.n == 240
    assert copied.value == approx(once.value)
    assert copied.standard_error == approx(once.standard_error)


def test_a_given_test_set_is_what_is_measured():
    x, y = pairs(300, 6)
    test = np.arange(300) >= 200
    information = estimate(Logistic(), x, y, "held-out", test=test)
    fit = Logistic().fit(x[~test], y[~test], 2)
    share = y[~test].mean()
    null = np.log(np.where(y[test] == 1, share, 1 - share))
    expected = fit.log_density(x[test], y[test]) - null
    assert information.n == 100
    assert information.value == approx(expected.mean(), abs=1e-5)
    assert information.local.mean() == approx(information.value)
    difference = information.null_entropy - information.conditional_entropy
    assert information.value == approx(difference)


def test_the_floor_keeps_a_distribution_and_counts_the_raised_probabilities():
    """Unseen pairs of a table are impossible: without a floor the estimate would be
    infinite.
    """
    x = np.arange(60) % 6
    y = np.array([0, 1] * 30)
    y[::12] = 1
    y[59] = 5
    test = np.arange(60) >= 58
    information = estimate(Table(), x, y, "held-out", test=test, floor=1e-3)
    assert information.floored == 1
    assert information.null_floored == 1
    assert information.local.min() >= math.log(1e-3)
    with refused("floor", "range"):
        estimate(Table(), x, y, "held-out", test=test, floor=0.0)


ALTERNATING = [1, 1, 1, 0, 1, 0, 1, 1, 0, 1] * 90
SORTED = [1] * 630 + [0] * 270


@pytest.mark.parametrize("correct", [ALTERNATING, SORTED])
def test_calibration_error_by_hand(correct):
    """Of 1,500 items 600 are predicted with 0.5 and always right, 900 with 0.9 and
    right 7 times in 10, in any order: items of one probability are in one bin.
    """
    x = np.repeat([0, 1], [600, 900])
    y = np.concatenate([np.zeros(600, dtype=int), correct])
    logs = np.log([[0.5, 0.5], [0.1, 0.9]])

    def predict(x):
        return logs[:1] if x is None else logs[x]

    family = Fixed(Categorical(predict))
    information = estimate(family, x, y, "in-sample", floor=0.0)
    error = (600 * 0.5 + 900 * 0.2) / 1500
    assert information.calibration.expected_error == approx(error)


def test_the_bound_covers_and_shrinks_with_the_root_of_n():
    """Four inputs that determine one of two classes with probability 0.9; the bound is
    loose, so that it covers.
    """
    widths = []
    truth = math.log(2) + 0.9 * math.log(0.9) + 0.1 * math.log(0.1)
    for n in (100, 10_000):
        rng = default_rng(n)
        x = rng.integers(4, size=n)
        y = np.where(rng.random(n) < 0.9, x % 2, 1 - x % 2)
        information = estimate(Table(), x, y, "in-sample", delta=0.01)
        width = information.bound.width
        value = information.value
        assert abs(value - truth) < width
        assert information.low == value - width
        assert information.high == value + width
        assert information.bound.confidence == approx(0.97)
        widths.append(width)
    assert widths[0] / widths[1] == approx(10.0, rel=0.25)
    numbers = rng.random(50)
    without_bound = estimate(Gaussian(1.0), numbers, numbers, "in-sample")
    assert without_bound.bound is None


@pytest.mark.parametrize("floor", [1e-6, 0.2])
def test_a_floor_moves_the_estimate_no_further_than_the_bound_allows(floor):
    """From the difference of the infima of tables with probabilities >= floor: clipped
    frequencies of two classes.
    """
    rng = default_rng(13)
    x = rng.integers(2, size=400)
    probability = np.where(x == 0, 0.97, 0.3)
    y = (rng.random(400) >= probability).astype(int)

    def entropy(labels):
        p = np.clip(labels.mean(), floor, 1 - floor)
        log_likelihood = labels * math.log(p) + (1 - labels) * math.log1p(-p)
        return -log_likelihood.sum() / 400

    expected = entropy(y) - entropy(y[x == 0]) - entropy(y[x == 1])
    information = estimate(Table(), x, y, "in-sample", floor=floor)
    slack = information.bound.complexity.slack
    assert abs(information.value - expected) <= slack + 1e-12


TREES = GradientBoosting(rounds=10)
NETWORK = Network((8,), learning_rate=1e-2, batch=32, epochs=10)


@pytest.mark.parametrize("family", ["gaussian", TREES, NETWORK, "knn"])
def test_families_take_numbers_of_one_column_or_several(family):
    """Half of ln 2 for each column."""
    rng = default_rng(8)
    x = rng.normal(size=(200, 2))
    y = x + rng.normal(size=(200, 2))
    of_first = estimate(family, x, y[:, 0], folds=3).value
    of_both = estimate(family, x, y, folds=3).value
    assert 0.1 < of_first < of_both < math.log(2) + 0.3


def test_families_of_classes_refuse_numbers_and_take_whole_floats():
    rng = default_rng(8)
    x = rng.normal(size=(200, 2))
    y = x[:, 0] + rng.normal(size=200)
    for family in (Logistic(), Table()):
        with refused("y", "type"):
            estimate(family, x, y)
    of_codes = estimate(Logistic(), x, (y > 0).astype(float))
    of_names = estimate(Logistic(), x, np.where(y > 0, "b", "a"))
    assert of_codes.value == of_names.value


def test_an_interval_of_held_out_rows_reaches_zero_and_overfitting_has_a_note():
    """The true value is 0; 200 noise columns of 120 rows are too many for a weak
    penalty.
    """
    rng = default_rng(0)
    x = rng.normal(size=(120, 200))
    y = rng.integers(0, 2, 120)
    wide = estimate(Logistic(1e-3), x, y)
    assert wide.low < wide.value < 0.0 == wide.high
    (note,) = wide.notes
    assert note.code == "overfit"
    assert note.argument == "family"
    narrow = estimate(Logistic(1e-3), x[:, :1], y)
    assert not narrow.notes
    assert narrow.low < 0.0 < narrow.high
