"""Few columns first, neighbours then: what is chosen and on which rows, intervals, and MNIST where it is."""

import os

import numpy as np
import pytest
import torch

from infoscope.estimators.arrays import as_pairs, estimate
from infoscope.estimators.arrays.fitting import Schedule, splits
from infoscope.estimators.arrays.latent import METHODS, Latent
from infoscope.estimators.columns import Continuous
from infoscope.estimators.knn import mutual_information
from infoscope.estimators.units import NATS_PER_BIT
from tests.estimators.samples import draws, normal_information, normal_pairs

NAMES = [method.name for method in METHODS]
SMALL = {
    "lmi": {"size": 3, "width": 32, "schedule": Schedule(learning_rate=5e-3, epochs=30, patience=5)},
    "reduced-ksg": {},
}


@pytest.mark.parametrize("name", NAMES)
def test_three_columns_on_each_side(name):
    found = estimate(*normal_pairs(1000, 0.6, 3), name, **SMALL[name])
    assert found == pytest.approx(normal_information(0.6, 3), abs=0.22)


@pytest.mark.parametrize("name", NAMES)
def test_many_columns_around_one_shared_factor(name):
    """40 columns of x and of y are one factor and noise: neighbours in all of them miss most of it."""
    g = draws(1)
    variables = normal_pairs(1000, 0.9, seed=1)
    x, y = (one * g.normal(size=40) + 0.3 * g.normal(size=(1000, 40)) for one in variables)
    found = estimate(x, y, name, **SMALL[name])
    assert mutual_information(x, y) < found == pytest.approx(normal_information(0.9), abs=0.15)


def test_components_hold_most_variance_and_do_not_depend_on_the_pairing():
    x, y = (np.hstack([50 * variable, draws(2).normal(size=(400, 30))]) for variable in normal_pairs(400, 0.9))
    for settings, count in (({"margins": "given"}, 1), ({}, 8), ({"components": 2}, 2)):
        for other in (y, draws(3).permutation(y)):
            found = estimate(x, other, "reduced-ksg", **settings)
            assert found.settings.startswith(f"{count} and {count} components")


def test_codes_do_not_see_the_rows_that_are_measured():
    x, y = normal_pairs(200, 0.6, 2)
    pairs = as_pairs(x, y)
    split = next(splits(pairs, 2, draws()))
    y[split.held[0]] = 40.0
    method = Latent(**SMALL["lmi"])
    codes = [method._codes(of, split, torch.Generator().manual_seed(0)) for of in (pairs, as_pairs(x, y))]
    assert all((before[split.seen] == after[split.seen]).all() for before, after in zip(*codes))


@pytest.mark.skipif("INFOSCOPE_DATA" not in os.environ, reason="no MNIST")
@pytest.mark.parametrize(
    ("n", "levels", "room"), [(2000, (0.2,), 0.05), pytest.param(5000, (0.05, 0.2, 0.5), 0.025, marks=pytest.mark.slow)]
)
def test_pairs_of_mnist_digits_with_coupled_labels(n, levels, room):
    """The benchmark of Gowri et al. 2024: digits 0 and 1, 784 pixels each, labels coupled at three of its levels."""
    data = pytest.importorskip("infoscope.data")
    pool = data.mnist("train")
    images, labels = pool.images.reshape(len(pool.images), -1).double().numpy() / 255, np.asarray(pool.labels)
    errors = []
    for level, flips in enumerate(levels):
        g = draws(level)
        left = np.arange(n) % 2
        right = np.where(g.random(n) < flips, 1 - left, left)
        variables = [np.empty((n, 784)) for _ in range(2)]
        for digit in (0, 1):
            items = g.permutation(np.flatnonzero(labels == digit))
            variables[0][left == digit] = images[items[: n // 2]]
            variables[1][right == digit] = images[np.resize(items[n // 2 :], (right == digit).sum())]
        variables = [Continuous(variable[:, np.ptp(variable, axis=0) > 0]) for variable in variables]
        truth = 1 + sum(p * np.log2(p) for p in (flips, 1 - flips))
        errors.append(abs(estimate(*variables, "reduced-ksg", margins="given") / NATS_PER_BIT - truth))
    assert np.mean(errors) < room
