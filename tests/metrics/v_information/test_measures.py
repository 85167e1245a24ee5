"""V-information: its properties (Xu et al. 2020, section 3), its three estimators, and what they report."""

import math

import numpy as np
import pytest
from scipy import stats

from infoscope.estimators.families.closed_form import Gaussian, Table
from infoscope.estimators.families.distributions import Categorical
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.networks import Network
from infoscope.estimators.families.scikit import GradientBoosting
from infoscope.metrics.v_information.measures import ESTIMATORS, estimate
from tests.refusals import refused

LN2 = math.log(2.0)


class Fixed:
    """A family of one predictor."""

    name, outcomes = "fixed", ("classes",)

    def __init__(self, member):
        self.member = member

    def fit(self, x, y, classes=None, groups=None, generator=None):
        return self.member


def pairs(n, seed, dim=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, dim))
    return x, (x[:, 0] + rng.normal(size=n) > 0).astype(int)


def test_a_larger_family_has_less_entropy_but_not_always_more_information():
    """Proposition 1 holds for both entropies. Their difference falls here from Gaussians of one variance, far too small
    for the spread of y, to Gaussians of any: the larger family loses more without an input than with one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = 3.0 * x + rng.normal(size=400)
    chain = [Gaussian(degree=0), Gaussian(degree=1), Gaussian(degree=3)]
    found = [estimate(family, x, y, "in-sample") for family in chain]
    for small, large in zip(found, found[1:]):
        assert large.null_entropy <= small.null_entropy + 1e-9
        assert large.conditional_entropy <= small.conditional_entropy + 1e-9
    known, fitted = estimate(Gaussian(0.5), x, y, "in-sample"), found[1]
    assert fitted.null_entropy < known.null_entropy and fitted.conditional_entropy < known.conditional_entropy + 1e-9
    assert fitted.value < known.value


@pytest.mark.parametrize("family", [Gaussian(), Gaussian(1.0, 2)], ids=lambda f: f.name)
def test_in_sample_information_is_never_negative(family):
    """Optional ignorance: a constant is in the family, so that the infimum with an input is not above it."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert estimate(family, rng.normal(size=30), rng.normal(size=30), "in-sample").value >= -1e-9


