"""Exact nearest neighbours and range counts in the maximum norm, within strata.

A distance is max |a - b| in float64, `within` is strict; SIMD over the leaves of a k-d tree, memory linear in n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infoscope.estimators.knn import _numba


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest others of each point, in its stratum: `distances` float64 [n, k], ascending, inf where there are
    fewer; `ids` intp [n, k], their rows, -1 there; `ties` intp [n], further points exactly as far as the k-th.
    """

    distances: np.ndarray
    ids: np.ndarray
    ties: np.ndarray


def nearest(
    points: np.ndarray,
    k: int,
    codes: np.ndarray | None = None,
    workers: int = 1,
    groups: np.ndarray | None = None,
) -> Neighbours:
    """The k nearest others of every row of `points` [n, d] float64 among the rows of the same `codes` [n].

    Rows of the same `groups` [n] (codes) are excluded; workers: threads.
    """
    return Neighbours(*_numba.nearest(points, k, codes, workers, groups))


def count_within(
    points: np.ndarray,
    radius: np.ndarray,
    codes: np.ndarray | None = None,
    workers: int = 1,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """How many others [n] of the same `codes` are nearer than `radius` [n], strictly. Arguments as in `nearest`."""
    if groups is not None:  # all there are, less those of the same group, which is one more stratum
        within = groups if codes is None else codes.astype(np.int64) * (int(groups.max()) + 1) + groups
        everyone = count_within(points, radius, codes, workers)
        return everyone - count_within(points, radius, np.unique(within, return_inverse=True)[1], workers)
    return _numba.count_within(points, radius, codes, workers)
