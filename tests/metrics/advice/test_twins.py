"""Twins of data: their rows are the data's, and their stated truth is what consistent estimators find."""

import numpy as np
import pandas as pd
import pytest

from infoscope.data.tasks.later_laws import LAWS
from infoscope.estimators import estimate, knn, laws
from infoscope.estimators.arrays.protocol import as_pairs
from infoscope.estimators.variables import Variable
from infoscope.metrics.advice.twins import Latent, Mixture, Null, Scores, Student, StudentDegrees, families, making
from infoscope.metrics.advice.twins.drawn import shared_tails
from infoscope.metrics.advice.twins.paired import coupled_partners
from infoscope.metrics.advice.twins.protocol import information
from infoscope.metrics.advice.twins.sides import normal_scores
from tests.refusals import refused

SURE = 4.5  # standard errors: a false alarm in 150,000 for each comparison


def generator(seed=0):
    return np.random.default_rng(seed)


def normal(n=2000, dim=3, correlation=0.6, seed=0):
    g = generator(seed)
    x = g.normal(size=(n, dim))
    y = g.normal(size=(n, dim))
    y[:, 0] = correlation * x[:, 0] + np.sqrt(1 - correlation**2) * y[:, 0]
    return x, np.exp(y)


def pairs_of(*args, **named):
    return as_pairs(*normal(*args, **named))


def of_all(family, nats, count=12):
    return [family.draw(nats, generator(seed)) for seed in range(count)]


def agrees(found, truth):
    """Whether estimates of independent draws, with errors of about one size, agree with a truth."""
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    return abs(np.mean(found) - truth) < 5.5 * error + 1e-9  # t of 11 degrees: a false alarm in 5,000


@pytest.mark.parametrize("name", ["null", "scores", "cells"])
def test_every_row_of_the_data_is_used_once(name):
    pairs = pairs_of(500)
    family = {one.name.split(":")[0]: one for one in families(pairs, generator())}[name]
    twin = family.draw(0.3, generator(1))
    assert np.array_equal(twin.pairs.x.continuous, pairs.x.continuous)
    assert np.array_equal(np.sort(twin.pairs.y.continuous, axis=0), np.sort(pairs.y.continuous, axis=0))
    rows = {row.tobytes() for row in pairs.y.continuous}
    assert {row.tobytes() for row in twin.pairs.y.continuous} == rows


def test_a_null_holds_nothing():
    found = [float(estimate(t.pairs.x.continuous, t.pairs.y.continuous, "gcmi")) for t in of_all(Null(pairs_of()), 1.0)]
    assert agrees(found, 0.0)
    assert all(twin.truth == 0 for twin in of_all(Null(pairs_of(200)), 1.0, 2))


def test_a_null_of_groups_keeps_them_together_on_either_side():
    groups = np.repeat(np.arange(40), 10)
    x, y = (g.normal(size=400) for g in (generator(1), generator(2)))
    pairs = as_pairs(x, groups + 0.01 * y, groups)
    twin = Null(pairs).draw(0.0, generator(3)).pairs
    of_y = np.round(twin.y.continuous[:, 0]).astype(int)
    met = {(a, b) for a, b in zip(groups, of_y)}
    assert len(met) <= 80 and not any(a == b for a, b in met)  # a block of y spans two groups of x at most


@pytest.mark.parametrize("nats", [0.05, 0.4, 1.2])
def test_scores_hold_what_they_say(nats):
    """In one column a score is the column: neighbours find it."""
    pairs = pairs_of(dim=1)
    family = Scores(pairs, pairs.x.continuous[:, 0], pairs.y.continuous[:, 0], "scores")
    found = [float(knn.mutual_information(t.pairs.x, t.pairs.y, margins="rank")) for t in of_all(family, nats)]
    assert agrees(found, nats) or abs(np.mean(found) - nats) < 0.02  # KSG's own bias at 1.2 nats


