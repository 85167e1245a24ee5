"""An Estimate: what it says, how it adds, and that it stays a float."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pandas as pd
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


def rows(seed, n=400, correlation=0.8):
    return np.random.default_rng(seed).multivariate_normal([1, 2], [[1, correlation], [correlation, 1]], n).T


TEXTS = [  # what a person reads
    (
        Estimate(0.41312, 0.0121, n=2000, method="KSG 1", settings="k = 5", notes=("Rows repeat.",)),
        "0.596 ± 0.017 bits (95 %: 0.562 to 0.630, sampling error only; KSG 1, k = 5, n = 2,000)\n  Rows repeat.",
    ),
    (Estimate(1.5, 0.0, method="closed form"), "2.16 bits (exact; closed form)"),
    (Estimate(0.25, n=10), "0.361 bits (standard error not known; n = 10)"),
    (
        Estimate(0.5, 0.1, "share of H(y)", 50),
        "0.50 ± 0.10 (share of H(y); 95 %: 0.30 to 0.70, sampling error only; n = 50)",
    ),
    (Estimate(0.5, 0.1, "1", interval=(0.2, 0.6)), "0.50 ± 0.10 (95 %: 0.20 to 0.60)"),
    (undefined("there is no such block.", n=5), "no value (there is no such block.; n = 5)"),
    (
        Estimate(2.0, 0.5, n=9, units=3, degrees=2),
        "2.89 ± 0.72 bits (95 %: -0.22 to 5.99, sampling error only; n = 9 in 3 units)",
    ),
]


@pytest.mark.parametrize(("estimate", "text"), TEXTS)
def test_its_text_is_what_a_person_reads(estimate, text):
    assert str(estimate) == text and repr(estimate) == text.split("\n")[0]
    assert np.isnan(estimate) or f"{estimate:.2f}" == f"{estimate.value:.2f}"


def test_it_is_a_float():
    estimate = mean_of([1.0, 2.0, 4.0])
    assert isinstance(estimate, float) and estimate == 7 / 3 and float(estimate) == estimate.value
    assert json.loads(json.dumps([estimate])) == [7 / 3] and np.asarray([estimate]).dtype == np.float64
    assert pd.DataFrame({"value": [estimate]})["value"].dtype == np.float64
    for twin in (pickle.loads(pickle.dumps(estimate)), copy.deepcopy(estimate)):
        assert twin == estimate and repr(twin) == repr(estimate) and np.array_equal(twin.local, estimate.local)
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimate.value = 0.0


def test_units_convert_with_everything_that_has_one():
    estimate = mean_of(rows(0)[0])
    bits = estimate.bits
    assert bits.unit == BITS and bits.bits is bits and estimate.nats is estimate
    assert bits.nats.value == pytest.approx(estimate.value, rel=1e-12) and bits.nats.unit == "nats"
    assert repr(bits) == repr(estimate)
    for name in ("value", "standard_error", "low", "high"):
        assert getattr(bits, name) == pytest.approx(getattr(estimate, name) / NATS_PER_BIT, rel=1e-12)
    assert bits.local.mean() == pytest.approx(bits.value) and len(bits.influence) == 400
    with refused("unit", "invalid"):
        _ = Estimate(0.5, unit="share").bits


def test_sums_on_the_same_rows_have_the_error_of_the_sum():
    x, y = rows(1)
    for found, values in ((mean_of(x) - mean_of(y), x - y), (mean_of(x) + mean_of(y), x + y), (-mean_of(x), -x)):
        direct = mean_of(values)
        assert found.value == pytest.approx(direct.value) and found.n == 400
        assert found.standard_error == pytest.approx(direct.standard_error, rel=1e-9)
        assert (found.low, found.high) == pytest.approx((direct.low, direct.high))
    assert (mean_of(x) - mean_of(x)).standard_error == 0.0
    assert (mean_of(x) - mean_of(y)).standard_error < 0.7 * mean_of(x).standard_error  # correlation .8


def test_numbers_shift_and_scale():
    estimate = Estimate(1.0, 0.1, interval=(0.7, 1.2))
    moved, turned = 1 - estimate, estimate / -2
    assert (moved.value, moved.standard_error) == (0.0, 0.1) and (moved.low, moved.high) == pytest.approx((-0.2, 0.3))
    assert (turned.value, turned.standard_error) == (-0.5, 0.05) and (turned.low, turned.high) == (-0.6, -0.35)
    assert type(estimate * estimate) is float and type(estimate / estimate) is float
    assert float(sum([estimate, estimate])) == 2.0


def test_unpaired_values_have_no_error_and_a_note_why():
    x, y = mean_of(rows(2)[0]), mean_of(rows(3, n=50)[0])
    apart = x - y
    assert np.isnan(apart.standard_error) and apart.notes[-1] == UNPAIRED and np.isnan(apart.low)
    exact = x - Estimate(0.5, 0.0)
    assert exact.standard_error == x.standard_error and exact.notes == ()
    with refused(code="conflict"):
        _ = x - x.bits


def test_a_bias_that_an_error_holds_stays_in_a_difference():
    values = rows(4)[0]
    biased = dataclasses.replace(mean_of(values), standard_error=1.0)
    assert (biased - mean_of(values)).standard_error == pytest.approx(1.0, rel=0.01)


def test_groups_of_dependent_rows():
    """Each row three times: as sure as once, and not three times as sure."""
    values = np.random.default_rng(5).normal(size=100)
    once, thrice = mean_of(values), mean_of(np.repeat(values, 3), np.repeat(np.arange(100), 3))
    assert thrice.standard_error == pytest.approx(once.standard_error) and (thrice.n, thrice.units) == (300, 100)
    assert once.standard_error == pytest.approx(values.std(ddof=1) / 10)
    assert clustered_error(values) == pytest.approx(root_sum_squares(mean_influence(values)))
    assert np.isnan(mean_of([3.0]).standard_error) and np.isnan(mean_of([3.0]).high)


def test_intervals_cover():
    """False alarm 1e-4: 400 intervals of 95 % for the mean of 5 rows."""
    draws = np.random.default_rng(6).normal(2.0, 3.0, (400, 5))
    covered = sum(each.low <= 2.0 <= each.high for each in map(mean_of, draws))
    assert abs(covered - 380) < 4 * np.sqrt(400 * 0.95 * 0.05)
    assert quantile() == pytest.approx(1.959964, abs=1e-6) and quantile(4) == pytest.approx(2.776445, abs=1e-6)


def test_rows_of_estimates_on_one_axis():
    first = Estimate(0.5, 0.1, n=2000, units=40, method="ksg")
    ax = Figure().subplots()
    assert first.plot(ax) is ax and first.plot(ax) is ax
    assert [text.get_text() for text in ax.get_yticklabels()] == ["ksg\nn = 2,000 in 40 units"] * 2
    share = Estimate(0.3, 0.1, "share of H(y)")
    assert share.plot(Figure().subplots()).get_xlabel() == "share of H(y), 95 % interval"
    with refused("ax", "conflict"):
        share.plot(ax)


def test_arrays_of_estimates():
    values = np.random.default_rng(7).normal(size=(50, 2))
    found = means_of(values, method="means")
    assert isinstance(found, Estimates) and len(found) == 2
    assert found[1].standard_error == pytest.approx(mean_of(values[:, 1]).standard_error)
    assert repr(found).splitlines()[2] == f"  [1] {found[1]!r}"
