"""Figures of memory against closed forms of autoregressions, and rows of series against slices by hand."""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from pytest import approx
from scipy.signal import lfilter

from infoscope.estimators.reading import figures, figures_conditional, figures_memory
from infoscope.estimators.reading.lagged import figures_of, lagged, rows_before
from infoscope.estimators.variables import Variable


def autoregression(phi, n, columns=1, seed=0):
    noise = default_rng(seed).normal(size=(n + 200, columns))
    return lfilter([1.0], [1.0, -phi], noise, axis=0)[200:]


def memory(x, y, units=None, seed=0):
    units = np.zeros(len(x), int) if units is None else units
    return figures_memory.memory_figures(x, y, x, y, units, default_rng(seed))


@pytest.mark.parametrize("phi, psi", [(0.0, 0.0), (0.5, 0.8), (0.9, 0.9)])
def test_memory_of_autoregressions(phi, psi):
    """Lag one: phi; the variance inflation of a correlation: (1 + phi psi) / (1 - phi psi) (Bartlett 1935)."""
    found = memory(autoregression(phi, 50_000), autoregression(psi, 50_000, seed=1))
    assert found["memory_more"] == approx(max(phi, psi), abs=0.02)
    assert found["memory_fewer"] == approx(min(phi, psi), abs=0.02)
    inflation = (1 + phi * psi) / (1 - phi * psi)
    assert found["memory_inflation"] == approx(np.log(inflation), abs=0.15)


@pytest.mark.parametrize("d", [0.0, 0.4])
def test_the_slope_is_the_memory_parameter(d):
    """Fractional noise: coefficients of (1 - L)^-d."""
    n = 8000
    powers = np.arange(1, n)
    coefficients = np.concatenate([[1.0], np.cumprod((powers - 1 + d) / powers)])
    noise = default_rng(0).normal(size=2 * n)
    x = np.convolve(noise, coefficients)[n : 2 * n, None]
    found = memory(x, default_rng(1).normal(size=(n, 1)))
    assert found["memory_slope_more"] == approx(d, abs=0.1)


def test_what_wanders_drifts_and_what_changes_its_spread_has_squares_with_memory():
    walk = np.cumsum(default_rng(0).normal(size=(4000, 1)), axis=0)
    noise = default_rng(1).normal(size=(4000, 1))
    waves = noise * np.exp(np.sin(np.arange(4000) / 50))[:, None]
    found = memory(walk, waves)
    assert found["drift_more"] > 0.8 > 0.02 > found["drift_fewer"]
    assert found["memory_squares_more"] > 0.2


def test_shifts_in_time_leave_what_memory_alone_shows():
    slow = memory(autoregression(0.98, 1000), autoregression(0.98, 1000, seed=1))
    fast = memory(autoregression(0.0, 1000), autoregression(0.0, 1000, seed=1))
    assert slow["shifted_gaussian"] > 5 * abs(fast["shifted_gaussian"])
    assert slow["shifted_gaussian_most"] >= slow["shifted_gaussian"]
    assert slow["shifted_ksg"] > fast["shifted_ksg"] + 0.03


def test_series_of_a_panel_do_not_mix():
    """Units of constant level: between them there is no memory, and shifts stay within a unit."""
    units = np.repeat(np.arange(20), 100)
    generator = default_rng(0)
    rows = figures_memory.shifted_rows(units, generator)
    assert (units[rows] == units).all() and sorted(rows) == list(range(2000)) and (rows != np.arange(2000)).all()
    x = autoregression(0.7, 2000)
    interleaved = np.argsort(np.tile(np.arange(100), 20), kind="stable")
    together, turned = memory(x, x, units), memory(x[interleaved], x[interleaved], units[interleaved])
    assert together["memory_more"] == approx(turned["memory_more"])
    assert together["drift_more"] == approx(turned["drift_more"])


def test_rows_before():
    units = np.array([0, 0, 0, 0, 1, 1, 1])
    earlier, now = rows_before(units, (1, 2))
    assert_array_equal(now, [2, 3, 6])
    assert_array_equal(earlier, [[1, 2, 5], [0, 1, 4]])


def test_the_past_beside_now():
    generator = default_rng(0)
    x = Variable(generator.normal(size=(60, 2)), None, 1)
    y = Variable(np.empty((60, 0)), generator.integers(0, 3, 60), 3)
    sample = lagged(x, y, (1, 3), np.zeros(60, int))
    assert_array_equal(sample.pairs.x.continuous, np.hstack([x.continuous[2:-1], x.continuous[:-3]]))
    assert_array_equal(sample.pairs.y.codes, y.codes[3:])
    assert_array_equal([past.codes for past in sample.y_past], [y.codes[2:-1], y.codes[:-3]])
    assert sample.type == "series of labels"


@pytest.mark.parametrize("given, kind", [(False, figures), (True, figures_conditional)])
def test_figures_of_series_have_memory_and_those_of_rows_have_none(given, kind):
    x, y = (Variable(autoregression(0.8, 400, seed=seed), None, 1) for seed in range(2))
    sample = lagged(x, y, (1,), np.zeros(400, int))
    row = dict(zip(kind.NAMES, figures_of(sample, given, default_rng(0))))
    assert all(np.isfinite(row[name]) for name in figures_memory.NAMES)
    assert (row["innovation_memory"] < 0.3) == given  # the past explains the memory
    bare = kind.figures(sample.triples if given else sample.pairs, default_rng(0))
    assert all(np.isnan(bare[kind.NAMES.index(name)]) for name in figures_memory.NAMES)