@pytest.mark.parametrize("place", range(3))
def test_every_pair_of_scores_of_wide_data_holds_what_it_says(place):
    family = making.scores(pairs_of(), generator())[place]
    correlations = []
    for twin in of_all(family, 0.4):
        order = np.argsort(family.a)
        of_y = {row.tobytes(): b for row, b in zip(family.pairs.y.continuous, family.b)}
        b = np.array([of_y[row.tobytes()] for row in twin.pairs.y.continuous])
        correlations.append(np.corrcoef(normal_scores(family.a)[order], normal_scores(b)[order])[0, 1])
    found = -0.5 * np.log1p(-(np.array(correlations) ** 2))
    assert agrees(found, 0.4) and all(twin.truth == 0.4 for twin in of_all(family, 0.4, 2))


def test_scores_say_how_much_of_the_data_they_keep():
    pairs = pairs_of(dim=1, correlation=0.6)
    (family, *_) = making.scores(pairs, generator())
    assert family.draw(-0.5 * np.log(1 - 0.36), generator()).likeness == pytest.approx(1, abs=0.15)
    assert family.kept > 0.5


@pytest.mark.parametrize("nats", [0.0, 0.1, 0.35])
def test_cells_hold_what_they_say(nats):
    family = making.cells(pairs_of(), generator())[1]
    found = []
    for twin in of_all(family, nats):
        of_y = {row.tobytes(): b for row, b in zip(family.pairs.y.continuous, family.b)}
        b = np.array([of_y[row.tobytes()] for row in twin.pairs.y.continuous])
        joint = np.zeros((4, 4))
        np.add.at(joint, (family.a, b), 1.0)
        found.append(information(joint / 2000) - 9 / (2 * 2000))  # Miller and Madow
    truth = of_all(family, nats, 1)[0].truth  # of the level that is asked about, or near it
    assert agrees(found, truth) or abs(np.mean(found) - truth) < 0.002
    assert truth == pytest.approx(nats, abs=0.02)


def test_cells_at_power_one_are_those_of_the_data():
    family = making.cells(pairs_of(n=20_000, correlation=0.9), generator())[1]
    joint = np.zeros((4, 4))
    np.add.at(joint, (family.a, family.b), 1 / 20_000)
    twin = family.draw(information(joint), generator())
    assert twin.likeness == pytest.approx(1, abs=0.01)
    assert np.allclose(family.shares(1.0), joint, atol=1e-3)
    assert family.reach > twin.truth


def test_partners_are_drawn_by_their_weights():
    """Two rows of each of two cells: of 24 permutations, those that keep k labels weigh e^(2 k)."""
    a = b = np.array([0, 0, 1, 1])
    weights = np.array([[2.0, 0.0], [0.0, 2.0]])
    g = generator()
    kept = np.array([(a == b[coupled_partners(a, b, weights, g)]).sum() for _ in range(1500)])
    shares = np.array([4 * np.exp(0.0), 16 * np.exp(4.0), 4 * np.exp(8.0)])
    shares /= shares.sum()
    for count, share in zip((0, 2, 4), shares):
        assert abs((kept == count).mean() - share) < SURE * np.sqrt(share * (1 - share) / 1500) + 1e-3


@pytest.mark.parametrize("nats", [0.1, 1.0])
def test_latent_twins_hold_what_they_say(nats):
    family = Latent(pairs_of())
    found = [float(estimate(t.pairs.x.continuous, t.pairs.y.continuous, "gcmi")) for t in of_all(family, nats)]
    assert agrees(found, nats)


