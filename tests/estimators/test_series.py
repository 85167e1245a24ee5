"""Transfer entropies and information of series against closed forms of autoregressions; gaps, panels, refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from infoscope.estimators import series
from infoscope.estimators.reading.result import Reading
from tests.refusals import refused

LOG2 = np.log(2)


def autoregression(phi, n, seed):
    noise = np.random.default_rng(seed).normal(size=n + 300)
    return lfilter([1.0], [1.0, -phi], noise)[300:]


def coupled(n, phi, strength, seed=0):
    """y[t] = 0.5 y[t-1] + strength x[t-1] + noise, x of its own."""
    x = autoregression(phi, n, seed)
    drive = np.concatenate([[0.0], strength * x[:-1]])
    noise = np.random.default_rng(seed + 100).normal(size=n)
    return x, lfilter([1.0], [1.0, -0.5], drive + noise)


def true_transfer(phi, strength):
    """I(x[t-1]; y[t] | y[t-1]), nats: half the log of the variance of y given its last value over that of the noise.

    The joint covariance of (x[t], y[t]) solves the Lyapunov equation of the vector autoregression.
    """
    from scipy.linalg import solve_discrete_lyapunov

    step = np.array([[phi, 0.0], [strength, 0.5]])
    covariance = solve_discrete_lyapunov(step, np.eye(2))
    variance_x, both, variance_y = covariance[0, 0], covariance[0, 1], covariance[1, 1]
    unknown = variance_x - both**2 / variance_y
    return np.log1p(strength**2 * unknown) / 2


@pytest.mark.parametrize("phi", [0.0, 0.8, 0.95])
@pytest.mark.parametrize("strength", [0.3, 0.8])
def test_transfer_entropy_of_a_vector_autoregression(phi, strength):
    x, y = coupled(1500, phi, strength)
    truth = true_transfer(phi, strength)
    answer = series.transfer_entropy(x, y, 1)
    assert answer.low <= truth <= answer.high
    assert answer.low > 0 and answer.high < 4 * truth + 0.1
    back = series.transfer_entropy(y, x, 1)
    assert back.low == 0 and back.high < 0.15


def test_independent_slow_series_share_nothing():
    """Nearest neighbours alone call four of five such pairs dependent."""
    called = 0
    for seed in range(8):
        x, y = (autoregression(0.95, 800, 2 * seed + side) for side in range(2))
        called += series.transfer_entropy(x, y, 1).low > 0
        called += series.information(x, y, 1).low > 0
    assert called <= 1


def test_labels_and_several_columns():
    """A label that repeats the other's last value in three of four steps: log 2 less the entropy of 1/8."""
    generator = np.random.default_rng(0)
    x = generator.integers(0, 2, 2000)
    y = np.where(generator.random(2000) < 0.75, np.roll(x, 1), generator.integers(0, 2, 2000))
    truth = LOG2 + 0.125 * np.log(0.125) + 0.875 * np.log(0.875)
    words = np.array(["no", "yes"])
    answer = series.transfer_entropy(words[x], words[y], 1)
    assert answer.low <= truth <= answer.high < 0.6
    both = np.stack([autoregression(0.5, 2000, 0), autoregression(0.5, 2000, 1)], axis=1)
    assert series.information(both, both[:, 0] + 0.1, 1).low > 0


def test_the_history_is_chosen_and_printed():
    x = autoregression(0.3, 1500, 0)
    y = np.concatenate([np.zeros(3), x[:-3]]) + 0.5 * np.random.default_rng(1).normal(size=1500)
    assert series.chosen_history(series.as_series(x, y)) == 3
    answer = series.transfer_entropy(x, y)
    assert answer.history == "3 past values" and answer.n == 1497
    assert "3 past values" in repr(answer)
    assert isinstance(answer, Reading) and answer.low > 0.2


def test_a_walk_is_grade_c_and_its_steps_are_not():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(600, 2)), axis=0)
    answer = series.information(walk[:, 0], walk[:, 1], 1)
    assert answer.grade == "C" and any(note.code == "not stationary" for note in answer.notes)
    assert series.information(*np.diff(walk, axis=0).T, 1).grade != "C"


