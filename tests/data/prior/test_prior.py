"""Distributions of the prior: reproducible, of the documented shares, with truths that no table exceeds."""

import numpy as np
import pytest

from infoscope.data.prior import FAMILIES, TYPES, distribution, latent, maps
from infoscope.data.prior.parts import Request, joined
from infoscope.data.prior.quadrature import table_information
from infoscope.errors import OutOfRange

NUMBERS = 40
ROWS, CELLS = 4_000, 6


@pytest.fixture(scope="module")
def prior():
    return [distribution(number) for number in range(NUMBERS)]


def test_same_number_gives_the_same_distribution():
    for number in (0, 5):
        first, second = (distribution(number) for _ in range(2))
        assert (first.description, first.truth, first.columns) == (second.description, second.truth, second.columns)
        for one, other in zip(first.sample(50, np.random.default_rng(1)), second.sample(50, np.random.default_rng(1))):
            assert np.array_equal(one.numbers, other.numbers) and np.array_equal(one.labels, other.labels)


def test_shares_of_types_ties_and_independence(prior):
    shares = [np.mean([d.type == kind for d in prior]) for kind in ("numbers", "labels", "categories", "mixed")]
    assert set(TYPES) == {"numbers", "labels", "categories", "mixed"}
    np.testing.assert_allclose(shares, [0.55, 0.2, 0.1, 0.15], atol=0.25)  # three standard errors of the largest
    nothing = [d for d in prior if d.families == ("nothing",)]
    assert len(nothing) >= NUMBERS / 20 and all(d.truth == d.truth_error == 0 for d in nothing)
    assert 0.15 < np.mean([d.tied for d in prior if d.type == "numbers"]) < 0.65
    assert all(d.truth_error <= max(0.002, 0.01 * d.truth) for d in prior)
    found = {family for d in prior for family in d.families}
    assert found <= set(FAMILIES) and len(found) >= 10


def test_samples_are_finite_and_have_their_type(prior):
    for d in prior:
        x, y = d.sample(100, np.random.default_rng(d.number))
        for variable, columns in zip((x, y), d.columns):
            assert variable.numbers.dtype == np.float64 and variable.labels.dtype == np.int64
            assert np.hstack([variable.numbers, variable.labels]).shape == (100, columns) and columns <= 600
            assert np.isfinite(variable.numbers).all() and (np.abs(variable.numbers) < 1e12).all()
        numbers, labels = (
            [of.shape[1] > 0 for of in sides] for sides in ((x.numbers, y.numbers), (x.labels, y.labels))
        )
        mixed = any(np.logical_and(numbers, labels))
        assert (d.type == "mixed") == mixed
        assert mixed or d.type == {0: "categories", 1: "labels", 2: "numbers"}[sum(numbers)]


def test_columns_vary(prior):
    for d in prior[:30]:
        for variable in d.sample(2_000, np.random.default_rng(d.number)):
            assert all(np.ptp(column) > 0 for column in [*variable.numbers.T, *variable.labels.T]), d.description
            if not d.tied and variable.numbers.shape[1] and d.type == "numbers":
                assert min(len(np.unique(column)) for column in variable.numbers.T) > 1_990, d.description


def coded(column):
    return np.searchsorted(np.unique(np.quantile(column, np.arange(1, CELLS) / CELLS)), column)


def test_no_pair_of_columns_exceeds_the_truth(prior):
    """Data processing: what a table of single columns finds beyond its error must be there."""
    for d in prior:
        x, y = d.sample(ROWS, np.random.default_rng(d.number))
        for a in [*x.numbers.T[:3], *x.labels.T[:2]]:
            for b in [*y.numbers.T[:3], *y.labels.T[:2]]:
                joint = np.histogram2d(coded(a), coded(b), CELLS, [[-0.5, CELLS - 0.5]] * 2)[0]
                expected = joint.sum(1, keepdims=True) * joint.sum(0) / ROWS
                there = joint > 0
                ratio = np.log(joint[there] / expected[there])
                nats = (joint[there] * ratio).sum() / ROWS
                error = np.sqrt(max((joint[there] * ratio**2).sum() / ROWS - nats**2, 0) / ROWS)
                assert nats <= d.truth + 5 * error + 25 / (2 * ROWS) + 0.005, (d.number, d.description)


def test_information_adds_over_subsystems():
    """Four columns of x and of y; the information in the table of both pairs is the sum of each pair's."""
    g = np.random.default_rng(7)
    request = Request("categories", "categories", 0.3, (1, 1), (False, False))
    parts = [latent.discrete_channel(request, np.random.default_rng(seed)) for seed in (1, 2)]
    (a, b), (c, d) = (part.draw(2_000_000, g) for part in parts)
    x, y = (joined(variable).labels for variable in ([a, c], [b, d]))
    x, y = (np.ravel_multi_index(labels.T, labels.max(axis=0) + 1) for labels in (x, y))
    joint = np.bincount(x * (y.max() + 1) + y, minlength=(x.max() + 1) * (y.max() + 1)) / 2_000_000
    joint = joint.reshape(-1, y.max() + 1)
    assert table_information(joint) == pytest.approx(sum(part.truth(g)[0] for part in parts), abs=0.012)


def test_maps_are_invertible():
    for seed in range(8):
        g = np.random.default_rng(seed)
        size = int(g.integers(2, 7))
        _, block = maps.draw_block_map(size, g)
        x = g.normal(size=(1, size))
        steps = 1e-5 * np.vstack([np.zeros(size), np.eye(size)])
        values = block(x + steps)
        assert abs(np.linalg.det((values[1:] - values[:1]) / 1e-5)) > 1e-4
        z = np.linspace(-5, 5, 2_001)
        assert (np.diff(maps.draw_monotone(g, 5.0)[1](z)) > 0).all()
        assert (np.diff(maps.draw_monotone(g, 1e6)[1](np.linspace(-1e6, 1e6, 999))) > 0).all()


@pytest.mark.parametrize("number", [-1, 1.5, True])
def test_numbers_are_whole_and_not_negative(number):
    with pytest.raises(OutOfRange, match="number"):
        distribution(number)
