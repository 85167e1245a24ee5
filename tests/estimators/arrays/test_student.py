"""The Student copula: its information, what correlations do not see, held-out rows, and tau against scipy's."""

import numpy as np
import pytest
from scipy import stats

from infoscope.estimators.arrays import estimate
from infoscope.estimators.arrays.student import Copula, kendall
from tests.estimators.samples import draws


def test_a_student_copula_has_the_information_of_its_distribution():
    """By the entropies of the multivariate t of identity dispersion: 2 + 2 columns of 2 degrees, 0.193 nats; the mean
    of the log ratio over 40,000 draws within four of its errors.
    """
    g = draws(9)
    wide = g.normal(size=(40_000, 4)) / np.sqrt(g.chisquare(2, size=(40_000, 1)) / 2)
    scores = stats.norm.ppf(stats.t.cdf(wide, 2))
    local = Copula(2.0, np.eye(4)).log_ratio(scores, edge=2)
    assert local.mean() == pytest.approx(0.193147, abs=4 * local.std() / 200)


def test_it_sees_what_correlations_do_not():
    """Two coordinates of a t of one degree, uncorrelated: .224 nats."""
    g = draws(1)
    both = g.normal(size=(1500, 2)) / np.sqrt(g.chisquare(1, size=(1500, 1)))
    found = estimate(both[:, 0], both[:, 1], "student-copula")
    assert found == pytest.approx(0.224, abs=4 * found.standard_error) and found.settings == "5 folds"
    assert estimate(both[:, 0], both[:, 1], "gcmi") < 0.02


def test_few_columns_are_scipys():
    columns = np.random.default_rng(0).normal(size=(200, 3)).round(1)
    found = kendall(columns)
    expected = stats.kendalltau(columns[:, 0], columns[:, 2]).statistic
    assert found[2, 0] == found[0, 2] == pytest.approx(expected, abs=1e-12)


def test_many_columns_are_within_the_error_of_fifty_partners_a_row():
    """With many ties."""
    g = np.random.default_rng(1)
    n, dim = 1000, 20
    columns = np.round(g.normal(size=(n, dim)) @ (np.eye(dim) + 0.5 * np.eye(dim, k=1)))
    found = kendall(columns)
    exact = np.array([[stats.kendalltau(a, b).statistic for a in columns.T] for b in columns.T])
    assert np.allclose(np.diag(found), 1) and np.allclose(found, found.T)
    # 190 differences of standard error below 1 / sqrt(50 n untied): a false alarm in 10,000 runs
    untied = np.mean([len(np.unique(one)) > 1 for one in np.random.default_rng(2).choice(columns[:, 0], (5000, 2))])
    assert np.abs(found - exact).max() < 5 / np.sqrt(50 * n * untied)
