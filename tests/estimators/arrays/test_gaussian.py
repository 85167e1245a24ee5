"""Normal distributions and copulas: closed forms, invariances, bias and coverage."""

import numpy as np
import pytest
from pytest import approx
from scipy.special import digamma

from infoscope.estimators.arrays import estimate
from infoscope.estimators.columns import Discrete
from tests.estimators.samples import (
    covering,
    draws,
    mean_standard_error,
    normal_information,
    normal_pairs,
)
from tests.refusals import refused

CLOSED = ("gaussian", "gcmi")


def test_a_normal_distribution_by_hand():
    """-1/2 ln(1 - r²) of the sample's r, less 1/2 (psi((n-1)/2) - psi((n-2)/2))."""
    x, y = normal_pairs(30, 0.5)
    correlations = np.corrcoef(x[:, 0], y[:, 0])
    r = correlations[0, 1]
    bias = (digamma(29 / 2) - digamma(28 / 2)) / 2
    assert estimate(x, y, "gaussian") == approx(normal_information(r) - bias)


def estimates_of(method, samples, n, correlation, columns):
    estimates = []
    for seed in range(samples):
        x, y = normal_pairs(n, correlation, columns, seed)
        estimates.append(estimate(x, y, method))
    return estimates


@pytest.mark.parametrize("method", CLOSED)
@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_no_bias_is_left_with_few_rows(method, correlation):
    """60 rows of 4 x 4 columns, 80 samples: the maximum-likelihood estimate is .15 nats
    too high; four standard errors are a false alarm in 16,000. Ranks of so few rows
    lose some dependence of their own.
    """
    estimates = estimates_of(method, 80, 60, correlation, 4)
    error = np.std(estimates) / np.sqrt(80)
    loss_of_ranks = 0.07 if method == "gcmi" and correlation else 0
    bias = np.mean(estimates) - normal_information(correlation, 4)
    assert abs(bias) < 4 * error + loss_of_ranks


@pytest.mark.parametrize("method", CLOSED)
@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_intervals_cover(method, correlation):
    """60 samples of 500 rows of 2 x 2: 95 % covered; fewer than 49 in one of 5,000
    runs. More at independence, where the error is that of the chi-squared of x and y.
    """
    estimates = estimates_of(method, 60, 500, correlation, 2)
    assert covering(estimates, normal_information(correlation, 2)) >= 49


def test_the_error_of_ranks_holds_for_other_copulas():
    """A Student copula of 3 degrees, 80 samples of 500: the error is that of the
    estimates' spread, to three tenths.
    """
    estimates = []
    for seed in range(80):
        x, y = normal_pairs(500, 0.6, seed=seed)
        chi_square = draws(seed + 1000).chisquare(3, size=(500, 1))
        scale = np.sqrt(3 / chi_square)
        estimates.append(estimate(scale * x, scale * y, "gcmi"))
    assert mean_standard_error(estimates) == approx(np.std(estimates), rel=0.3)


def test_a_normal_distribution_has_no_axes_and_a_copula_no_units():
    x, y = normal_pairs(300, 0.6, 3)
    normal = estimate(x, y, "gaussian")
    turned = x @ draws(2).normal(size=(3, 3))
    assert estimate(turned, y, "gaussian") == approx(normal.value)
    copula = estimate(x, y, "gcmi")
    bent = estimate(np.exp(3 * x), y**3, "gcmi")
    assert bent.value == copula.value
    assert bent.standard_error == copula.standard_error


def test_a_copula_is_a_bound_of_single_columns_alone():
    """y = x² + noise has information and no correlation. And x = (a, s a) of a random
    sign s, y = x + noise: I(x; y) <= H(s) + I(a; y | s) = ln 2 + 1/2 ln(1 + 2 / .01) =
    3.34; normal distributions with these covariances have 4.62.
    """
    x, noise = draws(3).normal(size=(2, 2000))
    assert estimate(x, x**2 + 0.1 * noise, "gcmi") < 0.05
    g = draws(5)
    a = g.normal(size=4000)
    sign = g.choice([-1, 1], 4000)
    x = np.column_stack([a, sign * a])
    y = x + 0.1 * g.normal(size=(4000, 2))
    bound = np.log(2) + 0.5 * np.log1p(2 / 0.01)
    assert estimate(x, y, "gcmi").low > bound


def labelled(n, shift, seed=0, dim=1):
    """Normal x whose mean is moved by a label, and the label."""
    g = draws(seed)
    label = g.integers(0, 2, n)
    return g.normal(size=(n, dim)) + shift * label[:, None], Discrete(label)


def test_one_variable_of_labels():
    """Two normals two apart: I = .337 (by quadrature). Ranks with a normal of each
    label find a little less.
    """
    x, label = labelled(20_000, 2.0)
    estimated = estimate(x, label, "gcmi")
    assert 0.3 < estimated < 0.337 + 4 * estimated.standard_error
    assert estimate(label, x, "gcmi") == approx(estimated.value)
    bent = estimate(np.exp(x), label, "gcmi")
    assert bent.value == approx(estimated.value)


def test_labels_without_information_have_none():
    """80 samples of 60 rows of 3 columns: uncorrected .16 nats; four standard errors
    are a false alarm in 16,000.
    """
    estimates = [estimate(*labelled(60, 0.0, seed, 3), "gcmi") for seed in range(80)]
    error = np.std(estimates) / np.sqrt(80)
    assert abs(np.mean(estimates)) < 4 * error
    assert covering(estimates, 0) > 0.84 * 80


@pytest.mark.parametrize(
    ("method", "value_tolerance", "error_tolerance"),
    [("gaussian", 1e-6, 1e-6), ("gcmi", 0.05, 0.2)],
)
def test_copies_in_groups_count_once(method, value_tolerance, error_tolerance):
    """40 rows, each five times, are 40 rows: the bias is theirs (ranks of equal values
    are shared), and so is the error.
    """
    x, y = normal_pairs(40, 0.6, 2)
    groups = np.repeat(np.arange(40), 5)
    once = estimate(x, y, method)
    five_times = estimate(x[groups], y[groups], method, groups=groups)
    assert five_times.units == 40
    assert five_times.value == approx(once.value, abs=value_tolerance)
    assert five_times.standard_error == approx(once.standard_error, rel=error_tolerance)


X, _ = normal_pairs(50, 0.6, 3)
FEW = draws().normal(size=(5, 4))
WIDE = draws().normal(size=(200, 90))


@pytest.mark.parametrize(
    ("x", "y", "method", "argument", "code"),
    [
        (FEW, FEW[::-1], "gaussian", "x and y", "few"),
        # one follows from the others
        (X, X[:, :1] + X[:, 1:2], "gaussian", "x and y", "constant"),
        (X, X[:, :1], "gcmi", "x and y", "constant"),
        (X, Discrete(np.arange(50) % 20), "gcmi", "every label", "few"),
        (WIDE, WIDE[::-1], "student-copula", "x and y", "few"),
    ],
)
def test_what_distributions_do_not_take(x, y, method, argument, code):
    with refused(argument, code):
        estimate(x, y, method)
