"""Exact nearest neighbours and range counts in the maximum norm, within strata.

A distance is max |a - b| in float64; a point is within a radius if its distance is
strictly smaller. SIMD over the leaves of a k-d tree; memory is linear in n.
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
    """The k nearest other points of each point, in its stratum.

    distances  float64 [n, k], ascending; inf if the stratum has fewer points
    ids        intp [n, k], rows of the neighbours; -1 if the stratum has fewer points
    ties       intp [n], number of further points at exactly the k-th distance
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
    """The k nearest other rows of each row of `points` [n, d], float64.

    codes   [n], of strata: neighbours have the same code
    groups  [n], codes of groups: neighbours are in other groups
    """
    tree = build(points, codes)
    n = len(points)
    excluded = np.arange(n)  # the point itself
    if groups is not None:
        excluded = groups[tree.order].astype(np.intp)
    # in the order of the tree
    distances = np.full((n, k), np.inf)
    places = np.full((n, k), -1, dtype=np.intp)
    ties = np.zeros(n, dtype=np.intp)
    scan_nearest(*tree.arrays, *tree.in_steps, excluded, distances, places, ties)
    place_of_row = np.empty(n, dtype=np.intp)
    place_of_row[tree.order] = np.arange(n)
    ids = np.where(places >= 0, tree.order[places], -1)
    return Neighbours(distances[place_of_row], ids[place_of_row], ties[place_of_row])


def count_within(
    points: np.ndarray,
    radius: np.ndarray,
    codes: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Number [n] of other rows of the same `codes` strictly within `radius` [n].

    Arguments as in `nearest`.
    """
    if groups is not None:
        all_counts = count_within(points, radius, codes)
        group_codes = _within_groups(groups, codes)
        return all_counts - count_within(points, radius, group_codes)
    n = len(points)
    counts = np.empty(n, dtype=np.intp)
    if points.shape[1] == 1:
        if codes is None:
            codes = np.zeros(n, dtype=np.intp)
        column = points[:, 0]
        order = np.lexsort((column, codes))
        counts[order] = bisect_counts(column[order], codes[order], radius[order])
        return counts
    tree = build(points, codes)
    counts_in_tree = np.zeros(n, dtype=np.intp)
    scan_counts(*tree.arrays, *tree.in_steps, radius[tree.order], counts_in_tree)
    counts[tree.order] = counts_in_tree
    return counts


def _within_groups(groups: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
    """Codes [n] of the groups within each stratum."""
    if codes is not None:
        count = int(groups.max()) + 1
        groups = codes.astype(np.int64) * count + groups
    _, group_codes = np.unique(groups, return_inverse=True)
    return group_codes
