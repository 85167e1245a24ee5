"""Laws fitted to typed variables: densities against closed forms, and the held-out lower bound."""

import numpy as np
import pytest
from scipy import stats

from infoscope.estimators import laws
from infoscope.estimators.laws.mixture import Component, Mixture
from infoscope.estimators.laws.student import StudentCopula
from infoscope.estimators.variables import as_variable


def draws(seed=0):
    return np.random.default_rng(seed)


def law(weight, correlation):
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])
    return Component(weight, np.array([-1, -1]), np.zeros(2), covariance)


def test_the_log_ratio_of_one_normal_is_that_of_the_normal_law():
    both = Mixture((law(1.0, 0.6),), np.array([0, 1]))
    scores, codes = both.draw(2000, draws())
    joint = stats.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]]).logpdf(scores)
    expected = joint - stats.norm.logpdf(scores).sum(axis=1)
    np.testing.assert_allclose(laws.log_ratio(both, scores, codes), expected, atol=1e-10)


def test_margins_of_a_mixture_are_mixtures():
    """Two normals of opposite correlation: each margin is one normal, the joint density their mean."""
    both = Mixture((law(0.5, 0.8), law(0.5, -0.8)), np.array([0, 1]))
    scores, codes = both.draw(500, draws(1))
    parts = [stats.multivariate_normal([0, 0], [[1, r], [r, 1]]).pdf(scores) for r in (0.8, -0.8)]
    np.testing.assert_allclose(both.log_density(scores, codes, (0, 1)), np.log(np.mean(parts, axis=0)), atol=1e-10)
    np.testing.assert_allclose(both.log_density(scores, codes, (1,)), stats.norm.logpdf(scores[:, 1]), atol=1e-10)


def test_categories_have_the_information_of_their_table():
    """Two dependent labels without a number: log of the observed ratio, at every row."""
    g = draws(2)
    x = g.integers(0, 3, 900)
    y = np.where(g.random(900) < 0.7, x, g.integers(0, 3, 900))
    found = laws.fit((as_variable("x", x), as_variable("y", y)), draws())
    table = np.histogram2d(x, y, bins=(3, 3))[0] / 900
    expected = np.log(table / table.sum(axis=1, keepdims=True) / table.sum(axis=0))
    local = laws.log_ratio(found, np.empty((900, 0)), np.stack([x, y], axis=1))
    np.testing.assert_allclose(local, expected[x, y], atol=1e-10)


def test_conditional_information_is_a_difference_of_two():
    """I(x; y | z) = I(x; y, z) - I(x; z), row by row, of any mixture."""
    g = draws(3)
    z = g.normal(size=(400, 1))
    x, y = z + g.normal(size=(400, 1)), z + g.normal(size=(400, 1))
    found = laws.fit([as_variable(name, side) for name, side in zip("xyz", (x, y, z))], draws())
    scores, codes = found.draw(50, draws(4))
    dense = lambda *which: found.log_density(scores, codes, which)  # noqa: E731
    expected = (dense(0, 1, 2) - dense(0) - dense(1, 2)) - (dense(0, 2) - dense(0) - dense(2))
    np.testing.assert_allclose(laws.log_ratio(found, scores, codes), expected, atol=1e-9)


def test_a_student_copula_has_the_information_of_its_law():
    """By the entropies of the multivariate t of identity dispersion: 2 + 2 columns of 2 degrees, 0.193 nats; the mean
    of the log ratio over 40,000 draws within four of its errors.
    """
    law = StudentCopula(2.0, np.eye(4), np.array([0, 0, 1, 1]))
    scores, codes = law.draw(40_000, draws(9))
    local = laws.log_ratio(law, scores, codes)
    assert local.mean() == pytest.approx(0.193147, abs=4 * local.std() / 200)
    assert stats.kstest(scores[:4000, 0], "norm").pvalue > 1e-4


def test_a_student_copula_of_many_degrees_is_a_normal_law():
    correlation = np.array([[1.0, 0.6], [0.6, 1.0]])
    law = StudentCopula(1e6, correlation, np.array([0, 1]))
    scores = draws(10).normal(size=(50, 2))
    expected = stats.multivariate_normal([0, 0], correlation).logpdf(scores)
    np.testing.assert_allclose(law.log_density(scores, np.full((50, 2), -1), (0, 1)), expected, atol=1e-4)


@pytest.mark.parametrize(("sample", "name"), [
    (lambda g: g.normal(size=(2, 2000, 2)) + g.normal(size=(1, 2000, 1)), "a normal law"),
    (lambda g: (g.normal(size=(4, 2000)) / np.sqrt(g.chisquare(2, 2000))).reshape(2, 2, 2000).transpose(0, 2, 1),
     "a Student copula of 2 degrees"),
])  # fmt: skip
def test_the_law_that_is_fitted_is_the_one_that_drew(sample, name):
    """The right family among all, at fixed seeds; neighbouring degrees of freedom would do as well."""
    x, y = sample(draws(11))
    found = laws.fit((as_variable("x", x), as_variable("y", y)), draws(12)).name
    assert found.split(" of ")[0] == name.split(" of ")[0]


@pytest.mark.parametrize(("correlation", "truth"), [(0.0, 0.0), (0.75, 0.413), (0.95, 1.164)])
def test_the_held_out_bound_is_below_the_truth_and_near_it(correlation, truth):
    """Four standard errors above is a false alarm in 3 of 100,000; a normal law loses little to what is fitted."""
    g = draws(5)
    x = g.normal(size=2000)
    y = correlation * x + np.sqrt(1 - correlation**2) * g.normal(size=2000)
    found = laws.held_out(x, y, generator=draws())
    assert truth - 0.1 - 4 * found.standard_error < found.value < truth + 4 * found.standard_error
    assert found.n == 2000


def test_the_held_out_bound_sees_dependence_of_scale_alone():
    """Two coordinates of a t of one degree, uncorrelated at any power: 0.224 nats."""
    g = draws(6)
    both = g.normal(size=(3000, 2)) / np.sqrt(g.chisquare(1, size=(3000, 1)))
    found = laws.held_out(both[:, 0], both[:, 1], generator=draws())
    assert 0.1 < found.value < 0.224 + 4 * found.standard_error


def test_copies_in_other_folds_do_not_count_as_knowledge():
    """Independent numbers, each pair ten times: kept together by groups, nothing is found; apart a mixture of few
    components finds next to nothing either, with an error that is too small.
    """
    g = draws(7)
    x, y = np.repeat(g.normal(size=(2, 150)), 10, axis=1)
    found = laws.held_out(x, y, groups=np.arange(1500) // 10, generator=draws())
    assert found.units == 150 and found.value < 4 * found.standard_error + 0.01


def test_a_category_that_was_not_fitted_counts_as_nothing():
    g = draws(8)
    x = g.normal(size=400)
    y = (x > 0).astype(int)
    y[:3] = [7, 8, 9]
    found = laws.held_out(x, y, generator=draws())
    assert np.isfinite(found.value) and 0.4 < found.value < np.log(2) + 0.1
