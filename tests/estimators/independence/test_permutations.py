"""p-values by permutations: those of all orders, Fisher's exact test, and drawn ones that stop early."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import fisher_exact

from infoscope.estimators.independence import permutations as module
from infoscope.estimators.independence.functions import CATEGORY, NUMBER, smooth
from infoscope.estimators.independence.permutations import fisher_p_value, permutation_p_values


def statistic(x, y, weights):
    return (weights * (x.T @ y) ** 2).sum()


@pytest.fixture
def pair():
    generator = np.random.default_rng(0)
    return smooth(generator.normal(size=7), NUMBER), smooth(np.array([0, 0, 1, 1, 2, 2, 2]), CATEGORY)


def test_few_rows_are_taken_in_all_orders(pair):
    x, y = pair
    weights = np.ones((x.functions.shape[1], y.functions.shape[1]))
    orders = list(permutations(range(7)))
    statistics = np.array([statistic(x.functions, y.functions[list(order)], weights) for order in orders])
    expected = np.mean(statistics >= statistics[0] * (1 - 1e-9))
    assert permutation_p_values([x], [y], [(0, 0)], [weights]) == pytest.approx(expected)


def test_drawn_orders_give_nearly_the_same(pair, monkeypatch):
    weights = np.ones((pair[0].functions.shape[1], pair[1].functions.shape[1]))
    exact = permutation_p_values([pair[0]], [pair[1]], [(0, 0)], [weights]).item()
    monkeypatch.setattr(module, "MAX_ENUMERATED", 3)
    monkeypatch.setattr(module, "MIN_EXCEEDANCES", 10_000)
    assert permutation_p_values([pair[0]], [pair[1]], [(0, 0)], [weights]) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("rows", [[3, 2, 1], [10, 7, 3], [25, 4, 4]])
def test_two_values_each_are_tested_as_by_fisher(rows):
    """Of 50 rows; his two-sided test sums the tables that are less probable, here the same ones."""
    first, second, both = rows
    table = [[both, first - both], [second - both, 50 - first - second + both]]
    correlation = (50 * both - first * second) / np.sqrt(first * (50 - first) * second * (50 - second))
    assert fisher_p_value(50, first, second, correlation**2) == pytest.approx(fisher_exact(table).pvalue)


@pytest.mark.parametrize("n", [40, 4000])
def test_a_rare_value_that_has_the_largest_numbers_is_as_improbable_as_that_order(n):
    """Three rows of n, drawn without the others where n is large: 1 in n (n - 1) (n - 2) / 6."""
    rare, numbers = smooth(np.arange(n) >= n - 3, CATEGORY), smooth(np.arange(float(n)), NUMBER)
    weights = np.zeros((1, numbers.functions.shape[1]))
    weights[0, 0] = 1.0
    p = permutation_p_values([rare], [numbers], [(0, 0)], [weights]).item()
    assert p <= 1e-3 and p >= 1e-5
