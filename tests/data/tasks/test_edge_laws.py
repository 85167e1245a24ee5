"""Laws with edges that measure the advice: their truths by another route than their own."""

import math

import numpy as np
import pytest
from scipy import stats

from infoscope.data.tasks import exam
from infoscope.data.tasks.edge_laws import EDGED, LAWS, SMOOTH

N = 100_000


def agrees(local, name):
    """Mean log density ratios of draws beside the truth; false alarm 7e-6."""
    return abs(local.mean() - LAWS[name].truth()[0]) < 4.5 * local.std() / math.sqrt(len(local)) + 1e-3


def test_they_are_a_collection_of_the_exam():
    assert exam.COLLECTIONS["edges"] == tuple(LAWS) == (*EDGED, *SMOOTH) and len(LAWS) == 14
    assert all(exam.law(name) is law for name, law in LAWS.items())


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        ("even-noise-0.8", stats.uniform(0, 0.8)),
        ("even-noise-0.2", stats.uniform(0, 0.2)),
        ("even-noise-of-2-columns", stats.uniform(0, 1)),
        ("exponential-noise", stats.expon(0, 0.5)),
        ("arcsine-noise", stats.arcsine(0, 0.9)),
        ("gamma-noise", stats.gamma(3, 0, 0.35)),
        ("logistic-noise", stats.logistic(0, 0.4)),
        ("bounded-noise", stats.beta(4, 4, 0, 2)),
        ("skewed-noise-of-2-columns", stats.gumbel_r(0, 0.7)),
    ],
)
def test_the_means_of_draws_are_those_of_added_noise(name, noise):
    """The density of y is that of x in the mean over noise, here by differences of the noise's distribution."""
    x, y = LAWS[name].sample(N, np.random.default_rng(0))
    grid = np.linspace(-9, 9, 3601)
    step = grid[1] - grid[0]
    at = np.linspace(y.min() - 0.1, y.max() + 0.1, 800)
    shares = noise.cdf(at[:, None] - grid + step / 2) - noise.cdf(at[:, None] - grid - step / 2)
    density = shares @ stats.norm.pdf(grid)
    assert agrees((noise.logpdf(y - x) - np.log(np.interp(y, at, density))).sum(axis=1), name)


def test_the_means_of_draws_are_those_of_bands_and_of_a_width_that_changes():
    x, y = (one.ravel() for one in LAWS["two-bands"].sample(N, np.random.default_rng(1)))
    ends = [stats.norm.cdf(y - middle + 0.2) - stats.norm.cdf(y - middle - 0.2) for middle in (-0.7, 0.7)]
    assert np.unique(np.round(np.abs(y - x) - 0.7, 1)).tolist() == [-0.2, -0.1, 0.0, 0.1, 0.2]
    assert agrees(-math.log(0.8) - np.log(sum(ends) / 0.8), "two-bands")
    x, y = LAWS["even-and-wider"].sample(N, np.random.default_rng(2))
    grid = np.linspace(-8, 8, 16_001)
    width = 0.2 + 0.5 * np.abs(grid)
    at = np.linspace(-7, 7, 1401)
    density = [stats.norm.pdf(grid) @ ((np.abs(one - grid) < width / 2) / width) * 0.001 for one in at]
    assert agrees(-np.log(0.2 + 0.5 * np.abs(x)) - np.log(np.interp(y, at, density)), "even-and-wider")


def test_the_means_of_draws_are_those_of_a_triangle_a_disc_and_an_order():
    x, y = LAWS["below"].sample(N, np.random.default_rng(3))
    assert (y < x).all() and agrees(-np.log(x) - np.log(-np.log(y)), "below")
    x, y = LAWS["disc"].sample(N, np.random.default_rng(4))
    of_one = [np.log(2 / math.pi * np.sqrt(1 - one**2)) for one in (x, y)]
    assert (x**2 + y**2 < 1).all() and agrees(-math.log(math.pi) - sum(of_one), "disc")
    x, y = LAWS["in-order"].sample(N, np.random.default_rng(5))
    assert (x < y).all() and agrees(math.log(2) - np.log(2 * (1 - x)) - np.log(2 * y), "in-order")
