"""Subsamples of one data set: who is in them, and the exactness of the estimates on all
of them at once.
"""

import numpy as np
import pytest

from infoscope.estimators import knn
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.uncertainty import _engine
from infoscope.estimators.uncertainty._engine import resampled
from infoscope.estimators.uncertainty.subsampling import half_samples, leave_one_out
from tests.estimators.samples import draws, sample_of
from tests.refusals import refused

N = 250
G = draws()
X = G.normal(size=(N, 3))
LABELS = G.integers(0, 4, N)
LABELS[:2] = 4  # a class that some subsamples have one row of, or none
X[:, 0] += LABELS
X1 = X[:, :1]
Y1 = X1 + G.normal(size=(N, 1))
Z = Y1 + G.normal(size=(N, 2))
DOMAIN = G.integers(0, 3, N)
TIED = X.copy()
TIED[5] = TIED[6]
TIED[9, 0] = TIED[7, 0]


def assert_exact(sample, weights, k, tolerance=1e-12):
    """Every estimate of `resampled` is that of its rows alone."""
    alone = [sample.alone(member > 0, k) for member in weights.T]
    np.testing.assert_allclose(
        resampled(sample, weights, k), alone, rtol=0, atol=tolerance
    )


@pytest.fixture(scope="module")
def weights():
    """Everything, halves, and subsamples so small that many lists of neighbours are too
    short for them.
    """
    g = draws(1)
    halves = g.random((N, 99)) < 0.5
    small = g.random((N, 40)) < 0.12
    return np.hstack([np.ones((N, 1)), halves, small]).astype(np.uint8)


TYPED = {
    "numbers given numbers": (X, Y1, Z),
    "classes": (X, LABELS),
    "stratified Ross": (X, LABELS, DOMAIN),
    "stratified KSG": (X, Y1, DOMAIN),
    "discrete": (LABELS, DOMAIN),
    "mixed columns": ([Continuous(X), Discrete(DOMAIN)], Y1),
    "labels given both": (LABELS, X, [Continuous(Z), Discrete(DOMAIN)]),
    "tied everywhere": (np.round(X, 1), np.round(Y1, 1)),
    "far away": (1e-6 * X + 1e6, 1e-6 * Y1 + 1e6),
    "half of it 0": (np.where(X.mean(axis=0) > X, 0.0, X), Y1),
    "ties and classes": (TIED, LABELS),
    "single precision": (X1.astype(np.float32), Y1.astype(np.float32)),
}


@pytest.mark.parametrize("case", TYPED)
def test_every_mixture_of_types_is_exact(weights, case):
    variables = TYPED[case]
    sample = sample_of(*variables)
    assert_exact(sample, weights, 5)
    measure = knn.mutual_information
    if len(variables) == 3:
        measure = knn.conditional_mutual_information
    (whole,) = resampled(sample, weights[:, :1], 5)
    assert whole == pytest.approx(measure(*variables, k=5).value, abs=1e-12)


def test_lists_that_are_too_short_are_detected_and_completed(weights, monkeypatch):
    calls = []
    from_full_row = _engine.Engine.add_from_full_row

    def record(*arguments):
        calls.append(arguments)
        return from_full_row(*arguments)

    monkeypatch.setattr(_engine, "list_length", lambda *counts: 8)
    monkeypatch.setattr(_engine.Engine, "add_from_full_row", record)
    assert_exact(sample_of(X, Y1), weights, 5)
    assert len(calls) == N  # in 8 others, one of 100 halves lacks 5 for every row


def test_more_rows_than_sixteen_bits_can_count():
    """70,000 rows: a margin's count exceeds 65,535; the whole sample beside one that
    lacks ten rows.
    """
    g = draws(2)
    x = g.normal(size=(70_000, 1))
    noisy = x + 0.1 * g.normal(size=x.shape)
    sample = sample_of(np.hstack([x, noisy]), g.integers(0, 2, 70_000))
    weights = np.ones((70_000, 2), np.uint8)
    weights[:10, 1] = 0
    assert_exact(sample, weights, 3, 1e-11)


def test_more_points_within_reach_than_a_byte_can_count():
    """2 + 2 independent columns, one row in ten: several hundred rows are within the
    widest reach in each margin.
    """
    g = draws(3)
    sample = sample_of(g.normal(size=(3000, 2)), g.normal(size=(3000, 2)))
    weights = g.random((3000, 12)) < 0.1
    assert_exact(sample, weights.astype(np.uint8), 5)


def test_k_must_be_below_the_smallest_subsample(weights):
    with refused("k", "range"):
        resampled(sample_of(X, Y1), weights, N // 2)


def test_halves_hold_half_the_rows_once():
    weights = half_samples(101, 20, draws()).weights
    assert weights.shape == (101, 20)
    assert weights.max() == 1
    assert (weights.sum(axis=0) == 50).all()


@pytest.mark.parametrize("plan", [half_samples, leave_one_out])
def test_groups_are_drawn_as_wholes(plan):
    drawn = plan(120, 15, draws(), np.repeat(np.arange(30), 4))
    by_group = drawn.weights.reshape(30, 4, -1)
    assert (by_group == by_group[:, :1]).all()
    assert drawn.units == 30


def test_blocks_divide_the_rows():
    left_out = 1 - leave_one_out(100, 20, draws()).weights
    assert (left_out.sum(axis=1) == 1).all()
    assert (left_out.sum(axis=0) == 5).all()


@pytest.mark.parametrize(
    ("rows", "groups", "argument", "code"),
    [
        (7, None, "rows", "few"),
        (20, np.repeat([0, 1], 10), "groups", "few"),
        (20, np.zeros(19), "groups", "length"),
    ],
)
def test_halves_that_cannot_be_drawn_are_refused(rows, groups, argument, code):
    with refused(argument, code):
        half_samples(rows, 20, draws(), groups)


def test_too_few_blocks_are_refused():
    with refused("blocks", "range"):
        leave_one_out(20, 3, draws())
