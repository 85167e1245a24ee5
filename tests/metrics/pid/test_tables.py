"""Bounds of partial information, and two decompositions that must lie within them."""

import math

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from infoscope.estimators.result import Estimate
from infoscope.metrics.pid import (
    Decomposition,
    bounds,
    broja,
    crossing_note,
    discrete_information,
    tables,
    williams_beer,
)
from infoscope.notes import Note

BIT = np.log(2)


def gate(of):
    """p(target, a, b) of a function of two fair bits."""
    values = sorted({of(a, b) for a in (0, 1) for b in (0, 1)})
    table = np.zeros((len(values), 2, 2))
    for a in (0, 1):
        for b in (0, 1):
            table[values.index(of(a, b)), a, b] = 0.25
    return table


XOR, AND, COPY, BOTH = (gate(f) for f in (lambda a, b: a ^ b, lambda a, b: a & b, lambda a, b: a, lambda a, b: (a, b)))
SAME = np.zeros((2, 2, 2))
SAME[0, 0, 0] = SAME[1, 1, 1] = 0.5


def random_tables(seed, count=20):
    g = np.random.default_rng(seed)
    for i in range(count):
        shape = g.integers(2, 5, 3)
        yield g.dirichlet(np.full(shape.prod(), (1.0, 0.2)[i % 2])).reshape(shape)


def test_identities_of_the_bounds():
    """For any three informations that are possible: t is at least a and b, and no more is needed."""
    g = np.random.default_rng(0)
    a, b, more = g.exponential(size=(3, 1000))
    t = np.maximum(a, b) + more * g.integers(0, 2, 1000)
    found = bounds(a, b, t)
    width = np.minimum.reduce([a, b, t - a, t - b])
    for low, high in (found[:2], found[2:4], found[4:]):
        np.testing.assert_allclose(high - low, width, atol=1e-12)
        assert (low >= 0).all()
    np.testing.assert_allclose(found.unique_low + found.redundant_high, a, atol=1e-12)
    np.testing.assert_allclose(found.redundant_low + found.unique_high, a, atol=1e-12)
    np.testing.assert_allclose(found.synergistic_high + np.maximum(a, b), t, atol=1e-12)


def test_bounds_broadcast_and_are_not_clipped():
    assert bounds([[1.0], [2.0]], [0.5, 1.0, 1.5], 3.0).unique_low.shape == (2, 3)
    contradictory = bounds(1.0, 0.2, 0.9)  # estimates in which the whole tells less than a part
    assert contradictory[:2] == pytest.approx((0.8, 0.7))


@pytest.mark.parametrize(
    "table, informations, co",
    [
        (XOR, (0, 0, 1), -1),
        (COPY, (1, 0, 1), 0),
        (SAME, (1, 1, 1), 1),
        (AND, (0.311278, 0.311278, 0.811278), -0.188722),
    ],
)
def test_gates(table, informations, co):
    """XOR is synergy, a copied bit redundancy, whatever the definition."""
    found = discrete_information(table)
    np.testing.assert_allclose(found, np.array(informations) * BIT, atol=1e-6)
    assert found[0] + found[1] - found[2] == pytest.approx(co * BIT, abs=1e-6)
    if abs(co) == 1:
        only = (0, BIT, 0) if co > 0 else (0, 0, BIT)  # unique, redundant, synergistic
        assert bounds(*found)[::2] == pytest.approx(only, abs=1e-12) == bounds(*found)[1::2]


def test_williams_beer_redundancy_of_two_separate_bits_is_positive():
    """The known objection to I_min: two independent copied bits, one in each source."""
    np.testing.assert_allclose(williams_beer(BOTH)[:4], np.array([0, 0, 1, 1]) * BIT, atol=1e-12)
    np.testing.assert_allclose(williams_beer(AND)[:4], np.array([0, 0, 0.311278, 0.5]) * BIT, atol=1e-6)


@pytest.mark.parametrize("decompose", (broja, williams_beer))
def test_decompositions_lie_within_the_bounds(decompose):
    for table in random_tables(1):
        a, b, t = discrete_information(table)
        found = decompose(table)
        assert isinstance(found, Decomposition) and sum(found[:4]) == pytest.approx(t)
        assert found.unique_a + found.redundant == pytest.approx(a)
        assert found.unique_b + found.redundant == pytest.approx(b)
        low, high = bounds(a, b, t)[::2], bounds(a, b, t)[1::2]
        terms = np.array([found.unique_a, found.redundant, found.synergistic])
        assert (terms >= np.array(low) - 1e-7).all() and (terms <= np.array(high) + 1e-7).all()


def test_the_terms_do_not_depend_on_order_and_the_gap_is_kept():
    for table in random_tables(3, 4):
        found, swapped = broja(table), broja(table.swapaxes(1, 2)[::-1])
        assert found.unique_a == pytest.approx(swapped.unique_b, abs=1e-7)
        assert 0 <= found.gap <= 1e-8
    impossible = np.zeros((3, 2, 2))
    impossible[:2] = SAME  # a value of the target that does not occur
    assert broja(impossible).redundant == pytest.approx(BIT)


def test_the_note_has_the_excess_in_standard_errors():
    assert "15.0 standard errors" in crossing_note(0.3, 0.02, "nats")
    assert "0.433 bits" in crossing_note(0.3, math.nan, "nats")
    assert crossing_note(-0.3, 0.02, "nats") == "" == crossing_note(0.0, 0.0, "nats") == crossing_note(math.nan, 1, "")


def test_crossed_bounds_have_a_note_and_are_not_clipped():
    """t below a: all three lower bounds are above their upper ones by 0.1, which is -min(a, b, t - a, t - b)."""
    crossed = bounds(0.5, 0.1, 0.4)
    assert [high - low for low, high in zip(crossed[::2], crossed[1::2])] == pytest.approx([-0.1] * 3)
    assert crossed.notes and crossed.excess == pytest.approx(0.1)
    many = bounds([0.5, 0.2], [0.1, 0.1], [0.4, 0.4])
    assert many.excess == pytest.approx([0.1, -0.1]) and "1 of 2" in many.notes[0]
    assert bounds([0.5, 0.0], [0.1, 0.0], [0.55, 0.0]).notes == ()


def test_the_solver_takes_one_thread_of_linear_algebra(monkeypatch):
    """Its matrices are small: with several threads a loaded machine takes four times as long or more."""
    used = []

    def solve(p, tolerance):
        used.append(max(pool["num_threads"] for pool in threadpool_info()))
        return 0.0, 0.0

    monkeypatch.setattr(tables, "_least_joint_information", solve)
    with threadpool_limits(4):
        broja(np.full((2, 2, 2), 1 / 8))
    assert used == [1]


def test_a_decomposition_has_the_notes_of_its_terms():
    noted = Estimate(0.1, notes=(Note("k is large.", "neighbours", "k"),))
    below = Decomposition(noted, -0.1, noted, 0.2, 0.0)
    assert [(note.code, note.argument) for note in below.notes] == [("neighbours", "k"), ("below 0", "unique_b")]
