"""Errors of an estimator and figures over runs, against closed forms and simulated
coverage.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx
from scipy import signal, stats

from infoscope.metrics import batch_means_error, correlation, errors, replicated


def test_errors_closed_form():
    result = errors(np.array([1.0, 2.0, 3.0]), truth=2.5)
    assert result.bias == approx(-0.5)  # too low
    assert result.variance == approx(2 / 3)
    assert result.mse == approx((2.25 + 0.25 + 0.25) / 3)
    assert result.steps == 3
    assert result.nonfinite == 0
    assert np.isnan(result.mean_standard_error)  # too short to say


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_diverged_step_is_counted_and_not_averaged_away(bad):
    result = errors(np.array([1.0, bad, 1.0]), truth=1.0)
    assert result.nonfinite == 1
    assert result.steps == 3
    assert np.isnan([result.mean, result.bias, result.variance, result.mse]).all()


def test_batch_means_allow_for_dependence():
    """An AR(1) series with coefficient 0.8: the error of the mean is sqrt((1 + .8) / (1
    - .8)) = 3 times the naive one.

    Over 200 series the mean ratio has a standard deviation of about 0.035; the bounds
    are more than 6 of them away (false alarms < 1e-8).
    """
    noise = default_rng(1).normal(size=(200, 4200))
    ratios = [
        batch_means_error(series) / (series.std() / np.sqrt(len(series)))
        for series in signal.lfilter([1.0], [1.0, -0.8], noise)[:, 200:]
    ]
    assert 2.7 < np.mean(ratios) < 3.3


def test_replicated_interval_covers():
    """Student t intervals of 4 normal runs cover the mean in 95 % of 2,000 repetitions;
    a binomial count outside the bounds has chance < 1e-6.
    """
    rng = default_rng(2)
    covered = sum(
        r.low <= 5.0 <= r.high
        for r in (replicated(rng.normal(5.0, 2.0, 4)) for _ in range(2000))
    )
    low, high = stats.binom.ppf([5e-7, 1 - 5e-7], 2000, 0.95)
    assert low <= covered <= high


def test_one_run_has_no_error_and_a_diverged_one_shows():
    one = replicated([3.0])
    assert one.value == 3.0
    assert one.n == 1
    assert np.isnan([one.standard_error, one.low, one.high]).all()
    assert np.isnan(replicated([1.0, np.nan, 2.0]).value)


def test_correlation_agrees_with_scipy_and_averages_in_fisher_z():
    x = np.arange(5.0)
    y = default_rng(3).normal(size=(4, 5))
    r = [stats.pearsonr(x, row).statistic for row in y]
    result = correlation(x, y)
    assert result.value == approx(np.tanh(np.mean(np.arctanh(r))))
    assert result.low < result.value < result.high
    assert correlation(x, np.stack([2 * x + 1, 3 * x])).value == approx(1.0)
