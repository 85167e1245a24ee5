"""The advice: answers that hold a known truth, refusals, and the information of simulated data in closed form."""

import math

import numpy as np
import pytest

from infoscope.data.tasks.later_laws import LAWS
from infoscope.estimators import estimate
from infoscope.estimators.arrays.protocol import as_pairs
from infoscope.metrics.advice import ANSWERED, NOTHING, REFUSED, advise
from infoscope.metrics.advice.odds import Trees
from infoscope.metrics.advice.twins import Latent, Null, Scores, making
from infoscope.metrics.advice.twins.drawn import shared_tails
from infoscope.metrics.advice.twins.protocol import information
from infoscope.metrics.advice.twins.sides import normal_scores
from tests.refusals import refused


def generator(seed=0):
    return np.random.default_rng(seed)


def pairs_of(n=1000, dim=3, correlation=0.6):
    g = generator()
    x, y = g.normal(size=(2, n, dim))
    y[:, 0] = correlation * x[:, 0] + math.sqrt(1 - correlation**2) * y[:, 0]
    return as_pairs(x, np.exp(y))


def of_all(family, nats, count=12):
    return [family.draw(nats, generator(seed)) for seed in range(count)]


def agrees(found, truth, spare=0.0):
    """Whether estimates of independent draws agree with a truth: t of 11 degrees, a false alarm in 5,000."""
    return abs(np.mean(found) - truth) < 5.5 * np.std(found, ddof=1) / math.sqrt(len(found)) + spare + 1e-9


def drawn_scores(family, twin):
    """The score of y that each row of a twin has [n]."""
    of_y = {row.tobytes(): b for row, b in zip(family.pairs.y.continuous, family.b)}
    return np.array([of_y[row.tobytes()] for row in twin.pairs.y.continuous])


def test_an_answer_covers_the_truth_and_independent_categories_have_none():
    g = generator(2)
    x = g.integers(0, 3, 400)
    y = np.where(g.random(400) < 0.5, x, g.integers(0, 3, 400))
    joint = np.full((3, 3), 1 / 18) + np.eye(3) / 6
    found = advise(x.astype(str), y.astype(str), seconds=10)
    assert found.verdict == ANSWERED and found.estimate.low < information(joint) < found.estimate.high
    assert found.chosen == found.table["method"][0] and {"null"} < set(found.families["family"])
    nothing = advise(x.astype(str), g.permutation(y).astype(str), seconds=10)
    assert nothing.verdict == NOTHING and not nothing.chosen and math.isnan(nothing.estimate.value)


def test_series_are_refused_and_bad_input_is_an_error():
    x, y = np.cumsum(generator(7).normal(size=(2, 400)), axis=1)
    assert advise(x, y, seconds=10, methods=["gcmi"]).verdict == REFUSED
    for change, argument, code in (
        ({"seconds": 3}, "seconds", "range"),
        ({"x": x[:150], "y": y[:150]}, "x and y", "few"),
        ({"methods": []}, "methods", "name"),
    ):
        with refused(argument, code):
            advise(**{"x": x, "y": y, "seconds": 10} | change)


@pytest.mark.parametrize("nats", [0.1, 1.0])
def test_latent_simulations_hold_the_stated_information_and_a_null_none(nats):
    for family, truth in ((Latent(pairs_of()), nats), (Null(pairs_of()), 0.0)):
        twins = of_all(family, nats)
        found = [float(estimate(t.pairs.x.continuous, t.pairs.y.continuous, "gcmi")) for t in twins]
        assert agrees(found, truth) and all(twin.truth == truth for twin in twins)


@pytest.mark.parametrize("place", range(3))
def test_scores_hold_the_stated_information(place):
    """-1/2 log(1 - correlation^2) of the normal scores; every row of the data is used once."""
    family = making.scores(pairs_of(), generator())[place]
    twins = of_all(family, 0.4)
    pairs = [[normal_scores(one) for one in (family.a, drawn_scores(family, twin))] for twin in twins]
    assert agrees([-0.5 * np.log1p(-(np.corrcoef(*both)[0, 1] ** 2)) for both in pairs], 0.4)
    rows = [np.sort(side.continuous, axis=0) for side in (family.pairs.y, twins[0].pairs.y)]
    assert np.array_equal(*rows) and twins[0].truth == 0.4


@pytest.mark.parametrize("nats", [0.0, 0.3])
def test_cells_hold_the_stated_information(nats):
    family = making.cells(pairs_of(), generator())[1]
    found = []
    for twin in of_all(family, nats):
        joint = np.zeros((4, 4))
        np.add.at(joint, (family.a, drawn_scores(family, twin)), 1 / 1000)
        found.append(information(joint) - 9 / 2000)  # Miller and Madow
    truth = family.draw(nats, generator()).truth
    assert agrees(found, truth, 0.003) and truth == pytest.approx(nats, abs=0.02)


def test_labels_hold_the_stated_information():
    """The mean log odds by which they were drawn is their information."""
    pairs = pairs_of()
    family = making.labels(as_pairs(pairs.x, np.where(pairs.y.continuous[:, 0] > 2, "a", "b")), generator())[0]
    found, truth = [], family.draw(0.2, generator()).truth
    for twin in of_all(family, 0.2):
        shares = family.shares(twin.likeness)
        found.append(np.log(shares / shares.mean(axis=0))[np.arange(1000), twin.pairs.y.codes].mean())
    assert agrees(found, truth) and truth == pytest.approx(0.2, abs=0.02)


def test_a_point_mass_of_a_score_has_its_closed_form():
    """Half of the rows of y are 0: of a coupling of .7 is left what `censored` has in closed form."""
    x, y = LAWS["censored"].sample(1000, generator())
    family, nats = Scores(as_pairs(x, y), x, y, "scores"), LAWS["censored"].truth()[0]
    truth = family.draw(nats, generator()).truth
    assert truth == pytest.approx(nats, abs=1e-3)
    assert family._correlation(family._couplings.at(truth)[0]) == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize(
    ("degrees", "dims", "nats"),
    [(1, (1, 1), 0.22417142752923613), (2, (3, 3), 0.29092192268276484), (3, (5, 5), 0.29854362265275824)],
)
def test_shared_tails_have_their_published_information(degrees, dims, nats):
    assert shared_tails(degrees, *dims) == pytest.approx(nats, abs=1e-9)


def test_the_odds_of_trees_see_what_no_line_does():
    g = generator(5)
    x = g.normal(size=(1000, 2))
    labels = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    assert 0.4 < Trees().estimate(as_pairs(x, labels), g).value < math.log(2)
    assert abs(Trees().estimate(as_pairs(x, g.permutation(labels)), g).value) < 0.25  # not calibrated: below 0
