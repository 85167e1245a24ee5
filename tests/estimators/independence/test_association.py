"""Tests of independence of single columns: exact permutation moments, uniform p-values,
what changes none of them.
"""

from itertools import permutations

import numpy as np
import pytest

from infoscope.estimators.independence.association import (
    _variance_parts,
    combined,
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
    of_rows = (variable**2).sum(axis=1)
    return np.array([(of_rows**2).sum()])


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 4), (5, 2)])
def test_mean_and_variance_are_those_over_all_permutations(a, b):
    generator = np.random.default_rng(0)
    x = orthonormal(generator, 6, a)
    y = orthonormal(generator, 6, b)
    sums = []
    for order in permutations(range(6)):
        products = x.T @ y[list(order)]
        sums.append((products**2).sum())
    variance = sum(
        _variance_parts(np.array([a]), leverage(x), np.array([b]), leverage(y), 6)
    )
    assert np.mean(sums) == pytest.approx(a * b / 5, rel=1e-12)
    assert np.var(sums) == pytest.approx(variance.item(), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("p", [1e-12, 0.05, 0.9])
@pytest.mark.parametrize("counts", [np.arange(1, 5)[:, None], np.zeros((4, 1), int)])
def test_equal_p_values_combined_are_that_p_value(p, counts):
    assert combined(np.full((4, 1), p), counts, counts).item() == pytest.approx(
        p, rel=1e-6
    )


def numbers(shape, g, n):
    match shape:
        case 0:
            return g.normal(size=n)
        case 1:
            return np.exp(g.normal(size=n))
        case 2:
            return g.standard_t(2, n)
        case _:
            return np.minimum(g.normal(size=n), 0)


def whole_numbers(shape, g, n):
    match shape:
        case 0:
            return g.poisson(0.3, n)
        case 1:
            return g.poisson(4, n)
        case 2:
            return g.integers(1, 6, n)
        case _:
            return g.binomial(1, 0.1, n)


def categories(shape, g, n):
    size = 2 + 6 * shape
    return g.choice(size, n, p=g.dirichlet(np.full(size, 2.0)))


def angles(shape, g, n):
    return g.vonmises(0, 0.1 + 0.6 * shape, n) / (2 * np.pi)


DRAWN = {NUMBER: numbers, WHOLE: whole_numbers, CATEGORY: categories, ANGLE: angles}


def columns_of_every_kind(generator, count, n):
    """`count` independent columns, the kinds in turn, of random shapes."""
    columns = []
    for place in range(count):
        kind = KINDS[place % 4]
        values = DRAWN[kind](generator.integers(4), generator, n)
        columns.append(smooth(values.astype(float), kind))
    return columns


def test_p_values_of_independent_columns_are_uniform():
    """2,025 pairs of 200 rows, of every pair of kinds."""
    generator = np.random.default_rng(0)
    x = columns_of_every_kind(generator, 45, 200)
    y = columns_of_every_kind(generator, 45, 200)
    p = independence(x, y).p
    assert 0.03 < np.mean(p < 0.05) < 0.07
    assert np.mean(p < 0.001) <= 0.004
    assert 0.4 < np.median(p) < 0.6


@pytest.mark.parametrize(
    "form", [np.positive, np.square, lambda x: np.sin(3 * x), lambda x: np.abs(x) < 0.5]
)
def test_dependence_of_many_shapes_is_found(form):
    x, noise = np.random.default_rng(0).normal(size=(2, 300))
    y = form(x) + 0.3 * noise
    assert independence([smooth(x, NUMBER)], [smooth(y, NUMBER)]).p.item() < 1e-6


@pytest.mark.parametrize("n", [8, 12, 19])
def test_dependence_of_few_rows_is_found(n):
    x = np.random.default_rng(0).normal(size=n)
    assert (
        independence([smooth(x, NUMBER)], [smooth(np.exp(x), NUMBER)]).p.item() < 1e-4
    )


def test_pairs_at_once_are_pairs_one_by_one():
    columns = columns_of_every_kind(np.random.default_rng(0), 8, 150)
    at_once = independence(columns, columns)
    for row, x in enumerate(columns):
        for place, y in enumerate(columns):
            alone = independence([x], [y])
            assert at_once.p[row, place] == pytest.approx(
                alone.p.item(), rel=1e-6, abs=1e-30
            )
            assert at_once.strength[row, place] == pytest.approx(
                alone.strength.item(), rel=1e-6, abs=1e-9
            )


def test_rare_levels_are_joined():
    """Of 400 rows, levels of fewer than 20: numbers with a neighbour, categories at
    coarse resolutions; of 5.
    """
    counts = np.repeat([0.0, 1, 2, 3, 9], [200, 150, 40, 8, 2])
    joined = smooth(np.minimum(counts, 2), WHOLE)
    np.testing.assert_allclose(
        smooth(counts, WHOLE).functions, joined.functions, atol=1e-12
    )
    codes = np.repeat(np.arange(6), [200, 146, 30, 12, 8, 4])
    assert smooth(codes, CATEGORY).resolutions == (3, 3, 5, 5)


def test_equal_categories_are_all_taken_or_all_left_out(monkeypatch):
    codes = np.r_[np.repeat([0, 1], 20), np.repeat(np.arange(2, 12), 6)]
    assert smooth(codes, CATEGORY).functions.shape == (100, 11)
    monkeypatch.setattr(
        "infoscope.estimators.independence.functions.MAX_INDICATORS", 500
    )
    assert smooth(codes, CATEGORY).functions.shape == (100, 2)
    assert smooth(np.arange(100) // 2, CATEGORY).functions.shape == (100, 0)


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


@pytest.mark.parametrize("n", [4, 7, 20, 100])
def test_few_rows_and_rare_categories_are_seldom_called_dependent(n):
    """All pairs of kinds, 6 columns each: rejected at most as often as the level says
    and four standard errors.
    """
    generator = np.random.default_rng(n)
    x = [draw(generator, n) for draw in RARE.values() for _ in range(6)]
    y = [draw(generator, n) for draw in RARE.values() for _ in range(6)]
    p = independence(x, y).p
    for level in (0.05, 0.005):
        assert np.mean(p <= level) <= level + 4 * np.sqrt(level / p.size)


@pytest.mark.parametrize("name", RARE)
def test_no_p_value_is_smaller_than_that_of_the_rarest_order(name):
    """Of 6 rows there are 720 orders."""
    column = RARE[name](np.random.default_rng(0), 6)
    assert independence([column], [column]).p.item() >= 1 / 720
