"""Long exact sorted lists of every point's nearest points, by a falling threshold instead of insertion."""

from __future__ import annotations

import numba
import numpy as np

from infoscope.estimators.knn._numba import (
    LANES,
    ROUNDING,
    above,
    build,
    count_below,
    gather_below,
    leaf_distances,
    leaf_gaps,
    least_distances,
)
from infoscope.estimators.knn.search import nearest


def sorted_lists(points: np.ndarray, k: int, codes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k nearest others of every point [n, d] of the same code: distances [n, k] (inf: none), ids (-1: none), clean
    [n].

    Lists with ties, zero distances or ties beyond the end are not clean, and not to be read.
    """
    tree = build(points, codes)
    n = len(points)
    distances, ids = np.full((n, k), np.inf), np.full((n, k), -1)
    clean = np.zeros(n, np.bool_)
    if fill_lists(tree.order, *tree.arrays, distances, ids, clean):
        return distances, ids, clean
    found = nearest(points, k, codes)
    distances, finite = found.distances, np.isfinite(found.distances)
    repeated = (distances[:, 1:] == distances[:, :-1]) & finite[:, 1:]
    return distances, found.ids, ~(repeated.any(axis=1) | (distances[:, 0] == 0) | ((found.ties > 0) & finite[:, -1]))


@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})  # a maximum is exact in any order
def vector_distance(exact, i, j):
    """The distance of exact_distance, in vectors."""
    one, other, largest = exact[i], exact[j], 0.0
    for c in range(len(one)):
        largest = max(largest, abs(one[c] - other[c]))
    return largest


@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})  # a sum of few ones is exact in any order
def rank_of(distance, values):
    """How many of the values are at most `distance`; counted in float64, which has the lanes of what is compared."""
    rank = 0.0
    for p in range(len(values)):
        rank += 1.0 if values[p] <= distance else 0.0
    return int(rank)


@numba.njit(cache=True, nogil=True)
def lowered(values, count, k, limit, slack, scale):
    """A lower limit that admits every point within the k-th exact distance; `count` float32 values, k at least below
    `limit`.
    """
    padded = -(-count // LANES) * LANES
    values[count:padded] = np.inf
    low, high = np.float32(0), min(limit, np.float32(3))  # scaled points are at most 2 apart
    for _ in range(40):
        middle = (low + high) * np.float32(0.5)
        below = count_below(values[:padded], middle)
        if below < k:
            low = middle
        else:
            high = middle
            if below <= k + k // 4:
                break
    exact = (np.float64(high) / scale * (1 + 2 * ROUNDING) + slack) * (1 + 2 * ROUNDING)
    return min(limit, above(exact, slack, scale))


@numba.njit(cache=True, nogil=True)
def squeeze(kept, found, count, limit):
    """Keeps of the first `count` candidates those below the limit; returns how many."""
    left = 0
    for p in range(count):
        kept[left], found[left] = kept[p], found[p]
        left += kept[left] < limit
    return left


@numba.njit(cache=True, nogil=True)
def fill_lists(
    order, exact, scaled, scale, bounds, low, high, middle, margin, first, last, distances, ids, clean
):  # fmt: skip
    """Fills the lists of all points, in the sample's order (other arrays: the tree's). False if ties stop it."""
    k, leaves = distances.shape[1], len(bounds) - 1
    widest = (bounds[1:] - bounds[:-1]).max()
    row, near = np.empty(widest + LANES, np.float32), np.empty(widest, np.float32)
    most = k + LANES  # candidates of one point before the limit is lowered
    room = most + widest + LANES
    kept, found = np.empty((widest, room), np.float32), np.empty((widest, room), np.int32)
    counts, limits, values = np.empty(widest, np.int64), np.empty(widest, np.float32), np.empty(room + 8)
    for a in range(leaves):
        start_a, size = bounds[a], bounds[a + 1] - bounds[a]
        slack = margin[a] + margin[first[a] : last[a]].max()
        counts[:size], limits[:size] = 0, np.inf
        gaps, apart = np.empty(last[a] - first[a], np.float32), np.empty(last[a] - first[a], np.float32)
        leaf_gaps(low, high, middle, a, first[a], last[a], gaps, apart)
        apart[a - first[a]] = -1  # its own leaf comes first
        for b in first[a] + np.argsort(apart):
            if gaps[b - first[a]] >= limits[:size].max():
                continue
            start, width = bounds[b], bounds[b + 1] - bounds[b]
            least_distances(scaled, start_a, start_a + size, low, high, b, near)
            for q in range(size):
                if near[q] >= limits[q]:
                    continue
                leaf_distances(scaled, start_a + q, start, start + width, row)
                if a == b:
                    row[q] = np.inf
                    if width > k:
                        limits[q] = lowered(row, width, k, limits[q], slack, scale)
                before = counts[q]
                counts[q] = gather_below(row, width, limits[q], start, found[q], before)
                for p in range(before, counts[q]):
                    kept[q, p] = row[found[q, p] - start]
                if counts[q] > most:
                    limits[q] = lowered(kept[q], counts[q], k, limits[q], slack, scale)
                    counts[q] = squeeze(kept[q], found[q], counts[q], limits[q])
                    if counts[q] > most:
                        return False
        for q in range(size):
            i = order[start_a + q]
            if counts[q] > k:
                limits[q] = lowered(kept[q], counts[q], k, limits[q], slack, scale)
                counts[q] = squeeze(kept[q], found[q], counts[q], limits[q])
            clean[i] = place(start_a + q, found[q, : counts[q]], exact, order, values, distances[i], ids[i])
    return True


@numba.njit(cache=True, nogil=True)
def place(i, found, exact, order, values, distances, ids):
    """Sorts the candidates `found` of point i into its list; returns whether it has no ties."""
    count, listed = len(found), min(len(ids), len(found))
    padded = -(-count // 8) * 8
    for p in range(count):
        values[p] = vector_distance(exact, i, found[p])
    values[count:padded] = np.inf
    for p in range(count):
        rank = rank_of(values[p], values[:padded]) - 1
        if rank < listed:
            distances[rank], ids[rank] = values[p], order[found[p]]
    return listed == 0 or (distances[0] > 0 and ids[:listed].min() >= 0)
