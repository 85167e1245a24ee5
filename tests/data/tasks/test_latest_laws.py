"""Laws that measure the advice: their truths by another route than their own."""

import math

import numpy as np
import pytest
from scipy import special, stats

from infoscope.data.tasks import exam
from infoscope.data.tasks.latest_laws import LAWS, frank_log_density
from infoscope.estimators import discrete

N = 200_000


def draw(name, n=N, seed=0):
    return LAWS[name].sample(n, np.random.default_rng(seed))


def agrees(local, name):
    """Mean log density ratios of draws beside the truth; false alarm 7e-6."""
    return abs(local.mean() - LAWS[name].truth()[0]) < 4.5 * local.std() / math.sqrt(len(local)) + 1e-5


def mixture(y, density, of):
    """ln of the mean density of y over draws that are not those of the rows."""
    return np.log(np.array([density(part[:, None], of).mean(axis=1) for part in np.array_split(y, 100)]).ravel())


def test_they_are_a_collection_of_the_exam():
    assert exam.COLLECTIONS["latest"] == tuple(LAWS) and len(LAWS) == 12
    assert all(exam.law(name) is law for name, law in LAWS.items())


def test_the_means_of_draws_are_cut_off():
    x, y = draw("clipped")
    below, above = (stats.norm.logcdf((-1 - sign * 0.8 * x) / 0.6) - stats.norm.logcdf(-1) for sign in (1, -1))
    within = stats.norm.logpdf(y, 0.8 * x, 0.6) - stats.norm.logpdf(y)
    assert agrees(np.where(y == -1, below, np.where(y == 1, above, within)), "clipped")
    x, y = draw("both-censored")
    of_x, of_y = (stats.norm.logcdf(-0.8 * one / 0.6) + math.log(2) for one in (y, x))
    within = stats.norm.logpdf(y, 0.8 * x, 0.6) - stats.norm.logpdf(y)
    neither = math.log(1 + 2 * math.asin(0.8) / math.pi)
    local = np.where(x == 0, np.where(y == 0, neither, of_x), np.where(y == 0, of_y, within))
    assert agrees(local, "both-censored")


def test_the_means_of_draws_are_amounts_counts_and_ages():
    x, y = draw("amounts")
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    spent = y > 0
    logs = np.log(y[spent])
    alone = stats.norm.pdf(logs[:, None], 0.5 * points, 0.7) @ (special.expit(1.5 * points) * weights / weights.sum())
    local = special.log_expit(-1.5 * x) + math.log(2)
    local[spent] = special.log_expit(1.5 * x[spent]) + stats.norm.logpdf(logs, 0.5 * x[spent], 0.7) - np.log(alone)
    assert agrees(local, "amounts")
    x, y = draw("counts-of-1-of-3")
    rates = np.exp(0.8 * np.linspace(-7, 7, 2001))
    weights = stats.norm.pdf(np.linspace(-7, 7, 2001))
    counts, which = np.unique(y, return_inverse=True)
    alone = np.log(stats.poisson.pmf(counts[:, None], rates) @ weights / weights.sum())
    assert agrees(stats.poisson.logpmf(y, np.exp(0.8 * x[:, 0])) - alone[which], "counts-of-1-of-3")
    x, y = draw("reported-ages", 20_000)
    alone = mixture(y, lambda y, of: stats.norm.pdf(y, 0.9 * (of - 54) / 20), draw("reported-ages", 4000, 1)[0])
    assert abs((stats.norm.logpdf(y, 0.9 * (x - 54) / 20) - alone).mean() - LAWS["reported-ages"].truth()[0]) < 0.05
    assert 0.4 < np.mean(x % 10 == 0) < 0.44  # a third, and one of ten of the others


def test_the_means_of_draws_are_frank():
    x, y = draw("frank-8")
    assert agrees(frank_log_density(stats.t.cdf(x, 3), y, 8.0), "frank-8")
    points = (np.arange(4000) + 0.5) / 500
    debye = (points / np.expm1(points)).mean()  # of order 1 at 8
    assert stats.kendalltau(x[:8000], y[:8000]).statistic == pytest.approx(1 - (1 - debye) / 2, abs=0.03)


def test_the_means_of_draws_are_regimes_clouds_and_a_survey():
    x, y = draw("regimes-of-5")
    means = np.where(x[:, 0] > 0, 1.5 * x[:, 1], 0.5 * x[:, 2])
    alone = np.logaddexp(*(stats.norm.logpdf(y, 0, math.hypot(slope, 0.5)) for slope in (1.5, 0.5))) - math.log(2)
    assert agrees(stats.norm.logpdf(y, means, 0.5) - alone, "regimes-of-5")
    x, y = draw("four-clouds-of-8")
    signs = 2 * np.column_stack([y // 2, y % 2]) - 1
    assert agrees(2 * math.log(2) - np.logaddexp(0, -2.4 * signs * x[:, :2]).sum(axis=1), "four-clouds-of-8")
    x, y = (np.unique(one, return_inverse=True)[1] for one in draw("survey"))
    entropies = [discrete.miller_madow(np.bincount(codes)) for codes in (x, y, 7 * x + y)]
    assert entropies[0] + entropies[1] - entropies[2] == pytest.approx(LAWS["survey"].truth()[0], abs=5e-3)


def test_the_means_of_draws_are_a_radius_and_a_changing_scale():
    x, y = draw("radius-of-3", 20_000)
    lengths = np.linalg.norm(draw("radius-of-3", 4000, 1)[0], axis=1)
    alone = mixture(y, lambda y, of: stats.norm.pdf(y, of, 0.3), lengths)
    local = stats.norm.logpdf(y, np.linalg.norm(x, axis=1), 0.3) - alone
    assert abs(local.mean() - LAWS["radius-of-3"].truth()[0]) < 0.05
    x, y = draw("changing-scale")
    points, weights = np.polynomial.hermite_e.hermegauss(100)
    alone = np.log(stats.norm.pdf(y[:, None], 0, np.exp(0.7 * points)) @ (weights / weights.sum()))
    assert agrees(stats.norm.logpdf(y, 0, np.exp(0.7 * x)) - alone, "changing-scale")
