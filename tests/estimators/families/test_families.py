"""Every family against its closed form, an independent fit, or what any family must do."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from infoscope.estimators.families import (
    Gaussian,
    GradientBoosting,
    Logistic,
    NearestNeighbours,
    Network,
    Sklearn,
    Table,
    tfidf_logistic,
)
from infoscope.estimators.families.distributions import FLOOR
from infoscope.estimators.families.protocol import fit_each
from infoscope.metrics.v_information.measures import estimate
from tests.refusals import refused

CLASSIFIERS = [
    Logistic(10.0), Logistic(10.0, degree=2), NearestNeighbours(),
    Network((10,), "softplus", epochs=30), GradientBoosting(rounds=5), GradientBoosting(rounds=5, components=2),
    Sklearn(GaussianNB()),
]  # fmt: skip
REGRESSIONS = [
    Gaussian(), Gaussian(0.5, degree=3), NearestNeighbours(), Network((20,), epochs=40),
    GradientBoosting(rounds=20), Sklearn(LinearRegression()),
]  # fmt: skip


def named(families):
    return pytest.mark.parametrize("family", families, ids=lambda family: family.name)


def in_sample(family, x, y):
    return estimate(family, x, y, "in-sample", floor=0.0)


def test_tables_give_shannon_information():
    rng = np.random.default_rng(0)
    x = rng.integers(4, size=300)
    y = (x + (rng.random(300) < 0.3)) % 4
    joint = np.zeros((4, 4))
    np.add.at(joint, (x, y), 1 / 300)
    truth = sum(map(stats.entropy, (joint.sum(0), joint.sum(1)))) - stats.entropy(joint.ravel())
    found = in_sample(Table(), x, y)
    assert found.value == pytest.approx(truth, abs=1e-12)
    assert found.null_entropy == pytest.approx(stats.entropy(joint.sum(0)), abs=1e-12)
    unseen = Table().fit(x, y, 4).log_probabilities(np.array([9]))
    assert np.exp(unseen) == pytest.approx(joint.sum(0)[None])


def test_gaussians_of_known_variance_give_explained_squares():
    """tr Cov(Y) minus the mean squared residual at variance 1/2 (Xu et al. 2020, proposition 2), over 2 variance."""
    variance = 2.0
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 3))
    y = x @ rng.normal(size=(3, 2)) + rng.normal(size=(200, 2))
    design = np.hstack([x, np.ones((200, 1))])
    residual = y - design @ np.linalg.solve(design.T @ design, design.T @ y)
    explained = y.var(axis=0).sum() - (residual**2).sum() / 200
    assert in_sample(Gaussian(variance), x, y).value == pytest.approx(explained / (2 * variance))


def test_gaussians_of_fitted_variance_give_the_log_of_the_variances():
    """For a Gaussian pair that is its mutual information, -1/2 ln(1 - r^2)."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=500)
    y = 0.8 * x + 0.6 * rng.normal(size=500)
    r = np.corrcoef(x, y)[0, 1]
    assert in_sample(Gaussian(), x, y).value == pytest.approx(-0.5 * math.log(1 - r**2))
    both = np.column_stack([y, rng.normal(size=500)])
    cov, design = np.cov(both.T, bias=True), np.column_stack([x, np.ones(500)])
    residual = both - design @ np.linalg.lstsq(design, both)[0]
    truth = 0.5 * math.log(np.linalg.det(cov) / np.linalg.det(residual.T @ residual / 500))
    assert in_sample(Gaussian(), x, both).value == pytest.approx(truth)


