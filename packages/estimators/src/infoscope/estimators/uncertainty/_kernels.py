"""Neighbour counts of many subsamples from one pass over the distances, compiled.

Every point's nearest K points are sorted. The k-th neighbour in a subsample is where the
weights (0 or 1) along this list add up to k. Coordinates of 16 bits preselect the points
to count; float64 distances decide, so counts are exact. A point whose list is too short
is counted from its full row.
"""

from __future__ import annotations

import numba
import numpy as np

from infoscope.estimators.knn._numba import (
    LANES,
    above,
    below,
    exact_distance,
    gather_below,
    greatest_distances,
    leaf_gaps,
    least_distances,
    offsets,
)
from infoscope.estimators.knn.search import nearest

FURTHEST = 16_383  # quanta from the centre; differences of coordinates fit 16 bits


@numba.njit(cache=True, nogil=True)
def walk(ids, codes, weights, wanted, clean, position, own):
    """Writes position[i, b]: the place of subsample b's k-th point in the list of i.

    ids       intp [n, K], -1 where there is no further point
    codes     intp [n]
    weights   uint8 [n, B]
    wanted    [classes, B], k
    clean     [n], False for points whose list is unusable
    position  [n, B]
    own       uint8 [n, B], becomes 1 where the point is in the subsample and its list suffices
    """
    n, longest = ids.shape
    seen = np.empty(weights.shape[1], position.dtype)
    for i in range(n):
        seen[:] = 0
        here = position[i]
        goal = wanted[codes[i]]
        in_subsample = weights[i]
        here[:] = 0
        for p in range(longest):
            if ids[i, p] < 0:
                break
            weight = weights[ids[i, p]]
            for b in range(len(seen)):
                seen[b] += weight[b]
            for b in range(len(seen)):
                here[b] += seen[b] < goal[b]
        for b in range(len(seen)):
            own[i, b] = in_subsample[b] & (seen[b] >= goal[b]) & clean[i]


@numba.njit(cache=True, nogil=True)
def walk_classes(ids, codes, wanted, position):
    """Writes position[i, b]: the place of i's k-th neighbour of the same code in its list.

    k is wanted[codes[i, b], b]. The place is the list's length if the list is too short.

    ids       intp [n, K], -1: none
    codes     [n, B]
    wanted    [classes, B]
    position  [n, B]
    """
    n, subsamples = codes.shape
    seen = np.empty(subsamples, position.dtype)
    goal = np.empty(subsamples, position.dtype)
    for i in range(n):
        code = codes[i]
        here = position[i]
        for b in range(subsamples):
            goal[b] = wanted[code[b], b]
        seen[:] = 0
        here[:] = 0
        for p in range(ids.shape[1]):
            if ids[i, p] < 0:
                for b in range(subsamples):
                    here[b] += seen[b] < goal[b]
                continue
            other = codes[ids[i, p]]
            for b in range(subsamples):
                seen[b] += other[b] == code[b]
            for b in range(subsamples):
                here[b] += seen[b] < goal[b]


@numba.njit(cache=True, nogil=True)
def add_by_class(codes, weights, counts):
    """Adds weights[i] to counts[codes[i]] for every point i."""
    for i in range(len(codes)):
        class_counts = counts[codes[i]]
        weight = weights[i]
        for b in range(len(weight)):
            class_counts[b] += weight[b]


@numba.njit(cache=True, nogil=True)
def row_distances(points, i):
    """Distances [n] of point i to every point: max |a - b| over the columns, float64.

    0 without columns.
    """
    distances = np.zeros(len(points))
    for j in range(len(points)):
        distances[j] = exact_distance(points, i, j)
    return distances


@numba.njit(cache=True, nogil=True)
def extremes(position, own):
    """The least and the greatest position [n] over the subsamples with own [n, B] = 1.

    -1 if there is no such subsample.
    """
    n, subsamples = position.shape
    least = np.empty(n, np.int64)
    greatest = np.empty(n, np.int64)
    for i in range(n):
        low = np.int32(2**31 - 1)
        high = np.int32(-1)
        for b in range(subsamples):
            p = np.int32(position[i, b])
            low = min(low, p if own[i, b] else low)
            high = max(high, p if own[i, b] else high)
        least[i] = low if high >= 0 else -1
        greatest[i] = high
    return least, greatest


