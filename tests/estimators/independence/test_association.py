"""Tests of independence of single columns: exact permutation moments, uniform p-values,
what changes none of them.
"""

from itertools import permutations

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators.independence.association import (
    _variance_parts,
    independence,
)
from infoscope.estimators.independence.functions import (
    ANGLE,
    CATEGORY,
    NUMBER,
    WHOLE,
    smooth,
)

KINDS = (NUMBER, WHOLE, CATEGORY, ANGLE)


def orthonormal(generator, n, columns):
    values = generator.normal(size=(n, columns))
    q, _ = np.linalg.qr(values - values.mean(axis=0))
    return q


def leverage(variable):
    """Sum of squared leverages of the rows, [1]."""
    leverages = (variable**2).sum(axis=1)
    return np.array([leverages @ leverages])


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 4), (5, 2)])
def test_mean_and_variance_are_those_over_all_permutations(a, b):
    generator = default_rng(0)
    x = orthonormal(generator, 6, a)
    y = orthonormal(generator, 6, b)
    sums = []
    for order in permutations(range(6)):
        products = x.T @ y[list(order)]
        sums.append((products**2).sum())
    sizes = np.array([[a], [b]])
    parts = _variance_parts(sizes[0], leverage(x), sizes[1], leverage(y), 6)
    assert np.mean(sums) == approx(a * b / 5, rel=1e-12)
    assert np.var(sums) == approx(sum(parts).item(), rel=1e-9, abs=1e-14)


SHAPES = {
    NUMBER: [
        lambda g, n: g.normal(size=n),
        lambda g, n: np.exp(g.normal(size=n)),
        lambda g, n: g.standard_t(2, n),
        lambda g, n: np.minimum(g.normal(size=n), 0),
    ],
    WHOLE: [
        lambda g, n: g.poisson(0.3, n),
        lambda g, n: g.poisson(4, n),
        lambda g, n: g.integers(1, 6, n),
        lambda g, n: g.binomial(1, 0.1, n),
    ],
    CATEGORY: [
        lambda g, n: g.choice(2, n, p=g.dirichlet([2, 2])),
        lambda g, n: g.choice(20, n, p=g.dirichlet(np.full(20, 2.0))),
    ],
    ANGLE: [
        lambda g, n: g.vonmises(0, 0.1, n) / (2 * np.pi),
        lambda g, n: g.vonmises(0, 1.9, n) / (2 * np.pi),
    ],
}


def columns_of_every_kind(generator, count, n):
    """`count` independent columns, the kinds in turn, of random shapes."""
    kinds = list(SHAPES)
    columns = []
    for place in range(count):
        kind = kinds[place % 4]
        shapes = SHAPES[kind]
        draw = shapes[generator.integers(len(shapes))]
        values = draw(generator, n)
        columns.append(smooth(values.astype(float), kind))
    return columns


def test_p_values_of_independent_columns_are_uniform():
    """2,025 pairs of 200 rows, of every pair of kinds."""
    generator = default_rng(0)
    x = columns_of_every_kind(generator, 45, 200)
    y = columns_of_every_kind(generator, 45, 200)
    p = independence(x, y).p
    assert 0.03 < np.mean(p < 0.05) < 0.07
    assert np.mean(p < 0.001) <= 0.004
    assert 0.4 < np.median(p) < 0.6


def p_value(x, y):
    """Of two columns of numbers."""
    p = independence([smooth(x, NUMBER)], [smooth(y, NUMBER)]).p
    return p.item()


@pytest.mark.parametrize(
    "form", [np.positive, np.square, lambda x: np.sin(3 * x), lambda x: np.abs(x) < 0.5]
)
def test_dependence_of_many_shapes_is_found(form):
    x, noise = default_rng(0).normal(size=(2, 300))
    assert p_value(x, form(x) + 0.3 * noise) < 1e-6


@pytest.mark.parametrize("n", [8, 12, 19])
def test_dependence_of_few_rows_is_found(n):
    x = default_rng(0).normal(size=n)
    assert p_value(x, np.exp(x)) < 1e-4


def test_pairs_at_once_are_pairs_one_by_one():
    columns = columns_of_every_kind(default_rng(0), 8, 150)
    at_once = independence(columns, columns)
    for row, x in enumerate(columns):
        for place, y in enumerate(columns):
            alone = independence([x], [y])
            p = alone.p.item()
            strength = alone.strength.item()
            assert at_once.p[row, place] == approx(p, rel=1e-6)
            assert at_once.strength[row, place] == approx(strength, abs=1e-6)


def test_a_constant_column_has_no_function_and_a_p_value_near_1():
    constant = smooth(np.ones(50), NUMBER)
    other = smooth(np.arange(50.0), NUMBER)
    assert constant.functions.shape == (50, 0)
    assert independence([constant, other], [other]).p[0, 0] > 0.98


RARE = {  # columns without ties except of categories, and categories that few rows have
    "number": lambda g, n: smooth(g.random(n), NUMBER),
    "category": lambda g, n: smooth(g.integers(0, 4, n), CATEGORY),
    "angle": lambda g, n: smooth(g.random(n), ANGLE),
    "in 2 rows": lambda g, n: smooth(g.permutation(n) < 2, CATEGORY),
    "in 5 rows": lambda g, n: smooth(g.permutation(n) < 5, CATEGORY),
    "in half": lambda g, n: smooth(g.permutation(n) < n // 2, CATEGORY),
}


def drawn_rarely(generator, n):
    columns = []
    for draw in RARE.values():
        for _ in range(6):
            columns.append(draw(generator, n))
    return columns


@pytest.mark.parametrize("n", [4, 7, 20, 100])
def test_few_rows_and_rare_categories_are_seldom_called_dependent(n):
    """All pairs of kinds, 6 columns each: rejected at most as often as the level says
    and four standard errors.
    """
    generator = default_rng(n)
    x = drawn_rarely(generator, n)
    y = drawn_rarely(generator, n)
    p = independence(x, y).p
    for level in (0.05, 0.005):
        error = np.sqrt(level / p.size)
        assert np.mean(p <= level) <= level + 4 * error


@pytest.mark.parametrize("name", RARE)
def test_no_p_value_is_smaller_than_that_of_the_rarest_order(name):
    """Of 6 rows there are 720 orders."""
    column = RARE[name](default_rng(0), 6)
    assert independence([column], [column]).p.item() >= 1 / 720
