"""Nearest neighbours in x, in y and in both, in the maximum norm, for the estimator of Kraskov et al. (2004).

One search gives the counts at several k at once, which repeated searches in a k-d tree do not: of one column each
among rows in its order, of more columns, or of groups, in one pass over all pairs of rows. Rows of other categories
are infinitely far (Ross 2014), tied radii are counted with their boundary (Mesner & Shalizi 2019), rows of a group are
no neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from scipy.special import digamma

from infoscope.estimators.knn.estimators import class_sizes
from infoscope.estimators.variables import Variable, joint_codes

Values = np.ndarray
Numbers = tuple[Values, Values | None]  # [n, d], and codes [n]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Local information [n, ks], nats (nan: no neighbour), the nearest rows [n, near] in x and y together (-1: none),
    and ascending distances [n, near] in both, in x and in y (infinite: none).
    """

    local: Values
    ids: Values
    distances: tuple[Values, Values, Values]


def neighbours(x: Numbers, y: Numbers, groups: Values | None, ks: tuple[int, ...], near: int = 0) -> Neighbours:
    """Counts for x and y, each numbers [n, d] and codes [n] or None; ids and distances of the `near` nearest rows."""
    n = len(x[0])
    points = [np.ascontiguousarray(variable[0].T, dtype=np.float32) for variable in (x, y)]
    codes = [np.zeros(n, np.int32) if variable[1] is None else variable[1].astype(np.int32) for variable in (x, y)]
    ids = np.full((n, near), -1, np.int32)
    distances = [np.full((n, near), np.inf, np.float32) for _ in range(3)]
    counts = np.zeros((n, len(ks), 4), np.int32)
    if groups is None and max(map(len, points)) == 1:
        both = _ordered(np.vstack(points), joint_codes(codes)[0])
        variables = [_ordered(*variable) for variable in zip(points, codes)]
        _search(both, *variables, np.array(ks), counts, ids, *distances)
    else:
        own = np.arange(n, dtype=np.int32) if groups is None else groups.astype(np.int32)
        _scan(*points, *codes, own, np.array(ks), counts, ids, *distances)
    psi = digamma(np.maximum(np.arange(n + 2), 1))
    everyone = n if groups is None else (n - np.bincount(groups)[groups] + 1)[:, None]
    inside, in_x, in_y, closed = np.moveaxis(counts, 2, 0)
    in_x, in_y = (count + ((closed == 0) | (len(variable) == 0)) for count, variable in zip((in_x, in_y), points))
    local = psi[inside] + psi[everyone] - psi[in_x] - psi[in_y]
    local[inside == 0] = np.nan
    return Neighbours(local, ids, tuple(distances))


def estimates(x: Numbers, y: Numbers, groups: Values | None, ks: tuple[int, ...]) -> Values:
    """KSG estimates [ks]; nan where no row has a neighbour."""
    return mean_of_rows(local_information(x, y, groups, ks).local)


def local_information(x: Numbers, y: Numbers, groups: Values | None, ks: tuple[int, ...], near: int = 0) -> Neighbours:
    """Neighbours of numbers; of categories alone the digamma of counts (Grassberger 1988)."""
    if x[0].shape[1] or y[0].shape[1]:
        return neighbours(x, y, groups, ks, near)
    n = len(x[0])
    none = np.empty((n, 0))
    codes = (joint_codes([x[1], y[1]])[0], np.zeros(n, np.intp)), (x[1], y[1])
    sizes = ((class_sizes(Variable(none, each, 1), groups) for each in some) for some in codes)
    plus, minus = (sum(map(digamma, some)) for some in sizes)
    return Neighbours(np.repeat((plus - minus)[:, None], len(ks), axis=1), none, (none,) * 3)


def mean_of_rows(local: Values) -> Values:
    """Means [ks] of the rows of local values [n, ks] that are finite."""
    known = local[np.isfinite(local).all(axis=1)]
    return known.mean(axis=0) if len(known) else np.full(local.shape[1], np.nan)


@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _distances(points, codes, own, i, found):
    """Distance of every row to row i; infinite to other categories and to its own group."""
    dim, n = points.shape
    found[:] = 0
    for column in range(dim):
        at, values = points[column, i], points[column]
        for j in range(n):
            found[j] = max(found[j], abs(values[j] - at))
    code, group = codes[i], own[i]
    for j in range(n):
        found[j] = found[j] if (codes[j] == code) & (own[j] != group) else np.float32(np.inf)


@numba.njit(cache=True, nogil=True)
def _smallest(values, found, ids):
    """The smallest finite values in ascending order, with their rows; returns how many there are."""
    most, held = len(found), 0
    limit = np.float32(np.inf)
    for j in range(len(values)):
        if values[j] < limit:
            place = held if held < most else most - 1
            while place > 0 and found[place - 1] > values[j]:
                found[place], ids[place] = found[place - 1], ids[place - 1]
                place -= 1
            found[place], ids[place] = values[j], j
            held = min(held + 1, most)
            if held == most:
                limit = found[most - 1]
    return held


@numba.njit(cache=True, nogil=True)
def _count(values, limit, closed):
    """How many values are below the limit, or at it where closed."""
    total = 0
    if closed:
        for j in range(len(values)):
            total += values[j] <= limit
    else:
        for j in range(len(values)):
            total += values[j] < limit
    return total


