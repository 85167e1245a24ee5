"""Triples of the prior: the truth of each family by another route, and what is independent given z."""

import numpy as np
import pytest

from infoscope.data import prior
from infoscope.data.prior import conditional, conditions
from infoscope.data.prior.composition import CC, NC, NN
from infoscope.data.prior.conditional import Wanted, conditional_distribution
from infoscope.data.prior.parts import Sample
from infoscope.estimators.knn.estimators import conditional_mutual_information
from infoscope.estimators.reading.figures_conditional import table_information
from infoscope.estimators.variables import Variable

CAUSES = (*conditions.SHAPES, conditions.SCALES)


@pytest.fixture(scope="module")
def several():
    return [conditional_distribution(number) for number in range(24)]


def test_a_number_gives_the_same_triple(several):
    again = conditional_distribution(7)
    assert (again.truth, again.description) == (several[7].truth, several[7].description)
    for first, second in zip(
        again.sample(40, np.random.default_rng(1)), several[7].sample(40, np.random.default_rng(1))
    ):
        np.testing.assert_array_equal(first.numbers, second.numbers)
        np.testing.assert_array_equal(first.labels, second.labels)


def test_triples_have_rows_of_x_y_and_z_and_a_third_has_no_information(several):
    assert {family for each in several for family in each.families} <= set(conditional.FAMILIES)
    for each in several:
        samples = each.sample(30, np.random.default_rng(0))
        assert [sample.numbers.shape[1] + sample.labels.shape[1] for sample in samples] == list(each.columns)
        assert all(np.isfinite(sample.numbers).all() for sample in samples)
    assert 2 <= sum(each.truth == 0 for each in several) <= 14
    assert {each.type for each in several} <= set(prior.TYPES)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_linear_systems_have_the_information_of_their_covariance(seed):
    part = conditional.linear_system(Wanted(NN, 0.5, False), "linear_system", np.random.default_rng(seed))
    assert "inf" in part.description  # normal, not Student
    x, y, z = (sample.numbers for sample in part.draw(200_000, np.random.default_rng(0)))
    logs = []
    for columns in ((x, z), (y, z), (z,), (x, y, z)):
        logs.append(np.linalg.slogdet(np.atleast_2d(np.cov(np.hstack(columns).T)))[1])
    assert part.truth(None)[0] == pytest.approx((logs[0] + logs[1] - logs[2] - logs[3]) / 2, abs=0.01)


def test_linear_systems_without_information_have_independent_residuals():
    part = conditional.linear_system(Wanted(NN, 0.5, True), "linear_system", np.random.default_rng(3))
    x, y, z = (sample.numbers for sample in part.draw(50_000, np.random.default_rng(0)))
    residuals = [each - z @ np.linalg.lstsq(z, each, rcond=None)[0] for each in (x, y)]
    correlations = np.corrcoef(np.hstack(residuals).T)[: x.shape[1], x.shape[1] :]
    assert part.truth(None)[0] == pytest.approx(0, abs=1e-9) and np.abs(correlations).max() < 0.025


@pytest.mark.parametrize("seed", range(4))
def test_tables_have_the_information_of_their_cells(seed):
    part = conditional.three_states(Wanted(CC, 0.4, False), "three_states", np.random.default_rng(seed))
    x, y, z = part.draw(200_000, np.random.default_rng(1))
    if z.labels.size:
        plug_in = table_information(x.labels[:, 0], y.labels[:, 0], z.labels[:, 0])
        assert part.truth(None)[0] == pytest.approx(plug_in, abs=0.01)


def test_log_ratios_of_states_have_the_information_of_their_table():
    g = np.random.default_rng(0)
    table = g.dirichlet(np.full(24, 0.4)).reshape(2, 3, 4)
    states = np.unravel_index(g.choice(24, size=60_000, p=table.ravel()), table.shape)
    with np.errstate(divide="ignore"):
        logs = [np.log(np.eye(size)[state]) for size, state in zip(table.shape, states)]
    ratios = conditional.triple_log_ratios(table, logs)
    assert ratios.mean() == pytest.approx(conditional.table_nats(table), abs=0.01)


CHANGED = [("changed_noise", NN, 0), ("changed_noise", NC, 5), ("changed_slope", NN, 8), ("changed_slope", NN, 5)]