def test_latent_twins_keep_the_margins_and_the_correlations_within_a_side():
    g = generator(5)
    x = g.normal(size=(3000, 3)) @ np.array([[1, 0.8, 0], [0, 0.6, 0], [0, 0, 1]])
    y = np.exp(x[:, :1] + g.normal(size=(3000, 1)))
    twin = Latent(as_pairs(x, y)).draw(0.2, g).pairs
    assert np.corrcoef(twin.x.continuous.T)[0, 1] == pytest.approx(np.corrcoef(x.T)[0, 1], abs=0.05)
    assert np.quantile(twin.y.continuous, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(y, [0.1, 0.5, 0.9]), rel=0.15)


def test_a_latent_twin_of_labels_is_refused():
    with refused("x and y", "type"):
        Latent(as_pairs(normal()[0], np.array(["a", "b"] * 1000)))


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_mixtures_hold_what_they_say(share):
    pairs = pairs_of(dim=1)
    family = Mixture(pairs, laws.fit((pairs.x, pairs.y), generator()))
    nats, error = family.truth(share)
    found = [float(knn.mutual_information(t.pairs.x, t.pairs.y, margins="rank")) for t in of_all(family, nats)]
    assert agrees(found, nats) or abs(np.mean(found) - nats) < 0.01 + 2 * error
    assert family.draw(nats, generator()).likeness == pytest.approx(share, abs=1e-6)


def test_a_mixture_with_labels_has_labels():
    g = generator()
    y = g.integers(0, 3, 2000)
    pairs = as_pairs(g.normal(size=2000) + 1.5 * y, y.astype(str))
    family = Mixture(pairs, laws.fit((pairs.x, pairs.y), g))
    twin = family.draw(10.0, g)
    assert (
        twin.pairs.y.kind == "discrete" and twin.pairs.y.categories == 3 and twin.truth == pytest.approx(family.reach)
    )
    found = [float(knn.mutual_information(t.pairs.x, t.pairs.y)) for t in of_all(family, 10.0)]
    assert agrees(found, twin.truth) or abs(np.mean(found) - twin.truth) < 0.02


def test_what_can_be_made_follows_the_types():
    x, y = normal()
    names = [one.name for one in families(as_pairs(x, y), generator())]
    assert names[0] == "null" and {"latent", "mixture", "scores: lengths", "cells: 4 x 4"} <= set(names)
    labels = [one.name for one in families(as_pairs(x, (y[:, 0] > 1).astype(str)), generator())]
    of_cells = [f"cells: {count} x 2" for count in (2, 4, 8, 16)]
    assert labels == ["null", "labels: logistic", "labels: trees", *of_cells, "mixture"]
    only = [one.name for one in families(as_pairs(*((side[:, 0] > 1).astype(str) for side in (x, y))), generator())]
    assert only == ["null", "cells: 2 x 2", "cells, added: 2 x 2"]
    beside = pd.DataFrame({"number": x[:, 0], "category": np.where(x[:, 1] > 0, "up", "down")})
    mixed = [one.name for one in families(as_pairs(beside, y), generator())]
    assert {"scores: canonical variates", "cells: 4 x 4", "mixture"} <= set(mixed) and "latent" not in mixed
    ties = [one.name for one in families(as_pairs(np.round(x, 1), np.round(y, 1)), generator())]
    assert "scores: lengths" in ties and not {"latent", "mixture", "student: degrees"} & set(ties)


def test_more_than_can_be_reached_is_the_most():
    pairs = pairs_of(400)
    for family in families(pairs, generator()):
        assert family.draw(50.0, generator()).truth == pytest.approx(family.reach, abs=1e-6)
        assert family.draw(0.0, generator()).truth == pytest.approx(family.least, abs=1e-9)


def test_draws_are_those_of_their_generator():
    pairs = pairs_of(300)
    for family in families(pairs, generator()):
        one, two = (family.draw(0.2, generator(3)).pairs for _ in range(2))
        assert np.array_equal(one.y.continuous, two.y.continuous)


