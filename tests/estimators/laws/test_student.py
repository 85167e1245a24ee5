"""Kendall's tau of many columns against scipy's, pair by pair."""

import numpy as np
import pytest
from scipy import stats

from infoscope.estimators.laws.student import kendall


def test_few_columns_are_scipys():
    columns = np.random.default_rng(0).normal(size=(200, 3)).round(1)
    found = kendall(columns)
    expected = stats.kendalltau(columns[:, 0], columns[:, 2]).statistic
    assert found[2, 0] == found[0, 2] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("digits", [8, 0])  # without ties, and with many
def test_many_columns_are_within_the_error_of_fifty_partners_a_row(digits):
    g = np.random.default_rng(1)
    n, dim = 1000, 20
    columns = np.round(g.normal(size=(n, dim)) @ (np.eye(dim) + 0.5 * np.eye(dim, k=1)), digits)
    found = kendall(columns)
    exact = np.array([[stats.kendalltau(a, b).statistic for a in columns.T] for b in columns.T])
    assert np.allclose(np.diag(found), 1) and np.allclose(found, found.T)
    # 190 differences of standard error below 1 / sqrt(50 n untied): a false alarm in 10,000 runs
    untied = np.mean([len(np.unique(one)) > 1 for one in np.random.default_rng(2).choice(columns[:, 0], (5000, 2))])
    assert np.abs(found - exact).max() < 5 / np.sqrt(50 * n * untied)
