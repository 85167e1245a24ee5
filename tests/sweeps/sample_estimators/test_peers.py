"""Functions of public packages: the information of a normal pair and of labels, and
their place in the exam.
"""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators import estimate
from sweeps.sample_estimators import peers
from tests.refusals import refused

TRUTH = -0.5 * math.log1p(-(0.6**2))  # nats
PACKAGES = {
    "npeet_plus": "npeet_plus",
    "infomeasure": "infomeasure",
    "ennemi": "ennemi",
    "scikit_learn": "sklearn",
}


@pytest.fixture(params=PACKAGES)
def peer(request):
    """One of the functions, where its package is installed."""
    pytest.importorskip(PACKAGES[request.param])
    return getattr(peers, request.param)


def pair(n=1_000, seed=0):
    generator = default_rng(seed)
    x = generator.normal(size=(n, 1))
    return x, 0.6 * x + 0.8 * generator.normal(size=(n, 1))


def test_a_normal_pair_is_measured(peer):
    """Within 0.1 nat, three standard errors of neighbours at k = 3 and n = 1,000
    (0.033); the draw is fixed.
    """
    assert peer(*pair()) == approx(TRUTH, abs=0.1)
    assert float(estimate(*pair(), peer)) == approx(TRUTH, abs=0.1)


@pytest.mark.parametrize("name", ["npeet_plus", "ennemi", "scikit_learn"])
def test_labels_are_measured(name):
    """Two classes three standard deviations apart: 0.69 nats less the entropy of what
    they share (0.19).
    """
    pytest.importorskip(PACKAGES[name])
    generator = default_rng(0)
    labels = generator.integers(0, 2, 1_000)
    x = 3.0 * labels[:, None] + generator.normal(size=(1_000, 1))
    grid = np.linspace(-8, 11, 20_001)
    densities = np.exp(-0.5 * np.stack([grid, grid - 3]) ** 2) / math.sqrt(2 * math.pi)
    mixture = densities.mean(axis=0)
    truth = np.sum(densities * np.log(densities / mixture)) / 2 * (grid[1] - grid[0])
    assert getattr(peers, name)(x, labels) == approx(truth, abs=0.1)


@pytest.mark.parametrize("name", ["ennemi", "scikit_learn"])
def test_columns_are_summed_and_two_of_both_sides_are_refused(name):
    pytest.importorskip(PACKAGES[name])
    measure = getattr(peers, name)
    x, y = pair()
    assert measure(np.hstack([x, x]), y) == approx(2 * measure(x, y), abs=1e-6)
    assert measure(y, np.hstack([x, x])) == approx(2 * measure(x, y), abs=1e-6)
    with refused("x or y", "shape"):
        measure(np.hstack([x, y]), np.hstack([x, y]))