@pytest.mark.parametrize(
    ("degrees", "dims", "nats"),
    [(1, (1, 1), 0.22417142752923613), (2, (3, 3), 0.29092192268276484), (3, (5, 5), 0.29854362265275824)],
)
def test_what_shared_tails_hold_is_what_beyond_normal_says(degrees, dims, nats):
    assert shared_tails(degrees, *dims) == pytest.approx(nats, abs=1e-9)


@pytest.mark.parametrize("of", [lambda pairs: Student(pairs, 2.0), StudentDegrees])
def test_student_twins_hold_what_they_say(of):
    """A Student copula fitted to other draws finds it."""
    family = of(pairs_of(dim=2))
    nats = 0.5 * (family.least + min(family.reach, 1.0))
    found = [
        float(estimate(t.pairs.x.continuous, t.pairs.y.continuous, "student-copula")) for t in of_all(family, nats)
    ]
    assert of_all(family, nats, 1)[0].truth == pytest.approx(nats, abs=1e-6)
    assert agrees(found, nats) or abs(np.mean(found) - nats) < 0.02


@pytest.mark.parametrize("nats", [0.1, 0.4])
def test_labels_hold_what_they_say(nats):
    """The mean log odds by which they were drawn is their information."""
    x, y = normal()
    family = making.labels(as_pairs(x, np.where(y[:, 0] > 1, "a", "b")), generator())[0]
    found, truth = [], family.draw(nats, generator()).truth
    for twin in of_all(family, nats):
        shares = family.shares(twin.likeness)
        found.append(np.log(shares / shares.mean(axis=0))[np.arange(2000), twin.pairs.y.codes].mean())
    assert agrees(found, truth) and truth == pytest.approx(nats, abs=0.02)


def test_scores_with_ties_hold_what_is_left_between_their_values():
    g = generator()
    x, y = (np.round(g.normal(size=3000) * 2) / 2 for _ in range(2))
    family = Scores(as_pairs(Variable(x[:, None], None, 1), Variable(y[:, None], None, 1)), x, y, "scores")
    found, truth = [], family.draw(0.3, g).truth
    for twin in of_all(family, 0.3):
        codes = [np.unique(side.continuous, return_inverse=True)[1] for side in (twin.pairs.x, twin.pairs.y)]
        joint = np.zeros([codes[0].max() + 1, codes[1].max() + 1])
        np.add.at(joint, tuple(codes), 1 / 3000)
        found.append(information(joint) - (joint.shape[0] - 1) * (joint.shape[1] - 1) / 6000)  # at most so much
    assert truth == pytest.approx(0.3, abs=0.01)
    assert abs(np.mean(found) - truth) < 0.02


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_heap_of_equal_values_is_never_cut(side, sign):
    """Half of the rows of y are 0, all others differ: of a coupling of .7 is left what `censored` has in closed form,
    whichever end the heap is at, and whichever side it is on."""
    both = [sign * values for values in LAWS["censored"].sample(1000, generator())][:: 1 - 2 * side]
    family = Scores(as_pairs(*both), *both, "scores")
    truth = family.draw(LAWS["censored"].truth()[0], generator()).truth
    correlation = family._correlation(family._couplings.at(truth)[0])
    assert truth == pytest.approx(LAWS["censored"].truth()[0], abs=1e-3)
    assert correlation == pytest.approx(0.7, abs=0.02)


def test_a_sharper_mixture_holds_more_and_says_how_much():
    g = generator()
    centre = g.choice([-1.2, 1.2], (2000, 1))
    pairs = as_pairs(*(centre + g.normal(size=(2000, 1)) for _ in range(2)))
    family = Mixture(pairs, laws.fit((pairs.x, pairs.y), generator(), laws.MIXTURES))
    twin = family.draw(2 * family.truth(1.0)[0], generator())
    found = [float(knn.mutual_information(t.pairs.x, t.pairs.y, margins="rank")) for t in of_all(family, twin.truth)]
    assert twin.truth > 1.2 * family.truth(1.0)[0]
    assert abs(np.mean(found) - twin.truth) < 0.05
