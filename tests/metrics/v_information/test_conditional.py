"""V-information and PVI beyond conditions: closed forms, the chain rule, and types of
conditions.
"""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.estimators.families import (
    Gaussian,
    Logistic,
    NearestNeighbours,
    Table,
    tfidf_logistic,
)
from infoscope.metrics.v_information import pvi
from infoscope.metrics.v_information.leakage import usable_leakage
from infoscope.metrics.v_information.measures import ESTIMATORS, estimate


def linear(n, seed, columns=1):
    """x, c, y of y_j = x + j c + noise of variance 1/2, x and c of correlation .6; I(x;
    y | c) in nats: beyond c, x has the variance .64, and the mean over y's columns of x
    + noise is sufficient for it.
    """
    rng = default_rng(seed)
    c = rng.normal(size=n)
    x = 0.6 * c + 0.8 * rng.normal(size=n)
    noise = math.sqrt(0.5) * rng.normal(size=(n, columns))
    factors = np.arange(1, columns + 1)
    y = x[:, None] + factors * c[:, None] + noise
    truth = 0.5 * math.log(1 + 0.64 * columns / 0.5)
    return x, c, y, truth


@pytest.mark.parametrize(
    ("estimator", "columns"), [*((name, 1) for name in ESTIMATORS), ("cross-fitted", 3)]
)
def test_linear_gaussian_information_has_its_closed_form(estimator, columns):
    """Within 4 standard errors (3e-5), and half a nat over n for each of the parameters
    that are fitted.
    """
    x, c, y, truth = linear(3000, 0, columns)
    information = estimate(Gaussian(), x, y, estimator, given=c)
    error = np.std(information.local) / math.sqrt(information.n)
    assert abs(information.value - truth) < 4 * error + 0.003
    difference = information.null_entropy - information.conditional_entropy
    assert information.value == approx(difference)
    assert information.bound is None
    if estimator != "in-sample":
        assert information.standard_error == approx(error, rel=0.01)
        assert information.low < information.value < information.high


def test_intervals_cover_the_truth():
    """95 % intervals of 60 samples: 51 or more cover it (false alarm 2e-3 at 95 %)."""
    hits = 0
    for seed in range(60):
        x, c, y, truth = linear(400, seed)
        information = estimate(Gaussian(), x, y, given=c, generator=default_rng(seed))
        hits += information.low <= truth <= information.high
    assert hits >= 51


def test_a_parity_needs_both_variables():
    """y = x xor c, flipped with probability .1: ln 2 - h(.1) = .368 nats beyond c,
    nothing without it; nothing either for a family that only adds the effects of x and
    c.
    """
    rng = default_rng(1)
    x, c = rng.integers(2, size=(2, 3000))
    flipped = rng.random(3000) < 0.1
    y = x ^ c ^ flipped
    truth = math.log(2) + 0.1 * math.log(0.1) + 0.9 * math.log(0.9)
    for family in (Table(), NearestNeighbours(200), Logistic(degree=2)):
        information = estimate(family, x, y, folds=3, given=c)
        error = information.standard_error
        assert abs(information.value - truth) < 4 * error + 0.02
    for family, condition in ((Table(), None), (Logistic(), c)):
        nothing = estimate(family, x, y, folds=3, given=condition)
        assert abs(nothing.value) < 4 * nothing.standard_error + 0.002


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_the_chain_rule_holds_item_by_item(kind):
    """On the same folds, of families whose fit draws nothing."""
    x, c, y, _ = linear(300, 3)
    y = y[:, 0]
    family = Gaussian()
    if kind == "classes":
        y = (y > 0).astype(int)
        family = Logistic()

    def of_same_folds(measure, x, condition=None):
        generator = default_rng(0)
        return measure(family, x, y, folds=4, generator=generator, given=condition)

    both = of_same_folds(pvi.pointwise, np.column_stack([c, x]))
    first = of_same_folds(pvi.pointwise, c)
    beyond = of_same_folds(pvi.pointwise, x, c)
    sum_of_steps = first["pvi_bits"] + beyond["pvi_bits"]
    assert_allclose(both["pvi_bits"], sum_of_steps, atol=1e-9)
    assert_allclose(beyond["H_yb"], first["H_yxb"])
    information = of_same_folds(estimate, x, c)
    assert beyond["pvi_bits"].mean() == approx(information.bits.value)


def test_conditioning_classes_are_names_and_not_numbers():
    """Whatever their names, the information of a class is measured, and not the
    correlation of its number with y.
    """
    rng = default_rng(4)
    c = rng.integers(4, size=2000)
    mean = np.array([0.0, 3.0, 1.0, -2.0])[c]
    x = rng.normal(size=2000) + mean
    # x informs about y through c only
    probability = np.array([0.1, 0.9, 0.5, 0.2])[c]
    y = (probability > rng.random(2000)).astype(int)
    other_numbers = np.array([7, 0, 2, 1])[c]
    words = np.array(["north", "east", "south", "west"])[c]
    values = []
    for names in (c, other_numbers, words):
        information = estimate("logistic", x, y, given=names, generator=default_rng(0))
        assert abs(information.value) < 4 * information.standard_error + 0.001
        values.append(information.value)
    assert np.ptp(values) < 1e-6
    leaks = usable_leakage({"z": x}, {"y": y}, {"linear": "logistic"}, given=c)
    leak = leaks.iloc[0]
    assert abs(leak["value_bits"]) < 4 * leak["standard_error_bits"] + 0.002


def test_texts_are_conditioned_on_texts_and_classes():
    """A word of x and one of c add up in the log odds; given c, x has the information
    of its own word.
    """
    rng = default_rng(5)
    words, c = rng.integers(2, size=(2, 500))
    probability = 1 / (1 + np.exp(2 - 4 * words))
    y = (rng.random(500) < probability).astype(int)
    x = np.array(["dull", "bright"])[words].tolist()
    sides = np.array(["left", "right"])[c].tolist()
    alone = estimate(tfidf_logistic(), x, y, folds=3)
    for condition in (sides, c):
        information = estimate(tfidf_logistic(), x, y, folds=3, given=condition)
        error = math.hypot(information.standard_error, alone.standard_error)
        assert abs(information.value - alone.value) < 4 * error
    given_itself = estimate(tfidf_logistic(), x, y, folds=3, given=x)
    assert abs(given_itself.value) < 0.02