@pytest.mark.parametrize("classes", [2, 3])
def test_fits_of_folds_are_scikit_learns_solution(classes):
    """Correlated columns of different scales, an almost separable class."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6)) * np.logspace(-2, 2, 6)
    y = (np.digitize(x[:, 0] / x[:, 0].std() + 0.1 * rng.normal(size=300), [-0.5, 0.5])) % classes
    subsets = [np.arange(300) % 3 != fold for fold in range(3)]
    groups = np.arange(300)
    for rows, fit in zip(subsets, fit_each(Logistic(0.5), x, y, subsets, classes, groups, rng)):
        centre, scale = x[rows].mean(axis=0), x[rows].std(axis=0)
        plain = LogisticRegression(C=2.0, tol=1e-10, max_iter=10000).fit((x[rows] - centre) / scale, y[rows])
        held = x[~rows]
        expected = plain.predict_log_proba((held - centre) / scale)
        assert fit.log_probabilities(held) == pytest.approx(expected, abs=1e-3)


@named(CLASSIFIERS)
def test_classifiers_find_what_is_there_and_no_more(family):
    """Held out: at most the true information and at least half of it, each + 4 standard errors (6e-5); in noise never
    more than 4 of them: what is not there can only be lost. And distributions sum to one."""
    rng = np.random.default_rng(8)
    y = rng.integers(2, size=600)
    x = np.column_stack([2.0 * y - 1 + rng.normal(size=600), rng.normal(size=600)])
    found = estimate(family, x, y, folds=3)
    truth = 0.3369  # nats, of one reading at distance 1; the test above has the integral
    assert 0.5 * truth - 4 * found.standard_error < found.value < truth + 4 * found.standard_error
    assert found.null_entropy == pytest.approx(math.log(2), abs=0.01)
    x, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    fit = family.fit(x, y, 3, np.arange(90), rng)
    logs = fit.log_probabilities(x[:7])
    assert np.exp(logs).sum(axis=1) == pytest.approx(np.ones(7))
    assert fit.log_density(x[:7], y[:7]) == pytest.approx(logs[np.arange(7), y[:7]])
    null = family.fit(None, y, 3, np.arange(90), rng)
    assert null.log_density(None, y) == pytest.approx(np.full(90, -math.log(3)))


@named(REGRESSIONS)
def test_densities_of_numbers_integrate_to_one(family):
    rng = np.random.default_rng(11)
    x = rng.normal(size=(120, 1))
    y = np.sin(2 * x) + 0.3 * rng.normal(size=(120, 1))
    fit = family.fit(x, y, None, np.arange(120), rng)
    grid = np.linspace(-30, 30, 60001)[:, None]
    for member, item in ((fit, np.repeat(x[:1], len(grid), axis=0)), (family.fit(None, y), None)):
        assert np.trapezoid(np.exp(member.log_density(item, grid)), grid[:, 0]) == pytest.approx(1.0, abs=1e-3)


@named(REGRESSIONS)
def test_regressions_find_the_information_of_a_gaussian_pair(family):
    """r = 0.9: 0.83 nats if the variance is fitted; at most that, at least half, each + 4 standard errors (6e-5)."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=(500, 1))
    y = 0.9 * x + math.sqrt(0.19) * rng.normal(size=(500, 1))
    truth = 0.81 if getattr(family, "variance", None) else -0.5 * math.log(0.19)  # 0.81 / (2 * 0.5)
    found = estimate(family, x, y, folds=3)
    assert 0.5 * truth - 4 * found.standard_error < found.value < truth + 4 * found.standard_error


def test_neighbours_at_the_same_distance_count_alike_whatever_their_order():
    """Nothing to tell rows apart: the distribution without an input, though the rows are sorted by class."""
    y = np.repeat([0, 1, 2], [60, 90, 150])
    blind = NearestNeighbours(7).fit(np.zeros((300, 2)), y, 3)
    np.testing.assert_allclose(np.exp(blind.log_probabilities(np.zeros((4, 2)))), [[0.2, 0.3, 0.5]] * 4, atol=1e-12)


def test_a_floor_of_densities_bounds_what_an_outlier_costs():
    """A prediction far off costs at most -ln(floor) nats more than the distribution without an input."""
    rng = np.random.default_rng(13)
    x = rng.normal(size=(200, 1))
    y = x + 0.01 * rng.normal(size=(200, 1))
    fit, null = NearestNeighbours().fit(x, y), NearestNeighbours().fit(None, y)
    wrong = -y[:5]
    cost = null.log_density(None, wrong) - fit.log_density(x[:5], wrong)
    assert (cost <= -math.log(FLOOR) + 1e-9).all()


def test_the_variance_around_neighbours_is_that_of_rows_of_other_groups():
    """By hand: every row against the mean of its two nearest rows of other groups and the mean of all."""
    rng = np.random.default_rng(16)
    x, y, groups = rng.normal(size=(30, 2)), rng.normal(size=(30, 1)), np.arange(30) // 3 * 7
    fit = NearestNeighbours(2).fit(x, y, None, groups)
    scaled, residuals = (x - x.mean(axis=0)) / x.std(axis=0), []
    for row in range(30):
        distance = np.linalg.norm(scaled - scaled[row], axis=1)
        near = [other for other in np.argsort(distance) if groups[other] != groups[row]][:2]
        residuals.append(y[row, 0] - (y[near, 0].sum() + y.mean()) / 3)
    assert fit.informed.covariance == pytest.approx(np.array([[np.mean(np.square(residuals))]]))


