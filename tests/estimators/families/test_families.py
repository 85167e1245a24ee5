"""Every family against its closed form, an independent fit, or what any family must do."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from pytest import approx
from scipy import stats
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from infoscope.estimators.families import (
    Gaussian,
    GradientBoosting,
    Logistic,
    NearestNeighbours,
    Network,
    Sklearn,
    Table,
)
from infoscope.estimators.families.distributions import FLOOR
from infoscope.estimators.families.protocol import fit_each
from infoscope.metrics.v_information.measures import estimate
from tests.refusals import refused

CLASSIFIERS = [
    Logistic(10.0),
    Logistic(10.0, degree=2),
    NearestNeighbours(),
    Network((10,), "softplus", epochs=30),
    GradientBoosting(rounds=5),
    GradientBoosting(rounds=5, components=2),
    Sklearn(GaussianNB()),
]
REGRESSIONS = [
    Gaussian(),
    Gaussian(0.5, degree=3),
    NearestNeighbours(),
    Network((20,), epochs=40),
    GradientBoosting(rounds=20),
    Sklearn(LinearRegression()),
]


def named(families):
    return pytest.mark.parametrize("family", families, ids=lambda family: family.name)


def in_sample(family, x, y):
    return estimate(family, x, y, "in-sample", floor=0.0)


def table_of(x, y, sizes):
    counts = np.zeros(sizes)
    np.add.at(counts, (x, y), 1)
    return counts / len(x)


def test_tables_give_shannon_information():
    rng = default_rng(0)
    x = rng.integers(4, size=300)
    y = (x + (rng.random(300) < 0.3)) % 4
    joint = table_of(x, y, (4, 4))
    marginal_y = joint.sum(axis=0)
    entropy_y = stats.entropy(marginal_y)
    entropies = stats.entropy(joint.sum(axis=1)) + entropy_y
    information = entropies - stats.entropy(joint, axis=None)
    estimated = in_sample(Table(), x, y)
    assert estimated.value == approx(information, abs=1e-12)
    assert estimated.null_entropy == approx(entropy_y, abs=1e-12)
    fit = Table().fit(x, y, 4)
    (of_new_x,) = fit.log_probabilities(np.array([9]))
    assert np.exp(of_new_x) == approx(marginal_y)


def linear_residual(x, y):
    """What the least-squares fit of y [n, targets] by x [n, columns] and a constant
    leaves.
    """
    design = np.column_stack([x, np.ones(len(x))])
    coefficients, *_ = np.linalg.lstsq(design, y)
    return y - design @ coefficients


def test_gaussians_of_known_variance_give_explained_squares():
    """tr Cov(Y) minus the mean squared residual at variance 1/2 (Xu et al. 2020,
    proposition 2), over 2 variance.
    """
    rng = default_rng(1)
    x = rng.normal(size=(200, 3))
    weights = rng.normal(size=(3, 2))
    y = x @ weights + rng.normal(size=(200, 2))
    residual = linear_residual(x, y)
    unexplained = (residual**2).mean(axis=0)
    explained = y.var(axis=0) - unexplained
    estimated = in_sample(Gaussian(variance=2.0), x, y)
    assert estimated.value == approx(explained.sum() / 4.0)


def log_determinant(columns):
    covariance = np.cov(columns.T, bias=True)
    _, value = np.linalg.slogdet(covariance)
    return value


def test_gaussians_of_fitted_variance_give_the_log_of_the_variances():
    """For one column each, that is the mutual information of a Gaussian pair, -1/2 ln(1
    - r^2).
    """
    rng = default_rng(2)
    x = rng.normal(size=(500, 1))
    y = 0.8 * x + rng.normal(size=(500, 2))
    unexplained = log_determinant(linear_residual(x, y))
    truth = (log_determinant(y) - unexplained) / 2
    assert in_sample(Gaussian(), x, y).value == approx(truth)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("columns", [6, 300])
def test_fits_of_folds_are_scikit_learns_solution(classes, columns):
    """Correlated columns of different scales, fewer and more than rows, an almost
    separable class.
    """
    rng = default_rng(5)
    factors = rng.normal(size=(300, columns))
    mixing = rng.normal(size=(columns, columns))
    x = (factors @ mixing + 5.0) * np.logspace(-2, 2, columns)
    first = x[:, 0] / x[:, 0].std()
    noisy = first - first.mean() + 0.1 * rng.normal(size=300)
    y = np.digitize(noisy, [-0.5, 0.5]) % classes
    groups = np.arange(300)
    subsets = [groups % 3 != fold for fold in range(3)]
    fits = fit_each(Logistic(0.5), x, y, subsets, classes, groups, rng)
    for rows, fit in zip(subsets, fits):
        scaler = StandardScaler().fit(x[rows])
        reference = LogisticRegression(C=2.0, tol=1e-10, max_iter=10000)
        reference.fit(scaler.transform(x[rows]), y[rows])
        held_out = scaler.transform(x[~rows])
        expected = reference.predict_log_proba(held_out)
        assert fit.log_probabilities(x[~rows]) == approx(expected, abs=1e-2)


@named(CLASSIFIERS)
def test_classifiers_find_the_information_of_a_label(family):
    """Held out: at most the true information and at least half of it, each + 4 standard
    errors (6e-5).
    """
    rng = default_rng(8)
    y = rng.integers(2, size=600)
    informative = 2.0 * y - 1 + rng.normal(size=600)
    x = np.column_stack([informative, rng.normal(size=600)])
    truth = 0.3369  # nats, of a normal number whose mean is 1 or -1
    estimated = estimate(family, x, y, folds=3)
    error = 4 * estimated.standard_error
    assert 0.5 * truth - error < estimated.value < truth + error
    assert estimated.null_entropy == approx(math.log(2), abs=0.01)


@named(CLASSIFIERS)
def test_probabilities_of_classes_sum_to_one(family):
    rng = default_rng(8)
    x = rng.normal(size=(90, 2))
    rows = np.arange(90)
    y = rows % 3
    fit = family.fit(x, y, 3, rows, rng)
    logs = fit.log_probabilities(x)
    sums = np.exp(logs).sum(axis=1)
    assert sums == approx(np.ones(90))
    assert fit.log_density(x, y) == approx(logs[rows, y])
    without_input = family.fit(None, y, 3, rows, rng)
    equal = np.full(90, -math.log(3))
    assert without_input.log_density(None, y) == approx(equal)


@named(REGRESSIONS)
def test_densities_of_numbers_integrate_to_one(family):
    rng = default_rng(11)
    x = rng.normal(size=(120, 1))
    noise = rng.normal(size=(120, 1))
    y = np.sin(2 * x) + 0.3 * noise
    grid = np.linspace(-30, 30, 60001)
    column = grid[:, None]
    same_x = np.repeat(x[:1], len(grid), axis=0)
    fit = family.fit(x, y, None, np.arange(120), rng)
    without_input = family.fit(None, y)
    logs = [fit.log_density(same_x, column), without_input.log_density(None, column)]
    integrals = np.trapezoid(np.exp(logs), grid)
    assert integrals == approx([1.0, 1.0], abs=1e-3)


@named(REGRESSIONS)
def test_regressions_find_the_information_of_a_gaussian_pair(family):
    """r = 0.9: 0.83 nats if the variance is fitted; at most that, at least half, each +
    4 standard errors (6e-5).
    """
    rng = default_rng(12)
    x = rng.normal(size=(500, 1))
    noise = rng.normal(size=(500, 1))
    y = 0.9 * x + math.sqrt(0.19) * noise
    truth = -0.5 * math.log(0.19)
    if getattr(family, "variance", None):
        truth = 0.81  # explained variance / (2 * 0.5)
    estimated = estimate(family, x, y, folds=3)
    error = 4 * estimated.standard_error
    assert 0.5 * truth - error < estimated.value < truth + error


def test_neighbours_at_the_same_distance_count_alike_whatever_their_order():
    """Nothing to tell rows apart: the distribution without an input, though the rows
    are sorted by class.
    """
    y = np.repeat([0, 1, 2], [60, 90, 150])
    same_x = np.zeros((300, 2))
    fit = NearestNeighbours(7).fit(same_x, y, 3)
    probabilities = np.exp(fit.log_probabilities(same_x[:4]))
    expected = np.tile([0.2, 0.3, 0.5], (4, 1))
    np.testing.assert_allclose(probabilities, expected, atol=1e-12)


def test_a_floor_of_densities_bounds_what_an_outlier_costs():
    """A prediction far off costs at most -ln(floor) nats more than the distribution
    without an input.
    """
    rng = default_rng(13)
    x = rng.normal(size=(200, 1))
    y = x + 0.01 * rng.normal(size=(200, 1))
    outliers = -y[:5]
    fit = NearestNeighbours().fit(x, y)
    without_input = NearestNeighbours().fit(None, y)
    least = without_input.log_density(None, outliers) + math.log(FLOOR)
    densities = fit.log_density(x[:5], outliers)
    assert (densities >= least - 1e-9).all()


def test_the_variance_around_neighbours_is_that_of_rows_of_other_groups():
    """By hand: every row against the mean of its two nearest rows of other groups and
    the mean of all.
    """
    rng = default_rng(16)
    x = rng.normal(size=(30, 2))
    y = rng.normal(size=30)
    groups = np.arange(30) // 3 * 7
    fit = NearestNeighbours(2).fit(x, y[:, None], None, groups)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    squares = []
    for row in range(30):
        distances = np.linalg.norm(scaled - scaled[row], axis=1)
        distances[groups == groups[row]] = np.inf
        first, second, *_ = np.argsort(distances)
        prediction = (y[first] + y[second] + y.mean()) / 3
        squares.append((y[row] - prediction) ** 2)
    assert fit.informed.covariance.item() == approx(np.mean(squares))


def test_networks_of_few_rows_lose_little():
    """Numbers: a variance from the one row of a tenth would cost thousands of nats.
    Here an item costs at most -ln(floor) = 4.6; of 12 rows the mean of four samples is
    -0.18 with a standard deviation of 0.11 (over 30 of them).
    """
    values = []
    for seed in range(4):
        x, noise = default_rng(seed).normal(size=(2, 12))
        values.append(estimate(Network((5,), epochs=20), x, 0.5 * x + noise).value)
    assert np.mean(values) > -0.8


def test_categories_of_mixed_columns_are_rows_of_a_table():
    """A data frame of a word and a number."""
    rng = default_rng(19)
    x = pd.DataFrame(
        {"word": rng.choice(["a", "b"], 80), "number": rng.integers(2, size=80)}
    )
    y = (x["word"] == "a") ^ (x["number"] == 1)
    estimated = in_sample(Table(), x, y.to_numpy())
    assert estimated.value == pytest.approx(estimated.null_entropy)


LINE, HALF_SAMPLES = np.arange(9.0), np.arange(9) % 2


@pytest.mark.parametrize(
    ("make", "argument", "code"),
    [
        (lambda: Gaussian(0.0), "variance", "range"),
        (lambda: Logistic(0.0), "penalty", "range"),
        (
            lambda: NearestNeighbours(5).fit(
                np.zeros((5, 1)), np.array([0, 1, 0, 1, 0]), 2
            ),
            "neighbours",
            "range",
        ),
        (lambda: GradientBoosting(components=0), "components", "range"),
        (lambda: Network((0,)), "widths", "range"),
        (lambda: Network(activation="step"), "activation", "name"),
        (lambda: Sklearn(object()), "estimator", "invalid"),
        (lambda: Logistic().fit(np.zeros((3, 1)), np.ones((3, 1)), None), "y", "type"),
        (
            lambda: Gaussian().fit(np.array([1.0, np.nan]), np.ones((2, 1))),
            "x",
            "missing",
        ),
        (lambda: Gaussian().fit(LINE, LINE[:, None] * 0.7 + 0.1), "variance", "type"),
        (
            lambda: NearestNeighbours().fit(LINE, LINE[:, None], None, np.zeros(9)),
            "groups",
            "range",
        ),
        (
            lambda: (
                Logistic()
                .fit(LINE, HALF_SAMPLES, 2)
                .log_density(LINE[:4], HALF_SAMPLES[:3])
            ),
            "x",
            "invalid",
        ),
    ],
)
def test_impossible_settings_are_refused(make, argument, code):
    with refused(argument, code):
        make()


@pytest.mark.parametrize("classes", [2, None])
def test_trees_of_components_see_the_leading_ones_alone(classes):
    """The first three columns are far wider than the rest, so they are the components,
    but for turns; the target is in one of the others. What is no wider than the
    components is taken as it is.
    """
    rng = default_rng(0)
    scales = np.repeat([100.0, 0.1], [3, 5])
    x = scales * rng.normal(size=(400, 8))
    y = x[:, 5:6]
    if classes:
        y = (x[:, 5] > 0).astype(np.int64)

    def log_density(columns, components):
        family = GradientBoosting(rounds=10, components=components)
        inputs = x[:, columns]
        fit = family.fit(inputs[:300], y[:300], classes, None, rng)
        return fit.log_density(inputs[300:], y[300:]).mean()

    leading = log_density(range(8), 3)
    assert log_density(range(8), 8) > leading + 0.3
    assert log_density([0, 1, 5], 3) > leading + 0.3
