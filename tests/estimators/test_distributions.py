"""Distributions fitted to typed variables: densities and tau against others', and the held-out lower bound."""

import numpy as np
import pytest
from scipy import stats

from infoscope.estimators import distributions
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.distributions import RIDGE, Component, Mixture, StudentCopula, kendall, mixture_components
from tests.estimators.samples import draws, normal_information, normal_pair


def component(weight, correlation):
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])
    return Component(weight, np.array([-1, -1]), np.zeros(2), covariance)


def test_the_log_ratio_of_one_normal_is_that_of_the_normal_distribution():
    both = Mixture((component(1.0, 0.6),), np.array([0, 1]))
    scores = draws().multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 2000)
    codes = np.full((2000, 2), -1)
    joint = stats.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]]).logpdf(scores)
    expected = joint - stats.norm.logpdf(scores).sum(axis=1)
    np.testing.assert_allclose(distributions.log_ratio(both, scores, codes), expected, atol=1e-10)


def test_margins_of_a_mixture_are_mixtures():
    """Two normals of opposite correlation: each margin is one normal, the joint density their mean."""
    both = Mixture((component(0.5, 0.8), component(0.5, -0.8)), np.array([0, 1]))
    scores, codes = draws(1).normal(size=(500, 2)), np.full((500, 2), -1)
    parts = [stats.multivariate_normal([0, 0], [[1, r], [r, 1]]).pdf(scores) for r in (0.8, -0.8)]
    np.testing.assert_allclose(both.log_density(scores, codes, (0, 1)), np.log(np.mean(parts, axis=0)), atol=1e-10)
    np.testing.assert_allclose(both.log_density(scores, codes, (1,)), stats.norm.logpdf(scores[:, 1]), atol=1e-10)


def test_categories_have_the_information_of_their_table():
    """Two dependent labels without a number: log of the observed ratio, at every row."""
    g = draws(2)
    x = g.integers(0, 3, 900)
    y = np.where(g.random(900) < 0.7, x, g.integers(0, 3, 900))
    found = distributions.fit((as_variable("x", x), as_variable("y", y)), draws())
    table = np.histogram2d(x, y, bins=(3, 3))[0] / 900
    expected = np.log(table / table.sum(axis=1, keepdims=True) / table.sum(axis=0))
    local = distributions.log_ratio(found, np.empty((900, 0)), np.stack([x, y], axis=1))
    np.testing.assert_allclose(local, expected[x, y], atol=1e-10)


def test_a_student_copula_has_the_information_of_its_distribution():
    """By the entropies of the multivariate t of identity dispersion: 2 + 2 columns of 2 degrees, 0.193 nats; the mean
    of the log ratio over 40,000 draws within four of its errors.
    """
    component = StudentCopula(2.0, np.eye(4), np.array([0, 0, 1, 1]))
    g = draws(9)
    wide = g.normal(size=(40_000, 4)) / np.sqrt(g.chisquare(2, size=(40_000, 1)) / 2)
    scores, codes = stats.norm.ppf(stats.t.cdf(wide, 2)), np.full((40_000, 2), -1)
    local = distributions.log_ratio(component, scores, codes)
    assert local.mean() == pytest.approx(0.193147, abs=4 * local.std() / 200)


@pytest.mark.parametrize(("sample", "name"), [
    (lambda g: g.normal(size=(2, 1000, 2)) + g.normal(size=(1, 1000, 1)), "normal distribution"),
    (lambda g: (g.normal(size=(4, 1000)) / np.sqrt(g.chisquare(2, 1000))).reshape(2, 2, 1000).transpose(0, 2, 1),
     "Student copula"),
])  # fmt: skip
def test_the_distribution_that_is_fitted_is_the_one_that_drew(sample, name):
    """The right family among all, at fixed seeds; neighbouring degrees of freedom would do as well."""
    x, y = sample(draws(11))
    assert name in distributions.fit((as_variable("x", x), as_variable("y", y)), draws(12)).name


@pytest.mark.parametrize("correlation", [0.0, 0.95])
def test_the_held_out_bound_is_below_the_truth_and_near_it(correlation):
    """Four standard errors above is a false alarm in 3 of 100,000; fitting loses little."""
    found, truth = (
        distributions.held_out(*normal_pair(1000, correlation), generator=draws()),
        normal_information(correlation),
    )
    assert truth - 0.1 - 4 * found.standard_error < found.value < truth + 4 * found.standard_error
    assert found.n == 1000


def test_the_held_out_bound_sees_dependence_of_scale_alone():
    """Two coordinates of a t of one degree, uncorrelated at any power: 0.224 nats."""
    g = draws(6)
    both = g.normal(size=(2000, 2)) / np.sqrt(g.chisquare(1, size=(2000, 1)))
    found = distributions.held_out(both[:, 0], both[:, 1], generator=draws())
    assert 0.1 < found.value < 0.224 + 4 * found.standard_error


def test_copies_in_other_folds_do_not_count_as_knowledge():
    """Independent numbers, each pair four times: kept together by groups, nothing is found; apart a mixture of few
    components finds next to nothing either, with an error that is too small.
    """
    g = draws(7)
    x, y = np.repeat(g.normal(size=(2, 150)), 4, axis=1)
    found = distributions.held_out(x, y, groups=np.arange(600) // 4, generator=draws())
    assert found.units == 150 and found.value < 4 * found.standard_error + 0.01


def test_a_category_that_was_not_fitted_has_no_information():
    g = draws(8)
    x = g.normal(size=400)
    y = (x > 0).astype(int)
    y[:3] = [7, 8, 9]
    found = distributions.held_out(x, y, generator=draws())
    assert np.isfinite(found.value) and 0.4 < found.value < np.log(2) + 0.1


def test_rows_that_repeat_are_fewer_clusters():
    scores = np.repeat([[0.0], [1.0], [3.0]], 40, axis=0)
    weights, means, covariances = map(np.array, zip(*mixture_components(scores, 4, False)))
    assert weights.sum() == pytest.approx(1) and np.isfinite(means).all()
    assert (covariances >= RIDGE * 0.999).all()


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
