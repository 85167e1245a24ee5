"""The certified lower limit: never above the truth more often than it says, and not empty where there is something."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from infoscope.estimators import estimate
from infoscope.estimators.arrays.certified import limit_of_mean
from tests.refusals import refused


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.random(n),
        lambda rng, n: rng.beta(0.2, 3.0, n),
        lambda rng, n: (rng.random(n) < 0.02).astype(float),
        lambda rng, n: 1 - (rng.random(n) < 0.02),
    ],
)
@pytest.mark.parametrize("n", [20, 100])
def test_a_limit_is_above_the_mean_no_more_often_than_alpha(draw, n):
    """600 samples, alpha .1: more than that only by chance; false alarm 1e-4 for each distribution."""
    rng = np.random.default_rng(0)
    mean = np.mean(draw(np.random.default_rng(1), 2_000_000))
    above = sum(limit_of_mean(draw(rng, n), 0.1) > mean for _ in range(600))
    assert above <= binom.ppf(1 - 1e-4, 600, 0.1)


def test_it_tightens_as_one_over_the_root_of_n():
    """Uniform values: about 1.6 to 3 standard errors below 1/2 at 95 %."""
    for n in (100, 4000):
        limits = [limit_of_mean(np.random.default_rng(seed).random(n), 0.05) for seed in range(20)]
        assert 1.2 < (0.5 - np.mean(limits)) / math.sqrt(1 / 12 / n) < 3.0


def test_several_orders_are_one_limit():
    values = np.random.default_rng(0).random(50)
    rng = np.random.default_rng(1)
    orders = np.array([rng.permutation(values) for _ in range(8)])
    alone = [limit_of_mean(order, 0.05) for order in orders]
    assert min(alone) - 1e-6 <= limit_of_mean(orders, 0.05) <= max(alone) + 1e-6


def test_it_is_below_the_truth_and_finds_something():
    """.51 nats among 1,000 rows: certainly more than 0. False alarm of the upper side: 5 %, on one fixed seed."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    found = estimate(x, 0.8 * x + 0.6 * rng.normal(size=1000), "certified", width=32, steps=200)
    assert 0.0 < found.value < -0.5 * math.log(1 - 0.64)
    assert found.interval == (found.value, math.inf)
    assert "95" in found.notes[0] and "exceed log" in found.notes[0]


def test_too_few_rows_are_refused():
    x = np.random.default_rng(0).normal(size=60)
    with refused("x and y", "few"):
        estimate(x, -x, "certified")
