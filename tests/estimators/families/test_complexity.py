"""Complexities against closed forms and exhaustive suprema."""

import itertools
import math

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators.families.complexity import (
    Complexity,
    best_rows,
    pac_bound,
    table_on_sample,
)
from tests.refusals import refused


def test_the_bound_is_the_theorem():
    """4 R + 2 B sqrt(2 ln(1 / delta) / n); R on the sample is worth B sqrt(2 ln(1 /
    delta) / n) more.
    """
    root = math.sqrt(2 * math.log(20) / 50)
    bound = pac_bound(Complexity(0.1, 0.01, 3.0), 50)
    assert bound.width == approx(0.48 + 12 * root + 6 * root)
    assert bound.confidence == approx(0.85)
    with_slack = pac_bound(Complexity(0.1, 0.01, 3.0, slack=0.2), 50)
    assert with_slack.width == approx(bound.width + 0.2)


def supremum(signs, cells, logs):
    """The largest mean of log probabilities times signs, over tables of two classes."""
    sums = np.bincount(cells, weights=signs, minlength=4)
    values = sums.reshape(2, 2) @ logs
    largest = values.max(axis=1).sum()
    smallest = values.min(axis=1).sum()
    return max(largest, -smallest) / len(cells)


def test_tables_by_all_signs():
    """Two inputs, two classes, eight pairs; the supremum over p by a fine grid of it.
    Four standard errors (6e-5). That of the absolute value is at one of the two ends of
    what the mean of g times signs can be.
    """
    cells = np.array([0, 1, 1, 2, 3, 3, 0, 2])
    grid = np.linspace(0.05, 0.95, 20001)
    logs = np.log([grid, 1 - grid])
    suprema = []
    for signs in itertools.product((-1.0, 1.0), repeat=8):
        suprema.append(supremum(signs, cells, logs))
    rng = default_rng(1)
    value, error = table_on_sample(cells, 2, 0.05, rng, draws=400)
    assert value == approx(np.mean(suprema), abs=4 * error)


def test_the_best_distribution_of_three_classes_beats_every_one_of_a_grid():
    drawn = default_rng(2).integers(-4, 5, (40, 3))
    sums = drawn.astype(float)
    sums[:3] = [[-1, -3, -2], [0, 0, 0], [100, 1, 1]]
    best = best_rows(sums, 0.02)
    assert best.sum(axis=1) == approx(np.ones(40))
    assert best.min() >= 0.02 - 1e-12
    axis = np.linspace(0.02, 0.96, 95)
    first, second = np.meshgrid(axis, axis)
    grid = np.stack([first, second, 1 - first - second])
    grid = grid[:, grid[2] >= 0.02]
    of_grid = sums @ np.log(grid)
    of_best = (sums * np.log(best)).sum(axis=1)
    assert (of_best >= of_grid.max(axis=1) - 1e-9).all()


@pytest.mark.parametrize(
    ("complexity", "delta", "argument", "code"),
    [
        (Complexity(0.1, 0.0, 1.0), 0.5, "delta", "range"),
        (Complexity(0.1, 0.0, math.inf), 0.05, "complexity", "missing"),
    ],
)
def test_bounds_that_do_not_hold_are_refused(complexity, delta, argument, code):
    with refused(argument, code):
        pac_bound(complexity, 10, delta)
