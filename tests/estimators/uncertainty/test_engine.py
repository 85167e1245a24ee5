"""Subsamples of one data set: who is in them, and the exactness of the estimates on all of them at once."""

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


@pytest.fixture(scope="module")
def data():
    g = draws()
    x = g.normal(size=(N, 3))
    labels = g.integers(0, 4, N)
    labels[:2] = 4  # a class that some subsamples have one row of, or none
    x[:, 0] += labels
    y = np.hstack([x[:, :1] + g.normal(size=(N, 1)), g.normal(size=(N, 1))])
    return {"x": x, "x1": x[:, :1], "y": y, "y1": y[:, :1], "z": g.normal(size=(N, 2)) + y[:, :1],
            "labels": labels, "domain": g.integers(0, 3, N)}  # fmt: skip


@pytest.fixture(scope="module")
def weights():
    """Everything, halves, and subsamples so small that many lists of neighbours are too short for them."""
    g = draws(1)
    return np.hstack([np.ones((N, 1)), g.random((N, 99)) < 0.5, g.random((N, 40)) < 0.12]).astype(np.uint8)


def with_ties(x):
    x = x.copy()
    x[5], x[9, 0] = x[6], x[7, 0]
    return x


TYPED = {
    "numbers": lambda d: (d["x1"], d["y1"]),
    "numbers given numbers": lambda d: (d["x"], d["y1"], d["z"]),
    "classes": lambda d: (d["x"], d["labels"]),
    "stratified Ross": lambda d: (d["x"], d["labels"], d["domain"]),
    "stratified KSG": lambda d: (d["x"], d["y1"], d["domain"]),
    "discrete": lambda d: (d["labels"], d["domain"]),
    "mixed columns": lambda d: ([Continuous(d["x"]), Discrete(d["domain"])], d["y1"]),
    "labels given both": lambda d: (d["labels"], d["x"], [Continuous(d["z"]), Discrete(d["domain"])]),
    "tied everywhere": lambda d: (np.round(d["x"], 1), np.round(d["y1"], 1)),
    "far away": lambda d: (1e-6 * d["x"] + 1e6, 1e-6 * d["y1"] + 1e6),
    "half of it 0": lambda d: (np.where(d["x"] < d["x"].mean(axis=0), 0.0, d["x"]), d["y1"]),
    "ties and classes": lambda d: (with_ties(d["x"]), d["labels"]),
    "single precision": lambda d: (d["x1"].astype(np.float32), d["y1"].astype(np.float32)),
}


@pytest.mark.parametrize("case", TYPED)
def test_every_mixture_of_types_is_exact(data, weights, case):
    sample = sample_of(*TYPED[case](data))
    together = resampled(sample, weights, 5)
    alone = [sample.alone(member > 0, 5) for member in weights.T]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)
    measure = knn.mutual_information if len(sample.variables) == 2 else knn.conditional_mutual_information
    assert together[0] == pytest.approx(float(measure(*TYPED[case](data), k=5)), abs=1e-12)


def test_lists_that_are_too_short_are_detected_and_completed(data, weights, monkeypatch):
    sample = sample_of(data["x"], data["y1"])
    alone = [sample.alone(member > 0, 5) for member in weights.T]
    calls = []
    full_row = _engine.Engine.add_from_full_row
    monkeypatch.setattr(_engine, "list_length", lambda *counts: 8)
    monkeypatch.setattr(_engine.Engine, "add_from_full_row", lambda *a: (calls.append(a), full_row(*a))[1])
    np.testing.assert_allclose(resampled(sample, weights, 5), alone, rtol=0, atol=1e-12)
    assert len(calls) == N  # in 8 others, one of 100 halves lacks 5 for every row


def test_more_rows_than_sixteen_bits_can_count():
    """70,000 rows: a margin's count exceeds 65,535; the whole sample beside one that lacks ten rows."""
    g = draws(2)
    x = g.normal(size=(70_000, 1))
    sample = sample_of(np.hstack([x, x + 0.1 * g.normal(size=x.shape)]), g.integers(0, 2, 70_000))
    weights = np.ones((70_000, 2), np.uint8)
    weights[:10, 1] = 0
    together = resampled(sample, weights, 3)
    for b in range(2):
        assert together[b] == pytest.approx(sample.alone(weights[:, b] > 0, 3), abs=1e-11)


def test_more_points_within_reach_than_a_byte_can_count():
    """2 + 2 independent columns, one row in ten: several hundred rows are within the widest reach in each margin."""
    g = draws(3)
    sample = sample_of(g.normal(size=(3000, 2)), g.normal(size=(3000, 2)))
    weights = (g.random((3000, 12)) < 0.1).astype(np.uint8)
    together = resampled(sample, weights, 5)
    alone = [sample.alone(member > 0, 5) for member in weights.T]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)


def test_k_must_be_below_the_smallest_subsample(data, weights):
    with refused("k", "range"):
        resampled(sample_of(data["x"], data["y"]), weights, N // 2)


def test_halves_hold_half_the_rows_once():
    plan = half_samples(101, 20, draws())
    assert plan.weights.shape == (101, 20) and set(plan.weights.sum(axis=0)) == {50} and plan.weights.max() == 1


def test_groups_are_drawn_as_wholes():
    groups = np.repeat(np.arange(30), 4)
    for plan in (half_samples(120, 15, draws(), groups), leave_one_out(120, 10, draws(), groups)):
        by_group = plan.weights.reshape(30, 4, -1)
        assert (by_group == by_group[:, :1]).all() and plan.units == 30


def test_blocks_divide_the_rows():
    left_out = 1 - leave_one_out(100, 20, draws()).weights
    assert (left_out.sum(axis=1) == 1).all() and set(left_out.sum(axis=0)) == {5}


@pytest.mark.parametrize(("call", "argument", "code"), [
    (lambda: half_samples(7, 20, draws()), "rows", "few"),
    (lambda: half_samples(20, 20, draws(), np.repeat([0, 1], 10)), "groups", "few"),
    (lambda: half_samples(20, 20, draws(), np.zeros(19)), "groups", "length"),
    (lambda: leave_one_out(20, 3, draws()), "blocks", "range"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_one_sentence(call, argument, code):
    with refused(argument, code):
        call()
