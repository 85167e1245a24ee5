"""Truths of the base families by a second route: closed forms, tables of many draws, exact densities."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from infoscope.data.prior import derived, latent, linear, quadrature, scalar, wide
from infoscope.data.prior.noise import NOISES, hidden_predictor, interaction_predictor, projected_predictor
from infoscope.data.prior.parts import Request
from infoscope.data.prior.quadrature import KINDS, Observation, draw_observation
from tests.data.common import plug_in

ROWS = 150_000
CELLS = 24  # cells of a column
ABOVE, BELOW = 0.006, (0.03, 0.12)  # nats by which a table may exceed the truth; nats and share that its cells may lose


def generator(*seed):
    return np.random.default_rng([17, *seed])


def request(x="numbers", y="numbers", nats=0.5, columns=(1, 1), tied=(False, False)):
    return Request(x, y, nats, columns, tied)


def pilot_of(pair, g):
    return pair.draw(pair.predictor.sample(quadrature.PILOT_ROWS, g)[1], g)


def codes(sample, cells=CELLS):
    """One code a row: cells of number columns, finer in the tails (ties stay whole), and categories."""
    levels = special.ndtr(np.linspace(-3.2, 3.2, cells - 1))
    code = np.zeros(len(sample.numbers), int)
    for column in [*sample.numbers.T, *sample.labels.T.astype(float)]:
        edges = np.unique(np.quantile(column, levels))
        code = code * (cells + 1) + np.searchsorted(edges, column)
    return np.unique(code, return_inverse=True)[1]


def table(x, y, cells=CELLS):
    """Mutual information of the table of two samples, less its first-order bias."""
    return plug_in(codes(x, cells), codes(y, cells))


def check_by_table(part, cells=CELLS, below=BELOW):
    truth, error = part.truth(generator(2))
    nats = table(*part.draw(ROWS, generator(3)), cells)
    assert nats <= truth + ABOVE + 3 * error, part.description
    assert nats >= truth - below[0] - below[1] * truth - 3 * error, part.description


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
    cells = CELLS if tied or maker in NUMBERS[7:] else 3 * CELLS
    check_by_table(maker(request(nats=0.65, tied=(tied, tied)), generator(1, tied)), cells)


@pytest.mark.parametrize("maker", LABELS)
def test_labels_agree_with_tables_of_many_draws(maker):
    check_by_table(maker(request(y="categories", nats=0.8, tied=(True, False)), generator(1)))


SEVERAL = [
    (scalar.censored_times, request(y="both"), 16, BELOW),
    (linear.softmax_of_several, request(y="categories", columns=(2, 1)), 20, BELOW),
    (latent.discrete_channel, request("categories", "categories", 0.9), 400, BELOW),
    (latent.clusters, request("both", "both", 0.3), 12, (0.05, 0.3)),
]


@pytest.mark.parametrize(("maker", "asked", "cells", "below"), SEVERAL)
def test_several_columns_agree_with_tables_of_many_draws(maker, asked, cells, below):
    check_by_table(maker(asked, generator(2)), cells, below)


@pytest.mark.parametrize("maker", [latent.associations, latent.hidden_classes, latent.look_up])
def test_unordered_categories_agree_with_the_table_of_many_draws(maker):
    """Of a few columns with few levels, so that the table of the draws has hardly any bias."""
    part = maker(request("categories", "categories", 0.4, (2, 2)), generator(1, 4))
    truth, error = part.truth(generator(2))
    assert error == 0
    drawn = (variable.labels.T for variable in part.draw(ROWS, generator(3)))
    x, y = (np.ravel_multi_index(labels, labels.max(axis=1) + 1) for labels in drawn)
    assert plug_in(x, y) == pytest.approx(truth, abs=0.008 + 0.01 * truth)


@pytest.mark.parametrize(("seed", "kind"), [(1, "sum of 4 x 4 levels"), (7, "sum of 2 x 4 levels")])
def test_a_sum_modulo_a_number_informs_through_all_columns_only(seed, kind):
    """Of columns with equally likely levels, as many as the number or a multiple of it."""
    part = latent.look_up(request("categories", "categories", 0.6, (4, 1)), generator(seed))
    assert kind in part.description
    x, y = part.draw(20_000, generator(1))
    assert table(x, y) > 0.5
    for column in range(2):
        alone = replace(x, labels=x.labels[:, [column]])
        assert abs(table(alone, y)) < 0.002


@pytest.mark.parametrize("rho", [0.1, 0.97])
def test_quadrature_of_a_normal_is_the_closed_form(rho):
    spread = np.sqrt(1 - rho**2)
    pair = quadrature.ScoredPair(
        scalar.NORMAL_X, lambda e, s: special.ndtr((e - rho * s) / spread),
        lambda s, g: rho * s + spread * g.normal(size=len(s)),
    )  # fmt: skip
    pilot = pilot_of(pair, generator())
    exact = -0.5 * np.log(1 - rho**2)
    assert quadrature.information(pair, None, None, pilot) == pytest.approx(exact, rel=2e-3, abs=2e-4)
    for kind in KINDS:
        seen = draw_observation(generator(3), pilot, kind)
        assert quadrature.information(pair, seen, seen, pilot) < quadrature.information(pair, seen, None, pilot) < exact


def test_rounded_normals_agree_with_quadrature():
    rho, step = np.array([0.8]), 0.3
    steps, loss = linear._rounding(np.eye(1), rho, step)
    values = np.arange(-30, 31) * steps[0]
    seen = Observation("rounded", (values[1:] + values[:-1]) / 2, np.ones(61, bool), values)
    pair = quadrature.ScoredPair(scalar.NORMAL_X, lambda e, s: special.ndtr((e - 0.8 * s) / 0.6), None)
    exact = quadrature.information(pair, seen, seen, np.zeros(2))
    assert exact == pytest.approx(-0.5 * np.log(0.36) - 2 * loss, abs=0.1 * loss)


@pytest.mark.parametrize("name", sorted(scalar.COPULAS))
def test_conditionals_of_copulas_have_uniform_margins(name):
    conditional, (low, high) = scalar.COPULAS[name]
    edges = np.linspace(-6.005, 6.005, 1202)
    mass, u = np.diff(special.ndtr(edges)), special.ndtr((edges[1:] + edges[:-1]) / 2)
    for parameter in (low, np.sqrt(low * high), 0.8 * high):
        h = conditional(special.ndtr(edges), u[:, None], parameter)
        assert (np.diff(h, axis=1) > -1e-9).all()
        assert mass @ np.diff(h, axis=1) == pytest.approx(mass, abs=2e-5)


@pytest.mark.parametrize("name", sorted(NOISES))
def test_noise_shapes_draw_from_their_distribution_functions(name):
    noise = NOISES[name](generator(0))
    assert stats.kstest(noise.sample(20_000, generator(1)), noise.cdf).pvalue > 1e-4


PREDICTORS = [lambda g: projected_predictor(g, 9), interaction_predictor, hidden_predictor, wide.draw_predictor]


@pytest.mark.parametrize("maker", PREDICTORS)
@pytest.mark.parametrize("seed", range(4))
def test_predictors_draw_from_their_quantile_functions(maker, seed):
    predictor = maker(generator(seed))
    batches = [predictor.sample(2_000, generator(seed, batch)) for batch in range(20)]
    assert batches[0][0].shape == (2_000, predictor.columns)
    score = np.concatenate([score for _, score in batches])
    levels = np.linspace(0.02, 0.98, 40)
    drawn = (score[:, None] <= predictor.quantile(levels) + 1e-9).mean(axis=0)
    assert (drawn >= levels - 0.02).all()
    has_levels = any(word in predictor.name for word in ("parity", "XOR", "cells"))
    assert has_levels or (drawn <= levels + 0.02).all()


def small_factors(asked, g):
    """The factors of wide signals, in few enough columns for a covariance of draws."""
    return linear.factors_part("wide_signal", 12, 12, asked.nats, g)


def of_covariance(both, p):
    covariance = np.cov(both.T)
    x, y, both = (np.linalg.slogdet(block)[1] for block in (covariance[:p, :p], covariance[p:, p:], covariance))
    return 0.5 * (x + y - both)


@pytest.mark.parametrize("maker", [linear.normal, linear.linear_factors, small_factors])
def test_normals_agree_with_the_covariance_of_many_draws(maker):
    for seed in range(2):
        part = maker(request(columns=(6, 4), nats=0.8), generator(seed))
        x, y = part.draw(60_000, generator(seed, 1))
        found = of_covariance(np.hstack([x.numbers, y.numbers]), x.numbers.shape[1])
        assert found == pytest.approx(part.truth(generator())[0], abs=0.02)


def test_student_agrees_with_the_mean_log_ratio():
    dof = 2.5
    both = generator(3).normal(size=(200_000, 5)) / np.sqrt(generator(4).chisquare(dof, size=(200_000, 1)) / dof)
    blocks = (both, both[:, :2], both[:, 2:])
    logs = [stats.multivariate_t(np.zeros(b.shape[1]), np.eye(b.shape[1]), df=dof).logpdf(b) for b in blocks]
    ratio = logs[0] - logs[1] - logs[2]
    assert ratio.mean() == pytest.approx(linear.student_information(2, 3, dof), abs=4 * ratio.std() / 447)


def test_tori_agree_with_the_noise_of_their_angles():
    part = latent.tori(request(columns=(6, 2), nats=0.9), generator(3))
    x, y = part.draw(50_000, generator(4))
    angles = np.arctan2(x.numbers[:, 1::2], x.numbers[:, ::2]).sum(axis=1)
    noise = np.sort((np.arctan2(y.numbers[:, 1], y.numbers[:, 0]) - angles) % (2 * np.pi))
    entropy = stats.differential_entropy(noise)
    assert part.truth(generator())[0] == pytest.approx(np.log(2 * np.pi) - entropy, abs=0.02)


@pytest.mark.parametrize("kind", ["von Mises", "wrapped Cauchy", "uniform"])
@pytest.mark.parametrize("columns", [(1, 1), (2, 1), (2, 2)])
def test_angles_agree_with_the_entropy_of_their_turn(kind, columns):
    seed = next(
        seed for seed in range(99) if kind in derived.angles(request(columns=columns), generator(seed)).description
    )
    part = derived.angles(request(columns=columns, nats=0.9), generator(seed))
    winding = int(part.description.split("winding ")[1].split(",")[0])
    x, y = (
        np.arctan2(side.numbers[:, 1], side.numbers[:, 0]) if side.numbers.shape[1] == 2 else side.numbers[:, 0]
        for side in part.draw(50_000, generator(4))
    )
    turn = np.sort((y - winding * x) % (2 * np.pi))
    truth = part.truth(generator())[0]
    assert truth == pytest.approx(0.9, abs=1e-6)
    assert np.log(2 * np.pi) - stats.differential_entropy(turn) == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("seed", range(12))
def test_derived_columns_are_functions_of_the_others_and_keep_what_determines_them(size, seed):
    """Equal rows stay equal, and different ones different; there are more columns than before."""
    _, derive = derived.draw_derivation(size, generator(size, seed))
    values = generator(seed).standard_t(3, size=(400, size))
    columns = derive(np.vstack([values, values]))
    assert columns.shape[1] > size and np.isfinite(columns).all()
    np.testing.assert_array_equal(columns[:400], columns[400:])
    assert len(np.unique(columns[:400].round(9), axis=0)) == 400


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_wide_signals_agree_with_the_table_of_their_direction(kind):
    """A regression on many draws finds the direction of a linear score, which has all information about y."""
    parts = (wide.score_of_many(request(y=kind, nats=0.5), generator(seed)) for seed in itertools.count())
    part = next(part for part in parts if "linear" in part.description and columns_of(part) <= 40)
    x, y = part.draw(ROWS // 3, generator(3))
    target = y.numbers if kind == "numbers" else np.eye(int(y.labels.max()) + 1)[y.labels[:, 0]]
    weights = np.linalg.lstsq(x.numbers - x.numbers.mean(axis=0), target - target.mean(axis=0), rcond=None)[0]
    score = x.numbers @ weights[:, :1]
    truth, _ = part.truth(generator(2))
    assert truth - 0.05 - 0.1 * truth < table(replace(x, numbers=score), y) < truth + ABOVE


def columns_of(part):
    x, _ = part.draw(2, generator())
    return x.numbers.shape[1]


def test_interactions_inform_together_only():
    checked = set()
    for maker, seed in itertools.product((scalar.interactions, scalar.hidden_mechanisms), range(6)):
        part = maker(request(columns=(4, 1), nats=0.6), generator(seed))
        x, y = part.draw(30_000, generator(seed, 1))
        if any(word in part.description for word in ("parity", "modulo", "cells", "XOR of 2")):
            checked.add("alone")
            assert abs(table(replace(x, numbers=x.numbers[:, :1]), y)) < 0.01
        if x.numbers.shape[1] == 2:
            checked.add("together")
            check_by_table(part, below=(0.06, 0.3))
    assert checked == {"alone", "together"}
