"""Exact nearest neighbours and range counts in the maximum norm, within strata.

A distance is max |a - b| in float64, `within` is strict; SIMD over the leaves of a k-d
tree, memory linear in n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infoscope.estimators.knn._numba import (
    bisect_counts,
    build,
    scan_counts,
    scan_nearest,
)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest others of each point, in its stratum: `distances` float64 [n, k],
    ascending, inf where there are fewer; `ids` intp [n, k], their rows, -1 there;
    `ties` intp [n], further points exactly as far as the k-th.
    """

    distances: np.ndarray
    ids: np.ndarray
    ties: np.ndarray


def nearest(
    points: np.ndarray,
    k: int,
    codes: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> Neighbours:
    """The k nearest others of every row of `points` [n, d] float64 among the rows of
    the same `codes` [n].

    Rows of the same `groups` [n] (codes) are excluded.
    """
    tree = build(points, codes)
    n = len(points)
    excluded = np.arange(n)  # the point itself
    if groups is not None:
        excluded = groups[tree.order].astype(np.intp)
    distances = np.full((n, k), np.inf)
    places = np.full((n, k), -1, dtype=np.intp)  # in the order of the tree
    ties = np.zeros(n, dtype=np.intp)
    scan_nearest(*tree.arrays, *tree.in_steps, excluded, distances, places, ties)
    back = np.empty(n, dtype=np.intp)
    back[tree.order] = np.arange(n)
    ids = np.where(places >= 0, tree.order[places], -1)
    return Neighbours(distances[back], ids[back], ties[back])


def count_within(
    points: np.ndarray,
    radius: np.ndarray,
    codes: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """How many others [n] of the same `codes` are nearer than `radius` [n], strictly.
    Arguments as in `nearest`.
    """
    if groups is not None:
        of_all = count_within(points, radius, codes)
        return of_all - count_within(points, radius, _within_groups(groups, codes))
    counts = np.empty(len(points), dtype=np.intp)
    if points.shape[1] == 1:
        if codes is None:
            codes = np.zeros(len(points), dtype=np.intp)
        order = np.lexsort((points[:, 0], codes))
        counts[order] = bisect_counts(points[order, 0], codes[order], radius[order])
        return counts
    tree = build(points, codes)
    in_order = np.zeros(len(points), dtype=np.intp)
    scan_counts(*tree.arrays, *tree.in_steps, radius[tree.order], in_order)
    counts[tree.order] = in_order
    return counts


def _within_groups(groups: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
    """Codes [n] of the groups within each stratum."""
    if codes is not None:
        count = int(groups.max()) + 1
        groups = codes.astype(np.int64) * count + groups
    return np.unique(groups, return_inverse=True)[1]
