"""Tests of independence of single columns: exact permutation moments, uniform p-values, what changes none of them."""

from itertools import permutations

import numpy as np
import pytest

from infoscope.estimators.independence.association import _variance_parts, combined, independence
from infoscope.estimators.independence.functions import (
    ANGLE,
    CATEGORY,
    MAX_INDICATORS,
    NUMBER,
    WHOLE,
    smooth,
)


def orthonormal(generator, n, d):
    columns = generator.normal(size=(n, d))
    return np.linalg.qr(columns - columns.mean(axis=0))[0]


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 4), (5, 2)])
def test_mean_and_variance_are_those_over_all_permutations(a, b):
    generator, n = np.random.default_rng(0), 6
    x, y = orthonormal(generator, n, a), orthonormal(generator, n, b)
    sums = np.array([((x.T @ y[list(order)]) ** 2).sum() for order in permutations(range(n))])
    leverages = [np.array([((variable**2).sum(axis=1) ** 2).sum()]) for variable in (x, y)]
    variance = sum(_variance_parts(np.array([a]), leverages[0], np.array([b]), leverages[1], n))
    assert sums.mean() == pytest.approx(a * b / (n - 1), rel=1e-12)
    assert sums.var() == pytest.approx(variance.item(), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("p", [1e-12, 0.05, 0.9])
def test_equal_p_values_combined_are_that_p_value(p):
    counts = np.arange(1, 5)[:, None]
    none = np.zeros((4, 1), int)
    assert combined(np.full((4, 1), p), counts, counts).item() == pytest.approx(p, rel=1e-6)
    assert combined(np.full((4, 1), p), none, none).item() == pytest.approx(p, rel=1e-6)


def drawn(kind, generator, n):
    """A column of one kind, of an own shape each."""
    shape = generator.integers(4)
    if kind == NUMBER:
        normal = generator.normal(size=n)
        return [normal, np.exp(normal), generator.standard_t(2, n), np.where(normal > 0, 0, normal)][shape]
    if kind == WHOLE:
        return [
            generator.poisson(0.3, n),
            generator.poisson(4, n),
            generator.integers(1, 6, n),
            generator.random(n) < 0.1,
        ][shape].astype(float)
    if kind == CATEGORY:
        return generator.choice(2 + 6 * shape, n, p=generator.dirichlet(np.full(2 + 6 * shape, 2.0))).astype(float)
    return generator.vonmises(0, [0.1, 1, 2, 0.5][shape], n) / (2 * np.pi)


KINDS = (NUMBER, WHOLE, CATEGORY, ANGLE)


def test_p_values_of_independent_columns_are_uniform():
    """2,025 pairs of 200 rows, of every pair of kinds."""
    generator = np.random.default_rng(0)
    x, y = ([smooth(drawn(KINDS[place % 4], generator, 200), KINDS[place % 4]) for place in range(45)] for _ in "xy")
    p = independence(x, y).p
    assert 0.03 < np.mean(p < 0.05) < 0.07 and np.mean(p < 0.001) <= 0.004 and 0.4 < np.median(p) < 0.6


@pytest.mark.parametrize(
    "form", [lambda x: x, lambda x: x**2, lambda x: np.sin(3 * x), lambda x: (np.abs(x) < 0.5) * 1.0]
)
def test_dependence_of_many_shapes_is_found(form):
    generator = np.random.default_rng(0)
    x = generator.normal(size=300)
    y = form(x) + 0.3 * generator.normal(size=300)
    assert independence([smooth(x, NUMBER)], [smooth(y, NUMBER)]).p.item() < 1e-6


def test_pairs_at_once_are_pairs_one_by_one():
    generator = np.random.default_rng(0)
    columns = [smooth(drawn(kind, generator, 150), kind) for kind in KINDS * 2]
    at_once = independence(columns, columns)
    for row, x in enumerate(columns):
        for place, y in enumerate(columns):
            alone = independence([x], [y])
            assert at_once.p[row, place] == pytest.approx(alone.p.item(), rel=1e-6, abs=1e-30)
            assert at_once.strength[row, place] == pytest.approx(alone.strength.item(), rel=1e-6, abs=1e-9)


def test_rare_levels_are_joined():
    """Of 400 rows, levels of fewer than 20: numbers with a neighbour, categories at coarse resolutions; of 5."""
    counts = np.repeat([0.0, 1, 2, 3, 9], [200, 150, 40, 8, 2])
    np.testing.assert_allclose(
        smooth(counts, WHOLE).functions, smooth(np.minimum(counts, 2), WHOLE).functions, atol=1e-12
    )
    codes = np.repeat(np.arange(6), [200, 146, 30, 12, 8, 4])
    found = smooth(codes, CATEGORY)
    assert found.resolutions == (3, 3, 5, 5)


def test_equal_categories_are_all_taken_or_all_left_out(monkeypatch):
    codes = np.r_[np.repeat(np.arange(2), 20), np.repeat(np.arange(2, 12), 6)]
    assert smooth(codes, CATEGORY).functions.shape == (100, 11)
    monkeypatch.setattr("infoscope.estimators.independence.functions.MAX_INDICATORS", 500)
    assert MAX_INDICATORS > 500 and smooth(codes, CATEGORY).functions.shape == (100, 2)
    assert smooth(np.arange(100) // 2, CATEGORY).functions.shape == (100, 0)


def test_a_constant_column_has_no_function_and_a_p_value_near_1():
    constant, other = smooth(np.ones(50), NUMBER), smooth(np.arange(50.0), NUMBER)
    assert constant.functions.shape == (50, 0)
    assert independence([constant, other], [other]).p[0, 0] > 0.98


def of_rows(count):
    """Draws columns of a category that so many rows have."""
    return lambda generator, n: smooth(generator.permutation(n) < count, CATEGORY)


def of_kind(kind, categories=4):
    """Draws columns of a kind, without ties except of categories."""
    if kind == CATEGORY:
        return lambda generator, n: smooth(generator.integers(0, categories, n), CATEGORY)
    return lambda generator, n: smooth(generator.random(n), kind)


DRAWS = {
    "number": of_kind(NUMBER), "category": of_kind(CATEGORY), "angle": of_kind(ANGLE),
    "rare 2": of_rows(2), "rare 3": of_rows(3), "rare 5": of_rows(5), "half": lambda g, n: of_rows(n // 2)(g, n),
}  # fmt: skip


@pytest.mark.parametrize("n", [4, 7, 20, 100])
def test_few_rows_and_rare_categories_are_seldom_called_dependent(n):
    """All pairs of kinds, 6 columns each: rejected at most as often as the level says and four standard errors."""
    generator = np.random.default_rng(n)
    columns = [[draw(generator, n) for draw in DRAWS.values() for _ in range(6)] for _ in "xy"]
    p = independence(*columns).p
    for level in (0.05, 0.005):
        assert np.mean(p <= level) <= level + 4 * np.sqrt(level / p.size)
    assert p.min() >= 1e-7


@pytest.mark.parametrize("name", DRAWS)
def test_no_p_value_is_smaller_than_that_of_the_rarest_order(name):
    """Of 6 rows there are 720 orders."""
    generator = np.random.default_rng(0)
    column = DRAWS[name](generator, 6)
    assert independence([column], [column]).p.item() >= 1 / 720


def test_dependence_of_few_rows_is_found():
    generator = np.random.default_rng(0)
    for n in (8, 12, 19):
        x = generator.normal(size=n)
        columns = [smooth(x, NUMBER)], [smooth(np.exp(x), NUMBER)]
        assert independence(*columns).p.item() < 1e-4