def quantised(exact: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, float]:
    """Points [n, d] as uint16 [d, n] in quanta, and the quantum.

    The quantum is the finer of span / FURTHEST and median radius / 64. Distances of at
    most r become at most r / quantum + 1.
    """
    centred = (exact - exact.mean(axis=0)).T
    span_quantum = np.abs(centred).max() / FURTHEST
    radius_quantum = np.median(radius[radius > 0]) / 64
    quantum = max(min(span_quantum, radius_quantum), 1e-290)
    clipped = np.clip(centred / quantum, -FURTHEST, FURTHEST)
    quanta = np.rint(clipped + FURTHEST)
    return quanta.astype(np.uint16, order="C"), quantum


@numba.njit(cache=True, nogil=True)
def whole_vectors(rows, columns):
    """Zeros, uint16 [rows, at least columns], aligned to cache lines.

    No vector then crosses a cache line.
    """
    width = -(-columns // LANES) * LANES
    room = np.zeros(rows * width + LANES, np.uint16)
    begin = (-room.ctypes.data % 64) // 2
    return room[begin : begin + rows * width].reshape(rows, width)


@numba.njit(cache=True, nogil=True)
def tile_of(quanta, start, end):
    """A copy of the points start..end of quanta [d, n].

    Zeros fill it up to a multiple of LANES.
    """
    tile = whole_vectors(len(quanta), end - start)
    for c in range(len(tile)):
        row = tile[c]
        column = quanta[c, start:end]
        for j in range(len(column)):
            row[j] = column[j]
    return tile


@numba.njit(cache=True, nogil=True)
def add_nearer(i, found, exact, radii, greatest, position, weights, few, counts):
    """Adds to counts[b] the number of subsample b's points within radii[position[b]] of i.

    Only points in `found` are counted, strictly within the radius.

    radii     [K], ascending
    position  [B]
    weights   uint8 [n, B]
    few       uint8 [B], a buffer
    counts    uint32 [B]
    """
    for begin in range(0, len(found), 255):
        few[:] = 0
        for p in range(begin, min(begin + 255, len(found))):
            rank = rank_of(exact_distance(exact, i, found[p]), radii)
            if rank <= greatest:
                weight = weights[found[p]]
                least = position.dtype.type(rank)
                for b in range(len(few)):
                    few[b] += weight[b] & (position[b] >= least)
        for b in range(len(few)):
            counts[b] += few[b]


@numba.njit(cache=True, nogil=True)
def tree_sums(
    order, exact, scaled, scale, bounds, low, high, middle, margin, first, last, quanta, quantum, distances, position,
    least, greatest, own, weights, totals, digamma,
):  # fmt: skip
    """Sums [B] of digamma(points strictly within the distance of the k-th neighbour).

    The points of subsample b are counted, the point itself included.

    order to last       the Tree
    quanta, quantum     of `quantised`
    distances           [n, K], in the order of the sample
    position            [n, B], in the order of the sample
    least, greatest     of `extremes`, in the order of the tree
    own, weights        [n, B], in the order of the tree
    totals              [leaves, B], weights of leaves
    digamma             [n + 1], of 0, 1, 2, ...
    """
    leaves = len(bounds) - 1
    subsamples = weights.shape[1]
    widest = max(bounds[1:] - bounds[:-1])
    row = whole_vectors(1, widest)[0]
    near = np.empty(widest, np.float32)
    far = np.empty(widest, np.float32)
    inner = np.empty(widest, np.float32)
    outer = np.empty(widest, np.float32)
    corners = np.empty((widest, len(quanta)), np.uint16)
    within = np.empty(widest, np.uint16)
    taken = np.empty(widest, np.int64)
    found = np.empty((widest, 255 + widest), np.int32)
    gaps = np.empty(leaves, np.float32)
    apart = np.empty(leaves, np.float32)
    counts = np.empty((widest, subsamples), np.uint32)
    few = np.empty(subsamples, np.uint8)
    sums = np.zeros(subsamples)
    value = digamma.copy()
    value[0] = 0  # for points that are not measured
    for a in range(leaves):
        start_a = bounds[a]
        size = bounds[a + 1] - bounds[a]
        slack = margin[a] + margin.max()
        counts[:size] = 0
        taken[:size] = 0
        for q in range(size):
            i = start_a + q
            # a point that is never measured has no radius
            inner[q] = -1.0
            outer[q] = -1.0
            if greatest[i] >= 0:
                radii = distances[order[i]]
                inner[q] = below(radii[least[i]], slack, scale)
                outer[q] = above(radii[greatest[i]], slack, scale)
                quanta_of_radius = radii[greatest[i]] / quantum * (1 + 1e-9) + 2
                reach = np.uint16(min(quanta_of_radius, 2 * FURTHEST))
                corners[q] = quanta[:, i] - reach
                within[q] = 2 * reach + 1
        leaf_count = last[a] - first[a]
        near_gaps = gaps[:leaf_count]
        leaf_gaps(
            low, high, middle, a, first[a], last[a], near_gaps, apart[:leaf_count]
        )
        is_near = near_gaps < outer[:size].max()
        for b in first[a] + np.flatnonzero(is_near):
            start = bounds[b]
            width = bounds[b + 1] - bounds[b]
            tile = tile_of(quanta, start, start + width)
            least_distances(scaled, start_a, start_a + size, low, high, b, near)
            # a smaller radius encloses no leaf, wherever its centre is
            enclosing = inner[:size].max() > (high[:, b] - low[:, b]).max() / 2
            if enclosing:
                greatest_distances(scaled, start_a, start_a + size, low, high, b, far)
            for q in range(size):
                if near[q] >= outer[q]:
                    continue
                if enclosing and far[q] < inner[q]:
                    point_counts = counts[q]
                    leaf_totals = totals[b]
                    for s in range(subsamples):
                        point_counts[s] += leaf_totals[s]
                    continue
                i = start_a + q
                offsets(tile, 0, tile.shape[1], corners[q], row)
                taken[q] = gather_below(
                    row, width, within[q], start, found[q], taken[q]
                )
                if taken[q] >= 255:
                    gathered = found[q, : taken[q]]
                    radii = distances[order[i]]
                    here = position[order[i]]
                    add_nearer(
                        i, gathered, exact, radii, greatest[i], here, weights, few, counts[q]
                    )  # fmt: skip
                    taken[q] = 0
        for q in range(size):
            i = start_a + q
            if greatest[i] < 0:
                continue
            gathered = found[q, : taken[q]]
            radii = distances[order[i]]
            here = position[order[i]]
            add_nearer(
                i, gathered, exact, radii, greatest[i], here, weights, few, counts[q]
            )
            for s in range(subsamples):
                sums[s] += value[counts[q, s] * np.uint32(own[i, s])]
    return sums


@numba.njit(cache=True, nogil=True)
def edges(values, centre, radius, start, stop):
    """The range of positions in values[start:stop] with |value - centre| < radius.

    The values are ascending.
    """
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if centre - values[middle] < radius:
            high = middle
        else:
            low = middle + 1
    left, high = low, stop
    while low < high:
        middle = (low + high) // 2
        if values[middle] - centre < radius:
            low = middle + 1
        else:
            high = middle
    return left, low


@numba.njit(cache=True, nogil=True)
def sorted_sums(
    values, codes, bounds, order, distances, position, least, greatest, own, before, digamma,
):  # fmt: skip
    """`tree_sums` for one column.

    values    [n], ascending within each class; codes, least, greatest and own are in the same order
    bounds    class c is at bounds[c] to bounds[c + 1]
    order     [n], rows of distances and position
    before    [n + 1, B], points of each subsample before each place
    """
    n, subsamples = own.shape
    left = np.empty(distances.shape[1], np.int64)
    right = np.empty(distances.shape[1], np.int64)
    sums = np.zeros(subsamples)
    for i in range(n):
        if greatest[i] < 0:
            continue
        start = bounds[codes[i]]
        stop = bounds[codes[i] + 1]
        radii = distances[order[i]]
        here = position[order[i]]
        for p in range(least[i], greatest[i] + 1):
            left[p], right[p] = edges(values, values[i], radii[p], start, stop)
        for b in range(subsamples):
            if own[i, b]:
                place = here[b]
                count = before[right[place], b] - before[left[place], b]
                sums[b] += digamma[count]
    return sums


# the sum of a few ones is exact in any order
@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def rank_of(distance, values):
    """Number of values that are at most `distance`.

    It is counted in float64, the type of the values, for the width of vectors.
    """
    rank = 0.0
    for p in range(len(values)):
        rank += 1.0 if values[p] <= distance else 0.0
    return int(rank)


def sorted_lists(
    points: np.ndarray, k: int, codes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k nearest other points of the same code: distances, ids and clean [n].

    Distances [n, k] are inf, and ids -1, where there are fewer points. A list is clean
    if it has no ties, no distance of 0 and no ties beyond its end; other lists are not
    used.
    """
    neighbours = nearest(points, k, codes)
    distances = neighbours.distances
    is_finite = np.isfinite(distances)
    is_tied = (distances[:, 1:] == distances[:, :-1]) & is_finite[:, 1:]
    has_zero = distances[:, 0] == 0
    has_ties_beyond = (neighbours.ties > 0) & is_finite[:, -1]
    is_unclean = is_tied.any(axis=1) | has_zero | has_ties_beyond
    return distances, neighbours.ids, ~is_unclean
