"""Triples of the prior: the truth of each family by another route, and what is
independent given z.
"""

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


def generator(seed=0):
    return np.random.default_rng(seed)


def log_determinant(columns):
    _, value = np.linalg.slogdet(np.atleast_2d(np.cov(columns.T)))
    return value


def largest_correlation(x, y):
    """Of any column of x [n, a] with any of y [n, b]."""
    correlations = np.corrcoef(x.T, y.T)
    columns = x.shape[1]
    return np.abs(correlations[:columns, columns:]).max()


def ranks(values):
    return np.argsort(np.argsort(values, axis=0), axis=0)


@pytest.fixture(scope="module")
def triples():
    return [conditional_distribution(number) for number in range(24)]


def test_a_number_gives_the_same_triple(triples):
    again = conditional_distribution(7)
    assert again.truth == triples[7].truth
    assert again.description == triples[7].description
    sample = triples[7].sample(40, generator(1))
    same_sample = again.sample(40, generator(1))
    for variable, same in zip(sample, same_sample):
        np.testing.assert_array_equal(variable.numbers, same.numbers)
        np.testing.assert_array_equal(variable.labels, same.labels)


def test_triples_have_rows_of_x_y_and_z_and_a_third_has_no_information(triples):
    for triple in triples:
        assert set(triple.families) <= set(conditional.FAMILIES)
        assert triple.type in prior.TYPES
        for sample, columns in zip(
            triple.sample(30, generator()), triple.columns, strict=True
        ):
            assert sample.numbers.shape[1] + sample.labels.shape[1] == columns
            assert np.isfinite(sample.numbers).all()
    truths = [triple.truth for triple in triples]
    assert 2 <= truths.count(0) <= 14


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_linear_systems_have_the_information_of_their_covariance(seed):
    part = conditional.linear_system(
        Wanted(NN, 0.5, False), "linear_system", generator(seed)
    )
    assert "inf" in part.description  # normal, not Student
    x, y, z = (sample.numbers for sample in part.draw(200_000, generator()))
    marginal = log_determinant(np.hstack([x, z])) + log_determinant(np.hstack([y, z]))
    joint = log_determinant(z) + log_determinant(np.hstack([x, y, z]))
    truth, _ = part.truth(None)
    assert truth == pytest.approx((marginal - joint) / 2, abs=0.01)


def test_linear_systems_without_information_have_independent_residuals():
    part = conditional.linear_system(
        Wanted(NN, 0.5, True), "linear_system", generator(3)
    )
    x, y, z = (sample.numbers for sample in part.draw(50_000, generator()))
    residuals_x = x - z @ np.linalg.lstsq(z, x, rcond=None)[0]
    residuals_y = y - z @ np.linalg.lstsq(z, y, rcond=None)[0]
    truth, _ = part.truth(None)
    assert truth == pytest.approx(0, abs=1e-9)
    assert largest_correlation(residuals_x, residuals_y) < 0.025


@pytest.mark.parametrize("seed", range(4))
def test_tables_have_the_information_of_their_cells(seed):
    part = conditional.three_states(
        Wanted(CC, 0.4, False), "three_states", generator(seed)
    )
    x, y, z = part.draw(200_000, generator(1))
    if z.labels.size:
        plug_in = table_information(x.labels[:, 0], y.labels[:, 0], z.labels[:, 0])
        truth, _ = part.truth(None)
        assert truth == pytest.approx(plug_in, abs=0.01)


def test_log_ratios_of_states_have_the_information_of_their_table():
    g = generator()
    table = g.dirichlet(np.full(24, 0.4)).reshape(2, 3, 4)
    states = np.unravel_index(g.choice(24, size=60_000, p=table.ravel()), table.shape)
    logs = []
    for size, state in zip(table.shape, states):
        logs.append(np.where(np.eye(size)[state], 0, -np.inf))
    ratios = conditional.triple_log_ratios(table, logs)
    assert ratios.mean() == pytest.approx(conditional.table_nats(table), abs=0.01)


@pytest.fixture
def unmoved(monkeypatch):
    """Triples that z does not shift, scale or turn."""
    monkeypatch.setattr(
        conditional, "draw_move", lambda *_: lambda sample, scores: sample
    )


