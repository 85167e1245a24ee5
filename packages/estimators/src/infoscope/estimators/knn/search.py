"""Exact nearest neighbours and range counts in the maximum norm, within strata.

    numba    SIMD over the leaves of a k-d tree; the default on a CPU
    sklearn  KDTree; where numba is not installed, 5 to 48 times slower
    torch    brute force on a device ("cuda", "cuda:1", "cpu"); the default for tensors on a GPU

All give the same numbers: a distance is max |a - b| in float64, and `within` is strict. Memory is linear in n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import KDTree

from infoscope.errors import InvalidInput, UnknownName
from infoscope.estimators.knn import _torch

try:
    from infoscope.estimators.knn import _numba
except ImportError:  # numba lags behind new Python versions
    _numba = None


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
    engine: str = "auto",
    workers: int = 1,
    groups: np.ndarray | None = None,
) -> Neighbours:
    """The k nearest others of every row of `points` [n, d] float64 among the rows of the same `codes` [n].

    Rows of the same `groups` [n] (codes) are excluded. ValueError: unknown engine.
    """
    match resolve(engine):
        case "numba":
            found = _numba.nearest(points, k, codes, workers, groups)
        case "sklearn":
            found = sklearn_nearest(points, k, codes, groups)
        case device:
            found = _torch.nearest(points, k, codes, device, groups)
    return Neighbours(*found)


def count_within(
    points: np.ndarray,
    radius: np.ndarray,
    codes: np.ndarray | None = None,
    engine: str = "auto",
    workers: int = 1,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """How many others [n] of the same `codes` are nearer than `radius` [n], strictly. Arguments as in `nearest`."""
    if groups is not None:  # all there are, less those of the same group, which is one more stratum
        within = groups if codes is None else codes.astype(np.int64) * (int(groups.max()) + 1) + groups
        everyone = count_within(points, radius, codes, engine, workers)
        return everyone - count_within(points, radius, np.unique(within, return_inverse=True)[1], engine, workers)
    match resolve(engine):
        case "numba":
            return _numba.count_within(points, radius, codes, workers)
        case "sklearn":
            return _sklearn_count_within(points, radius, codes)
        case device:
            return _torch.count_within(points, radius, codes, device)


def resolve(engine: str) -> str:
    """numba, sklearn or a torch device; ValueError if it is none of these or not there."""
    if engine == "auto":
        return "sklearn" if _numba is None else "numba"
    if engine == "numba" and _numba is None:
        raise InvalidInput("engine must be sklearn or a torch device where numba is not installed, got 'numba'.")
    if engine in ("numba", "sklearn") or _torch.is_device(engine):
        return engine
    raise UnknownName(f"engine must be auto, numba, sklearn or a torch device that is there, got {engine!r}.")


def sklearn_nearest(
    points: np.ndarray, k: int, codes: np.ndarray | None, groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if groups is not None:
        return _sklearn_nearest_of_others(points, k, codes, groups)
    n = len(points)
    distances, ids = np.full((n, k), np.inf), np.full((n, k), -1, dtype=np.intp)
    ties = np.zeros(n, dtype=np.intp)
    for rows in _strata(n, codes):
        own = min(k, len(rows) - 1)
        if own == 0:
            continue
        tree = KDTree(points[rows], metric="chebyshev")
        found, at = tree.query(points[rows], own + 1)
        others = at != np.arange(len(rows))[:, None]
        others[others.all(axis=1), -1] = False  # the point itself was crowded out by its duplicates
        distances[rows, :own] = found[others].reshape(-1, own)
        ids[rows, :own] = rows[at[others]].reshape(-1, own)
        as_far = tree.query_radius(points[rows], distances[rows, own - 1], count_only=True)
        ties[rows] = as_far - 1 - own
    return distances, ids, ties


def _sklearn_nearest_of_others(
    points: np.ndarray, k: int, codes: np.ndarray | None, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same among rows of other groups: k plus the size of the largest group are searched."""
    n = len(points)
    distances, ids = np.full((n, k), np.inf), np.full((n, k), -1, dtype=np.intp)
    for rows in _strata(n, codes):
        asked = min(len(rows), k + int(np.unique(groups[rows], return_counts=True)[1].max()))
        found, at = KDTree(points[rows], metric="chebyshev").query(points[rows], asked)
        found = np.where(groups[rows[at]] == groups[rows][:, None], np.inf, found)
        order = np.argsort(found, axis=1, kind="stable")[:, :k]
        near = np.take_along_axis(found, order, axis=1)
        distances[rows, : near.shape[1]] = near
        ids[rows, : near.shape[1]] = np.where(np.isinf(near), -1, rows[np.take_along_axis(at, order, axis=1)])
    farthest = distances[:, -1]
    beyond = np.where(np.isinf(farthest), 0.0, np.nextafter(farthest, np.inf))
    ties = count_within(points, beyond, codes, "sklearn", groups=groups) - k
    return distances, ids, np.where(np.isinf(farthest), 0, ties)


def _sklearn_count_within(points: np.ndarray, radius: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
    counts = np.empty(len(points), dtype=np.intp)
    for rows in _strata(len(points), codes):
        closed = np.nextafter(radius[rows], 0)  # the tree counts up to and including its radius
        counts[rows] = KDTree(points[rows], metric="chebyshev").query_radius(points[rows], closed, count_only=True) - 1
    return np.where(radius > 0, counts, 0)


def _strata(n: int, codes: np.ndarray | None) -> list[np.ndarray]:
    """The rows of each code."""
    if codes is None:
        return [np.arange(n)]
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
