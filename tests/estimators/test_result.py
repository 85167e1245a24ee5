"""An Estimate: its text, how it adds, and that it stays a float."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest
from matplotlib.figure import Figure

from infoscope.estimators.result import (
    BITS,
    UNPAIRED,
    Estimate,
    Estimates,
    clustered_error,
    mean_influence,
    mean_of,
    means_of,
    quantile,
    root_sum_squares,
    undefined,
)
from infoscope.estimators.units import NATS_PER_BIT
from tests.refusals import refused


def pairs(seed, n=400):
    """x and y [n] of correlation .8."""
    covariance = [[1, 0.8], [0.8, 1]]
    return np.random.default_rng(seed).multivariate_normal([1, 2], covariance, n).T


TEXTS = [
    (
        Estimate(
            0.41312,
            0.0121,
            n=2000,
            method="KSG 1",
            settings="k = 5",
            notes=("Rows repeat.",),
        ),
        "0.596 ± 0.017 bits (95 %: 0.562 to 0.630, sampling error only; KSG 1, k = 5, n = 2,000)\n  Rows repeat.",
    ),
    (Estimate(1.5, 0.0, method="closed form"), "2.16 bits (exact; closed form)"),
    (Estimate(0.25, n=10), "0.361 bits (standard error not known; n = 10)"),
    (Estimate(0.5, 0.1, "1", interval=(0.2, 0.6)), "0.50 ± 0.10 (95 %: 0.20 to 0.60)"),
    (
        undefined("there is no such block.", n=5),
        "no value (there is no such block.; n = 5)",
    ),
    (
        Estimate(2.0, 0.5, n=9, units=3, degrees=2),
        "2.89 ± 0.72 bits (95 %: -0.22 to 5.99, sampling error only; n = 9 in 3 units)",
    ),
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
    assert bits.nats.value == pytest.approx(estimate.value, rel=1e-12)
    assert repr(bits) == repr(estimate)
    for name in ("value", "standard_error", "low", "high"):
        assert getattr(bits, name) == pytest.approx(
            getattr(estimate, name) / NATS_PER_BIT, rel=1e-12
        )
    assert bits.local.mean() == pytest.approx(bits.value)
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
    assert estimate.value == pytest.approx(direct.value)
    assert estimate.n == 400
    assert estimate.standard_error == pytest.approx(direct.standard_error, rel=1e-9)
    assert estimate.interval == pytest.approx(direct.interval)


def test_numbers_shift_and_scale():
    estimate = Estimate(1.0, 0.1, interval=(0.7, 1.2))
    shifted = 1 - estimate
    assert (shifted.value, shifted.standard_error) == (0.0, 0.1)
    assert (shifted.low, shifted.high) == pytest.approx((-0.2, 0.3))
    scaled = estimate / -2
    assert (scaled.value, scaled.standard_error) == (-0.5, 0.05)
    assert (scaled.low, scaled.high) == (-0.6, -0.35)
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
    assert difference.standard_error == pytest.approx(1.0, rel=0.01)


def test_groups_of_dependent_rows():
    """Each row three times: as sure as once, and not three times as sure."""
    values = np.random.default_rng(5).normal(size=100)
    once = mean_of(values)
    thrice = mean_of(np.repeat(values, 3), np.repeat(np.arange(100), 3))
    assert (thrice.n, thrice.units) == (300, 100)
    assert thrice.standard_error == pytest.approx(once.standard_error)
    assert once.standard_error == pytest.approx(values.std(ddof=1) / 10)
    assert clustered_error(values) == pytest.approx(
        root_sum_squares(mean_influence(values))
    )
    assert np.isnan(mean_of([3.0]).standard_error)


def test_intervals_cover():
    """False alarm 1e-4: 400 intervals of 95 % for the mean of 5 rows."""
    covered = 0
    for values in np.random.default_rng(6).normal(2.0, 3.0, (400, 5)):
        estimate = mean_of(values)
        covered += estimate.low <= 2.0 <= estimate.high
    assert abs(covered - 380) < 4 * np.sqrt(400 * 0.95 * 0.05)
    assert quantile() == pytest.approx(1.959964, abs=1e-6)


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


def test_arrays_of_estimates():
    values = np.random.default_rng(7).normal(size=(50, 2))
    estimates = means_of(values, method="means")
    assert isinstance(estimates, Estimates)
    assert len(estimates) == 2
    second = mean_of(values[:, 1])
    assert estimates[1].standard_error == pytest.approx(second.standard_error)
    assert repr(estimates).splitlines()[2] == f"  [1] {estimates[1]!r}"
