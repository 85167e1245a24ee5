"""V-information and PVI beyond what is given: closed forms, the chain rule, and what may be given."""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.estimators.families import Gaussian, Logistic, NearestNeighbours, Table, tfidf_logistic
from infoscope.metrics.v_information import pvi
from infoscope.metrics.v_information.leakage import usable_leakage
from infoscope.metrics.v_information.measures import ESTIMATORS, estimate

LN2 = math.log(2.0)


def linear(n, seed, columns=1):
    """x, c, y of y_j = x + j c + noise of variance 1/2, x and c of correlation .6; I(x; y | c) in nats: beyond c, x
    has the variance .64, and the mean over y's columns of x + noise is sufficient for it."""
    rng = default_rng(seed)
    c = rng.normal(size=n)
    x = 0.6 * c + 0.8 * rng.normal(size=n)
    y = x[:, None] + np.arange(1, columns + 1) * c[:, None] + math.sqrt(0.5) * rng.normal(size=(n, columns))
    return x, c, y, 0.5 * math.log(1 + 0.64 * columns / 0.5)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_linear_gaussian_information_has_its_closed_form(estimator, columns):
    """Within 4 standard errors (3e-5), and half a nat over n for each of the parameters that are fitted."""
    x, c, y, truth = linear(3000, 0, columns)
    found = estimate(Gaussian(), x, y, estimator, given=c)
    error = np.std(found.local) / math.sqrt(found.n)
    assert abs(found.value - truth) < 4 * error + 0.003
    assert found.value == approx(found.null_entropy - found.conditional_entropy)
    assert found.bound is None and "given" in found.settings
    if estimator != "in-sample":
        assert found.standard_error == approx(error, rel=0.01) and found.low < found.value < found.high


def test_intervals_cover_the_truth():
    """95 % intervals of 60 samples: 51 or more hold it (false alarm 2e-3 at 95 %)."""
    held = 0
    for seed in range(60):
        x, c, y, truth = linear(400, seed)
        found = estimate(Gaussian(), x, y, given=c, generator=default_rng(seed))
        held += found.low <= truth <= found.high
    assert held >= 51


def test_a_parity_needs_both_variables():
    """y = x xor c, flipped with probability .1: ln 2 - h(.1) = .368 nats beyond c, nothing without it; nothing either
    for a family that only adds the effects of x and c."""
    rng = default_rng(1)
    x, c = rng.integers(2, size=(2, 3000))
    y = x ^ c ^ (rng.random(3000) < 0.1)
    truth = LN2 + 0.1 * math.log(0.1) + 0.9 * math.log(0.9)
    for family in (Table(), NearestNeighbours(200), Logistic(degree=2)):
        found = estimate(family, x, y, folds=3, given=c)
        assert abs(found.value - truth) < 4 * found.standard_error + 0.02
    for family, given in ((Table(), None), (Logistic(), c)):
        found = estimate(family, x, y, folds=3, given=given)
        assert abs(found.value) < 4 * found.standard_error + 0.002


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_the_chain_rule_holds_item_by_item(kind):
    """On the same folds, of families whose fit draws nothing."""
    x, c, y, _ = linear(300, 3)
    family = Gaussian() if kind == "numbers" else Logistic()
    y = y[:, 0] if kind == "numbers" else (y[:, 0] > 0).astype(int)
    both, first, beyond = (
        pvi.pointwise(family, inputs, y, folds=4, generator=default_rng(0), given=given)
        for inputs, given in ((np.column_stack([c, x]), None), (c, None), (x, c))
    )
    assert_allclose(both["pvi_bits"], first["pvi_bits"] + beyond["pvi_bits"], atol=1e-9)
    assert_allclose(beyond["H_yb"], first["H_yxb"])
    whole = estimate(family, x, y, folds=4, generator=default_rng(0), given=c)
    assert beyond["pvi_bits"].mean() == approx(whole.bits.value)


def test_conditioning_classes_are_names_and_not_numbers():
    """Whatever their names, the information of a class is measured, and not the correlation of its number with y."""
    rng = default_rng(4)
    c = rng.integers(4, size=2000)
    x = rng.normal(size=2000) + np.array([0.0, 3.0, 1.0, -2.0])[c]
    y = (np.array([0.1, 0.9, 0.5, 0.2])[c] > rng.random(2000)).astype(int)  # x tells of y what it tells of c
    names = [c, np.array([7, 0, 2, 1])[c], np.array(["north", "east", "south", "west"])[c], [f"s{one}" for one in c]]
    found = [estimate("logistic", x, y, given=name, generator=default_rng(0)) for name in names]
    for one in found:
        assert abs(one.value) < 4 * one.standard_error + 0.001 and one.value == approx(found[0].value, abs=1e-6)
    leaked = usable_leakage({"z": x}, {"y": y}, {"linear": "logistic"}, given=c)
    assert abs(leaked["value_bits"][0]) < 4 * leaked["standard_error_bits"][0] + 0.002


def test_texts_are_conditioned_on_texts_and_classes():
    """A word of x and one of c add up in the log odds; given c, x has the information of its own word."""
    rng = default_rng(5)
    words, given = rng.integers(2, size=(2, 500))
    y = (rng.random(500) < 1 / (1 + np.exp(2 - 4 * words))).astype(int)
    x = [("dull", "bright")[word] for word in words]
    alone = estimate(tfidf_logistic(), x, y, folds=3)
    for named in ([("left", "right")[one] for one in given], given):
        found = estimate(tfidf_logistic(), x, y, folds=3, given=named)
        assert abs(found.value - alone.value) < 4 * math.hypot(found.standard_error, alone.standard_error)
    known = estimate(tfidf_logistic(), x, y, folds=3, given=x)
    assert abs(known.value) < 0.02