def test_in_sample_is_biased_up_and_held_out_down():
    """Twenty columns of noise about a fair class, 100 rows: the fit itself is worth about 20 / (2 * 100) nats."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(100, 20)), np.arange(100) % 2
    assert estimate(Logistic(0.1), x, y, "in-sample").value > 0.05
    assert estimate(Logistic(0.1), x, y, "cross-fitted").value < -0.05


def test_the_standard_error_is_the_spread_over_samples():
    """200 samples: their sd has a relative error of 5 %; within 20 % (fails by chance below 1e-4)."""
    found = []
    for seed in range(200):
        x, noise = np.random.default_rng(seed).normal(size=(2, 200))
        found.append(estimate(Gaussian(1.0), x, 0.5 * x + noise, folds=3))
    errors = [one.standard_error for one in found]
    assert np.mean(errors) == pytest.approx(np.std([one.value for one in found], ddof=1), rel=0.2)


def test_the_error_of_one_group_per_copy_is_that_of_the_items():
    """Four copies of every item, named as groups, leave the standard error what it was; unnamed they would halve it."""
    x, y = pairs(200, 5)
    rows = np.repeat(np.arange(200), 4)
    once = estimate(Gaussian(1.0), x, y.astype(float), "held-out", test=np.arange(200) < 60)
    test = np.repeat(np.arange(200) < 60, 4)
    copied = estimate(Gaussian(1.0), x[rows], y[rows].astype(float), "held-out", test=test, groups=rows)
    assert copied.units == 60 and copied.n == 240
    assert copied.value == pytest.approx(once.value)
    assert copied.standard_error == pytest.approx(once.standard_error)


def test_a_given_test_set_is_what_is_measured():
    x, y = pairs(300, 6)
    test = np.arange(300) >= 200
    found = estimate(Logistic(), x, y, "held-out", test=test)
    fit = Logistic().fit(x[~test], y[~test], 2)
    share = y[~test].mean()
    null = np.where(y[test] == 1, np.log(share), np.log(1 - share))
    assert found.n == 100
    assert found.value == pytest.approx((fit.log_density(x[test], y[test]) - null).mean(), abs=1e-5)
    assert found.local.mean() == pytest.approx(found.value)
    assert found.bits.value == pytest.approx(found.value / LN2)
    assert found.value == pytest.approx(found.null_entropy - found.conditional_entropy)


def test_the_floor_keeps_a_distribution_and_counts_the_raised_probabilities():
    """Unseen pairs of a table are impossible: without a floor the estimate is infinite, with a note."""
    x, y = np.arange(60) % 6, np.array([0, 1] * 30)
    y[::12] = 1
    with refused("floor", "range"):
        estimate(Table(), np.arange(60) % 2, np.r_[y[:59], 5], "held-out", test=np.arange(60) == 59, floor=0.0)
    found = estimate(Table(), x, np.r_[y[:59], 5], "held-out", test=np.arange(60) >= 58, floor=1e-3)
    assert (found.floored, found.null_floored, found.floor) == (1, 1, 1e-3)
    assert found.local.min() >= math.log(1e-3)


@pytest.mark.parametrize("correct", [[1, 1, 1, 0, 1, 0, 1, 1, 0, 1] * 90, [1] * 630 + [0] * 270])
def test_calibration_error_by_hand(correct):
    """Of 1,500 items 600 are predicted with 0.5 and always right, 900 with 0.9 and right 7 times in 10, in any order:
    items of one probability are in one bin.
    """
    x = np.repeat([0, 1], [600, 900])
    logs = np.log([[0.5, 0.5], [0.1, 0.9]])
    fixed = Fixed(Categorical(lambda new: logs[:1] if new is None else logs[new]))
    y = np.r_[np.zeros(600, dtype=int), correct]
    found = estimate(fixed, x, y, "in-sample", floor=0.0).calibration
    assert found.expected_error == pytest.approx((600 * 0.5 + 900 * 0.2) / 1500)


def test_the_bound_covers_and_shrinks_with_the_root_of_n():
    """Four inputs that determine one of two classes with probability 0.9; the bound is loose, so that it covers."""
    widths, truth = [], LN2 + 0.9 * math.log(0.9) + 0.1 * math.log(0.1)
    for n in (100, 10_000):
        rng = np.random.default_rng(n)
        x = rng.integers(4, size=n)
        found = estimate(Table(), x, np.where(rng.random(n) < 0.9, x % 2, 1 - x % 2), "in-sample", delta=0.01)
        assert abs(found.value - truth) < found.bound.width
        assert (found.low, found.high) == (found.value - found.bound.width, found.value + found.bound.width)
        assert np.isnan(found.standard_error) and found.bound.confidence == pytest.approx(0.97)
        widths.append(found.bound.width)
    assert widths[0] / widths[1] == pytest.approx(10.0, rel=0.25)
    assert estimate(Gaussian(1.0), rng.random(50), rng.random(50), "in-sample").bound is None


@pytest.mark.parametrize("floor", [1e-6, 0.2])
def test_a_floor_moves_the_estimate_no_further_than_the_bound_allows(floor):
    """From the difference of the infima of tables with probabilities >= floor: clipped frequencies of two classes."""
    rng = np.random.default_rng(13)
    x = rng.integers(2, size=400)
    y = np.where(rng.random(400) < np.where(x == 0, 0.97, 0.3), 0, 1)

    def least(ones, n):
        p = np.clip(ones / n, floor, 1 - floor)
        return -(ones * math.log(p) + (n - ones) * math.log1p(-p)) / 400

    informed = sum(least(y[x == value].sum(), (x == value).sum()) for value in (0, 1))
    found = estimate(Table(), x, y, "in-sample", floor=floor)
    assert abs(found.value - (least(y.sum(), 400) - informed)) <= found.bound.complexity.slack + 1e-12


def test_every_family_takes_numbers_or_refuses_them():
    """Numbers are one column or several. Whole floats may be classes of a family that takes no numbers."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(200, 2))
    y = x + rng.normal(size=(200, 2))
    networks = Network((8,), learning_rate=1e-2, batch=32, epochs=10)
    for family in ("gaussian", GradientBoosting(rounds=10), networks, "knn"):
        one, both = (estimate(family, x, of, folds=3).value for of in (y[:, 0], y))
        assert 0.1 < one < both < math.log(2) + 0.3  # half of ln 2 for each column
    for family in (Logistic(), Table()):
        for estimator in ESTIMATORS:
            with refused("y", "type"):
                estimate(family, x, y[:, 0], estimator)
    labels = y[:, 0] > 0
    assert estimate(Logistic(), x, labels.astype(float)).value == estimate(Logistic(), x, np.where(labels, "b", "a"))


def test_shannon_information_bounds_that_of_any_family():
    """Two Gaussians at distance 1: no family of classifiers may have more held out (+ 4 standard errors, 3e-5)."""
    rng = np.random.default_rng(10)
    y = rng.integers(2, size=1000)
    x = y + rng.normal(size=1000)
    grid = np.linspace(-9, 10, 4001)
    mixture = (stats.norm.pdf(grid) + stats.norm.pdf(grid, 1)) / 2
    shannon = -np.trapezoid(mixture * np.log(mixture), grid) - stats.norm.entropy()
    for family in (Logistic(), Network((20,), epochs=5)):
        found = estimate(family, x, y)
        assert found.value < shannon + 4 * found.standard_error


def test_an_interval_of_held_out_rows_reaches_zero_and_overfitting_has_a_note():
    """The true value is 0; 200 noise columns of 120 rows are too many for a weak penalty."""
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(120, 200)), generator.integers(0, 2, 120)
    wide, narrow = (estimate(Logistic(1e-3), part, y) for part in (x, x[:, :1]))
    assert wide.value < 0.0 == wide.high and wide.low < wide.value
    assert [(note.code, note.argument) for note in wide.notes] == [("overfit", "family")]
    assert "200 columns of 120 rows" in wide.notes[0]
    assert not narrow.notes and narrow.low < 0.0 < narrow.high
