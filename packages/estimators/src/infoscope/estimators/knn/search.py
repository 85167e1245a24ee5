"""Exact nearest neighbours and range counts in the maximum norm, within strata.

A distance is max |a - b| in float64, `within` is strict; SIMD over the leaves of a k-d tree, memory linear in n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infoscope.estimators.knn._numba import bisect_counts, build, scan_counts, scan_nearest


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest others of each point, in its stratum: `distances` float64 [n, k], ascending, inf where there are
    fewer; `ids` intp [n, k], their rows, -1 there; `ties` intp [n], further points exactly as far as the k-th.
    """

    distances: np.ndarray
    ids: np.ndarray
    ties: np.ndarray


def nearest(
    points: np.ndarray, k: int, codes: np.ndarray | None = None, groups: np.ndarray | None = None
) -> Neighbours:
    """The k nearest others of every row of `points` [n, d] float64 among the rows of the same `codes` [n].

    Rows of the same `groups` [n] (codes) are excluded.
    """
    tree = build(points, codes)
    n = len(points)
    own = np.arange(n) if groups is None else groups[tree.order].astype(np.intp)
    distances, ids = np.full((n, k), np.inf), np.full((n, k), -1, dtype=np.intp)
    ties = np.zeros(n, dtype=np.intp)
    scan_nearest(*tree.arrays, *tree.in_steps, own, distances, ids, ties)
    back = np.empty(n, dtype=np.intp)
    back[tree.order] = np.arange(n)
    ids = np.where(ids >= 0, tree.order[ids], -1)
    return Neighbours(distances[back], ids[back], ties[back])


def count_within(
    points: np.ndarray, radius: np.ndarray, codes: np.ndarray | None = None, groups: np.ndarray | None = None
) -> np.ndarray:
    """How many others [n] of the same `codes` are nearer than `radius` [n], strictly. Arguments as in `nearest`."""
    n = len(points)
    if groups is not None:  # all there are, less those of the same group, which is one more stratum
        within = groups if codes is None else codes.astype(np.int64) * (int(groups.max()) + 1) + groups
        everyone = count_within(points, radius, codes)
        return everyone - count_within(points, radius, np.unique(within, return_inverse=True)[1])
    counts = np.empty(n, dtype=np.intp)
    if points.shape[1] == 1:
        codes = np.zeros(n, dtype=np.intp) if codes is None else codes
        order = np.lexsort((points[:, 0], codes))
        counts[order] = bisect_counts(points[order, 0], codes[order], radius[order])
        return counts
    tree = build(points, codes)
    found = np.zeros(n, dtype=np.intp)
    scan_counts(*tree.arrays, *tree.in_steps, radius[tree.order], found)
    counts[tree.order] = found
    return counts