@pytest.mark.parametrize(("family", "kinds", "seed"), CHANGED)
def test_a_noise_or_slope_that_depends_on_z_has_the_information_that_neighbours_find(family, kinds, seed, monkeypatch):
    monkeypatch.setattr(conditional, "draw_move", lambda *_: lambda sample, scores: sample)
    part = getattr(conditional, family)(Wanted(kinds, 0.4, False), family, np.random.default_rng(seed))
    x, y, z = part.draw(4_000, np.random.default_rng(1))
    labels = y.labels[:, 0] if y.labels.size else None
    of_y = Variable(y.numbers, labels, 1 if labels is None else int(labels.max()) + 1)
    measured = conditional_mutual_information(
        Variable(x.numbers, None, 1), of_y, Variable(z.numbers[:, :1], None, 1), margins="rank"
    )
    assert measured.value == pytest.approx(part.truth(np.random.default_rng(0))[0], abs=0.06)


@pytest.mark.parametrize("family", ["changed_noise", "changed_slope"])
def test_a_changed_noise_or_slope_without_information_has_an_x_of_its_own(family, monkeypatch):
    """The correlation of 4,000 rows, within 4.5 standard errors, in two halves of the condition."""
    monkeypatch.setattr(conditional, "draw_move", lambda *_: lambda sample, scores: sample)
    part = getattr(conditional, family)(Wanted(NN, 0.4, True), family, np.random.default_rng(0))
    x, y, z = (sample.numbers[:, 0] for sample in part.draw(4_000, np.random.default_rng(1)))
    for half in (z > 0, z <= 0):
        ranks = (np.argsort(np.argsort(values[half])) for values in (x, y))
        assert abs(np.corrcoef(*ranks)[0, 1]) < 4.5 / np.sqrt(half.sum())


def test_nodes_of_a_clipped_normal_variable_give_its_moments():
    nodes, weights = conditional.clipped_normal(-3.0, 3.0, 10)
    values = np.clip(np.random.default_rng(0).normal(size=1_000_000), -3, 3)
    assert weights.sum() == pytest.approx(1, abs=1e-4)
    assert weights @ nodes**2 == pytest.approx((values**2).mean(), abs=0.006)


def test_a_small_triple_has_few_columns():
    small = Wanted(NN, 0.5, False, small=True)
    part = conditional.linear_system(small, "linear_system", np.random.default_rng(0))
    x, y, z = (sample.numbers.shape[1] for sample in part.draw(10, np.random.default_rng(0)))
    assert (x, y) == (1, 1) and z <= conditional.SMALL_CONDITIONS == small.conditions


@pytest.mark.parametrize("family", CAUSES)
@pytest.mark.parametrize("kinds", [NN, CC], ids=["numbers", "categories"])
def test_a_move_is_invertible_given_z(family, kinds):
    g = np.random.default_rng(2)
    given = conditions.Conditions(g)
    pilot = Sample(g.normal(size=(500, 2)), g.integers(4, size=(500, 1)))
    move = conditions.draw_move(family, given, pilot, g)
    scores = np.repeat(given.draw(1, g)[1], 500, axis=0)
    moved = move(pilot, scores)
    np.testing.assert_array_equal(np.argsort(moved.numbers, axis=0), np.argsort(pilot.numbers, axis=0))
    assert len(set(zip(pilot.labels[:, 0], moved.labels[:, 0]))) == 4 == len(np.unique(moved.labels))


@pytest.mark.parametrize("family", CAUSES)
def test_a_common_cause_leaves_nothing_given_z(family, monkeypatch):
    part = conditional.common_cause(Wanted(NN, 0.5, True), family, np.random.default_rng(4))
    draw = conditions.Conditions.draw

    def one_row(self, n, g):
        z, scores = draw(self, 1, g)
        return Sample(np.repeat(z.numbers, n, 0), np.repeat(z.labels, n, 0)), np.repeat(scores, n, 0)

    monkeypatch.setattr(conditions.Conditions, "draw", one_row)
    x, y, _ = part.draw(4_000, np.random.default_rng(0))
    ranks = [np.argsort(np.argsort(each.numbers, axis=0), axis=0) for each in (x, y)]
    correlations = np.corrcoef(np.hstack(ranks).T)[: ranks[0].shape[1], ranks[0].shape[1] :]
    assert np.abs(correlations).max() < 0.07


def test_what_is_shared_with_z_alone_adds_nothing():
    g = np.random.default_rng(0)
    draws = [
        conditional._with_z_alone(Wanted(CC, 0.5, False), place, g).draw(200, g) for place in (0, 1) for _ in range(6)
    ]
    together = [(x, y, z) for x, y, z in draws if x.labels.size and y.labels.size]
    assert 0 < len(together) < 12
    for x, y, z in together:  # z holds x or y
        assert np.array_equal(x.labels, z.labels) or np.array_equal(y.labels, z.labels)
