"""An Estimate: its text, how it adds, and that it stays a float."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators.result import (
    BITS,
    UNPAIRED,
    Estimate,
    clustered_error,
    mean_influence,
    mean_of,
    quantile,
    root_sum_squares,
    undefined,
)
from infoscope.estimators.units import NATS_PER_BIT
from tests.refusals import refused


def pairs(seed, n=400):
    """x and y [n] of correlation .8."""
    covariance = [[1, 0.8], [0.8, 1]]
    return default_rng(seed).multivariate_normal([1, 2], covariance, n).T


TEXTS = [
    (
        Estimate(0.41312, 0.0121, n=2000, method="KSG 1", notes=("Rows repeat.",)),
        "0.596 ± 0.017 bits (95 %: 0.562 to 0.630, sampling error only; KSG 1, n = "
        "2,000)\n  Rows repeat.",
    ),
    (Estimate(1.5, 0.0, method="closed form"), "2.16 bits (exact; closed form)"),
    (Estimate(0.25, n=10), "0.361 bits (standard error not known; n = 10)"),
    (Estimate(0.5, 0.1, "1", interval=(0.2, 0.6)), "0.50 ± 0.10 (95 %: 0.20 to 0.60)"),
    (undefined("no such block.", n=5), "no value (no such block.; n = 5)"),
]


@pytest.mark.parametrize(("estimate", "text"), TEXTS)
def test_its_text_is_what_a_person_reads(estimate, text):
    assert str(estimate) == text
    assert repr(estimate) == text.split("\n")[0]


def test_it_is_a_float():
    estimate = mean_of([1.0, 2.0, 4.0])
    assert isinstance(estimate, float)
    assert estimate == estimate.value == 7 / 3
    assert json.dumps(estimate) == json.dumps(7 / 3)
    assert np.asarray([estimate]).dtype == np.float64
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimate.value = 0.0


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda estimate: pickle.loads(pickle.dumps(estimate))]
)
def test_a_copy_is_equal(copied):
    estimate = mean_of([1.0, 2.0, 4.0])
    same = copied(estimate)
    assert same == estimate
    assert repr(same) == repr(estimate)
    np.testing.assert_array_equal(same.local, estimate.local)


def test_units_convert_with_everything_that_has_one():
    x, _ = pairs(0)
    estimate = mean_of(x)
    bits = estimate.bits
    assert bits.unit == BITS
    assert bits.nats.value == approx(estimate.value, rel=1e-12)
    assert repr(bits) == repr(estimate)
    for name in ("value", "standard_error", "low", "high"):
        nats = NATS_PER_BIT * getattr(bits, name)
        assert nats == approx(getattr(estimate, name), rel=1e-12)
    assert bits.local.mean() == approx(bits.value)
    with refused("unit", "invalid"):
        _ = Estimate(0.5, unit="share").bits


X, Y = pairs(1)


@pytest.mark.parametrize(
    ("estimate", "values"),
    [
        (mean_of(X) - mean_of(Y), X - Y),
        (mean_of(X) + mean_of(Y), X + Y),
        (-mean_of(X), -X),
    ],
)
def test_sums_on_the_same_rows_have_the_error_of_the_sum(estimate, values):
    direct = mean_of(values)
    assert estimate.value == approx(direct.value)
    assert estimate.n == 400
    assert estimate.standard_error == approx(direct.standard_error, rel=1e-9)
    assert estimate.interval == approx(direct.interval)


def test_numbers_shift_and_scale():
    estimate = Estimate(1.0, 0.1, interval=(0.7, 1.2))
    shifted = 1 - estimate
    assert shifted.value == 0.0
    assert shifted.standard_error == 0.1
    assert (shifted.low, shifted.high) == approx((-0.2, 0.3))
    scaled = estimate / -2
    assert scaled.value == -0.5
    assert scaled.standard_error == 0.05
    assert scaled.low == -0.6
    assert scaled.high == -0.35
    assert type(estimate * estimate) is float


def test_unpaired_values_have_no_error_and_a_note_why():
    x = mean_of(X)
    other = mean_of(pairs(3, n=50)[0])
    difference = x - other
    assert np.isnan(difference.standard_error)
    assert difference.notes[-1] == UNPAIRED
    of_exact = x - Estimate(0.5, 0.0)
    assert of_exact.standard_error == x.standard_error
    assert of_exact.notes == ()
    with refused(code="conflict"):
        _ = x - x.bits


def test_a_bias_that_an_error_holds_stays_in_a_difference():
    biased = dataclasses.replace(mean_of(X), standard_error=1.0)
    difference = biased - mean_of(X)
    assert difference.standard_error == approx(1.0, rel=0.01)


def test_groups_of_dependent_rows():
    """Each row three times: as sure as once, and not three times as sure."""
    values = default_rng(5).normal(size=100)
    once = mean_of(values)
    groups = np.repeat(np.arange(100), 3)
    thrice = mean_of(values[groups], groups)
    assert thrice.n == 300
    assert thrice.units == 100
    assert thrice.standard_error == approx(once.standard_error)
    assert once.standard_error == approx(values.std(ddof=1) / 10)
    influence = root_sum_squares(mean_influence(values))
    assert clustered_error(values) == approx(influence)
    assert np.isnan(mean_of([3.0]).standard_error)


def test_intervals_cover():
    """False alarm 1e-4: 400 intervals of 95 % for the mean of 5 rows."""
    covered = 0
    for values in default_rng(6).normal(2.0, 3.0, (400, 5)):
        estimate = mean_of(values)
        covered += estimate.low <= 2.0 <= estimate.high
    assert abs(covered - 380) < 4 * np.sqrt(400 * 0.95 * 0.05)
    assert quantile() == approx(1.959964, abs=1e-6)


def test_rows_of_estimates_on_one_axis():
    estimate = Estimate(0.5, 0.1, n=2000, units=40, method="ksg")
    ax = Figure().subplots()
    assert estimate.plot(ax) is ax
    estimate.plot(ax)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == ["ksg\nn = 2,000 in 40 units"] * 2
    share = Estimate(0.3, 0.1, "share of H(y)")
    with refused("ax", "conflict"):
        share.plot(ax)
