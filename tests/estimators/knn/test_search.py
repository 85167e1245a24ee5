"""Neighbours and counts against the whole distance matrix, in the maximum norm."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_array_equal

from infoscope.estimators.knn import _numba
from infoscope.estimators.knn.search import count_within, nearest


def distance_matrix(points, codes, groups):
    """Infinite to what is no neighbour: rows of other strata, and rows of one group."""
    distances = np.abs(points[:, None] - points).max(axis=2)
    np.fill_diagonal(distances, np.inf)
    if codes is not None:
        distances[codes[:, None] != codes] = np.inf
    if groups is not None:
        distances[groups[:, None] == groups] = np.inf
    return distances


def samples(kind, n, dim, generator):
    points = generator.normal(size=(n, dim))
    match kind:
        case "grid":
            return np.round(2 * points) / 3
        case "scales":
            return points * 10.0 ** generator.integers(
                -12, 12, dim
            ) + 10.0 ** generator.integers(-3, 6)
        case "heavy tails":
            return generator.standard_cauchy((n, dim)) ** 3
        case "far away":
            return points * 1e-9 + 1e6
        case "tiny":
            return points * 1e-200
        case _:
            return points


KINDS = ["normal", "grid", "scales", "heavy tails", "far away", "tiny"]


# rows, columns, k
SIZES = (700, 1, 3), (900, 3, 5), (600, 13, 4), (300, 26, 1), (6, 2, 5)


def compare_with_the_distance_matrix(points, k, codes, groups):
    distances = distance_matrix(points, codes, groups)
    expected = np.sort(distances, axis=1)[:, :k]
    neighbours = nearest(points, k, codes, groups=groups)
    assert_array_equal(neighbours.distances, expected)
    radius = expected[:, -1]
    has_k = np.isfinite(radius)
    within = (distances <= radius[:, None]).sum(axis=1)
    assert_array_equal(neighbours.ties[has_k], within[has_k] - k)
    for i, ids in enumerate(neighbours.ids):
        ids = ids[ids >= 0]
        assert len(set(ids)) == len(ids) == np.isfinite(expected[i]).sum()
        assert_array_equal(distances[i, ids], expected[i, : len(ids)])
    for factor in (0, 0.5, 1, 2.5):
        radius = factor * np.where(has_k, expected[:, -1], 1.0)
        inside = (distances < radius[:, None]).sum(axis=1)
        assert_array_equal(count_within(points, radius, codes, groups=groups), inside)


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize(
    ("kind", "grouped"),
    [*((kind, False) for kind in KINDS), ("normal", True), ("grid", True)],
)
def test_exactly_those_of_the_distance_matrix(kind, grouped, stratified):
    generator = default_rng(len(kind))
    for n, dim, k in SIZES:
        points = samples(kind, n, dim, generator)
        codes = generator.integers(0, 7, n) if stratified else None
        groups = generator.integers(0, max(3, n // 10), n) if grouped else None
        compare_with_the_distance_matrix(points, k, codes, groups)


@pytest.mark.parametrize("kind", ["grid", "scales", "far away"])
def test_leaves_of_few_points_change_nothing(kind, monkeypatch):
    """Most points are then decided by their distance in steps of a byte."""
    monkeypatch.setattr(_numba, "leaf_size", lambda dim: 50)
    generator = default_rng(len(kind))
    for n, dim, k in SIZES:
        points = samples(kind, n, dim, generator)
        compare_with_the_distance_matrix(points, k, generator.integers(0, 7, n), None)


def test_a_count_on_a_line_is_not_fooled_by_the_rounding_of_the_edge():
    """0.3 - 0.1 < 0.2 is true in float64, though 0.3 < 0.1 + 0.2 is too and 0.1 < 0.3 -
    0.2 is not.
    """
    values = np.array([0.1, 0.3, 0.7])[:, None]
    for radius in (0.2, 0.3 - 0.1, 0.7 - 0.3, 0.4, 0.6):
        inside = np.abs(values - values.T) < radius
        counts = count_within(values, np.full(3, radius))
        assert_array_equal(counts, inside.sum(axis=1) - 1)


def test_memory_is_linear():
    """20,000 points: all distances would be 3.2 GB; the tree and the result are under
    20 MB.
    """
    points = default_rng(0).normal(size=(20_000, 6))
    nearest(points[:100], 5)
    tracemalloc.start()
    radius = nearest(points, 5).distances[:, -1]
    count_within(points, radius)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


IMPORTS = """
from infoscope.estimators import knn, npeet
import infoscope.estimators.knn._numba as n
import sys
kernels = [v for v in vars(n).values() if hasattr(v, 'signatures')]
assert len(kernels) > 5 and not any(kernel.signatures for kernel in kernels)
assert 'jax' not in sys.modules
"""


@pytest.mark.system
def test_import_compiles_nothing():
    subprocess.run([sys.executable, "-c", IMPORTS], check=True, timeout=120)


@pytest.mark.parametrize("seed", range(3050, 3054))
def test_neighbours_that_rounding_cannot_tell_apart_are_found_beside_their_own_group(
    seed,
):
    """Two clusters so far apart that float32 distances within one are alike; half of
    the rows are of the own group.
    """
    generator = default_rng(seed)
    points = 3 * generator.normal(size=(40, 1)) + 1e7 * generator.integers(
        0, 2, (40, 1)
    )
    compare_with_the_distance_matrix(points, 5, None, generator.integers(0, 2, 40))
