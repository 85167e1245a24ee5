"""Complexities against closed forms and exhaustive suprema."""

import itertools
import math

import numpy as np
import pytest

from infoscope.estimators.families.complexity import Complexity, best_rows, pac_bound, table_on_sample
from tests.refusals import refused


def all_signs(n):
    return np.array(list(itertools.product((-1.0, 1.0), repeat=n)))


def test_the_bound_is_the_theorem():
    """4 R + 2 B sqrt(2 ln(1 / delta) / n); R on the sample is worth B sqrt(2 ln(1 / delta) / n) more."""
    root = math.sqrt(2 * math.log(20) / 50)
    sampled = pac_bound(Complexity(0.1, 0.01, 3.0), 50)
    assert sampled.width == pytest.approx(0.48 + 12 * root + 6 * root)
    assert sampled.confidence == pytest.approx(0.85)
    assert pac_bound(Complexity(0.1, 0.01, 3.0, slack=0.2), 50).width == pytest.approx(sampled.width + 0.2)


def test_tables_by_all_signs():
    """Two inputs, two classes, eight pairs; the supremum over p by a fine grid of it. Four standard errors (6e-5).

    That of the absolute value is at one of the two ends of what the mean of g times signs can be.
    """
    cells, floor = np.array([0, 1, 1, 2, 3, 3, 0, 2]), 0.05
    grid = np.linspace(floor, 1 - floor, 20001)
    logs = np.log(np.stack([grid, 1 - grid]))
    suprema = []
    for signs in all_signs(8):
        sums = np.bincount(cells, weights=signs, minlength=4).reshape(2, 2)
        ends = (sums @ logs).max(axis=1).sum(), -(sums @ logs).min(axis=1).sum()
        suprema.append(max(ends) / 8)
    value, error = table_on_sample(cells, 2, floor, np.random.default_rng(1), draws=400)
    assert abs(value - np.mean(suprema)) < 4 * error


def test_the_best_distribution_of_three_classes_beats_every_one_of_a_grid():
    rng = np.random.default_rng(2)
    sums = rng.integers(-4, 5, (40, 3)).astype(float)
    sums[0], sums[1], sums[2] = [-1, -3, -2], [0, 0, 0], [100, 1, 1]
    found = best_rows(sums, 0.02)
    assert found.sum(axis=1) == pytest.approx(np.ones(40)) and found.min() >= 0.02 - 1e-12
    fitted = np.array([(a, b, 1 - a - b) for a in np.linspace(0.02, 0.96, 95) for b in np.linspace(0.02, 0.96, 95)])
    fitted = fitted[fitted[:, 2] >= 0.02]
    assert ((sums * np.log(found)).sum(axis=1) >= (sums @ np.log(fitted).T).max(axis=1) - 1e-9).all()


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [
        (lambda: pac_bound(Complexity(0.1, 0.0, 1.0), 10, 0.5), "delta", "range"),
        (lambda: pac_bound(Complexity(0.1, 0.0, math.inf), 10), "complexity", "missing"),
        (lambda: table_on_sample(np.arange(4), 2, 0.0, np.random.default_rng(0)), "floor", "range"),
    ],
)
def test_bad_input_is_refused(call, argument, code):
    with refused(argument, code):
        call()
