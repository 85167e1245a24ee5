"""What columns carry about a target beyond others: partial correlations, sizes near the
level, known choices.
"""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from infoscope.estimators.independence.beyond import (
    beyond,
    choose,
    information_of_residuals,
    residuals,
)
from infoscope.estimators.independence.functions import NUMBER, smooth
from tests.estimators.samples import covering


def smoothed(*columns):
    return [smooth(column, NUMBER) for column in columns]


@pytest.mark.parametrize("slope", [0.0, 0.5])
def test_information_of_normal_columns_is_that_of_their_partial_correlation(slope):
    """-log(1 - partial correlation^2) / 2, in the interval of about 95 % of 60 samples
    of 1,000 rows: fewer than 51 of them have probability 0.001, and the mean of the
    values has a standard error of 0.002.
    """
    truth = math.log1p(slope**2) / 2
    estimates = []
    for seed in range(60):
        z, noise_x, noise_y = default_rng(seed).normal(size=(3, 1000))
        y = z + slope * noise_x + noise_y
        x, y, condition = smoothed(z + noise_x, y, z)
        left = residuals([x, y], [condition])
        estimates.append(information_of_residuals(*left))
    assert covering(estimates, truth) >= 51
    values = [estimate.value for estimate in estimates]
    assert np.mean(values) == pytest.approx(truth, abs=0.008)


MEANS = {  # of x and y given z
    "square": (np.square, np.square),
    "sine and square": (lambda z: np.sin(3 * z), lambda z: z**2 + np.sin(3 * z)),
    "step": (lambda z: 2 * (z > 0.7), lambda z: 2 * (z > 0.7)),
}


@pytest.mark.parametrize("name", MEANS)
def test_size_of_the_test_beyond_others_is_near_its_level(name):
    """Of 60 tables each: 0.05 and at most three standard errors."""
    mean_x, mean_y = MEANS[name]
    rejected = 0
    for seed in range(60):
        z, noise_x, noise_y = default_rng(seed).normal(size=(3, 300))
        x = mean_x(z) + noise_x
        y = mean_y(z) + noise_y
        x, y, condition = smoothed(x, y, z)
        rejected += beyond(x, y, [condition], 0.05).p <= 0.05
    error = math.sqrt(0.05 * 0.95 / 60)
    assert rejected / 60 <= 0.05 + 3 * error


def choice(y, **columns):
    """The choice among columns [n] by name, those of most correlation first."""

    def correlation(name):
        return abs(np.corrcoef(columns[name], y)[0, 1])

    candidates = {}
    for name in sorted(columns, key=correlation, reverse=True):
        candidates[name] = smooth(columns[name], NUMBER)
    return choose(candidates, smooth(y, NUMBER), 0.01)


def test_of_a_chain_the_last_one_is_chosen():
    first, noise, error = default_rng(0).normal(size=(3, 500))
    last = first + 0.7 * noise
    result = choice(last + 0.7 * error, first=first, last=last)
    assert result.chosen == ("last",)
    assert result.beyond["first"].p > 0.01
    assert result.beyond["last"].p < 1e-6


def test_one_that_two_others_replace_is_dropped():
    """The sum of two columns with noise depends most on the target, and adds nothing
    once both are chosen.
    """
    a, b, noise, error = default_rng(0).normal(size=(4, 1000))
    both = a + b
    result = choice(both + error, a=a, b=b, both=both + 0.5 * noise)
    assert sorted(result.chosen) == ["a", "b"]
    assert result.beyond["both"].p > 0.01
