"""Neighbour counts of many subsamples of one data set from one pass over its distances, in compiled code.

Every point's nearest K points are known, sorted. A subsample's k-th neighbour is met by walking that list and adding
the weights (0 or 1) of the points passed, so the radius of a subsample is a position in the list, and all counting runs
over the subsamples as vectors of small integers. Distances are those of the plain estimate, compared in float64: the
counts are exact. A list that is too short for some subsample is told, and its point is counted from its full row.
"""

from __future__ import annotations

import numba
import numpy as np

from infoscope.estimators.neighbours_numba import (
    above,
    below,
    count_below,
    exact_distance,
    greatest_distances,
    leaf_distances,
    leaf_gaps,
    least_distances,
)

CHUNK = 16  # distances looked at together once a leaf is known to hold one within reach: one vector of float32


@numba.njit(cache=True, nogil=True)
def walk(ids, codes, weights, wanted, clean, position, own):
    """position[i, b]: where in the list of point i subsample b meets its k-th point.

    ids intp [n, K], -1 where there is no further point; codes intp [n], the class of each point; weights uint8 [n, B],
    0 or 1; wanted [classes, B], k; clean [n]: False for a point that is not to be measured from its list. own uint8
    [n, B] becomes 1 where the point is in the subsample and its list says all; position is of an integer type that
    holds K and n.
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
    """position[i, b]: where in the list of point i its wanted[codes[i, b], b]-th neighbour of the same code is; the
    list's length if it is too short. ids intp [n, K], -1 where there is no further point; codes [n, B], wanted
    [classes, B] and position [n, B], of integer types that hold what they hold, and K.
    """
    n, subsamples = codes.shape
    seen, goal = np.empty(subsamples, position.dtype), np.empty(subsamples, position.dtype)
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
    """max |a - b| over the columns of point i and every other [n], float64; 0 without columns."""
    distances = np.zeros(len(points))
    for j in range(len(points)):
        distances[j] = exact_distance(points, i, j)
    return distances


@numba.njit(cache=True, nogil=True)
def extremes(position, own):
    """The least and the greatest position [n] over the subsamples for which a point is measured (own [n, B] is 1);
    -1 if there is none.
    """
    n, subsamples = position.shape
    least, greatest = np.full(n, -1), np.full(n, -1)
    for i in range(n):
        for b in range(subsamples):
            if own[i, b]:
                p = np.int64(position[i, b])
                greatest[i] = max(greatest[i], p)
                least[i] = p if least[i] < 0 else min(least[i], p)
    return least, greatest


@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})  # a sum of few ones is exact in any order
def rank_of(distance, limits, entries):
    """How many of the first `entries` ascending limits are at most `distance`; counted in float32, as `count_below`."""
    rank = np.float32(0)
    for p in range(entries):
        rank += np.float32(1) if limits[p] <= distance else np.float32(0)
    return int(rank)


@numba.njit(cache=True, nogil=True)
def tree_sums(
    order, exact, scaled, scale, bounds, low, high, middle, margin, first, last, distances, position, least, greatest,
    own, weights, totals, digamma,
):  # fmt: skip
    """sums[b] of digamma(points of subsample b strictly within the k-th neighbour's distance, itself included).

    The first eleven are the neighbours' Tree; points are counted in their own stratum. own (whose counts are summed)
    and weights (who is counted) [n, B] are in tree order, like least and greatest (see extremes); distances [n, K] and
    position [n, B] in the sample's order; totals [leaves, B]: the weights of each leaf; digamma [n + 1]: of 0, 1, 2 ...
    """
    leaves, subsamples = len(bounds) - 1, weights.shape[1]
    widest, longest = max(bounds[1:] - bounds[:-1]), distances.shape[1]
    row, near, far = np.empty(widest, np.float32), np.empty(widest, np.float32), np.empty(widest, np.float32)
    inner, outer = np.empty(widest, np.float32), np.empty(widest, np.float32)
    sure, maybe = np.empty((widest, longest), np.float32), np.empty((widest, longest), np.float32)
    gaps, apart = np.empty(leaves, np.float32), np.empty(leaves, np.float32)
    counts = np.empty((widest, subsamples), position.dtype)
    ranks = np.arange(longest + 1).astype(position.dtype)  # of the type that they are compared in, for its lanes
    sums = np.zeros(subsamples)
    for a in range(leaves):
        start_a, size = bounds[a], bounds[a + 1] - bounds[a]
        slack = margin[a] + margin.max()
        counts[:size] = 0
        for q in range(size):
            i = start_a + q
            inner[q], outer[q] = -1.0, -1.0  # a point that is measured nowhere reaches nothing
            for p in range(greatest[i] + 1):
                sure[q, p] = below(distances[order[i], p], slack, scale)
                maybe[q, p] = above(distances[order[i], p], slack, scale)
            if greatest[i] >= 0:
                inner[q], outer[q] = sure[q, least[i]], maybe[q, greatest[i]]
        leaf_gaps(low, high, middle, a, first[a], last[a], gaps[: last[a] - first[a]], apart[: last[a] - first[a]])
        for b in first[a] + np.flatnonzero(gaps[: last[a] - first[a]] < outer[:size].max()):
            start, width = bounds[b], bounds[b + 1] - bounds[b]
            least_distances(scaled, start_a, start_a + size, low, high, b, near)
            greatest_distances(scaled, start_a, start_a + size, low, high, b, far)
            for q in range(size):
                if near[q] >= outer[q]:
                    continue
                counted, i = counts[q], start_a + q
                if far[q] < inner[q]:
                    of_leaf = totals[b]
                    for s in range(subsamples):
                        counted[s] += of_leaf[s]
                    continue
                leaf_distances(scaled, i, start, start + width, row)
                here, entries = position[order[i]], greatest[i] + 1
                for chunk in range(0, width, CHUNK):
                    stop = min(chunk + CHUNK, width)
                    if count_below(row[chunk:stop], outer[q]) == 0:
                        continue
                    for j in range(chunk, stop):
                        if row[j] >= outer[q]:
                            continue
                        rank = rank_of(row[j], maybe[q], entries)
                        if rank < entries and row[j] >= sure[q, rank]:  # too close to that radius for float32
                            rank = rank_of(exact_distance(exact, i, start + j), distances[order[i]], entries)
                        weight, least_position = weights[start + j], ranks[rank]
                        for s in range(subsamples):
                            counted[s] += weight[s] & (here[s] >= least_position)
        for q in range(size):
            counted_for = own[start_a + q]
            for s in range(subsamples):
                if counted_for[s]:
                    sums[s] += digamma[counts[q, s]]
    return sums


@numba.njit(cache=True, nogil=True)
def edges(values, centre, radius, start, stop):
    """Between which positions of values[start:stop], ascending, |value - centre| < radius holds, by that comparison."""
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
def sorted_sums(values, codes, bounds, order, distances, position, least, greatest, own, before, digamma):
    """The same sums for one column.

    values [n] ascending within each class, codes [n], least, greatest and own [n, B] in that order; class c is at
    bounds[c] to bounds[c + 1]; order [n] gives the rows of distances [n, K] and position [n, B]; before [n + 1, B]: how
    many points of each subsample come before each place.
    """
    n, subsamples = own.shape
    left, right = np.empty(distances.shape[1], np.int64), np.empty(distances.shape[1], np.int64)
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
