"""Truths of the base families by a second route: closed forms, tables of many draws,
exact densities.
"""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy import special, stats

from infoscope.data.prior import derived, latent, linear, quadrature, scalar, wide
from infoscope.data.prior.noise import (
    NOISES,
    hidden_predictor,
    interaction_predictor,
    projected_predictor,
)
from infoscope.data.prior.parts import Request
from infoscope.data.prior.quadrature import KINDS, Observation, draw_observation
from tests.data.common import plug_in

ROWS = 150_000
CELLS = 24  # cells of a column
MAX_EXCESS = 0.006  # nats by which a table may exceed the truth
CELL_LOSS = (0.03, 0.12)  # nats, and share of the truth, that cells may lose


def generator(*seed):
    return np.random.default_rng([17, *seed])


def request(x="numbers", y="numbers", nats=0.5, columns=(1, 1), tied=(False, False)):
    return Request(x, y, nats, columns, tied)


def codes(sample, cells):
    """One code a row: cells of number columns, finer in the tails (ties stay whole),
    and categories.
    """
    scores = np.linspace(-3.2, 3.2, cells - 1)
    levels = special.ndtr(scores)
    columns = np.hstack([sample.numbers, sample.labels])
    code = np.zeros(len(columns), int)
    for column in columns.T:
        edges = np.unique(np.quantile(column, levels))
        cell = np.searchsorted(edges, column)
        code = code * (cells + 1) + cell
    _, code = np.unique(code, return_inverse=True)
    return code


def information_of_table(x, y, cells=CELLS):
    """Mutual information of the table of two samples, less its first-order bias."""
    return plug_in(codes(x, cells), codes(y, cells))


def check_by_table(part, cells=CELLS, loss=CELL_LOSS):
    truth, error = part.truth(generator(2))
    x, y = part.draw(ROWS, generator(3))
    nats = information_of_table(x, y, cells)
    constant, share = loss
    highest = truth + MAX_EXCESS + 3 * error
    lowest = truth - constant - share * truth - 3 * error
    assert lowest <= nats <= highest, part.description


NUMBERS = [
    scalar.additive_noise,
    scalar.multiplied_noise,
    scalar.branches,
    scalar.copulas,
    scalar.counts,
    scalar.censored_times,
    scalar.ordered_levels,
    latent.clusters,
    latent.shared_factors,
    latent.rings_and_tori,
    latent.tuned_counts,
    latent.questionnaires,
]
LABELS = [
    scalar.additive_noise,
    scalar.label_of_numbers,
    latent.labelled_clusters,
    latent.rings_and_tori,
    latent.tuned_counts,
    latent.questionnaires,
]


@pytest.mark.parametrize("maker", NUMBERS)
@pytest.mark.parametrize("tied", [False, True])
def test_numbers_agree_with_tables_of_many_draws(maker, tied):
    part = maker(request(nats=0.65, tied=(tied, tied)), generator(1, tied))
    is_scalar = maker in NUMBERS[:7]
    cells = 3 * CELLS if is_scalar and not tied else CELLS
    check_by_table(part, cells)


@pytest.mark.parametrize("maker", LABELS)
def test_labels_agree_with_tables_of_many_draws(maker):
    asked = request(y="categories", nats=0.8, tied=(True, False))
    check_by_table(maker(asked, generator(1)))


@pytest.mark.parametrize(
    ("maker", "asked", "cells", "loss"),
    [
        (scalar.censored_times, request(y="both"), 16, CELL_LOSS),
        (
            linear.softmax_of_several,
            request(y="categories", columns=(2, 1)),
            20,
            CELL_LOSS,
        ),
        (
            latent.discrete_channel,
            request("categories", "categories", 0.9),
            400,
            CELL_LOSS,
        ),
        (latent.clusters, request("both", "both", 0.3), 12, (0.05, 0.3)),
    ],
)
def test_several_columns_agree_with_tables_of_many_draws(maker, asked, cells, loss):
    check_by_table(maker(asked, generator(2)), cells, loss)


@pytest.mark.parametrize(
    "maker", [latent.associations, latent.hidden_classes, latent.look_up]
)
def test_unordered_categories_agree_with_the_table_of_many_draws(maker):
    """Of a few columns with few levels, so that the table of the draws has hardly any
    bias.
    """
    asked = request("categories", "categories", 0.4, (2, 2))
    part = maker(asked, generator(1, 4))
    truth, error = part.truth(generator(2))
    assert error == 0
    codes_of_variables = []
    for variable in part.draw(ROWS, generator(3)):
        labels = variable.labels.T
        sizes = labels.max(axis=1) + 1
        codes_of_variables.append(np.ravel_multi_index(labels, sizes))
    nats = plug_in(*codes_of_variables)
    assert nats == approx(truth, abs=0.008 + 0.01 * truth)


