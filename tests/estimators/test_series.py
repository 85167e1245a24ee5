"""Transfer entropies and information of series against closed forms of autoregressions;
gaps, panels, refusals.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import solve_discrete_lyapunov
from scipy.signal import lfilter

from infoscope.estimators import series
from tests.refusals import refused

LOG2 = np.log(2)


def draws(seed=0):
    return np.random.default_rng(seed)


def autoregression(phi, n, seed):
    noise = draws(seed).normal(size=n + 300)
    return lfilter([1.0], [1.0, -phi], noise)[300:]


def coupled(n, phi, strength):
    """y[t] = 0.5 y[t-1] + strength x[t-1] + noise, x of its own."""
    x = autoregression(phi, n, 0)
    noise = draws(100).normal(size=n)
    noise[1:] += strength * x[:-1]
    return x, lfilter([1.0], [1.0, -0.5], noise)


def true_transfer(phi, strength):
    """I(x[t-1]; y[t] | y[t-1]), nats: half the log of the variance of y given its last
    value over that of the noise.

    The joint covariance of (x[t], y[t]) solves the Lyapunov equation of the vector
    autoregression.
    """
    step = np.array([[phi, 0.0], [strength, 0.5]])
    covariance = solve_discrete_lyapunov(step, np.eye(2))
    explained = covariance[0, 1] ** 2 / covariance[1, 1]
    variance_given_y = covariance[0, 0] - explained
    return np.log1p(strength**2 * variance_given_y) / 2


@pytest.mark.parametrize("phi", [0.0, 0.8, 0.95])
@pytest.mark.parametrize("strength", [0.3, 0.8])
def test_transfer_entropy_of_a_vector_autoregression(phi, strength):
    x, y = coupled(1500, phi, strength)
    truth = true_transfer(phi, strength)
    forward = series.transfer_entropy(x, y, 1)
    assert 0 < forward.low <= truth <= forward.high < 4 * truth + 0.1
    backward = series.transfer_entropy(y, x, 1)
    assert backward.low == 0
    assert backward.high < 0.15


def test_independent_slow_series_share_nothing():
    """Nearest neighbours alone call four of five such pairs dependent."""
    dependent = 0
    for seed in range(8):
        x = autoregression(0.95, 800, 2 * seed)
        y = autoregression(0.95, 800, 2 * seed + 1)
        dependent += series.transfer_entropy(x, y, 1).low > 0
        dependent += series.information(x, y, 1).low > 0
    assert dependent <= 1


def test_labels():
    """A label that repeats the other's last value in three of four steps: log 2 less
    the entropy of 1/8.
    """
    g = draws()
    x, noise = g.integers(0, 2, (2, 2000))
    is_copied = g.random(2000) < 0.75
    y = np.where(is_copied, np.roll(x, 1), noise)
    entropy = -0.125 * np.log(0.125) - 0.875 * np.log(0.875)
    words = np.array(["no", "yes"])
    reading = series.transfer_entropy(words[x], words[y], 1)
    assert reading.low <= LOG2 - entropy <= reading.high < 0.6


def test_several_columns():
    columns = [autoregression(0.5, 2000, seed) for seed in range(2)]
    x = np.stack(columns, axis=1)
    assert series.information(x, x[:, 0] + 0.1, 1).low > 0


def test_the_history_is_chosen_and_printed():
    x = autoregression(0.3, 1500, 0)
    noise = draws(1).normal(size=1500)
    y = np.roll(x, 3) + 0.5 * noise
    assert series.chosen_history(series.as_series(x, y)) == 3
    reading = series.transfer_entropy(x, y)
    assert reading.history == "3 past values"
    assert reading.n == 1497
    assert reading.low > 0.2
    assert "3 past values" in repr(reading)


def test_a_walk_is_grade_c_and_its_steps_are_not():
    steps = draws().normal(size=(2, 600))
    walks = np.cumsum(steps, axis=1)
    reading = series.information(*walks, 1)
    assert reading.grade == "C"
    assert any(note.code == "not stationary" for note in reading.notes)
    assert series.information(*steps, 1).grade != "C"


def rows_of_units(x, y, **settings):
    checked = series.as_series(x, y, **settings)
    return np.bincount(checked.units).tolist()


def test_gaps_and_units_end_a_series():
    days = pd.date_range("2024-01-01", periods=120)
    x = pd.Series(draws().normal(size=120))
    first = pd.DatetimeIndex(["2023-01-01"])
    assert rows_of_units(x, x, time=first.append(days[1:])) == [1, 119]
    weekdays = pd.bdate_range("2024-01-01", periods=120)
    assert rows_of_units(x, x, time=weekdays) == [120]  # weekends are no gaps
    groups = np.repeat(["b", "a"], 60)
    assert rows_of_units(x, x, groups=groups) == [60, 60]
    y = x.copy()
    y[40] = np.nan
    assert rows_of_units(x, y) == [40, 79]


def test_levels_of_units_are_no_information():
    """Unit means are correlated; within units nothing is shared."""
    g = draws()
    units = np.repeat(np.arange(30), 40)
    level = g.normal(size=30)[units]
    x, y = level + g.normal(size=(2, 1200))
    assert series.transfer_entropy(x, y, 1).low > 0
    reading = series.transfer_entropy(x, y, 1, groups=units)
    assert reading.low == 0
    assert reading.high < 0.1
    assert reading.grade != "C"


def test_short_units_are_no_walk():
    x, y = draws().normal(size=(2, 1200))
    units = np.arange(1200) // 8
    assert series.transfer_entropy(x, y, 1, groups=units).low == 0


def test_series_that_are_too_short_for_a_lag_are_left_out():
    x, y = coupled(300, 0.5, 0.8)
    x[[50, 53, 120]] = np.nan
    reading = series.transfer_entropy(x, y, [1, 6])
    assert 0 < reading.n < 290


def test_the_order_of_rows_does_not_matter_where_times_are_given():
    x, y = coupled(400, 0.5, 0.8)
    order = draws().permutation(400)
    in_order = series.transfer_entropy(x, y, 1)
    sorted_by_time = series.transfer_entropy(x[order], y[order], 1, time=order)
    assert sorted_by_time.interval == in_order.interval


def test_the_lag_curve_has_its_top_where_the_effect_is():
    x, noise = draws().normal(size=(2, 1500))
    y = np.roll(x, 2) + noise
    curve = series.lag_curve(x, y, 3, names=("wind", "power"))
    rows = curve.table.set_index(["cause", "effect", "lag"])
    effect = ("wind", "power", 2)
    low = rows["low"]
    assert 0 < low[effect] <= 0.5 <= rows["high"][effect]  # bits
    assert (low.drop(effect) == 0).all()
    assert str(curve).startswith("wind carries most information about power 2 steps")
    assert len(curve.plot().lines) == 2


X = draws().normal(size=80)
UNITS = np.arange(80) // 40


@pytest.mark.parametrize(
    ("settings", "argument", "code"),
    [
        ({"y": X[:-1]}, "x and y", "length"),
        ({"x": X[:20], "y": X[:20]}, "x and y", "few"),
        ({"lags": 0}, "lags", "range"),
        ({"lags": 2.5}, "lags", "range"),
        ({"lags": [40]}, "lags", "few"),
        ({"time": np.zeros(80)}, "time", "invalid"),
        ({"time": X[:-1]}, "time", "length"),
        ({"time": ["now"] * 80}, "time", "invalid"),
        ({"groups": np.arange(80)}, "x", "constant"),
        ({"y": UNITS + 0.5, "groups": UNITS}, "y", "constant"),
    ],
)
def test_bad_input_is_refused(settings, argument, code):
    arguments = {"x": X, "y": X, "lags": 1} | settings
    with refused(argument, code):
        series.information(**arguments)


def test_the_present_is_no_lag_of_a_transfer_entropy():
    with refused("lags", "conflict"):
        series.transfer_entropy(X, X, [0, 1])
