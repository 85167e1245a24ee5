"""Rows that depend on others at some lag: series and unnamed groups are seen,
independent rows and sorted ones not.
"""

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
    noise = draws(seed).standard_normal((n, columns))
    values = np.sqrt(1 - coefficient**2) * noise
    for row in range(1, n):
        values[row] += coefficient * values[row - 1]
    return values


def in_turn(units, share, n=N, seed=0):
    """Rows [n, 1] of `units` that take turns; the levels of units are this share of the
    variance.
    """
    g = draws(seed)
    levels = np.sqrt(share) * g.standard_normal((units, 1))
    noise = np.sqrt(1 - share) * g.standard_normal((n, 1))
    return levels[np.arange(n) % units] + noise


def dependence(x, y):
    """The serial dependence of both variables, or None."""
    x = as_variable("x", x)
    y = as_variable("y", y)
    return serial_dependence(x, y, copies(x, y))


@pytest.mark.parametrize("coefficient, lags", [(0.7, (4, 8)), (0.95, (16, 64))])
def test_a_series_is_seen_and_how_long_it_remembers(coefficient, lags):
    """Of 500 pairs the successor is nearer in 65 % (0.7) and more: over 6 standard
    errors for either variable.
    """
    serial = dependence(
        autoregression(coefficient, seed=1),
        autoregression(coefficient, columns=3, seed=2),
    )
    assert min(serial.errors) > 6
    assert lags[0] <= serial.lag <= lags[1]
    assert f"keep every {serial.lag}" in str(serial)
    x = autoregression(coefficient, n=200 * serial.lag, seed=1)
    y = autoregression(coefficient, n=200 * serial.lag, seed=2)
    every = slice(None, None, serial.lag)
    assert dependence(x[every], y[every]) is None


@pytest.mark.parametrize("units", [20, 101])
def test_units_in_turn_are_detected(units):
    """Levels of half the variance: ranks correlate by (6 / pi) arcsin(1 / 4) = 0.48 at
    that lag, the root of n - lag times which is the figure, but for the draw of levels.
    """
    numbers = in_turn(units, 0.7, seed=1)
    label = Discrete(in_turn(units, 0.7, seed=2) > 0)
    assert dependence(numbers, label).every == units
    n = 40 * units
    x = in_turn(units, 0.5, n, seed=3)
    y = in_turn(units, 0.5, n, seed=4)
    serial = dependence(x, y)
    assert serial.every == units
    expected = 0.48 * np.sqrt(n - units)
    tolerance = 3 / np.sqrt(units)
    assert serial.errors == pytest.approx([expected, expected], rel=tolerance)


@pytest.mark.parametrize("signs", [(-1, -1), (-1, 1)])
def test_series_that_turn_back_are_seen(signs):
    x = autoregression(0.98 * signs[0], seed=1)
    y = autoregression(0.98 * signs[1], seed=2)
    serial = dependence(x, y)
    assert serial.every == 1
    assert tuple(np.sign(serial.errors)) == signs


def test_unnamed_groups_are_seen_in_numbers_and_labels():
    levels = draws().standard_normal((N // 4, 2))
    levels = np.repeat(levels, 4, axis=0)
    x = levels + 0.5 * draws(1).standard_normal((N, 2))
    label = Discrete(levels[:, 0] > 0)
    assert dependence(x, label).lag == 4


def test_independent_rows_are_hardly_ever_reported():
    """A variable without memory is beyond the limit at some lag in one data set of
    1,000, also beside a random walk; more than two of 150 come by chance once in 2,000
    times.
    """
    g = draws(5)
    beside_walks = 0
    for _ in range(150):
        x, y, steps = g.standard_normal((3, 200))
        assert dependence(x, x + y) is None
        beside_walks += dependence(np.cumsum(steps), y) is not None
    assert beside_walks <= 2


ROWS = np.arange(N)
LABELS = {
    "alternating": ROWS % 2,
    "rare": (ROWS % 50 == 0).astype(int),
    "a class that was added to": np.where(ROWS < 700, draws(6).integers(0, 2, N), 0),
}


@pytest.mark.parametrize("order", LABELS)
def test_rows_that_are_independent_given_labels_pass_in_whichever_order(order):
    label = LABELS[order]
    noise = draws(7).standard_normal((N, 3))
    x = noise + 2 * label[:, None]
    assert dependence(x, Discrete(label)) is None
    assert dependence(Discrete(label), x) is None


def test_copies_of_rows_are_no_series():
    g = draws(7)
    x = g.standard_normal((300, 2))
    y = x[:, 0] + g.standard_normal(300)
    every_row = np.arange(300)
    repeated = np.tile(every_row, 4)
    assert dependence(x[repeated], y[repeated]) is None
    label = x[:, 0] > 0
    rare = np.flatnonzero(label)[:60]
    oversampled = np.append(every_row, np.tile(rare, 6))
    assert dependence(x[oversampled], Discrete(label[oversampled])) is None


def test_equal_rows_of_rounded_numbers_do_not_hide_units_in_turn():
    x = np.round(in_turn(20, 0.8, seed=1))
    y = np.round(in_turn(20, 0.8, seed=2))
    assert dependence(Continuous(x), Continuous(y)).every == 20


def test_sorted_rows_pass():
    """The least of two tests is beyond 4.5 standard errors once in 300,000 data sets at
    most.
    """
    g = draws(3)
    label = np.sort(g.integers(0, 10, N))
    noise = g.standard_normal((N, 64))
    images = noise + 0.3 * label[:, None]
    assert dependence(images, Discrete(label)) is None
    years = np.sort(g.integers(20, 70, N))
    age = years.astype(float)
    height = 0.1 * age + g.standard_normal(N)
    assert dependence(Continuous(age), height) is None


SERIES = (autoregression(0.99, seed=1)[:, 0], autoregression(0.99, seed=2)[:, 0])
TURNS = (in_turn(20, 0.9, seed=1)[:, 0], in_turn(20, 0.9, seed=2)[:, 0])


@pytest.mark.parametrize(
    ("variables", "groups", "every"), [(SERIES, ROWS // 50, 1), (TURNS, ROWS % 20, 20)]
)
def test_diagnoses_report_it_unless_groups_explain_it(variables, groups, every):
    diagnosis = diagnose(*variables)
    assert diagnosis.serial.every == every
    assert str(diagnosis.serial) in str(diagnosis)
    assert diagnose(*variables, groups=groups).serial is None


@pytest.mark.parametrize(
    "test", [partial(permutation_test, permutations=1), independence_test]
)
def test_tests_of_independence_warn(test):
    x = autoregression(0.9, 300, seed=1)
    with pytest.warns(RowsInSequence, match="one another"):
        test(x, autoregression(0.9, 300, seed=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test(x, draws(5).standard_normal(300))