def test_networks_of_few_rows_lose_little():
    """Numbers: a variance from the one row of a tenth would cost thousands of nats. Here an item costs at most
    -ln(floor) = 4.6; of 12 rows the mean of four samples is -0.18 with a standard deviation of 0.11 (over 30 of them).
    """
    values = []
    for seed in range(4):
        x, noise = np.random.default_rng(seed).normal(size=(2, 12))
        values.append(estimate(Network((5,), epochs=20), x, 0.5 * x + noise).value)
    assert np.mean(values) > -0.8


def test_categories_of_mixed_columns_are_rows_of_a_table():
    """A data frame of a word and a number."""
    rng = np.random.default_rng(19)
    x = pd.DataFrame({"word": rng.choice(["a", "b"], 80), "number": rng.integers(2, size=80)})
    y = (x["word"] == "a").to_numpy() ^ (x["number"] == 1).to_numpy()
    found = in_sample(Table(), x, y)
    assert found.value == pytest.approx(found.null_entropy)


def test_texts_are_a_family_whose_words_are_those_of_the_training_texts():
    texts = ["good film", "bad film", "good plot", "bad plot"] * 10
    y = np.array([1, 0, 1, 0] * 10)
    fit = tfidf_logistic().fit(texts, y, 2)
    logs = fit.log_probabilities(["good thing", "unheard words"])
    assert logs[0, 1] > math.log(0.6)
    assert logs[1] == pytest.approx(np.log([0.5, 0.5]), abs=0.05)
    assert estimate(tfidf_logistic(), texts, y).value > 0.3


LINE, HALF_SAMPLES = np.arange(9.0), np.arange(9) % 2


@pytest.mark.parametrize(
    ("make", "argument", "code"),
    [
        (lambda: Gaussian(0.0), "variance", "range"),
        (lambda: Logistic(0.0), "penalty", "range"),
        (lambda: NearestNeighbours(5).fit(np.zeros((5, 1)), np.array([0, 1, 0, 1, 0]), 2), "neighbours", "range"),
        (lambda: Network((0,)), "widths", "range"),
        (lambda: Network(activation="step"), "activation", "name"),
        (lambda: Sklearn(object()), "estimator", "invalid"),
        (lambda: Logistic().fit(np.zeros((3, 1)), np.ones((3, 1)), None), "y", "type"),
        (lambda: Gaussian().fit(np.array([1.0, np.nan]), np.ones((2, 1))), "x", "missing"),
        (lambda: Gaussian().fit(LINE, LINE[:, None] * 0.7 + 0.1), "variance", "type"),
        (lambda: NearestNeighbours().fit(LINE, LINE[:, None], None, np.zeros(9)), "groups", "range"),
        (lambda: Logistic().fit(LINE, HALF_SAMPLES, 2).log_density(LINE[:4], HALF_SAMPLES[:3]), "x", "invalid"),
    ],
)
def test_impossible_settings_are_refused(make, argument, code):
    with refused(argument, code):
        make()


@pytest.mark.parametrize("classes", [2, None])
def test_trees_of_components_see_the_leading_ones_alone(classes):
    """The first three columns are far wider than the rest, so they are the components, but for turns; the target is in
    one of the others. What is no wider than the components is taken as it is."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 8)) * ([100.0] * 3 + [0.1] * 5)
    y = (x[:, 5] > 0).astype(np.int64) if classes else x[:, 5:6]

    def log_density(columns, most):
        family = GradientBoosting(rounds=10, components=most)
        fitted = family.fit(x[:300, columns], y[:300], classes, None, rng)
        return float(np.mean(fitted.log_density(x[300:, columns], y[300:])))

    without, every, narrow = log_density(range(8), 3), log_density(range(8), 8), log_density([0, 1, 5], 3)
    assert every > without + 0.3 and narrow > without + 0.3
    with refused("components", "range"):
        GradientBoosting(components=0)
