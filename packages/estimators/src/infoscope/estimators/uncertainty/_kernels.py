"""Neighbour counts of many subsamples of one data set from one pass over its distances,
in compiled code.

Every point's nearest K points are sorted; a subsample's k-th neighbour is found by
adding weights (0 or 1) along that list. Coordinates of 16 bits preselect the points to
count, float64 distances decide: counts are exact. A point whose list is too short is
counted from its full row.
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

FURTHEST = 16_383  # quanta from the centre: the difference of two such fits 16 bits


@numba.njit(cache=True, nogil=True)
def walk(ids, codes, weights, wanted, clean, position, own):
    """position[i, b]: where in the list of point i subsample b meets its k-th point.

    ids intp [n, K], -1 where there is no further point; codes intp [n]; weights uint8
    [n, B]; wanted [classes, B], k; clean [n]: False for points not measured from their
    list. own uint8 [n, B] becomes 1 where the point is in the subsample and its list
    suffices.
    """
    n, longest = ids.shape
    seen = np.empty(weights.shape[1], position.dtype)
    for i in range(n):
        seen[:] = 0
        here, goal, mine = position[i], wanted[codes[i]], weights[i]
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
            own[i, b] = mine[b] & (seen[b] >= goal[b]) & clean[i]


@numba.njit(cache=True, nogil=True)
def walk_classes(ids, codes, wanted, position):
    """position[i, b]: place of the wanted[codes[i, b], b]-th neighbour of the same code
    in i's list, or its length.

    ids intp [n, K], -1: none; codes [n, B], wanted [classes, B], position [n, B].
    """
    n, subsamples = codes.shape
    seen, goal = (
        np.empty(subsamples, position.dtype),
        np.empty(subsamples, position.dtype),
    )
    for i in range(n):
        mine, here = codes[i], position[i]
        for b in range(subsamples):
            goal[b] = wanted[mine[b], b]
        seen[:] = 0
        here[:] = 0
        for p in range(ids.shape[1]):
            if ids[i, p] < 0:
                for b in range(subsamples):
                    here[b] += seen[b] < goal[b]
                continue
            other = codes[ids[i, p]]
            for b in range(subsamples):
                seen[b] += other[b] == mine[b]
            for b in range(subsamples):
                here[b] += seen[b] < goal[b]


@numba.njit(cache=True, nogil=True)
def add_by_class(codes, weights, counts):
    """counts[codes[i]] += weights[i] for every point."""
    for i in range(len(codes)):
        of_class, weight = counts[codes[i]], weights[i]
        for b in range(len(weight)):
            of_class[b] += weight[b]


@numba.njit(cache=True, nogil=True)
def row_distances(points, i):
    """max |a - b| over the columns of point i and every other [n], float64; 0 without
    columns.
    """
    distances = np.zeros(len(points))
    for j in range(len(points)):
        distances[j] = exact_distance(points, i, j)
    return distances


@numba.njit(cache=True, nogil=True)
def extremes(position, own):
    """The least and the greatest position [n] over the subsamples with own [n, B] = 1;
    -1 if there is none.
    """
    n, subsamples = position.shape
    least, greatest = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        low, high = np.int32(2**31 - 1), np.int32(-1)
        for b in range(subsamples):
            p = np.int32(position[i, b])
            low, high = (
                min(low, p if own[i, b] else low),
                max(high, p if own[i, b] else high),
            )
        least[i], greatest[i] = low if high >= 0 else -1, high
    return least, greatest


def quantised(exact: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, float]:
    """Points [n, d] as uint16 [d, n] in quanta, and that quantum: the finer of the
    span's and median radius / 64.

    Distances of at most r become at most r / quantum + 1.
    """
    centred = (exact - exact.mean(axis=0)).T
    quantum = max(
        min(np.abs(centred).max() / FURTHEST, np.median(radius[radius > 0]) / 64),
        1e-290,
    )
    return np.rint(np.clip(centred / quantum, -FURTHEST, FURTHEST) + FURTHEST).astype(
        np.uint16, order="C"
    ), quantum


@numba.njit(cache=True, nogil=True)
def whole_vectors(rows, columns):
    """Zeros, uint16 [rows, at least columns]: rows begin and end where cache lines do,
    so no vector is read in two.
    """
    width = -(-columns // LANES) * LANES
    room = np.zeros(rows * width + LANES, np.uint16)
    begin = (-room.ctypes.data % 64) // 2
    return room[begin : begin + rows * width].reshape(rows, width)


@numba.njit(cache=True, nogil=True)
def tile_of(quanta, start, end):
    """The points start..end of quanta [d, n], by themselves, with zeros up to a
    multiple of LANES.
    """
    tile = whole_vectors(len(quanta), end - start)
    for c in range(len(tile)):
        one, column = tile[c], quanta[c, start:end]
        for j in range(len(column)):
            one[j] = column[j]
    return tile


@numba.njit(cache=True, nogil=True)
def add_nearer(i, found, exact, radii, greatest, position, weights, few, counts):
    """counts[b] += how many points of subsample b in `found` are nearer to point i than
    radii[position[b]].

    radii [K] ascending; position [B]; weights uint8 [n, B]; counts uint32 [B]; few
    uint8 [B], a buffer.
    """
    for begin in range(0, len(found), 255):
        few[:] = 0
        for p in range(begin, min(begin + 255, len(found))):
            rank = rank_of(exact_distance(exact, i, found[p]), radii)
            if rank <= greatest:
                weight, least = weights[found[p]], position.dtype.type(rank)
                for b in range(len(few)):
                    few[b] += weight[b] & (position[b] >= least)
        for b in range(len(few)):
            counts[b] += few[b]


@numba.njit(cache=True, nogil=True)
def tree_sums(
    order, exact, scaled, scale, bounds, low, high, middle, margin, first, last, quanta, quantum, distances, position,
    least, greatest, own, weights, totals, digamma,
):  # fmt: skip
    """sums[b] of digamma(points of subsample b strictly within the k-th neighbour's
    distance, itself included).

    The first eleven arguments are the Tree, quanta and quantum those of `quantised`.
    own and weights [n, B], least and greatest (see extremes) are in tree order;
    distances [n, K] and position [n, B] in the sample's; totals [leaves, B] are weights
    of leaves, digamma [n + 1] of 0, 1, 2 ...
    """
    leaves, subsamples = len(bounds) - 1, weights.shape[1]
    widest = max(bounds[1:] - bounds[:-1])
    row, near, far = (
        whole_vectors(1, widest)[0],
        np.empty(widest, np.float32),
        np.empty(widest, np.float32),
    )
    inner, outer = np.empty(widest, np.float32), np.empty(widest, np.float32)
    corners, within = (
        np.empty((widest, len(quanta)), np.uint16),
        np.empty(widest, np.uint16),
    )
    taken = np.empty(widest, np.int64)
    found = np.empty((widest, 255 + widest), np.int32)
    gaps, apart = np.empty(leaves, np.float32), np.empty(leaves, np.float32)
    counts, few = (
        np.empty((widest, subsamples), np.uint32),
        np.empty(subsamples, np.uint8),
    )
    sums, value = np.zeros(subsamples), digamma.copy()
    value[0] = 0  # of what is not measured
    for a in range(leaves):
        start_a, size = bounds[a], bounds[a + 1] - bounds[a]
        slack = margin[a] + margin.max()
        counts[:size], taken[:size] = 0, 0
        for q in range(size):
            i = start_a + q
            # a point that is measured nowhere reaches nothing
            inner[q], outer[q] = -1.0, -1.0
            if greatest[i] >= 0:
                radii = distances[order[i]]
                inner[q] = below(radii[least[i]], slack, scale)
                outer[q] = above(radii[greatest[i]], slack, scale)
                reach = np.uint16(
                    min(radii[greatest[i]] / quantum * (1 + 1e-9) + 2, 2 * FURTHEST)
                )
                corners[q], within[q] = quanta[:, i] - reach, 2 * reach + 1
        leaf_gaps(
            low,
            high,
            middle,
            a,
            first[a],
            last[a],
            gaps[: last[a] - first[a]],
            apart[: last[a] - first[a]],
        )
        for b in first[a] + np.flatnonzero(
            gaps[: last[a] - first[a]] < outer[:size].max()
        ):
            start, width = bounds[b], bounds[b + 1] - bounds[b]
            tile = tile_of(quanta, start, start + width)
            least_distances(scaled, start_a, start_a + size, low, high, b, near)
            # no point can be in the middle of less
            enclosing = inner[:size].max() > (high[:, b] - low[:, b]).max() / 2
            if enclosing:
                greatest_distances(scaled, start_a, start_a + size, low, high, b, far)
            for q in range(size):
                if near[q] >= outer[q]:
                    continue
                if enclosing and far[q] < inner[q]:
                    counted, of_leaf = counts[q], totals[b]
                    for s in range(subsamples):
                        counted[s] += of_leaf[s]
                    continue
                i = start_a + q
                offsets(tile, 0, tile.shape[1], corners[q], row)
                taken[q] = gather_below(
                    row, width, within[q], start, found[q], taken[q]
                )
                if taken[q] >= 255:
                    radii = distances[order[i]]
                    add_nearer(
                        i,
                        found[q, : taken[q]],
                        exact,
                        radii,
                        greatest[i],
                        position[order[i]],
                        weights,
                        few,
                        counts[q],
                    )
                    taken[q] = 0
        for q in range(size):
            i = start_a + q
            if greatest[i] < 0:
                continue
            radii = distances[order[i]]
            add_nearer(
                i,
                found[q, : taken[q]],
                exact,
                radii,
                greatest[i],
                position[order[i]],
                weights,
                few,
                counts[q],
            )
            for s in range(subsamples):
                sums[s] += value[counts[q, s] * np.uint32(own[i, s])]
    return sums


@numba.njit(cache=True, nogil=True)
def edges(values, centre, radius, start, stop):
    """Between which positions of values[start:stop], ascending, |value - centre| <
    radius holds, by that comparison.
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
    values,
    codes,
    bounds,
    order,
    distances,
    position,
    least,
    greatest,
    own,
    before,
    digamma,
):
    """`tree_sums` for one column.

    values [n] ascending within each class, codes, least, greatest and own in that
    order; class c is at bounds[c] to bounds[c + 1]; order [n]: rows of distances and
    position; before [n + 1, B]: points of each subsample before each place.
    """
    n, subsamples = own.shape
    left, right = (
        np.empty(distances.shape[1], np.int64),
        np.empty(distances.shape[1], np.int64),
    )
    sums = np.zeros(subsamples)
    for i in range(n):
        if greatest[i] < 0:
            continue
        start, stop = bounds[codes[i]], bounds[codes[i] + 1]
        radii, here = distances[order[i]], position[order[i]]
        for p in range(least[i], greatest[i] + 1):
            left[p], right[p] = edges(values, values[i], radii[p], start, stop)
        for b in range(subsamples):
            if own[i, b]:
                sums[b] += digamma[before[right[here[b]], b] - before[left[here[b]], b]]
    return sums


# a sum of few ones is exact in any order
@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def rank_of(distance, values):
    """How many of the values are at most `distance`; counted in float64, which has the
    lanes of what is compared.
    """
    rank = 0.0
    for p in range(len(values)):
        rank += 1.0 if values[p] <= distance else 0.0
    return int(rank)


def sorted_lists(
    points: np.ndarray, k: int, codes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k nearest others of the same code of points [n, d]: distances [n, k] (inf:
    none), ids (-1: none), clean [n].

    Lists with ties, zero distances or ties beyond the end are not clean, and not to be
    read.
    """
    neighbours = nearest(points, k, codes)
    distances = neighbours.distances
    is_finite = np.isfinite(distances)
    has_ties = ((distances[:, 1:] == distances[:, :-1]) & is_finite[:, 1:]).any(axis=1)
    has_zero = distances[:, 0] == 0
    has_ties_beyond = (neighbours.ties > 0) & is_finite[:, -1]
    return distances, neighbours.ids, ~(has_ties | has_zero | has_ties_beyond)
