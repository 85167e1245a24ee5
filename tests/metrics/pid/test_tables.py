"""Bounds of partial information, and two decompositions that must lie within them."""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx
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
SAME = np.zeros((2, 2, 2))
SAME[0, 0, 0] = SAME[1, 1, 1] = 0.5
SEPARATE = np.zeros((4, 2, 2))  # the target is both of two independent bits
SEPARATE[[0, 1, 2, 3], [0, 0, 1, 1], [0, 1, 0, 1]] = 0.25


def random_tables(seed, count):
    rng = default_rng(seed)
    for number in range(count):
        shape = rng.integers(2, 5, 3)
        concentration = np.full(shape.prod(), (1.0, 0.2)[number % 2])
        yield rng.dirichlet(concentration).reshape(shape)


def test_identities_of_the_bounds():
    """For any three informations that are possible: t is at least a and b, and no more
    is needed.
    """
    rng = default_rng(0)
    a, b, more = rng.exponential(size=(3, 1000))
    larger = np.maximum(a, b)
    t = larger + more * rng.integers(0, 2, 1000)
    limits = bounds(a, b, t)
    width = np.minimum.reduce([a, b, t - a, t - b])
    for low, high in zip(limits[::2], limits[1::2]):
        assert_allclose(high - low, width, atol=1e-12)
        assert (low >= 0).all()
    assert_allclose(limits.unique_low + limits.redundant_high, a, atol=1e-12)
    assert_allclose(limits.redundant_low + limits.unique_high, a, atol=1e-12)
    assert_allclose(limits.synergistic_high + larger, t, atol=1e-12)


@pytest.mark.parametrize(
    ("table", "bits"), [(SEPARATE, (0, 0, 1, 1)), (SAME, (0, 0, 1, 0))]
)
def test_williams_beer_redundancy_of_two_separate_bits_is_positive(table, bits):
    """The well-known objection to I_min: two independent copied bits, one in each
    source.
    """
    terms = williams_beer(table)
    assert_allclose(terms[:4], np.array(bits) * BIT, atol=1e-12)


@pytest.mark.parametrize("decompose", (broja, williams_beer))
def test_decompositions_lie_within_the_bounds(decompose):
    for table in random_tables(1, 20):
        a, b, t = discrete_information(table)
        terms = decompose(table)
        assert sum(terms[:4]) == approx(t)
        assert terms.unique_a + terms.redundant == approx(a)
        assert terms.unique_b + terms.redundant == approx(b)
        limits = bounds(a, b, t)
        assert_between(terms.unique_a, limits.unique_low, limits.unique_high)
        assert_between(terms.redundant, limits.redundant_low, limits.redundant_high)
        assert_between(
            terms.synergistic, limits.synergistic_low, limits.synergistic_high
        )


def assert_between(value, low, high):
    assert low - 1e-7 <= value <= high + 1e-7


def test_the_terms_do_not_depend_on_order_and_the_gap_is_small():
    for table in random_tables(3, 4):
        terms = broja(table)
        swapped = broja(table.swapaxes(1, 2)[::-1])
        assert terms.unique_a == approx(swapped.unique_b, abs=1e-7)
        assert 0 <= terms.gap <= 1e-8
    with_impossible_value = np.zeros((3, 2, 2))
    with_impossible_value[:2] = SAME
    assert broja(with_impossible_value).redundant == approx(BIT)


def test_the_note_has_the_excess_in_standard_errors():
    assert "15.0 standard errors" in crossing_note(0.3, 0.02, "nats")
    assert "0.433 bits" in crossing_note(0.3, math.nan, "nats")
    for excess in (-0.3, 0.0, math.nan):
        assert crossing_note(excess, 0.02, "nats") == ""


def test_crossed_bounds_have_a_note_and_are_not_clipped():
    """t below a: all three lower bounds are above their upper ones by 0.1, which is
    -min(a, b, t - a, t - b).
    """
    a = [0.5, 0.2]
    b = [0.1, 0.1]
    t = [0.4, 0.4]
    crossed = bounds(a, b, t)
    for low, high in zip(crossed[::2], crossed[1::2]):
        assert low - high == approx([0.1, -0.1])
    assert crossed.excess == approx([0.1, -0.1])
    assert "1 of 2" in crossed.notes[0]
    possible = bounds([0.5, 0.0], [0.1, 0.0], [0.55, 0.0])
    assert possible.notes == ()


def test_the_solver_takes_one_thread_of_linear_algebra(monkeypatch):
    """Its matrices are small: with several threads a loaded machine takes four times as
    long or more.
    """
    threads = []

    def solve(p, tolerance):
        for pool in threadpool_info():
            threads.append(pool["num_threads"])
        return 0.0, 0.0

    monkeypatch.setattr(tables, "_least_joint_information", solve)
    with threadpool_limits(4):
        broja(np.full((2, 2, 2), 1 / 8))
    assert set(threads) == {1}


def test_a_decomposition_has_the_notes_of_its_terms():
    term = Estimate(0.1, notes=(Note("k is large.", "neighbours", "k"),))
    decomposition = Decomposition(term, -0.1, term, 0.2, 0.0)
    of_term, of_negative = decomposition.notes
    assert of_term.code == "neighbours"
    assert of_negative.code == "below 0"
    assert of_negative.argument == "unique_b"
