"""The Student copula: its information, what correlations do not see, held-out rows, and
tau against scipy's.
"""

import numpy as np
from pytest import approx
from scipy import stats

from infoscope.estimators.arrays import estimate
from infoscope.estimators.arrays.student import Copula, kendall
from tests.estimators.samples import draws


def test_a_student_copula_has_the_information_of_its_distribution():
    """By the entropies of the multivariate t of identity dispersion: 2 + 2 columns of 2
    degrees, 0.193 nats; the mean of the log ratio over 40,000 draws within four of its
    errors.
    """
    g = draws(9)
    chi_square = g.chisquare(2, size=(40_000, 1))
    scale = np.sqrt(chi_square / 2)
    student = g.normal(size=(40_000, 4)) / scale
    scores = stats.norm.ppf(stats.t.cdf(student, 2))
    local = Copula(2.0, np.eye(4)).log_ratio(scores, edge=2)
    error = local.std() / 200
    assert local.mean() == approx(0.193147, abs=4 * error)


def test_it_sees_what_correlations_do_not():
    """Two coordinates of a t of one degree, uncorrelated: .224 nats."""
    g = draws(1)
    scale = np.sqrt(g.chisquare(1, size=1500))
    x, y = g.normal(size=(2, 1500)) / scale
    estimated = estimate(x, y, "student-copula")
    assert estimated == approx(0.224, abs=4 * estimated.standard_error)
    assert estimate(x, y, "gcmi") < 0.02


def kendall_by_scipy(columns):
    dim = columns.shape[1]
    tau = np.eye(dim)
    for i in range(dim):
        for j in range(i):
            tau[i, j] = tau[j, i] = stats.kendalltau(
                columns[:, i], columns[:, j]
            ).statistic
    return tau


def test_few_columns_are_scipys():
    columns = draws().normal(size=(200, 3)).round(1)
    np.testing.assert_allclose(kendall(columns), kendall_by_scipy(columns), atol=1e-12)


def test_many_columns_are_within_the_error_of_fifty_partners_a_row():
    """With many ties: 190 differences of standard error below 1 / sqrt(50 n untied), of
    which 2/3 of the pairs are; a false alarm in 10,000 runs.
    """
    dim = 20
    mixing = np.eye(dim) + 0.5 * np.eye(dim, k=1)
    factors = draws(1).normal(size=(1000, dim))
    columns = np.round(factors @ mixing)
    difference = kendall(columns) - kendall_by_scipy(columns)
    assert np.abs(difference).max() < 5 / np.sqrt(50 * 1000 * 2 / 3)