@pytest.mark.parametrize(
    ("family", "kinds", "seed"),
    [
        (conditional.changed_noise, NN, 0),
        (conditional.changed_noise, NC, 5),
        (conditional.changed_slope, NN, 8),
        (conditional.changed_slope, NN, 5),
    ],
)
def test_a_noise_or_slope_that_depends_on_z_has_the_information_that_neighbours_find(
    family, kinds, seed, unmoved
):
    part = family(Wanted(kinds, 0.4, False), family.__name__, generator(seed))
    x, y, z = part.draw(4_000, generator(1))
    of_y = Variable(y.numbers, None, 1)
    if kinds == NC:
        labels = y.labels[:, 0]
        of_y = Variable(y.numbers, labels, labels.max() + 1)
    of_x = Variable(x.numbers, None, 1)
    of_z = Variable(z.numbers[:, :1], None, 1)
    estimate = conditional_mutual_information(of_x, of_y, of_z, margins="rank")
    truth, _ = part.truth(generator())
    assert estimate.value == pytest.approx(truth, abs=0.06)


@pytest.mark.parametrize(
    "family", [conditional.changed_noise, conditional.changed_slope]
)
def test_a_changed_noise_or_slope_without_information_has_an_x_of_its_own(
    family, unmoved
):
    """The correlation of 4,000 rows, within 4.5 standard errors, in two halves of the
    condition.
    """
    part = family(Wanted(NN, 0.4, True), family.__name__, generator())
    x, y, z = (sample.numbers[:, :1] for sample in part.draw(4_000, generator(1)))
    for half in (z[:, 0] > 0, z[:, 0] <= 0):
        correlation = largest_correlation(ranks(x[half]), ranks(y[half]))
        assert correlation < 4.5 / np.sqrt(half.sum())


def test_nodes_of_a_clipped_normal_variable_give_its_moments():
    nodes, weights = conditional.clipped_normal(-3.0, 3.0, 10)
    values = np.clip(generator().normal(size=1_000_000), -3, 3)
    assert weights.sum() == pytest.approx(1, abs=1e-4)
    assert weights @ nodes**2 == pytest.approx((values**2).mean(), abs=0.006)


def test_a_small_triple_has_few_columns():
    part = conditional.linear_system(
        Wanted(NN, 0.5, False, small=True), "linear_system", generator()
    )
    x, y, z = (sample.numbers.shape[1] for sample in part.draw(10, generator()))
    assert (x, y) == (1, 1)
    assert z <= conditional.SMALL_CONDITIONS


@pytest.mark.parametrize("family", CAUSES)
@pytest.mark.parametrize("kinds", [NN, CC], ids=["numbers", "categories"])
def test_a_move_is_invertible_given_z(family, kinds):
    g = generator(2)
    condition = conditions.Conditions(g)
    pilot = Sample(g.normal(size=(500, 2)), g.integers(4, size=(500, 1)))
    move = conditions.draw_move(family, condition, pilot, g)
    _, scores = condition.draw(1, g)
    moved = move(pilot, np.repeat(scores, 500, axis=0))
    np.testing.assert_array_equal(
        np.argsort(moved.numbers, axis=0), np.argsort(pilot.numbers, axis=0)
    )
    before_and_after = np.hstack([pilot.labels, moved.labels])
    assert len(np.unique(before_and_after, axis=0)) == 4
    assert len(np.unique(moved.labels)) == 4


@pytest.mark.parametrize("family", CAUSES)
def test_a_common_cause_leaves_nothing_given_z(family, monkeypatch):
    part = conditional.common_cause(Wanted(NN, 0.5, True), family, generator(4))
    draw = conditions.Conditions.draw

    def same_row(self, n, g):
        z, scores = draw(self, 1, g)
        repeated = Sample(np.repeat(z.numbers, n, 0), np.repeat(z.labels, n, 0))
        return repeated, np.repeat(scores, n, 0)

    monkeypatch.setattr(conditions.Conditions, "draw", same_row)
    x, y, _ = part.draw(4_000, generator())
    assert largest_correlation(ranks(x.numbers), ranks(y.numbers)) < 0.07


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_shared_with_z_alone_adds_nothing(place):
    """z holds the label of x or of y, so that given z the other one is of no use."""
    g = generator()
    with_both_labels = 0
    for _ in range(6):
        x, y, z = conditional._with_z_alone(Wanted(CC, 0.5, False), place, g).draw(
            200, g
        )
        if x.labels.size and y.labels.size:
            with_both_labels += 1
            assert np.array_equal(x.labels, z.labels) or np.array_equal(
                y.labels, z.labels
            )
    assert with_both_labels < 6
