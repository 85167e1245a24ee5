"""Laws that measure the advice: their truths by another route than their own."""

import math

import numpy as np
import pytest
from scipy import stats

from infoscope.data.tasks import exam
from infoscope.data.tasks.later_laws import LAWS, shared_volatility
from infoscope.estimators import knn
from infoscope.estimators.knn import Continuous, Discrete

OF_MANY_COLUMNS = ("next-steps-5-3", "grades-3-of-6", "shared-volatility-3-3", "square-of-1-of-12", "product-label-5")


def draw(name, n, seed=0):
    return LAWS[name].sample(n, np.random.default_rng(seed))


def agrees(local, name):
    """Mean log density ratios of draws beside the truth; false alarm 7e-6."""
    return abs(local.mean() - LAWS[name].truth()[0]) < 4.5 * local.std() / math.sqrt(len(local))


def test_they_are_a_collection_of_the_exam():
    assert exam.COLLECTIONS["later"] == tuple(LAWS) and len(LAWS) == 12
    assert all(exam.law(name) is law for name, law in LAWS.items())


@pytest.mark.parametrize("name", [name for name in LAWS if name not in (*OF_MANY_COLUMNS, "censored")])
def test_neighbours_find_it_in_many_rows(name):
    x, y = draw(name, 8000)
    typed = [Discrete(one) if one.dtype.kind in "iU" else Continuous(one) for one in (x, y)]
    found = knn.mutual_information(*typed)
    assert abs(found - LAWS[name].truth()[0]) < 4.5 * found.standard_error + 0.03  # their own bias at an edge


def test_the_means_of_draws_are_clayton_and_the_triangle():
    u, v = (np.exp(-one) for one in draw("clayton-2", 100_000))
    assert agrees(math.log(3) - 3 * np.log(u * v) - 2.5 * np.log(u**-2 + v**-2 - 1), "clayton-2")
    x, y = draw("triangle", 100_000)
    assert agrees(math.log(2) - np.log(2 * x) - np.log(2 * (1 - y)), "triangle")


def test_what_comes_next_is_a_determinant():
    x, y = draw("next-steps-5-3", 50_000)
    logs = [np.linalg.slogdet(np.corrcoef(one.T))[1] for one in (x, y, np.hstack([x, y]))]
    assert LAWS["next-steps-5-3"].truth()[0] == pytest.approx(0.5 * (logs[0] + logs[1] - logs[2]), abs=0.015)


def test_the_means_of_draws_are_labels_and_grades():
    x, y = draw("product-label-5", 200_000)
    odds = 2 * x[:, 0] * x[:, 1] + x[:, 2]
    assert agrees(-np.logaddexp(0, np.where(y == 1, -odds, odds)) + math.log(2), "product-label-5")
    x, y = draw("grades-3-of-6", 200_000)
    ends = np.concatenate([[-np.inf], [-1.5, -0.9, -0.3, 0.3, 0.9, 1.5], [np.inf]])
    behind = 0.8 * x[:, :3].sum(axis=1) / math.sqrt(3)
    low, high = ends[y.astype(int)], ends[y.astype(int) + 1]
    given = stats.norm.cdf((high - behind) / 0.6) - stats.norm.cdf((low - behind) / 0.6)
    assert agrees(np.log(given) - np.log(stats.norm.cdf(high) - stats.norm.cdf(low)), "grades-3-of-6")


def test_the_means_of_draws_are_censored_and_squared():
    x, y = draw("censored", 200_000)
    rest = math.sqrt(0.51)
    none = stats.norm.logcdf(-0.7 * x / rest) - math.log(0.5)
    seen = stats.norm.logpdf(y, 0.7 * x, rest) - stats.norm.logpdf(y)
    assert agrees(np.where(y == 0, none, seen), "censored")
    x, y = draw("square-of-1-of-12", 4000)
    squares = np.random.default_rng(1).normal(size=4000) ** 2
    of_y = np.log(np.mean([stats.norm.pdf(y, one, 0.5) for one in squares], axis=0))
    local = stats.norm.logpdf(y, x[:, 6] ** 2, 0.5) - of_y
    assert abs(local.mean() - LAWS["square-of-1-of-12"].truth()[0]) < 0.07


def test_a_shared_volatility_of_no_spread_is_nothing_and_of_more_is_more():
    less, more = (shared_volatility(3, spread).truth()[0] for spread in (0.01, 0.8))
    assert abs(less) < 1e-3 < 0.1 < more
    x, y = draw("shared-volatility-3-3", 4000)
    logs, weights = np.polynomial.hermite_e.hermegauss(60)

    def density(rows):
        scale = np.exp(0.8 * logs)
        each = stats.norm.pdf(rows[:, :, None] / scale) / scale
        return np.log(each.prod(axis=1) @ (weights / weights.sum()))

    assert agrees(density(np.hstack([x, y])) - density(x) - density(y), "shared-volatility-3-3")
