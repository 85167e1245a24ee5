"""Exact k-nearest neighbours and range counts in the maximum norm, by SIMD over the
leaves of a k-d tree.

Lower bounds of distances in steps of a byte exclude most points; the rest are decided
by the float64 distance, so results are those of plain float64 arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 64  # entries compared at once
# A float32 distance is off by at most 2 roundings of each coordinate and one of the
# difference (2^-24 each); doubled.
ROUNDING = 2.0**-22
# of a byte, over SPAN times the distance between two quantiles of the widest column
STEPS = 256
CENTRE, SPAN = (0.05, 0.95), 1.6
# steps in a radius: fewer tell too little, and twice as many must fit a byte
FINEST, COARSEST = 4, 120
FEW = 16  # points of a leaf that are decided one by one


@dataclass(frozen=True, eq=False)
class Tree:
    """Points in leaf order. `scaled` is (points - centre) times a power of two that
    makes it at most 1.

    order   intp [n]: row of the sample at each place        exact  float64 [n, d], the points
    scaled  float32 [d, n]                                   scale  that power of two
    bounds  intp [leaves + 1]: where each leaf begins        low, high, middle  float32 [d, leaves]: box and mean
    margin  float64 [leaves]: rounding of scaled points      first, last  intp [leaves]: the leaves of its stratum
    """

    order: np.ndarray
    exact: np.ndarray
    scaled: np.ndarray
    scale: float
    bounds: np.ndarray
    low: np.ndarray
    high: np.ndarray
    middle: np.ndarray
    margin: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @property
    def arrays(self) -> tuple:
        """The arrays that all kernels take."""
        return tuple(getattr(self, field.name) for field in fields(self)[1:])

    @cached_property
    def in_steps(self) -> tuple[np.ndarray, float]:
        """`in_steps` of the points: for those kernels alone that take them."""
        return in_steps(self.exact)


def leaf_size(dim: int) -> int:
    """Points per leaf: small leaves prune better in few dimensions, large ones scan
    faster in many (measured).
    """
    return 64 if dim <= 2 else 256 if dim <= 6 else 512 if dim <= 16 else 1024


def build(points: np.ndarray, codes: np.ndarray | None) -> Tree:
    """The tree of `points` [n, d] float64; points of different `codes` [n] never share
    a leaf.
    """
    n, dim = points.shape
    order, starts = np.arange(n), np.array([0, n])
    if codes is not None:
        order = np.argsort(codes, kind="stable")
        starts = np.concatenate([[0], np.flatnonzero(np.diff(codes[order])) + 1, [n]])
    at = split(np.ascontiguousarray(points.T), order, starts, leaf_size(dim))
    bounds = np.append(at, n)
    stratum = np.searchsorted(starts, at, side="right") - 1
    first, last = (
        np.searchsorted(at, starts[stratum]),
        np.searchsorted(at, starts[stratum + 1]),
    )
    exact = points[order]
    centred = (exact - exact.mean(axis=0)).T
    scale = 2.0 ** -np.ceil(np.log2(max(np.abs(centred).max(), np.finfo(float).tiny)))
    scaled = np.ascontiguousarray(centred * scale, dtype=np.float32)
    margin = np.maximum.reduceat(np.abs(centred).max(axis=0), at) * ROUNDING
    # centring rounds too
    margin += np.maximum.reduceat(np.abs(exact).max(axis=1), at) * 2.0**-50
    low, high = (
        np.minimum.reduceat(scaled, at, axis=1),
        np.maximum.reduceat(scaled, at, axis=1),
    )
    middle = (np.add.reduceat(scaled, at, axis=1) / np.diff(bounds)).astype(np.float32)
    return Tree(
        order, exact, scaled, scale, bounds, low, high, middle, margin, first, last
    )


def in_steps(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Points [n, d] as bytes [d, n], and the length of a step: |byte - byte| <= |a - b|
    / step + 1.
    """
    few = points[:: max(1, len(points) // 4096)]
    low, high = np.quantile(few, CENTRE, axis=0)
    step = max(float((high - low).max()) * SPAN / STEPS, np.finfo(float).tiny)
    start = (low + high) / 2 - step * STEPS / 2
    return np.ascontiguousarray(
        np.clip((points - start) / step, 0, STEPS - 1).astype(np.uint8).T
    ), step


@numba.njit(cache=True, nogil=True)
def split(columns, order, starts, size):
    """Orders the points of each stratum by leaf, halving the widest column; returns
    where each leaf begins.
    """
    leaves = [np.intp(0) for _ in range(0)]
    for stratum in range(len(starts) - 1):
        todo = [(starts[stratum], starts[stratum + 1])]
        while todo:
            start, end = todo.pop()
            if end - start <= size:
                leaves.append(start)
                continue
            widest, span = 0, -1.0
            for c in range(len(columns)):
                column = columns[c]
                low, high = np.inf, -np.inf
                for place in range(start, end):
                    low, high = (
                        min(low, column[order[place]]),
                        max(high, column[order[place]]),
                    )
                if high - low > span:
                    widest, span = c, high - low
            middle = start + -(-(end - start) // size) // 2 * size
            partition(columns[widest], order, start, end, middle)
            todo += [(middle, end), (start, middle)]
    return np.array(leaves)


@numba.njit(cache=True, nogil=True)
def partition(column, order, start, end, middle):
    """Quickselect: no point of order[start:middle] has a larger value than one of
    order[middle:end].
    """
    while end - start > 1:
        one, two, three = (
            column[order[start]],
            column[order[(start + end) // 2]],
            column[order[end - 1]],
        )
        pivot = max(min(one, two), min(max(one, two), three))
        left, right = start, end - 1
        while left <= right:
            while column[order[left]] < pivot:
                left += 1
            while column[order[right]] > pivot:
                right -= 1
            if left <= right:
                order[left], order[right] = order[right], order[left]
                left, right = left + 1, right - 1
        if middle <= right:
            end = right + 1
        elif middle >= left:
            start = left
        else:
            return


@numba.njit(cache=True, nogil=True)
def leaf_distances(scaled, query, start, end, row):
    """row[:end - start] = float32 distances of point `query` to the points start..end;
    four columns in one sweep.
    """
    dim = scaled.shape[0]
    width = end - start
    head = dim % 4
    if head == 0:
        row[:width] = 0
    else:
        value = scaled[0, query]
        column = scaled[0, start:end]
        for j in range(width):
            row[j] = abs(column[j] - value)
        for c in range(1, head):
            value = scaled[c, query]
            column = scaled[c, start:end]
            for j in range(width):
                row[j] = max(row[j], abs(column[j] - value))
    for c in range(head, dim, 4):
        v0, v1, v2, v3 = (
            scaled[c, query],
            scaled[c + 1, query],
            scaled[c + 2, query],
            scaled[c + 3, query],
        )
        c0, c1 = scaled[c, start:end], scaled[c + 1, start:end]
        c2, c3 = scaled[c + 2, start:end], scaled[c + 3, start:end]
        for j in range(width):
            left = max(abs(c0[j] - v0), abs(c1[j] - v1))
            right = max(abs(c2[j] - v2), abs(c3[j] - v3))
            row[j] = max(row[j], max(left, right))


@numba.njit(cache=True, nogil=True)
def offsets(columns, start, end, corner, row):
    """row[:end - start] = the largest columns[c, j] - corner[c] of the points
    start..end, in the integers' own type.

    Differences below 0 wrap around. No point within r of the corner + r in all columns
    gives more than 2 r, where that is less than the type's range.
    """
    dim, width, kind = len(corner), end - start, row.dtype.type
    row[:width] = 0
    for c in range(dim % 4):
        value, column = corner[c], columns[c, start:end]
        for j in range(width):
            row[j] = max(row[j], kind(column[j] - value))
    for c in range(dim % 4, dim, 4):
        v0, v1, v2, v3 = corner[c], corner[c + 1], corner[c + 2], corner[c + 3]
        c0, c1 = columns[c, start:end], columns[c + 1, start:end]
        c2, c3 = columns[c + 2, start:end], columns[c + 3, start:end]
        for j in range(width):
            left = max(kind(c0[j] - v0), kind(c1[j] - v1))
            right = max(kind(c2[j] - v2), kind(c3[j] - v3))
            row[j] = max(row[j], max(left, right))


@numba.njit(cache=True, nogil=True)
def steps_within(distance, step):
    """The largest number of steps between points at most this far apart; 255 if it is
    more.
    """
    # a step is lost at its edges; what is left over is for rounding
    steps = distance / step + 1.000001
    return np.uint8(steps) if steps < 255.0 else np.uint8(255)


@intrinsic
def lanes_below(typingctx, row, start, limit):
    """Entries of row[start : start + LANES], float32, uint16 or uint8, below a limit:
    bit l of a 64-bit word for l.
    """

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        element = context.get_value_type(signature.args[0].dtype)
        vector = ir.VectorType(element, LANES)
        place = builder.bitcast(builder.gep(array.data, [args[1]]), vector.as_pointer())
        values = builder.load(place, align=context.get_abi_sizeof(element))
        one = builder.insert_element(
            ir.Constant(vector, ir.Undefined), args[2], ir.Constant(ir.IntType(32), 0)
        )
        limits = builder.shuffle_vector(
            one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        )
        compare = (
            builder.icmp_unsigned
            if isinstance(element, ir.IntType)
            else builder.fcmp_ordered
        )
        return builder.bitcast(compare("<", values, limits), ir.IntType(LANES))

    return types.uint64(row, types.intp, row.dtype), codegen


@intrinsic
def lowest_bit(typingctx, word):
    """The place of the lowest bit of a word that is not 0."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@numba.njit(cache=True, nogil=True)
def gather_below(row, width, limit, start, found, count):
    """Appends start + j, j < width, with row[j] below the limit to `found`: the new
    count. Overwrites row's padding.
    """
    padded = -(-width // LANES) * LANES
    row[width:padded] = limit
    for at in range(0, padded, LANES):
        word = lanes_below(row, at, limit)
        while word:
            found[count] = start + at + np.int64(lowest_bit(word))
            count += 1
            word &= word - np.uint64(1)
    return count


# a sum of few ones is exact in any order
@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def count_below(row, limit):
    """How many are below the limit; counted in the type of what is compared, which has
    its lanes.
    """
    none, one = row.dtype.type(0), row.dtype.type(1)
    count = none
    for j in range(len(row)):
        count += one if row[j] < limit else none
    return int(count)


# a maximum is exact in any order
@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def exact_distance(exact, i, j):
    """max |a - b| over the columns, in float64."""
    one, other, largest = exact[i], exact[j], 0.0
    for c in range(len(one)):
        largest = max(largest, abs(one[c] - other[c]))
    return largest


@numba.njit(cache=True, nogil=True)
def leaf_gaps(low, high, middle, a, first, last, gaps, apart):
    """For each leaf from first to last: the gap between its box and that of leaf a, and
    the distance of the means.
    """
    gaps[:] = 0
    apart[:] = 0
    for c in range(low.shape[0]):
        low_a, high_a, middle_a = low[c, a], high[c, a], middle[c, a]
        lows, highs, middles = (
            low[c, first:last],
            high[c, first:last],
            middle[c, first:last],
        )
        for b in range(last - first):
            gaps[b] = max(gaps[b], max(lows[b] - high_a, low_a - highs[b]))
            apart[b] = max(apart[b], abs(middles[b] - middle_a))


@numba.njit(cache=True, nogil=True)
def least_distances(scaled, start, end, low, high, b, near):
    """near[:end - start]: no float32 distance from the points start..end to the points
    of leaf b is below it.
    """
    near[:] = 0
    for c in range(scaled.shape[0]):
        low_b, high_b, column = low[c, b], high[c, b], scaled[c, start:end]
        for i in range(end - start):
            near[i] = max(near[i], max(low_b - column[i], column[i] - high_b))


@numba.njit(cache=True, nogil=True)
def greatest_distances(scaled, start, end, low, high, b, far):
    """far[:end - start]: no float32 distance from the points start..end to the points
    of leaf b is above it.
    """
    far[:] = 0
    for c in range(scaled.shape[0]):
        low_b, high_b, column = low[c, b], high[c, b], scaled[c, start:end]
        for i in range(end - start):
            far[i] = max(far[i], max(column[i] - low_b, high_b - column[i]))


@numba.njit(cache=True, nogil=True)
def insert(distances, ids, ties, distance, j):
    """Puts a candidate into one point's sorted list; returns how many points outside it
    are as far as the last one.
    """
    k = len(distances)
    worst = distances[k - 1]
    if distance > worst:
        return ties
    if distance == worst:
        return ties + 1
    place = k - 1
    while place > 0 and distances[place - 1] > distance:
        distances[place] = distances[place - 1]
        ids[place] = ids[place - 1]
        place -= 1
    distances[place] = distance
    ids[place] = j
    return ties + 1 if distances[k - 1] == worst and worst < np.inf else 0


@numba.njit(cache=True, nogil=True)
def above(distance, slack, scale):
    """A float32 limit above every scaled distance whose exact value is at most
    `distance`.
    """
    return np.float32((distance * (1 + ROUNDING) + slack) * scale * (1 + ROUNDING))


@numba.njit(cache=True, nogil=True)
def below(distance, slack, scale):
    """A float32 limit: a scaled distance under it has an exact value under `distance`."""
    return np.float32((distance * (1 - ROUNDING) - slack) * scale * (1 - ROUNDING))


@numba.njit(inline="always")
def near_in_steps(coarse, i, most, start, end, corner, steps, found):
    """Fills `found` with the points start..end within so many steps of point i, and
    some others; their number.
    """
    for c in range(len(coarse)):
        corner[c] = coarse[c, i] - most
    offsets(coarse, start, end, corner, steps)
    return gather_below(steps, end - start, np.uint8(2 * most + 1), start, found, 0)


@numba.njit(cache=True, nogil=True)
def limit_of(values, count, k, slack, scale):
    """A limit that admits all within the k-th exact distance of `count` float32 values,
    at least k.
    """
    padded = -(-count // LANES) * LANES
    values[count:padded] = np.inf
    low, high = np.float32(0), np.float32(3)  # scaled points are at most 2 apart
    for _ in range(40):
        middle = (low + high) * np.float32(0.5)
        within = count_below(values[:padded], middle)
        if within < k:
            low = middle
        else:
            high = middle
            if within <= k + k // 4:
                break
    exact = (np.float64(high) / scale * (1 + 2 * ROUNDING) + slack) * (1 + 2 * ROUNDING)
    return above(exact, slack, scale)


@numba.njit(inline="always")
def search_leaf(
    i, start, end, exact, scaled, scale, slack, coarse, step, corner, row, steps, found, own, distances, ids, ties
):  # fmt: skip
    """Offers the points start..end of other groups `own` to the sorted list of point i;
    returns the number of ties.
    """
    empty, width, limit = distances[0] == np.inf, end - start, np.float32(np.inf)
    most = steps_within(distances[-1], step)
    if FINEST <= most <= COARSEST:
        count = near_in_steps(coarse, i, most, start, end, corner, steps, found)
    else:
        leaf_distances(scaled, i, start, end, row)
        if empty and width > len(distances):  # as many as the list holds, and itself
            limit = limit_of(row, width, len(distances) + 1, slack, scale)
        elif not empty:
            limit = above(distances[-1], slack, scale)
        count = gather_below(row, width, limit, start, found, 0)
    for p in range(count):
        j = found[p]
        if own[j] != own[i]:
            ties = insert(distances, ids, ties, exact_distance(exact, i, j), j)
    # its own group was among the nearest
    if empty and count < width and above(distances[-1], slack, scale) > limit:
        distances[:], ids[:], ties = np.inf, -1, 0
        for j in range(start, end):
            if own[j] != own[i]:
                ties = insert(distances, ids, ties, exact_distance(exact, i, j), j)
    return ties


@numba.njit(cache=True, nogil=True)
def scan_nearest(
    exact, scaled, scale, bounds, low, high, middle, margin, first, last, coarse, step, own, distances, ids, ties
):  # fmt: skip
    """Fills the sorted lists of all points, in tree order; own [n]: their groups."""
    widest = max(bounds[1:] - bounds[:-1])
    row, near, limits = (
        np.empty(widest + LANES, np.float32),
        np.empty(widest, np.float32),
        np.empty(widest, np.float32),
    )
    steps, found = np.empty(widest + LANES, np.uint8), np.empty(widest + LANES, np.intp)
    corner = np.empty(len(coarse), np.uint8)
    for a in range(len(first)):
        start_a, end_a = bounds[a], bounds[a + 1]
        for i in range(start_a, end_a):
            ties[i] = search_leaf(
                i, start_a, end_a, exact, scaled, scale, 2 * margin[a], coarse, step, corner, row, steps, found, own,
                distances[i], ids[i], ties[i],
            )  # fmt: skip
        gaps, apart = (
            np.empty(last[a] - first[a], np.float32),
            np.empty(last[a] - first[a], np.float32),
        )
        leaf_gaps(low, high, middle, a, first[a], last[a], gaps, apart)
        slack = margin[a] + margin[first[a] : last[a]].max()
        close = np.flatnonzero(
            gaps < above(distances[start_a:end_a, -1].max(), slack, scale)
        )
        for i in range(start_a, end_a):
            limits[i - start_a] = above(distances[i, -1], slack, scale)
        for b in first[a] + close[np.argsort(apart[close])]:
            if b == a:
                continue
            start, end = bounds[b], bounds[b + 1]
            least_distances(scaled, start_a, end_a, low, high, b, near)
            for i in range(start_a, end_a):
                if near[i - start_a] < limits[i - start_a]:
                    ties[i] = search_leaf(
                        i, start, end, exact, scaled, scale, slack, coarse, step, corner, row, steps, found, own,
                        distances[i], ids[i], ties[i],
                    )  # fmt: skip
                    limits[i - start_a] = above(distances[i, -1], slack, scale)


@numba.njit(cache=True, nogil=True)
def scan_counts(
    exact, scaled, scale, bounds, low, high, middle, margin, first, last, coarse, step, radius, counts
):  # fmt: skip
    """Counts of all points, in tree order; strictly within, the point itself not."""
    widest = max(bounds[1:] - bounds[:-1])
    row, near, far = (
        np.empty(widest, np.float32),
        np.empty(widest, np.float32),
        np.empty(widest, np.float32),
    )
    sure, maybe = np.empty(widest, np.float32), np.empty(widest, np.float32)
    steps, found = np.empty(widest + LANES, np.uint8), np.empty(widest + LANES, np.intp)
    corner = np.empty(len(coarse), np.uint8)
    for a in range(len(first)):
        start_a, end_a = bounds[a], bounds[a + 1]
        gaps, apart = (
            np.empty(last[a] - first[a], np.float32),
            np.empty(last[a] - first[a], np.float32),
        )
        leaf_gaps(low, high, middle, a, first[a], last[a], gaps, apart)
        slack = margin[a] + margin[first[a] : last[a]].max()
        for i in range(start_a, end_a):
            sure[i - start_a], maybe[i - start_a] = (
                below(radius[i], slack, scale),
                above(radius[i], slack, scale),
            )
        for b in first[a] + np.flatnonzero(
            gaps < above(radius[start_a:end_a].max(), slack, scale)
        ):
            start, end = bounds[b], bounds[b + 1]
            least_distances(scaled, start_a, end_a, low, high, b, near)
            greatest_distances(scaled, start_a, end_a, low, high, b, far)
            for i in range(start_a, end_a):
                q = i - start_a
                if near[q] >= maybe[q]:
                    continue
                if far[q] < sure[q]:
                    counts[i] += end - start
                    continue
                most = steps_within(radius[i], step)
                if FINEST <= most <= COARSEST:
                    left = near_in_steps(
                        coarse, i, most, start, end, corner, steps, found
                    )
                    if left <= FEW:
                        for p in range(left):
                            counts[i] += exact_distance(exact, i, found[p]) < radius[i]
                        continue
                leaf_distances(scaled, i, start, end, row)
                inside = count_below(row[: end - start], sure[q])
                if inside != count_below(row[: end - start], maybe[q]):
                    inside = 0
                    for j in range(start, end):
                        inside += exact_distance(exact, i, j) < radius[i]
                counts[i] += inside
        for i in range(start_a, end_a):
            counts[i] -= radius[i] > 0


@numba.njit(cache=True, nogil=True)
def bisect_counts(values, codes, radius):
    """Counts for values sorted within their codes, by bisection of |a - b| < radius
    itself (no second rounding).
    """
    n = len(values)
    counts = np.empty(n, dtype=np.intp)
    first = 0
    for i in range(n):
        if codes[i] != codes[first]:
            first = i
        outside, inside = first - 1, i
        while inside - outside > 1:
            middle = (outside + inside) // 2
            if values[i] - values[middle] < radius[i]:
                inside = middle
            else:
                outside = middle
        counts[i] = i - inside
    last = n - 1
    for i in range(n - 1, -1, -1):
        if codes[i] != codes[last]:
            last = i
        inside, outside = i, last + 1
        while outside - inside > 1:
            middle = (outside + inside) // 2
            if values[middle] - values[i] < radius[i]:
                inside = middle
            else:
                outside = middle
        counts[i] += inside - i
    return counts
