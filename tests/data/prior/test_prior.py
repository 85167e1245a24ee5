"""Distributions of the prior: reproducible, of the documented shares, with truths that
no table exceeds.
"""

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


def sampled(example, rows):
    return example.sample(rows, np.random.default_rng([0, example.number]))


@pytest.mark.parametrize("number", [10, 14])
def test_same_number_gives_the_same_distribution(prior, number):
    first = prior[NUMBERS.index(number)]
    again = distribution(number)
    assert first.description == again.description
    assert first.truth == again.truth
    for variable, same in zip(sampled(first, 50), sampled(again, 50)):
        np.testing.assert_array_equal(variable.numbers, same.numbers)
        np.testing.assert_array_equal(variable.labels, same.labels)


def test_shares_of_types_ties_and_independence(prior):
    types = [example.type for example in prior]
    shares = [types.count(kind) / len(types) for kind in TYPES]
    assert TYPES == ("numbers", "labels", "categories", "mixed")
    # three standard errors of the largest
    np.testing.assert_allclose(shares, [0.55, 0.2, 0.1, 0.15], atol=0.28)
    without_information = [
        example.truth for example in prior if example.families == ("nothing",)
    ]
    assert len(without_information) >= len(prior) / 20
    assert not any(without_information)
    tied = [example.tied for example in prior if example.type == "numbers"]
    assert 0.15 < np.mean(tied) < 0.65
    families = set().union(*(example.families for example in prior))
    assert families <= set(FAMILIES)
    assert len(families) >= 10


def test_truths_are_accurate(prior):
    for example in prior:
        small = min(0.0015, 0.1 * example.truth)
        assert example.truth_error <= max(small, 0.007 * example.truth)


def test_samples_are_finite_and_have_their_type(prior):
    for example in prior:
        x, y = sampled(example, 100)
        for variable, columns in zip((x, y), example.columns):
            assert variable.numbers.dtype == np.float64
            assert variable.labels.dtype == np.int64
            assert (
                variable.numbers.shape[1] + variable.labels.shape[1] == columns <= 1600
            )
            assert (np.abs(variable.numbers) < 1e12).all()
        is_mixed = any(
            variable.numbers.size and variable.labels.size for variable in (x, y)
        )
        number_variables = sum(variable.numbers.size > 0 for variable in (x, y))
        kind = (
            "mixed"
            if is_mixed
            else ["categories", "labels", "numbers"][number_variables]
        )
        assert example.type == kind


def test_columns_vary(prior):
    for example in prior:
        is_continuous = (
            example.type == "numbers"
            and not example.tied
            and "derived" not in example.families
        )
        for variable in sampled(example, 2_000):
            for column in np.hstack([variable.numbers, variable.labels]).T:
                assert np.ptp(column) > 0, example.description
                if is_continuous:
                    assert len(np.unique(column)) > 1_990, example.description


def coded(variable):
    """Which of six equally filled parts, of three columns of numbers and two of labels."""
    codes = []
    for column in np.hstack([variable.numbers[:, :3], variable.labels[:, :2]]).T:
        cuts = np.unique(np.quantile(column, np.arange(1, CELLS) / CELLS))
        codes.append(np.searchsorted(cuts, column))
    return codes


def test_no_pair_of_columns_exceeds_the_truth(prior):
    """Data processing: what a table of single columns finds beyond its error must be
    there.
    """
    for example in prior:
        x, y = sampled(example, ROWS)
        for a, b in itertools.product(coded(x), coded(y)):
            joint = (
                np.bincount(CELLS * a + b, minlength=CELLS**2).reshape(CELLS, CELLS)
                / ROWS
            )
            product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
            filled = joint > 0
            log_ratio = np.log(joint[filled] / product[filled])
            nats = joint[filled] @ log_ratio
            variance = joint[filled] @ (log_ratio - nats) ** 2
            bias = 25 / (2 * ROWS)
            assert (
                nats <= example.truth + 5 * np.sqrt(variance / ROWS) + bias + 0.005
            ), example.description


def test_information_adds_over_subsystems():
    """Four columns of x and of y; the information in the table of both pairs is the sum
    of each pair's.
    """
    request = Request("categories", "categories", 0.3, (1, 1), (False, False))
    truth = 0.0
    pairs = []
    for seed in (1, 2):
        part = latent.discrete_channel(request, np.random.default_rng(seed))
        truth += part.truth(np.random.default_rng(0))[0]
        pairs.append(part.draw(1_000_000, np.random.default_rng([7, seed])))
    codes = []
    for variables in zip(*pairs):
        labels = joined(variables).labels.T
        codes.append(np.ravel_multi_index(labels, labels.max(axis=1) + 1))
    assert plug_in(*codes) == pytest.approx(truth, abs=0.006)


@pytest.mark.parametrize("seed", range(8))
def test_maps_are_invertible(seed):
    g = np.random.default_rng(seed)
    size = int(g.integers(2, 7))
    _, block = maps.draw_block_map(size, maps.BLOCK_MAPS, g)
    steps = 1e-5 * np.vstack([np.zeros(size), np.eye(size)])
    origin, *moved = block(g.normal(size=size) + steps)
    jacobian = (np.array(moved) - origin) / 1e-5
    assert abs(np.linalg.det(jacobian)) > 1e-4
    for end in (5.0, 1e6):
        _, monotone = maps.draw_monotone(g, end)
        assert (np.diff(monotone(np.linspace(-end, end, 999))) > 0).all()


@pytest.mark.parametrize("number", [-1, 1.5, True])
def test_numbers_are_whole_and_not_negative(number):
    with refused("number", "range"):
        distribution(number)
