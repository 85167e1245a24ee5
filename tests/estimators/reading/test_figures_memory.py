"""Figures of memory against closed forms of autoregressions, and rows of series against
slices by hand.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from pytest import approx
from scipy.signal import lfilter

from infoscope.estimators.reading import figures, figures_conditional, figures_memory
from infoscope.estimators.reading.lagged import figures_of, lagged
from infoscope.estimators.variables import Variable


def autoregression(phi, n, seed=0):
    noise = default_rng(seed).normal(size=(n + 200, 1))
    return lfilter([1.0], [1.0, -phi], noise, axis=0)[200:]


def memory(x, y, units=None):
    if units is None:
        units = np.zeros(len(x), int)
    return figures_memory.memory_figures(x, y, x, y, units, default_rng(0))


@pytest.mark.parametrize(("phi", "psi"), [(0.0, 0.0), (0.5, 0.8), (0.9, 0.9)])
def test_memory_of_autoregressions(phi, psi):
    """Lag one: phi; the variance inflation of a correlation: (1 + phi psi) / (1 - phi
    psi) (Bartlett 1935).
    """
    values = memory(autoregression(phi, 50_000), autoregression(psi, 50_000, seed=1))
    assert values["memory_more"] == approx(max(phi, psi), abs=0.02)
    assert values["memory_fewer"] == approx(min(phi, psi), abs=0.02)
    inflation = (1 + phi * psi) / (1 - phi * psi)
    assert values["memory_inflation"] == approx(np.log(inflation), abs=0.15)


@pytest.mark.parametrize("d", [0.0, 0.4])
def test_the_slope_is_the_memory_parameter(d):
    """Fractional noise: coefficients of (1 - L)^-d."""
    n = 8000
    powers = np.arange(1, n)
    ratios = (powers - 1 + d) / powers
    coefficients = np.cumprod(np.append(1.0, ratios))
    noise = default_rng(0).normal(size=2 * n)
    x = np.convolve(noise, coefficients)[n : 2 * n, None]
    unrelated = default_rng(1).normal(size=(n, 1))
    assert memory(x, unrelated)["memory_slope_more"] == approx(d, abs=0.1)


def test_what_wanders_drifts_and_what_changes_its_spread_has_squares_with_memory():
    walk = np.cumsum(default_rng(0).normal(size=(4000, 1)), axis=0)
    noise = default_rng(1).normal(size=(4000, 1))
    spread = np.exp(np.sin(np.arange(4000) / 50))
    values = memory(walk, noise * spread[:, None])
    assert values["drift_more"] > 0.8
    assert values["drift_fewer"] < 0.02
    assert values["memory_squares_more"] > 0.2


def test_shifts_in_time_leave_what_memory_alone_shows():
    slow = memory(autoregression(0.98, 1000), autoregression(0.98, 1000, seed=1))
    fast = memory(autoregression(0.0, 1000), autoregression(0.0, 1000, seed=1))
    assert slow["shifted_gaussian"] > 5 * abs(fast["shifted_gaussian"])
    assert slow["shifted_gaussian_most"] >= slow["shifted_gaussian"]
    assert slow["shifted_ksg"] > fast["shifted_ksg"] + 0.03


def test_series_of_a_panel_do_not_mix():
    """Units of constant level: between them there is no memory, and shifts stay within
    a unit.
    """
    units = np.repeat(np.arange(20), 100)
    rows = figures_memory.shifted_rows(units, default_rng(0))
    assert_array_equal(units[rows], units)
    assert_array_equal(np.sort(rows), np.arange(2000))
    assert (rows != np.arange(2000)).all()
    x = autoregression(0.7, 2000)
    interleaved = np.argsort(np.tile(np.arange(100), 20), kind="stable")
    values = memory(x, x, units)
    values_of_interleaved = memory(x[interleaved], x[interleaved], units[interleaved])
    for name in ("memory_more", "drift_more"):
        assert values[name] == approx(values_of_interleaved[name])


def test_the_past_beside_now():
    rng = default_rng(0)
    numbers = rng.normal(size=(60, 2))
    codes = rng.integers(0, 3, 60)
    x = Variable(numbers, None, 1)
    y = Variable(np.empty((60, 0)), codes, 3)
    sample = lagged(x, y, (1, 3), np.zeros(60, int))
    assert_array_equal(
        sample.pairs.x.continuous, np.hstack([numbers[2:-1], numbers[:-3]])
    )
    assert_array_equal(sample.pairs.y.codes, codes[3:])
    last, third_last = sample.y_past
    assert_array_equal(last.codes, codes[2:-1])
    assert_array_equal(third_last.codes, codes[:-3])
    assert sample.type == "series of labels"


@pytest.mark.parametrize(
    ("given", "kind"), [(False, figures), (True, figures_conditional)]
)
def test_figures_of_series_have_memory_and_those_of_rows_have_none(given, kind):
    x, y = (Variable(autoregression(0.8, 400, seed), None, 1) for seed in range(2))
    sample = lagged(x, y, (1,), np.zeros(400, int))
    values = dict(zip(kind.NAMES, figures_of(sample, given, default_rng(0))))
    rows = sample.triples if given else sample.pairs
    values_of_rows = dict(zip(kind.NAMES, kind.figures(rows, default_rng(0))))
    for name in figures_memory.NAMES:
        assert np.isfinite(values[name])
        assert np.isnan(values_of_rows[name])
    assert (values["innovation_memory"] < 0.3) == given  # the past explains the memory