def normal_pair(rho):
    """y = rho x + noise, as a distribution function and draws given the scores of x."""
    spread = np.sqrt(1 - rho**2)

    def below(edges, scores):
        return special.ndtr((edges - rho * scores) / spread)

    def draw(scores, g):
        noise = g.normal(size=len(scores))
        return rho * scores + spread * noise

    return quadrature.ScoredPair(scalar.NORMAL_X, below, draw)


def test_a_look_up_table_may_have_one_state():
    """A draw of one state for all cells; its labels share nothing."""
    request = Request("numbers", "both", 1.0, (4, 4), (False, False))
    g = np.random.default_rng(8931)
    part = latent.look_up(request, g)
    assert part.truth(g)[0] == approx(0)


@pytest.mark.parametrize("rho", [0.1, 0.97])
def test_quadrature_of_a_normal_is_the_closed_form(rho):
    pair = normal_pair(rho)
    _, scores = pair.predictor.sample(quadrature.PILOT_ROWS, generator())
    pilot = pair.draw(scores, generator(1))
    exact = -0.5 * np.log(1 - rho**2)
    nats = quadrature.information(pair, None, None, pilot)
    assert nats == approx(exact, rel=2e-3, abs=2e-4)
    for kind in KINDS:
        observation = draw_observation(generator(3), pilot, kind)
        of_one = quadrature.information(pair, observation, None, pilot)
        of_both = quadrature.information(pair, observation, observation, pilot)
        assert of_both < of_one < exact


def test_rounded_normals_agree_with_quadrature():
    correlations = np.array([0.8])
    steps, loss = linear._rounding(np.eye(1), correlations, 0.3)
    values = np.arange(-30, 31) * steps[0]
    edges = (values[1:] + values[:-1]) / 2
    every = np.ones(61, bool)
    rounded = Observation("rounded", edges, every, values)
    pilot = np.zeros(2)
    nats = quadrature.information(normal_pair(0.8), rounded, rounded, pilot)
    exact = -0.5 * np.log(0.36)
    assert nats == approx(exact - 2 * loss, abs=0.1 * loss)


@pytest.mark.parametrize("name", sorted(scalar.COPULAS))
def test_conditionals_of_copulas_have_uniform_margins(name):
    conditional, (low, high) = scalar.COPULAS[name]
    edges = special.ndtr(np.linspace(-6.005, 6.005, 1202))
    middles = special.ndtr(np.linspace(-6, 6, 1201))
    mass = np.diff(edges)
    for parameter in (low, np.sqrt(low * high), 0.8 * high):
        below = conditional(edges, middles[:, None], parameter)
        steps = np.diff(below, axis=1)
        assert (steps > -1e-9).all()
        assert mass @ steps == approx(mass, abs=2e-5)


@pytest.mark.parametrize("name", sorted(NOISES))
def test_noise_shapes_draw_from_their_distribution_functions(name):
    noise = NOISES[name](generator(0))
    drawn = noise.sample(20_000, generator(1))
    assert stats.kstest(drawn, noise.cdf).pvalue > 1e-4


PREDICTORS = [
    lambda g: projected_predictor(g, 9),
    interaction_predictor,
    hidden_predictor,
    wide.draw_predictor,
]


@pytest.mark.parametrize("maker", PREDICTORS)
@pytest.mark.parametrize("seed", range(4))
def test_predictors_draw_from_their_quantile_functions(maker, seed):
    predictor = maker(generator(seed))
    scores = []
    for batch in range(20):
        x, score = predictor.sample(2_000, generator(seed, batch))
        assert x.shape == (2_000, predictor.columns)
        scores.append(score)
    scores = np.concatenate(scores)
    levels = np.linspace(0.02, 0.98, 40)
    quantiles = predictor.quantile(levels)
    is_below = scores[:, None] <= quantiles + 1e-9
    drawn = is_below.mean(axis=0)
    assert (drawn >= levels - 0.02).all()
    has_levels = any(word in predictor.name for word in ("parity", "XOR", "cells"))
    if not has_levels:
        assert (drawn <= levels + 0.02).all()


def small_factors(asked, g):
    """The factors of wide signals, in few enough columns for a covariance of draws."""
    return linear.factors_part("wide_signal", 12, 12, asked.nats, g)


def log_determinant(columns):
    _, value = np.linalg.slogdet(np.cov(columns.T))
    return value


@pytest.mark.parametrize("maker", [linear.normal, linear.linear_factors, small_factors])
@pytest.mark.parametrize("seed", range(2))
def test_normals_agree_with_the_covariance_of_many_draws(maker, seed):
    asked = request(columns=(6, 4), nats=0.8)
    part = maker(asked, generator(seed))
    x, y = part.draw(60_000, generator(seed, 1))
    both = np.hstack([x.numbers, y.numbers])
    product = log_determinant(x.numbers) + log_determinant(y.numbers)
    information = (product - log_determinant(both)) / 2
    truth, _ = part.truth(generator())
    assert information == approx(truth, abs=0.02)


