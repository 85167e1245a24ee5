"""Distributions of the prior: reproducible, of the documented shares, with truths that
no table exceeds.
"""

import itertools

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_array_equal

from infoscope.data.prior import FAMILIES, TYPES, distribution, latent, maps
from infoscope.data.prior.parts import Request, joined
from tests.data.common import plug_in

SLOW = (21, 25, 29)  # half a second and more
NUMBERS = [number for number in range(6, 33) if number not in SLOW]
ROWS, CELLS = 4_000, 6


@pytest.fixture(scope="module")
def prior():
    return [distribution(number) for number in NUMBERS]


def sampled(example, rows):
    return example.sample(rows, default_rng([0, example.number]))


@pytest.mark.parametrize("number", [10, 14])
def test_same_number_gives_the_same_distribution(prior, number):
    first = prior[NUMBERS.index(number)]
    again = distribution(number)
    assert first.description == again.description
    assert first.truth == again.truth
    for variable, same in zip(sampled(first, 50), sampled(again, 50)):
        assert_array_equal(variable.numbers, same.numbers)
        assert_array_equal(variable.labels, same.labels)


def test_shares_of_types_ties_and_independence(prior):
    types = [example.type for example in prior]
    shares = [types.count(kind) / len(types) for kind in TYPES]
    # three standard errors of the largest
    np.testing.assert_allclose(shares, [0.55, 0.2, 0.1, 0.15], atol=0.28)
    without_information = 0
    tied = []
    families = set()
    for example in prior:
        families.update(example.families)
        if example.families == ("nothing",):
            without_information += 1
            assert example.truth == 0
        if example.type == "numbers":
            tied.append(example.tied)
    assert without_information >= len(prior) / 20
    assert 0.15 < np.mean(tied) < 0.65
    assert families <= set(FAMILIES)
    assert len(families) >= 10


def test_truths_are_accurate(prior):
    for example in prior:
        small = min(0.0015, 0.1 * example.truth)
        assert example.truth_error <= max(small, 0.007 * example.truth)


def type_of(x, y):
    has_numbers = [variable.numbers.size > 0 for variable in (x, y)]
    has_labels = [variable.labels.size > 0 for variable in (x, y)]
    if any(np.logical_and(has_numbers, has_labels)):
        return "mixed"
    return ["categories", "labels", "numbers"][sum(has_numbers)]


def test_samples_are_finite_and_have_their_type(prior):
    for example in prior:
        x, y = sampled(example, 100)
        assert example.type == type_of(x, y)
        for variable, columns in zip((x, y), example.columns):
            assert variable.numbers.dtype == np.float64
            assert variable.labels.dtype == np.int64
            width = variable.numbers.shape[1] + variable.labels.shape[1]
            assert width == columns <= 1600
            assert (np.abs(variable.numbers) < 1e12).all()


def test_columns_vary(prior):
    for example in prior:
        is_untied = example.type == "numbers" and not example.tied
        is_continuous = is_untied and "derived" not in example.families
        least = 1_991 if is_continuous else 2
        for variable in sampled(example, 2_000):
            columns = np.hstack([variable.numbers, variable.labels])
            for column in columns.T:
                assert len(np.unique(column)) >= least, example.description


def coded(variable):
    """Which of six equally filled parts, of three columns of numbers and two of labels."""
    columns = np.hstack([variable.numbers[:, :3], variable.labels[:, :2]])
    levels = np.arange(1, CELLS) / CELLS
    codes = []
    for column in columns.T:
        cuts = np.unique(np.quantile(column, levels))
        codes.append(np.searchsorted(cuts, column))
    return codes


def table_information(a, b):
    """The information in a table of two codes, nats, and its standard error."""
    counts = np.bincount(CELLS * a + b, minlength=CELLS**2)
    joint = counts.reshape(CELLS, CELLS) / len(a)
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    filled = joint > 0
    shares = joint[filled]
    log_ratio = np.log(shares / product[filled])
    nats = shares @ log_ratio
    variance = shares @ (log_ratio - nats) ** 2
    return nats, np.sqrt(variance / len(a))


def test_no_pair_of_columns_exceeds_the_truth(prior):
    """Data processing: what a table of single columns finds beyond its error must be
    there.
    """
    bias = (CELLS - 1) ** 2 / (2 * ROWS)
    for example in prior:
        x, y = sampled(example, ROWS)
        for a, b in itertools.product(coded(x), coded(y)):
            nats, error = table_information(a, b)
            limit = example.truth + 5 * error + bias + 0.005
            assert nats <= limit, example.description


def test_information_adds_over_subsystems():
    """Four columns of x and of y; the information in the table of both pairs is the sum
    of each pair's.
    """
    request = Request("categories", "categories", 0.3, (1, 1), (False, False))
    truth = 0.0
    pairs = []
    for seed in (1, 2):
        part = latent.discrete_channel(request, default_rng(seed))
        nats, _ = part.truth(default_rng(0))
        truth += nats
        pairs.append(part.draw(1_000_000, default_rng([7, seed])))
    codes = []
    for variables in zip(*pairs):
        labels = joined(variables).labels.T
        sizes = labels.max(axis=1) + 1
        codes.append(np.ravel_multi_index(labels, sizes))
    assert plug_in(*codes) == pytest.approx(truth, abs=0.006)


@pytest.mark.parametrize("seed", range(8))
def test_maps_are_invertible(seed):
    g = default_rng(seed)
    size = int(g.integers(2, 7))
    _, block = maps.draw_block_map(size, maps.BLOCK_MAPS, g)
    step = 1e-5
    steps = step * np.vstack([np.zeros(size), np.eye(size)])
    origin, *moved = block(g.normal(size=size) + steps)
    jacobian = (np.array(moved) - origin) / step
    assert abs(np.linalg.det(jacobian)) > 1e-4
    for end in (5.0, 1e6):
        _, monotone = maps.draw_monotone(g, end)
        grid = np.linspace(-end, end, 999)
        assert (np.diff(monotone(grid)) > 0).all()