def test_gaps_and_units_end_a_series():
    time = pd.date_range("2024-01-01", periods=120)
    x = pd.Series(np.random.default_rng(0).normal(size=120))
    y = x.copy()
    y[40] = np.nan
    early = time.delete(0).insert(0, pd.Timestamp("2023-01-01"))
    checked = series.as_series(x, x, time=early)
    assert np.bincount(checked.units).tolist() == [1, 119]
    working = pd.bdate_range("2024-01-01", periods=120)
    assert series.as_series(x, x, time=working).units.max() == 0  # weekends are no gaps
    units = series.as_series(x, x, groups=np.repeat(["b", "a"], 60)).units
    assert np.bincount(units).tolist() == [60, 60]
    broken = series.as_series(x, y)
    assert np.bincount(broken.units).tolist() == [40, 79] and broken.x.n == 119


def test_levels_of_units_are_no_information():
    """Unit means are correlated; within units nothing is shared."""
    generator = np.random.default_rng(0)
    units = np.repeat(np.arange(30), 40)
    level = generator.normal(size=30)
    x, y = (level[units] + generator.normal(size=1200) for _ in range(2))
    assert series.transfer_entropy(x, y, 1).low > 0
    answer = series.transfer_entropy(x, y, 1, groups=units)
    assert answer.low == 0 and answer.grade != "C" and answer.high < 0.1
    short = np.arange(1200) // 8  # units of eight rows are no walk
    assert series.transfer_entropy(generator.normal(size=1200), generator.normal(size=1200), 1, groups=short).low == 0


def test_series_that_are_too_short_for_a_lag_are_left_out():
    x, y = coupled(300, 0.5, 0.8)
    x[[50, 53, 120]] = np.nan
    answer = series.transfer_entropy(x, y, [1, 6])
    assert 0 < answer.n < 290


def test_the_order_of_rows_does_not_matter_where_times_are_given():
    x, y = coupled(400, 0.5, 0.8)
    order = np.random.default_rng(0).permutation(400)
    straight = series.transfer_entropy(x, y, 1)
    turned = series.transfer_entropy(x[order], y[order], 1, time=np.arange(400)[order])
    assert straight.interval == turned.interval


def test_the_lag_curve_has_its_top_where_the_effect_is():
    generator = np.random.default_rng(0)
    x = generator.normal(size=1500)
    y = np.roll(x, 2) + generator.normal(size=1500)
    curve = series.lag_curve(x, y, 3, names=("wind", "power"))
    rows = curve.table.set_index(["cause", "effect", "lag"])
    best = rows.loc[("wind", "power", 2)]
    assert best["low"] <= 0.5 <= best["high"] and best["low"] > 0
    others = rows.drop(("wind", "power", 2))
    assert (others["low"] == 0).all()
    assert str(curve).startswith("wind carries most information about power 2 steps later")
    assert len(curve.plot().lines) == 2


@pytest.mark.parametrize(
    "call, argument, code",
    [
        (lambda x: series.information(x, x[:-1]), "x and y", "length"),
        (lambda x: series.information(x[:20], x[:20]), "x and y", "few"),
        (lambda x: series.information(x, x, 0), "lags", "range"),
        (lambda x: series.information(x, x, [40]), "lags", "few"),
        (lambda x: series.transfer_entropy(x, x, [0, 1]), "lags", "conflict"),
        (lambda x: series.information(x, x, 1, time=np.zeros(len(x))), "time", "invalid"),
        (lambda x: series.information(x, x, 1, time=x[:-1]), "time", "length"),
        (lambda x: series.information(x, x, 1, groups=np.arange(len(x))), "x", "constant"),
        (lambda x: series.information(x, np.arange(80) // 40 + 0.5, 1, groups=np.arange(80) // 40), "y", "constant"),
        (lambda x: series.information(x, x, 2.5), "lags", "range"),
        (lambda x: series.information(x, x, 1, time=["now"] * len(x)), "time", "invalid"),
    ],
)
def test_refusals(call, argument, code):
    with refused(argument, code):
        call(np.random.default_rng(0).normal(size=80))