@numba.njit(cache=True, nogil=True)
def _scan(x, y, x_codes, y_codes, own, ks, counts, joint_ids, joint_found, x_found, y_found):
    """Fills counts [n, ks, (joint, x, y, closed)], ids and distances."""
    n, near, most = x.shape[1], joint_ids.shape[1], ks.max()
    in_x, in_y, both = np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.float32)
    found, ids = np.empty(max(most, near), np.float32), np.empty(max(most, near), np.int32)
    for i in range(n):
        _distances(x, x_codes, own, i, in_x)
        _distances(y, y_codes, own, i, in_y)
        for j in range(n):
            both[j] = max(in_x[j], in_y[j])
        held = _smallest(both, found, ids)
        kept = min(held, near)
        joint_found[i, :kept], joint_ids[i, :kept] = found[:kept], ids[:kept]
        if near:
            _smallest(in_x, x_found[i], ids)
            _smallest(in_y, y_found[i], ids)
        if held == 0:
            continue
        for which in range(len(ks)):
            k = min(ks[which], held)
            radius = found[k - 1]
            inside = _count(both, radius, True)
            closed = inside > k or radius == 0
            counts[i, which, 0] = inside if closed else k
            counts[i, which, 1] = _count(in_x, radius, closed)
            counts[i, which, 2] = _count(in_y, radius, closed)
            counts[i, which, 3] = closed


def _ordered(points: Values, codes: Values) -> tuple[Values, Values, Values, Values]:
    """Numbers [d, n] in the order of their categories, then of the first column; the row [n] at each place, the place
    [n] of each row, and where the category at each place begins and ends [n, 2].
    """
    points = points if len(points) else np.zeros((1, len(codes)), np.float32)
    rows = np.lexsort((points[0], codes)).astype(np.int32)
    places = np.empty(len(rows), np.int32)
    places[rows] = np.arange(len(rows))
    ends = np.cumsum(np.bincount(codes))
    starts = np.concatenate([[0], ends[:-1]])
    return np.ascontiguousarray(points[:, rows]), rows, places, np.stack([starts, ends], axis=1)[codes[rows]]


@numba.njit(cache=True, nogil=True)
def _nearest(ordered, at, named, found, ids):
    """Fills the ascending distances to the nearest rows, and their ids; returns their number. Ties are broken by row
    order if ids are requested.
    """
    points, rows, _, ends = ordered
    most, held, (start, end) = len(found), 0, ends[at]
    below, above, limit = at - 1, at + 1, np.float32(np.inf)
    while below >= start or above < end:
        before = abs(points[0, at] - points[0, below]) if below >= start else np.float32(np.inf)
        after = abs(points[0, above] - points[0, at]) if above < end else np.float32(np.inf)
        distance = min(before, after)
        if distance > limit or (distance == limit and not named):
            break
        if before <= after:
            other = below
            below -= 1
        else:
            other = above
            above += 1
        for column in range(1, len(points)):
            distance = max(distance, abs(points[column, other] - points[column, at]))
        row = rows[other]
        if distance > limit or (held == most and distance == limit and row > ids[most - 1]):
            continue
        place = held if held < most else most - 1
        while place > 0 and (found[place - 1] > distance or (found[place - 1] == distance and ids[place - 1] > row)):
            found[place], ids[place] = found[place - 1], ids[place - 1]
            place -= 1
        found[place], ids[place] = distance, row
        held = min(held + 1, most)
        if held == most:
            limit = found[most - 1]
    return held


@numba.njit(cache=True, nogil=True)
def _within(ordered, at, limit, closed):
    """How many other rows of the category are nearer than the limit to the row at a place, or at it where closed."""
    points, _, _, ends = ordered
    start, end = ends[at]
    total = 0
    for outside in (start - 1, end):
        inside = at
        while abs(outside - inside) > 1:
            middle = (inside + outside) // 2
            distance = abs(points[0, middle] - points[0, at])
            if distance < limit or (closed and distance == limit):
                inside = middle
            else:
                outside = middle
        total += abs(inside - at)
    return total


@numba.njit(cache=True, nogil=True)
def _tied(ordered, at, limit):
    """How many other rows of the category are within the limit of the row at a place, in all columns."""
    points, _, _, ends = ordered
    start, end = ends[at]
    total = 0
    for step in (-1, 1):
        other = at + step
        while start <= other < end and abs(points[0, other] - points[0, at]) <= limit:
            total += abs(points[-1, other] - points[-1, at]) <= limit
            other += step
    return total


@numba.njit(cache=True, nogil=True)
def _search(both, in_x, in_y, ks, counts, ids, found, x_found, y_found):
    """Fills what `_scan` does, of rows in order (`_ordered`): counts [n, ks, (joint, x, y, closed)], ids, distances."""
    near = ids.shape[1]
    most = max(ks.max(), near) + 1  # with the next one, which shows ties
    nearest, names, ignored = np.empty(most, np.float32), np.empty(most, np.int32), np.empty(near, np.int32)
    for at, i in enumerate(both[1]):
        held = _nearest(both, at, True, nearest, names)
        kept = min(held, near)
        found[i, :kept], ids[i, :kept] = nearest[:kept], names[:kept]
        if near:
            _nearest(in_x, in_x[2][i], False, x_found[i], ignored)
            _nearest(in_y, in_y[2][i], False, y_found[i], ignored)
        for which in range(len(ks) if held else 0):
            k = min(ks[which], held)
            radius = nearest[k - 1]
            closed = radius == 0 or (held > k and nearest[k] == radius)
            counts[i, which, 0] = _tied(both, at, radius) if closed else k
            counts[i, which, 1] = _within(in_x, in_x[2][i], radius, closed)
            counts[i, which, 2] = _within(in_y, in_y[2][i], radius, closed)
            counts[i, which, 3] = closed
