"""Decompositions by nearest neighbours against known densities."""

import numpy as np
import pytest

from infoscope.estimators import knn
from infoscope.estimators.columns import Discrete
from infoscope.metrics import pid

GATES = {
    "and": lambda a, b: a & b,
    "xor": lambda a, b: a ^ b,
    "unique": lambda a, b: a,
    "copy": lambda a, b: 2 * a + b,
    "sum": lambda a, b: a + b,
}


def shared_in_gate(of):
    """The redundancy of two fair bits and their gate, each with little uniform noise: densities within a
    noise are even, so f is the probability of the bits."""
    cells = [(of(a, b), a, b) for a in (0, 1) for b in (0, 1)]

    def p(*at):
        return np.mean([all(cell[axis] == value for axis, value in at) for cell in cells])

    return np.mean([
        np.log((p((0, t), (1, a)) + p((0, t), (2, b))) / (p((0, t)) * (p((1, a)) + p((2, b))))) for t, a, b in cells
    ])  # fmt: skip


def gate_rows(of, n, seed):
    """Fair bits and their gate [n]."""
    a, b = np.random.default_rng(seed).integers(0, 2, (2, n))
    return a, b, of(a, b)


def noisy(side, seed):
    return side + 0.1 * np.random.default_rng([seed, 1]).random(len(side))


def normal_rows(covariance, n, seed):
    return np.random.default_rng(seed).standard_normal((n, 3)) @ np.linalg.cholesky(covariance).T


def shared_in_normal(covariance, n=400_000):
    """The redundancy of normal (a, b, target), the mean of the definition over draws, and its error."""
    rows = normal_rows(covariance, n, 99)

    def density(*places):
        block, values = covariance[np.ix_(places, places)], rows[:, places]
        squares = np.einsum("ni,ij,nj->n", values, np.linalg.inv(block), values)
        return np.exp(-squares / 2) / np.sqrt(np.linalg.det(2 * np.pi * block))

    local = np.log((density(0, 2) + density(1, 2)) / (density(2) * (density(0) + density(1))))
    return local.mean(), local.std() / np.sqrt(n)


@pytest.mark.parametrize("gate", GATES)
def test_gates_under_a_little_noise(gate):
    """Of target numbers and of categories; the error allows for the bias of a few thousand rows, too."""
    a, b, target = gate_rows(GATES[gate], 4000, 0)
    exact = shared_in_gate(GATES[gate])
    for of in (noisy(target, 3), Discrete(target)):
        found = pid.shared_exclusion(noisy(a, 1), noisy(b, 2), of, margins="given")
        assert abs(found.redundant.value - exact) < 4 * found.redundant.standard_error + 0.01
        assert sum(found[:4]) == pytest.approx(found.informations[2])


@pytest.mark.parametrize("with_a, with_b, between", [(0.6, 0.6, 0.0), (0.8, 0.3, 0.5), (0.0, 0.9, 0.0)])
def test_normal_sources(with_a, with_b, between):
    covariance = np.array([[1, between, with_a], [between, 1, with_b], [with_a, with_b, 1]])
    exact, error = shared_in_normal(covariance)
    a, b, target = normal_rows(covariance, 3000, 1).T
    found = pid.shared_exclusion(a, b, target)
    assert abs(found.redundant.value - exact) < 4 * np.hypot(found.redundant.standard_error, error) + 0.01
    expected = [knn.mutual_information(source, target, margins="rank").value for source in (a, b)]
    assert found.informations[:2] == pytest.approx(expected)


def test_sources_change_places_and_ranks_decide():
    a, b, target = normal_rows(np.array([[1, 0.2, 0.7], [0.2, 1, 0.4], [0.7, 0.4, 1]]), 500, 0).T
    found, swapped = pid.shared_exclusion(a, b, target), pid.shared_exclusion(b, a, target)
    assert swapped.redundant == pytest.approx(found.redundant) and swapped.unique_b == pytest.approx(found.unique_a)
    assert pid.shared_exclusion(np.exp(a), b**3, target).redundant == pytest.approx(found.redundant, abs=1e-12)
    np.testing.assert_allclose(found.redundant.local.mean(), found.redundant.value)
    np.testing.assert_allclose(found.unique_a.local.mean(), found.unique_a.value)
    assert found.redundant.n == 500 and found.synergistic.standard_error > 0


def test_counts_are_those_of_brute_force():
    rows = np.random.default_rng(2).standard_normal((60, 3))
    target, k = (rows[:, 2] > 0.3).astype(int), 4
    for categories in (False, True):
        near = np.abs(rows[:, None] - rows).transpose(2, 0, 1)
        if categories:
            near[2] = np.where(target[:, None] == target, 0.0, np.inf)
        source = np.minimum(near[0], near[1])
        both = np.maximum(source, near[2])
        radius = np.sort(both, axis=1)[:, k][:, None]  # the row itself is at 0
        in_target = near[2] == 0 if categories else near[2] < radius
        harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, 61))])  # psi(m) + Euler's constant is H(m - 1)
        counts = [in_target.sum(axis=1), (source < radius).sum(axis=1)]
        expected = harmonic[k - 1] + harmonic[59] - sum(harmonic[count - 1] for count in counts)
        of = Discrete(target) if categories else rows[:, 2]
        found = pid.shared_exclusion(rows[:, 0], rows[:, 1], of, k, margins="given")
        np.testing.assert_allclose(found.redundant.local, expected, atol=1e-12)


@pytest.mark.parametrize("gate", ["and", "xor", "unique", "sum"])
def test_least_specific_information_of_mixed_variables(gate):
    """Bits under little noise have the terms of the table."""
    a, b, target = gate_rows(GATES[gate], 3000, 1)
    table = np.zeros((3, 2, 2))
    np.add.at(table, (target, a, b), 1 / len(a))
    exact = pid.williams_beer(table)
    found = pid.williams_beer_from_arrays(noisy(a, 1), noisy(b, 2), Discrete(target))
    assert found[:4] == pytest.approx(exact[:4], abs=0.03)
    of_bits = pid.williams_beer_from_arrays(Discrete(a), Discrete(b), Discrete(target))
    assert of_bits[:4] == pytest.approx(exact[:4], abs=0.005)
