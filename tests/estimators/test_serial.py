"""Rows that depend on others at some lag: series and unnamed groups are seen, independent rows and sorted ones not."""

import warnings
from functools import partial

import numpy as np
import pytest

from infoscope.estimators import diagnose
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.independence import independence_test
from infoscope.estimators.serial import RowsInSequence, serial_dependence
from infoscope.estimators.uncertainty import permutation_test
from infoscope.estimators.variables import copies
from tests.estimators.samples import draws

N = 1000


def autoregression(coefficient, n=N, columns=1, seed=0):
    noise = draws(seed).standard_normal((n, columns)) * np.sqrt(1 - coefficient**2)
    for before, row in zip(noise, noise[1:]):
        row += coefficient * before
    return noise


def found(x, y):
    x, y = as_variable("x", x), as_variable("y", y)
    return serial_dependence(x, y, copies(x, y))


@pytest.mark.parametrize("coefficient, lags", [(0.7, (4, 8)), (0.95, (16, 64))])
def test_a_series_is_seen_and_how_long_it_remembers(coefficient, lags):
    """Of 500 pairs the successor is nearer in 65 % (0.7) and more: over 6 standard errors on each side."""
    seen = found(autoregression(coefficient, seed=1), autoregression(coefficient, columns=3, seed=2))
    assert min(seen.errors) > 6 and lags[0] <= seen.lag <= lags[1]
    assert f"keep every {seen.lag}" in str(seen)
    thinned = [autoregression(coefficient, n=200 * seen.lag, seed=seed)[:: seen.lag] for seed in (1, 2)]
    assert found(*thinned) is None


def test_a_walk_is_alike_as_far_as_can_be_asked():
    seen = found(*(np.cumsum(draws(seed).standard_normal(N)) for seed in (1, 2)))
    assert seen.lag is None and "keep every" not in str(seen)


def in_turn(units, share, columns=1, n=N, seed=0):
    """Rows of `units` that take turns; their own levels are so much of the variance."""
    g = draws(seed)
    levels = np.sqrt(share) * g.standard_normal((units, columns))
    return levels[np.arange(n) % units] + np.sqrt(1 - share) * g.standard_normal((n, columns))


@pytest.mark.parametrize("units", [20, 101])
def test_units_in_turn_are_detected(units):
    """Levels of half the variance: ranks correlate by (6 / pi) arcsin(1 / 4) = 0.48 at that lag, the root of n - lag
    times which is the figure, but for the draw of levels."""
    seen = found(in_turn(units, 0.7, seed=1), Discrete(in_turn(units, 0.7, seed=2) > 0))
    assert seen.every == units and min(seen.errors) > 5
    many = found(in_turn(units, 0.5, n=40 * units, seed=3), in_turn(units, 0.5, n=40 * units, seed=4))
    assert many.every == units
    assert many.errors == pytest.approx(np.full(2, 0.48 * np.sqrt(39 * units)), rel=3 / np.sqrt(units))


@pytest.mark.parametrize("signs", [(-1, -1), (-1, 1)])
def test_series_that_turn_back_are_seen(signs):
    seen = found(*(autoregression(0.98 * sign, seed=seed) for sign, seed in zip(signs, (1, 2))))
    assert seen.every == 1 and tuple(np.sign(seen.errors)) == signs
    assert "opposite in x" in str(seen) and ("similar in y" in str(seen)) == (signs[1] > 0)


def test_unnamed_groups_are_seen_in_numbers_and_labels():
    of_group = np.repeat(draws().standard_normal((N // 4, 2)), 4, axis=0)
    x = of_group + 0.5 * draws(1).standard_normal((N, 2))
    assert found(x, Discrete(of_group[:, 0] > 0)).lag == 4


def test_one_side_without_memory_is_enough():
    assert found(autoregression(0.95), draws(1).standard_normal(N)) is None
    assert found(in_turn(20, 0.9), draws(1).standard_normal(N)) is None


def test_independent_rows_are_hardly_ever_reported():
    """A variable without memory is beyond the limit at some lag in one data set of 1,000, also beside a random walk;
    more than two of 150 come by chance once in 2,000 times."""
    g = draws(5)
    noise, walks = g.standard_normal((150, 2, 200)), np.cumsum(g.standard_normal((150, 200)), axis=1)
    told = [found(x, y) is not None for x, y in noise] + [found(x, x + y) is not None for x, y in noise]
    assert not any(told)
    assert sum(found(walk, y) is not None for walk, (y, _) in zip(walks, noise)) <= 2


def test_rows_that_are_independent_given_labels_pass_in_whichever_order():
    """Turns, as of classes that alternate; sections, as of a class that was added to; and rare ones."""
    g = draws(6)
    sections = np.where(np.arange(N) < 700, g.integers(0, 2, N), 0)
    for label in (np.arange(N) % 2, np.arange(N) % 10, (np.arange(N) % 50 == 0).astype(int), sections):
        assert found(g.standard_normal((N, 3)) + 2 * label[:, None], Discrete(label)) is None
        assert found(Discrete(label), g.standard_normal((N, 3)) + 2 * label[:, None]) is None


def test_copies_of_rows_are_no_series():
    g = draws(7)
    x = g.standard_normal((300, 2))
    y, label = x[:, 0] + g.standard_normal(300), x[:, 0] > 0
    again = np.tile(np.arange(300), 4)
    assert found(x[again], y[again]) is None
    more = np.r_[np.arange(300), np.tile(np.flatnonzero(label)[:60], 6)]
    assert found(x[more], Discrete(label[more])) is None
    coarse = [np.round(in_turn(20, 0.8, seed=seed)) for seed in (1, 2)]  # equal rows, by chance and not
    assert found(*map(Continuous, coarse)).every == 20


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
        (x[np.argsort(x[:, 0])], y[np.argsort(x[:, 0])]),
        (images[by_label], Discrete(label[by_label])),
        (Continuous(age.values[by_age]), heights[by_age]),
        (g.standard_normal((N, 200)), y),
    ):
        assert found(left, right) is None


def test_diagnoses_know_of_it():
    x, y = autoregression(0.99, seed=1)[:, 0], autoregression(0.99, seed=2)[:, 0]
    turns = [in_turn(20, 0.9, seed=seed)[:, 0] for seed in (1, 2)]
    for sides, groups, every in (((x, y), np.arange(N) // 50, 1), (turns, np.arange(N) % 20, 20)):
        seen = diagnose(*sides)
        assert seen.serial.every == every and str(seen.serial) in str(seen)
        assert diagnose(*sides, groups=groups).serial is None


@pytest.mark.parametrize("test", [partial(permutation_test, permutations=1), independence_test])
def test_tests_of_independence_warn(test):
    x, y = autoregression(0.9, 300, seed=1), autoregression(0.9, 300, seed=2)
    with pytest.warns(RowsInSequence, match="one another"):
        test(x, y)
    with pytest.warns(RowsInSequence, match="every 20th row"):
        test(in_turn(20, 0.9, n=300, seed=1), in_turn(20, 0.9, n=300, seed=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test(x, draws(5).standard_normal(300))
