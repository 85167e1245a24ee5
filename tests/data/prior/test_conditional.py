"""Triples of the prior: the truth of each family by another route, and what is
independent given z.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pytest import approx

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


def log_determinant(*variables):
    columns = np.hstack(variables)
    covariance = np.cov(columns.T)
    _, value = np.linalg.slogdet(np.atleast_2d(covariance))
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


def assert_same_draws(first, second):
    for variable, same in zip(first, second, strict=True):
        assert_array_equal(variable.numbers, same.numbers)
        assert_array_equal(variable.labels, same.labels)


def exact_information(part, seed=0):
    nats, _ = part.truth(generator(seed))
    return nats


def test_a_number_gives_the_same_triple(triples):
    again = conditional_distribution(7)
    assert again.truth == triples[7].truth
    assert again.description == triples[7].description
    first = triples[7].sample(40, generator(1))
    second = again.sample(40, generator(1))
    assert_same_draws(first, second)


def test_triples_have_rows_of_x_y_and_z_and_a_third_has_no_information(triples):
    without_information = 0
    for triple in triples:
        assert set(triple.families) <= set(conditional.FAMILIES)
        assert triple.type in prior.TYPES
        without_information += triple.truth == 0
        variables = triple.sample(30, generator())
        for variable, columns in zip(variables, triple.columns, strict=True):
            values = np.hstack([variable.numbers, variable.labels])
            assert values.shape == (30, columns)
            assert np.isfinite(values).all()
    assert 2 <= without_information <= 14


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_linear_systems_have_the_information_of_their_covariance(seed):
    wanted = Wanted(NN, 0.5, False)
    part = conditional.linear_system(wanted, "linear_system", generator(seed))
    assert "inf" in part.description  # normal, not Student
    variables = part.draw(200_000, generator())
    x, y, z = (variable.numbers for variable in variables)
    of_x_and_y = log_determinant(x, z) + log_determinant(y, z)
    of_both = log_determinant(x, y, z) + log_determinant(z)
    expected = (of_x_and_y - of_both) / 2
    assert exact_information(part) == approx(expected, abs=0.01)


def linear_residuals(values, z):
    coefficients, *_ = np.linalg.lstsq(z, values, rcond=None)
    return values - z @ coefficients


def test_linear_systems_without_information_have_independent_residuals():
    wanted = Wanted(NN, 0.5, True)
    part = conditional.linear_system(wanted, "linear_system", generator(3))
    assert exact_information(part) == approx(0, abs=1e-9)
    variables = part.draw(50_000, generator())
    x, y, z = (variable.numbers for variable in variables)
    correlation = largest_correlation(linear_residuals(x, z), linear_residuals(y, z))
    assert correlation < 0.025


@pytest.mark.parametrize("seed", range(4))
def test_tables_have_the_information_of_their_cells(seed):
    wanted = Wanted(CC, 0.4, False)
    part = conditional.three_states(wanted, "three_states", generator(seed))
    variables = part.draw(200_000, generator(1))
    if variables[2].labels.size:
        labels = (variable.labels[:, 0] for variable in variables)
        plug_in = table_information(*labels)
        assert exact_information(part) == approx(plug_in, abs=0.01)


@pytest.fixture
def unmoved(monkeypatch):
    """Triples that z does not shift, scale or turn."""
    monkeypatch.setattr(
        conditional, "draw_move", lambda *_: lambda sample, scores: sample
    )


def as_variable(sample):
    if not sample.labels.size:
        return Variable(sample.numbers, None, 1)
    labels = sample.labels[:, 0]
    return Variable(sample.numbers, labels, labels.max() + 1)


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
    wanted = Wanted(kinds, 0.4, False)
    part = family(wanted, family.__name__, generator(seed))
    x, y, z = part.draw(4_000, generator(1))
    cause = Variable(z.numbers[:, :1], None, 1)
    estimate = conditional_mutual_information(
        as_variable(x), as_variable(y), cause, margins="rank"
    )
    assert estimate.value == approx(exact_information(part), abs=0.06)


@pytest.mark.parametrize(
    "family", [conditional.changed_noise, conditional.changed_slope]
)
def test_a_changed_noise_or_slope_without_information_has_an_x_of_its_own(
    family, unmoved
):
    """The correlation of 4,000 rows, within 4.5 standard errors, in two halves of the
    condition.
    """
    wanted = Wanted(NN, 0.4, True)
    part = family(wanted, family.__name__, generator())
    variables = part.draw(4_000, generator(1))
    x, y, z = (variable.numbers[:, :1] for variable in variables)
    is_positive = z[:, 0] > 0
    for half in (is_positive, ~is_positive):
        correlation = largest_correlation(ranks(x[half]), ranks(y[half]))
        assert correlation < 4.5 / np.sqrt(half.sum())


def test_a_small_triple_has_few_columns():
    wanted = Wanted(NN, 0.5, False, small=True)
    part = conditional.linear_system(wanted, "linear_system", generator())
    variables = part.draw(10, generator())
    columns_x, columns_y, columns_z = (
        variable.numbers.shape[1] for variable in variables
    )
    assert columns_x == 1
    assert columns_y == 1
    assert columns_z <= conditional.SMALL_CONDITIONS


@pytest.mark.parametrize("family", CAUSES)
@pytest.mark.parametrize("kinds", [NN, CC], ids=["numbers", "categories"])
def test_a_move_is_invertible_given_z(family, kinds):
    g = generator(2)
    condition = conditions.Conditions(g)
    numbers = g.normal(size=(500, 2))
    labels = g.integers(4, size=(500, 1))
    pilot = Sample(numbers, labels)
    move = conditions.draw_move(family, condition, pilot, g)
    _, scores = condition.draw(1, g)
    moved = move(pilot, np.repeat(scores, 500, axis=0))
    assert_array_equal(ranks(moved.numbers), ranks(numbers))
    before_and_after = np.hstack([labels, moved.labels])
    assert len(np.unique(before_and_after, axis=0)) == 4
    assert len(np.unique(moved.labels)) == 4


@pytest.mark.parametrize("family", CAUSES)
def test_a_common_cause_leaves_nothing_given_z(family, monkeypatch):
    wanted = Wanted(NN, 0.5, True)
    part = conditional.common_cause(wanted, family, generator(4))
    draw = conditions.Conditions.draw

    def same_row(self, n, g):
        z, scores = draw(self, 1, g)
        numbers = np.repeat(z.numbers, n, axis=0)
        labels = np.repeat(z.labels, n, axis=0)
        return Sample(numbers, labels), np.repeat(scores, n, axis=0)

    monkeypatch.setattr(conditions.Conditions, "draw", same_row)
    x, y, _ = part.draw(4_000, generator())
    assert largest_correlation(ranks(x.numbers), ranks(y.numbers)) < 0.07


def test_log_ratios_of_states_have_the_information_of_their_table():
    g = generator()
    cells = g.dirichlet(np.full(24, 0.4))
    table = cells.reshape(2, 3, 4)
    states = np.unravel_index(g.choice(24, 60_000, p=cells), table.shape)
    logs = []
    for size, state in zip(table.shape, states):
        is_state = np.eye(size)[state] == 1
        logs.append(np.where(is_state, 0, -np.inf))
    ratios = conditional.triple_log_ratios(table, logs)
    assert ratios.mean() == approx(conditional.table_nats(table), abs=0.01)


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_shared_with_z_alone_adds_nothing(place):
    """z holds the label of x or of y, so that given z the other one is of no use."""
    g = generator()
    wanted = Wanted(CC, 0.5, False)
    with_both_labels = 0
    for _ in range(6):
        part = conditional._with_z_alone(wanted, place, g)
        x, y, z = part.draw(200, g)
        if x.labels.size and y.labels.size:
            with_both_labels += 1
            is_label_of_x = np.array_equal(x.labels, z.labels)
            assert is_label_of_x or np.array_equal(y.labels, z.labels)
    assert with_both_labels < 6


def test_nodes_of_a_clipped_normal_variable_give_its_moments():
    nodes, weights = conditional.clipped_normal(-3.0, 3.0, 10)
    drawn = generator().normal(size=1_000_000)
    square = np.clip(drawn, -3, 3) ** 2
    assert weights.sum() == approx(1, abs=1e-4)
    assert weights @ nodes**2 == approx(square.mean(), abs=0.006)
