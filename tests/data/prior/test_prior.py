"""Distributions of the prior: reproducible, of the documented shares, with truths that no table exceeds."""

import itertools

import numpy as np
import pytest

from infoscope.data.prior import FAMILIES, TYPES, distribution, latent, maps
from infoscope.data.prior.parts import Request, joined
from tests.data.common import plug_in
from tests.refusals import refused

SLOW = (21, 25, 29)  # half a second and more
NUMBERS = [number for number in range(6, 33) if number not in SLOW]
ROWS, CELLS = 4_000, 6


@pytest.fixture(scope="module")
def prior():
    return [distribution(number) for number in NUMBERS]


def sampled(d, rows, seed=0):
    return d.sample(rows, np.random.default_rng([seed, d.number]))


@pytest.mark.parametrize("number", [10, 14])
def test_same_number_gives_the_same_distribution(prior, number):
    first, second = prior[NUMBERS.index(number)], distribution(number)
    assert (first.description, first.truth, first.columns) == (second.description, second.truth, second.columns)
    for variable, again in zip(sampled(first, 50), sampled(second, 50)):
        np.testing.assert_array_equal(variable.numbers, again.numbers)
        np.testing.assert_array_equal(variable.labels, again.labels)


def test_shares_of_types_ties_and_independence(prior):
    types = [d.type for d in prior]
    shares = [types.count(kind) / len(types) for kind in ("numbers", "labels", "categories", "mixed")]
    assert set(TYPES) == {"numbers", "labels", "categories", "mixed"}
    np.testing.assert_allclose(shares, [0.55, 0.2, 0.1, 0.15], atol=0.28)  # three standard errors of the largest
    nothing = [d for d in prior if d.families == ("nothing",)]
    assert len(nothing) >= len(prior) / 20
    assert all(d.truth == d.truth_error == 0 for d in nothing)
    assert 0.15 < np.mean([d.tied for d in prior if d.type == "numbers"]) < 0.65
    assert all(d.truth_error <= max(min(0.0015, 0.1 * d.truth), 0.007 * d.truth) for d in prior)
    families = {family for d in prior for family in d.families}
    assert families <= set(FAMILIES)
    assert len(families) >= 10


def test_samples_are_finite_and_have_their_type(prior):
    for d in prior:
        x, y = sampled(d, 100)
        for variable, columns in zip((x, y), d.columns):
            assert variable.numbers.dtype == np.float64
            assert variable.labels.dtype == np.int64
            assert np.hstack([variable.numbers, variable.labels]).shape == (100, columns)
            assert columns <= 1600
            assert (np.abs(variable.numbers) < 1e12).all()
        numbers = [variable.numbers.shape[1] > 0 for variable in (x, y)]
        labels = [variable.labels.shape[1] > 0 for variable in (x, y)]
        mixed = any(np.logical_and(numbers, labels))
        assert d.type == ("mixed" if mixed else ["categories", "labels", "numbers"][sum(numbers)])


def test_columns_vary(prior):
    for d in prior:
        for variable in sampled(d, 2_000):
            for column in [*variable.numbers.T, *variable.labels.T]:
                assert np.ptp(column) > 0, d.description
            if d.type == "numbers" and not d.tied and "derived" not in d.families:
                fewest = min(len(np.unique(column)) for column in variable.numbers.T)
                assert fewest > 1_990, d.description


def coded(column):
    """Which of six equally filled parts."""
    return np.searchsorted(np.unique(np.quantile(column, np.arange(1, CELLS) / CELLS)), column)


def test_no_pair_of_columns_exceeds_the_truth(prior):
    """Data processing: what a table of single columns finds beyond its error must be there."""
    for d in prior:
        x, y = sampled(d, ROWS)
        codes_x = [coded(column) for column in [*x.numbers.T[:3], *x.labels.T[:2]]]
        codes_y = [coded(column) for column in [*y.numbers.T[:3], *y.labels.T[:2]]]
        for a, b in itertools.product(codes_x, codes_y):
            joint = np.bincount(CELLS * a + b, minlength=CELLS**2).reshape(CELLS, CELLS) / ROWS
            product = joint.sum(1, keepdims=True) * joint.sum(0)
            log_ratio = np.log(joint[joint > 0] / product[joint > 0])
            nats = joint[joint > 0] @ log_ratio
            variance = joint[joint > 0] @ log_ratio**2 - nats**2
            error = np.sqrt(max(variance, 0) / ROWS)
            assert nats <= d.truth + 5 * error + 25 / (2 * ROWS) + 0.005, d.description


def test_information_adds_over_subsystems():
    """Four columns of x and of y; the information in the table of both pairs is the sum of each pair's."""
    n = 1_000_000
    request = Request("categories", "categories", 0.3, (1, 1), (False, False))
    parts = [latent.discrete_channel(request, np.random.default_rng(seed)) for seed in (1, 2)]
    pairs = [part.draw(n, np.random.default_rng([7, seed])) for seed, part in enumerate(parts)]
    codes = []
    for variables in zip(*pairs):
        labels = joined(variables).labels
        codes.append(np.ravel_multi_index(labels.T, labels.max(axis=0) + 1))
    truth = sum(part.truth(np.random.default_rng(0))[0] for part in parts)
    assert plug_in(*codes) == pytest.approx(truth, abs=0.006)


@pytest.mark.parametrize("seed", range(8))
def test_maps_are_invertible(seed):
    g = np.random.default_rng(seed)
    size = int(g.integers(2, 7))
    _, block = maps.draw_block_map(size, maps.BLOCK_MAPS, g)
    steps = 1e-5 * np.vstack([np.zeros(size), np.eye(size)])
    values = block(g.normal(size=size) + steps)
    assert abs(np.linalg.det((values[1:] - values[0]) / 1e-5)) > 1e-4
    for end in (5.0, 1e6):
        _, monotone = maps.draw_monotone(g, end)
        assert (np.diff(monotone(np.linspace(-end, end, 999))) > 0).all()


@pytest.mark.parametrize("number", [-1, 1.5, True])
def test_numbers_are_whole_and_not_negative(number):
    with refused("number", "range"):
        distribution(number)
