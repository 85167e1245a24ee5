"""Complexities against closed forms and exhaustive suprema."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from infoscope.estimators.families.complexity import (
    Complexity,
    best_rows,
    in_ball,
    linear,
    pac_bound,
    squared_error_on_sample,
    table_on_sample,
)
from tests.refusals import refused


def all_signs(n):
    return np.array(list(itertools.product((-1.0, 1.0), repeat=n)))


def test_the_bound_is_the_theorem():
    """4 R + 2 B sqrt(2 ln(1 / delta) / n); on the sample R is worth B sqrt(2 ln(1 / delta) / n) more."""
    root = math.sqrt(2 * math.log(20) / 50)
    closed = pac_bound(Complexity(0.1, 0.0, 3.0, False, ""), 50)
    assert closed.width == pytest.approx(0.4 + 6 * root)
    assert closed.confidence == pytest.approx(0.9)
    sampled = pac_bound(Complexity(0.1, 0.01, 3.0, True, ""), 50)
    assert sampled.width == pytest.approx(0.48 + 12 * root + 6 * root)
    assert sampled.confidence == pytest.approx(0.85)
    assert pac_bound(Complexity(0.1, 0.0, 3.0, False, "", slack=0.2), 50).width == pytest.approx(0.6 + 6 * root)


def test_linear_maps_have_at_most_the_closed_form():
    """The supremum is radius * |sum of signs times rows| / n; its mean over all signs is equal for rows at right
    angles, and by Khintchine's inequality at least radius * sqrt(sum |row|^2 / 2) / n for any."""
    x = np.random.default_rng(0).normal(size=(10, 3))
    lengths = np.linalg.norm(x, axis=1)
    exact = 2.0 * np.linalg.norm(all_signs(10) @ x, axis=1).mean() / 10
    assert 2.0 * math.sqrt((lengths**2).sum() / 2) / 10 < exact < linear(2.0, lengths.max(), 10)
    right = 2.0 * np.linalg.norm(all_signs(7) @ np.eye(7), axis=1).mean() / 7
    assert right == pytest.approx(linear(2.0, 1.0, 7))


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


def test_the_best_law_of_three_classes_beats_every_law_of_a_grid():
    rng = np.random.default_rng(2)
    sums = rng.integers(-4, 5, (40, 3)).astype(float)
    sums[0], sums[1], sums[2] = [-1, -3, -2], [0, 0, 0], [100, 1, 1]
    found = best_rows(sums, 0.02)
    assert found.sum(axis=1) == pytest.approx(np.ones(40)) and found.min() >= 0.02 - 1e-12
    laws = np.array([(a, b, 1 - a - b) for a in np.linspace(0.02, 0.96, 95) for b in np.linspace(0.02, 0.96, 95)])
    laws = laws[laws[:, 2] >= 0.02]
    assert ((sums * np.log(found)).sum(axis=1) >= (sums @ np.log(laws).T).max(axis=1) - 1e-9).all()


def test_quadratics_over_a_ball_have_the_least_value():
    """Against many starts of a numeric minimiser, for definite, indefinite and hard cases."""
    rng = np.random.default_rng(3)
    cases = [(rng.normal(size=3), rng.normal(size=3)) for _ in range(10)]
    cases += [
        (np.array([2.0, 1.0, 3.0]), np.array([0.1, 0.1, 0.1])),
        (np.array([-1.0, 1.0, 2.0]), np.array([0, 0.3, 1])),
    ]
    cases += [(np.array([0.0, 1.0, 2.0]), np.zeros(3)), (np.array([-1.0, -1.0, 2.0]), np.zeros(3))]
    for values, pull in cases:
        found = in_ball(values, pull, 1.5)
        assert np.linalg.norm(found) <= 1.5 + 1e-9

        def cost(w, values=values, pull=pull):
            return 0.5 * values @ w**2 - pull @ w

        ball = {"type": "ineq", "fun": lambda w: 1.5**2 - w @ w}
        least = min(minimize(cost, rng.normal(size=3), constraints=ball, method="SLSQP").fun for _ in range(8))
        assert cost(found) <= least + 1e-6


def test_squared_errors_of_one_number_by_a_grid():
    """E over all signs of the largest absolute mean over a grid of slopes in [-1, 1]; four standard errors (6e-5)."""
    x, y = np.array([0.5, -1.0, 0.3, 0.8, -0.2]), np.array([0.1, -0.7, 1.0, 0.4, 0.0])
    slopes = np.linspace(-1, 1, 4001)
    densities = -0.5 * (y[:, None] - np.outer(x, slopes)) ** 2 - 0.5 * math.log(2 * math.pi)
    exact = np.abs(all_signs(5) @ densities).max(axis=1).mean() / 5
    value, error = squared_error_on_sample(x[:, None], y[:, None], 1.0, 1.0, np.random.default_rng(4), draws=400)
    assert abs(value - exact) < 4 * error


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [
        (lambda: pac_bound(Complexity(0.1, 0.0, 1.0, False, ""), 10, 0.5), "delta", "range"),
        (lambda: pac_bound(Complexity(0.1, 0.0, 1.0, False, ""), 0), "n", "range"),
        (lambda: pac_bound(Complexity(0.1, 0.0, math.inf, False, ""), 10), "complexity", "missing"),
        (lambda: table_on_sample(np.arange(4), 2, 0.0, np.random.default_rng(0)), "floor", "range"),
        (lambda: table_on_sample(np.arange(4), 2, 0.1, np.random.default_rng(0), draws=1), "draws", "range"),
    ],
)
def test_bad_input_is_refused(call, argument, code):
    with refused(argument, code):
        call()