def student_log_density(columns, dof):
    size = columns.shape[1]
    student = stats.multivariate_t(np.zeros(size), np.eye(size), df=dof)
    return student.logpdf(columns)


def test_student_agrees_with_the_mean_log_ratio():
    dof = 2.5
    rows = 200_000
    normal = generator(3).normal(size=(rows, 5))
    chi_square = generator(4).chisquare(dof, size=(rows, 1))
    both = normal / np.sqrt(chi_square / dof)
    ratio = student_log_density(both, dof)
    ratio = ratio - student_log_density(both[:, :2], dof)
    ratio = ratio - student_log_density(both[:, 2:], dof)
    error = ratio.std() / np.sqrt(rows)
    exact = linear.student_information(2, 3, dof)
    assert ratio.mean() == approx(exact, abs=4 * error)


def angles_of(sample):
    """Angles [n, columns]: one column is an angle itself, pairs of columns are cosine
    and sine.
    """
    if sample.numbers.shape[1] == 1:
        return sample.numbers
    return np.arctan2(sample.numbers[:, 1::2], sample.numbers[:, ::2])


def information_of_turn(turn):
    """Information of an angle about another one, from which it differs by this
    independent turn [n], nats.
    """
    entropy = stats.differential_entropy(np.sort(turn % (2 * np.pi)))
    return np.log(2 * np.pi) - entropy


def test_tori_agree_with_the_noise_of_their_angles():
    asked = request(columns=(6, 2), nats=0.9)
    part = latent.tori(asked, generator(3))
    x, y = part.draw(50_000, generator(4))
    total = angles_of(x).sum(axis=1)
    turn = angles_of(y)[:, 0] - total
    truth, _ = part.truth(generator())
    assert truth == approx(information_of_turn(turn), abs=0.02)


def first_part(maker, asked, word):
    """The part of the first seed whose description has this word."""
    for seed in range(99):
        part = maker(asked, generator(seed))
        if word in part.description:
            return part
    raise AssertionError(word)


@pytest.mark.parametrize("kind", ["von Mises", "wrapped Cauchy", "uniform"])
@pytest.mark.parametrize("columns", [(1, 1), (2, 1), (2, 2)])
def test_angles_agree_with_the_entropy_of_their_turn(kind, columns):
    asked = request(columns=columns, nats=0.9)
    part = first_part(derived.angles, asked, kind)
    _, _, of_winding = part.description.partition("winding ")
    winding, _, _ = of_winding.partition(",")
    x, y = part.draw(50_000, generator(4))
    turn = angles_of(y) - int(winding) * angles_of(x)
    truth, _ = part.truth(generator())
    assert truth == approx(0.9, abs=1e-6)
    assert information_of_turn(turn[:, 0]) == approx(truth, abs=0.02)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("seed", range(6))
def test_derived_columns_are_functions_of_the_others_and_keep_what_determines_them(
    size, seed
):
    """Equal rows stay equal, and different ones different; there are more columns than
    before.
    """
    _, derive = derived.draw_derivation(size, generator(size, seed))
    values = generator(seed).standard_t(3, size=(400, size))
    twice = np.vstack([values, values])
    columns, same = np.split(derive(twice), 2)
    assert columns.shape[1] > size
    assert np.isfinite(columns).all()
    np.testing.assert_array_equal(columns, same)
    distinct = np.unique(columns.round(9), axis=0)
    assert len(distinct) == 400


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_wide_signals_agree_with_the_table_of_their_direction(kind):
    """A regression on many draws finds the direction of a linear score, which has all
    information about y.
    """
    asked = request(y=kind, nats=0.5)
    part = first_part(wide.score_of_many, asked, "linear")
    x, y = part.draw(ROWS // 3, generator(3))
    target = y.numbers
    if kind == "categories":
        indicators = np.eye(y.labels.max() + 1)
        target = indicators[y.labels[:, 0]]
    centred = x.numbers - x.numbers.mean(axis=0)
    weights, *_ = np.linalg.lstsq(centred, target - target.mean(axis=0), rcond=None)
    score = x.numbers @ weights[:, :1]
    truth, _ = part.truth(generator(2))
    nats = information_of_table(replace(x, numbers=score), y)
    assert truth - 0.05 - 0.1 * truth < nats < truth + MAX_EXCESS


@pytest.mark.parametrize(
    ("maker", "kind"),
    [
        (scalar.interactions, "modulo"),
        (scalar.interactions, "parity"),
        (scalar.hidden_mechanisms, "cells"),
        (scalar.hidden_mechanisms, "XOR of 2"),
    ],
)
def test_interactions_inform_together_only(maker, kind):
    asked = request(columns=(4, 1), nats=0.6)
    part = first_part(maker, asked, kind)
    x, y = part.draw(30_000, generator(1))
    alone = replace(x, numbers=x.numbers[:, :1])
    assert abs(information_of_table(alone, y)) < 0.01
    if x.numbers.shape[1] == 2:
        check_by_table(part, loss=(0.06, 0.3))
