"""p-values by permutations: those of all orders, Fisher's exact test, and drawn ones
that stop early.
"""

from itertools import permutations

import numpy as np
import pytest
from pytest import approx
from scipy.stats import fisher_exact

from infoscope.estimators.independence import permutations as module
from infoscope.estimators.independence.functions import CATEGORY, NUMBER, smooth
from infoscope.estimators.independence.permutations import (
    fisher_p_value,
    permutation_p_values,
)

X = smooth(np.random.default_rng(0).normal(size=7), NUMBER)
Y = smooth(np.array([0, 0, 1, 1, 2, 2, 2]), CATEGORY)
WEIGHTS = np.ones((X.functions.shape[1], Y.functions.shape[1]))


def p_value_of_all_orders():
    statistics = []
    for order in permutations(range(7)):
        products = X.functions.T @ Y.functions[list(order)]
        statistics.append((products**2).sum())
    observed = statistics[0] * (1 - 1e-9)
    return np.mean(np.array(statistics) >= observed)


def test_few_rows_are_taken_in_all_orders():
    p = permutation_p_values([X], [Y], [(0, 0)], [WEIGHTS])
    assert p == approx(p_value_of_all_orders())


def test_drawn_orders_give_nearly_the_same(monkeypatch):
    monkeypatch.setattr(module, "MAX_ENUMERATED", 3)
    monkeypatch.setattr(module, "MIN_EXCEEDANCES", 10_000)
    p = permutation_p_values([X], [Y], [(0, 0)], [WEIGHTS])
    assert p == approx(p_value_of_all_orders(), rel=0.1)


@pytest.mark.parametrize(
    ("first", "second", "both"), [(3, 2, 1), (10, 7, 3), (25, 4, 4)]
)
def test_two_values_each_are_tested_as_by_fisher(first, second, both):
    """Of 50 rows; his two-sided test sums the tables that are less probable, here the
    same ones.
    """
    neither = 50 - first - second + both
    table = [[both, first - both], [second - both, neither]]
    variances = first * (50 - first) * second * (50 - second)
    strength = (50 * both - first * second) ** 2 / variances
    p = fisher_p_value(50, first, second, strength)
    assert p == approx(fisher_exact(table).pvalue)


@pytest.mark.parametrize("n", [40, 4000])
def test_a_rare_value_that_has_the_largest_numbers_is_as_improbable_as_that_order(n):
    """Three rows of n, drawn without the others where n is large: 1 in n (n - 1) (n -
    2) / 6.
    """
    rows = np.arange(n)
    is_rare = smooth(rows >= n - 3, CATEGORY)
    numbers = smooth(rows.astype(float), NUMBER)
    weights = np.zeros((1, numbers.functions.shape[1]))
    weights[0, 0] = 1.0
    p = permutation_p_values([is_rare], [numbers], [(0, 0)], [weights]).item()
    assert 1e-5 <= p <= 1e-3
