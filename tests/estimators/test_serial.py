"""Rows that follow one another: series and unnamed groups are seen, independent rows and sorted ones are not."""

import warnings

import numpy as np
import pytest

from infoscope.estimators import estimate
from infoscope.estimators.kernel_tests import hsic_test
from infoscope.estimators.serial import RowsInSequence, serial_dependence
from infoscope.estimators.uncertainty import permutation_test, subsample
from infoscope.estimators.variables import Continuous, Discrete, as_variable

N = 1000


def draws(seed=0):
    return np.random.default_rng(seed)


def autoregression(coefficient, n=N, columns=1, seed=0):
    noise = draws(seed).standard_normal((n, columns)) * np.sqrt(1 - coefficient**2)
    for before, row in zip(noise, noise[1:]):
        row += coefficient * before
    return noise


def found(x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return serial_dependence(as_variable("x", x), as_variable("y", y))


@pytest.mark.parametrize("coefficient, lags", [(0.7, (4, 8)), (0.9, (8, 32)), (0.95, (16, 64))])
def test_a_series_is_seen_and_how_long_it_remembers(coefficient, lags):
    """Of 500 pairs the successor is nearer in 65 % (0.7) and more: over 6 standard errors on each side."""
    seen = found(autoregression(coefficient, seed=1), autoregression(coefficient, columns=3, seed=2))
    assert min(seen.errors) > 6 and lags[0] <= seen.lag <= lags[1]
    assert f"one row in {seen.lag}" in str(seen)
    thinned = [autoregression(coefficient, n=200 * seen.lag, seed=seed)[:: seen.lag] for seed in (1, 2)]
    assert found(*thinned) is None


def test_a_walk_is_alike_as_far_as_can_be_asked():
    walks = [np.cumsum(draws(seed).standard_normal(N)) for seed in (1, 2)]
    assert found(*walks).lag is None and "125 rows apart they still are" in str(found(*walks))


def test_unnamed_groups_are_seen_in_numbers_and_labels():
    of_group = np.repeat(draws().standard_normal((N // 4, 2)), 4, axis=0)
    x = of_group + 0.5 * draws(1).standard_normal((N, 2))
    assert found(x, Discrete(of_group[:, 0] > 0)).lag == 4


def test_one_side_without_memory_is_enough():
    assert found(autoregression(0.95), draws(1).standard_normal(N)) is None


def test_independent_rows_and_sorted_ones_pass():
    """The least of two tests is beyond 4.5 standard errors once in 300,000 data sets at most."""
    g = draws(3)
    x = g.standard_normal((N, 2))
    y = x[:, :1] + 0.5 * g.standard_normal((N, 1))
    label = g.integers(0, 10, N)
    images = g.standard_normal((N, 64)) + 0.3 * label[:, None]
    age = Continuous(g.integers(20, 70, N).astype(float))
    heights = 0.1 * age.values + g.standard_normal(N)
    by_age, by_label = np.argsort(age.values, kind="stable"), np.argsort(label, kind="stable")
    for left, right in (
        (x, y),
        (x[np.argsort(x[:, 0])], y[np.argsort(x[:, 0])]),
        (np.sort(x[:, 0]), np.sort(x[:, 0]) ** 3),
        (images[by_label], Discrete(label[by_label])),
        (Continuous(age.values[by_age]), heights[by_age]),
        (np.maximum(x, 0), np.maximum(y, 0)),
        (g.standard_normal((N, 200)), y),
        (x[:99], y[:99]),
    ):
        assert found(left, right) is None


def test_who_estimates_is_told():
    x, y = autoregression(0.99, seed=1)[:, 0], autoregression(0.99, seed=2)[:, 0]
    assert any("alike in x and in y" in note for note in estimate(x, y, method="gcmi").notes)
    blocks = np.arange(N) // 50
    assert not any("alike" in note for note in estimate(x, y, method="gcmi", groups=blocks).notes)
    judged = subsample(x, y, resamples=20)
    assert judged.verdict == "unreliable" and "series" in judged.reasons[0]
    assert "alike" not in " ".join(subsample(x, y, resamples=20, groups=blocks).reasons)


@pytest.mark.parametrize("test", [permutation_test, hsic_test])
def test_tests_of_independence_warn(test):
    x, y = autoregression(0.9, 300, seed=1), autoregression(0.9, 300, seed=2)
    with pytest.warns(RowsInSequence, match="no independent draws"):
        test(x, y, permutations=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test(x, draws(5).standard_normal(300), permutations=1)
