"""Nearest neighbours in x, in y and in both, in the maximum norm, for the estimator of
Kraskov et al. (2004).

One search gives the counts at several k. Variables of one column are searched among
rows in the order of the column; more columns, or groups, in one pass over all pairs of
rows. Rows of other categories are infinitely far (Ross 2014). A tied radius is counted
with its boundary (Mesner & Shalizi 2019). Rows of the same group are excluded.
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
INFINITE = np.float32(np.inf)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The local information of each row, and its nearest rows.

    local      float64 [n, ks], nats; nan: no neighbour
    ids        int [n, near], the nearest rows in x and y together; -1: none
    distances  float32 [n, near] in both, in x and in y, ascending; infinite: none
    """

    local: Values
    ids: Values
    distances: tuple[Values, Values, Values]


def neighbours(
    x: Numbers, y: Numbers, groups: Values | None, ks: tuple[int, ...], near: int = 0
) -> Neighbours:
    """Local information by k neighbours, and the `near` nearest rows.

    x and y are numbers [n, d] and codes [n] or None.
    """
    points_x, codes_x = _as_arrays(x)
    points_y, codes_y = _as_arrays(y)
    n = len(codes_x)
    ids = np.full((n, near), -1, np.int32)
    distances = np.full((n, near), np.inf, np.float32)
    distances_x = distances.copy()
    distances_y = distances.copy()
    counts = np.zeros((n, len(ks), 4), np.int32)
    filled = (np.array(ks), counts, ids, distances, distances_x, distances_y)
    if groups is None and max(len(points_x), len(points_y)) == 1:
        codes, _ = joint_codes((codes_x, codes_y))
        joint = _ordered(np.vstack([points_x, points_y]), codes)
        ordered_x = _ordered(points_x, codes_x)
        ordered_y = _ordered(points_y, codes_y)
        _search(joint, ordered_x, ordered_y, *filled)
    else:
        units = np.arange(n) if groups is None else groups
        units = units.astype(np.int32)
        _scan(points_x, points_y, codes_x, codes_y, units, *filled)
    psi = digamma(np.maximum(np.arange(n + 2), 1))
    candidates = n
    if groups is not None:
        group_sizes = np.bincount(groups)[groups]
        candidates = (n - group_sizes + 1)[:, None]
    inside, in_x, in_y, closed = np.moveaxis(counts, 2, 0)
    is_open = closed == 0
    in_x = in_x + (is_open | (len(points_x) == 0))
    in_y = in_y + (is_open | (len(points_y) == 0))
    local = psi[inside] + psi[candidates] - psi[in_x] - psi[in_y]
    local[inside == 0] = np.nan
    return Neighbours(local, ids, (distances, distances_x, distances_y))


def _as_arrays(variable: Numbers) -> tuple[Values, Values]:
    """Numbers float32 [d, n], and codes int32 [n] that are 0 without categories."""
    numbers, labels = variable
    points = np.ascontiguousarray(numbers.T, dtype=np.float32)
    if labels is None:
        return points, np.zeros(len(numbers), np.int32)
    return points, labels.astype(np.int32)


def estimates(
    x: Numbers, y: Numbers, groups: Values | None, ks: tuple[int, ...]
) -> Values:
    """KSG estimates [ks], nats; nan where no row has a neighbour."""
    return mean_of_rows(local_information(x, y, groups, ks).local)


def local_information(
    x: Numbers, y: Numbers, groups: Values | None, ks: tuple[int, ...], near: int = 0
) -> Neighbours:
    """Local information by neighbours; of categories alone by digamma of counts.

    The estimate from categories is Grassberger's (1988).
    """
    points_x, codes_x = x
    points_y, codes_y = y
    has_numbers = points_x.shape[1] or points_y.shape[1]
    if has_numbers or codes_x is None or codes_y is None:
        return neighbours(x, y, groups, ks, near)
    n = len(codes_x)
    none = np.empty((n, 0))

    def psi(codes: Values) -> Values:
        """Digamma of the number of rows in each row's category."""
        return digamma(class_sizes(Variable(none, codes, 1), groups))

    cells, _ = joint_codes((codes_x, codes_y))
    psi_marginals = psi(codes_x) + psi(codes_y)
    local = psi(cells) + psi(np.zeros(n, np.intp)) - psi_marginals
    repeated = np.repeat(local[:, None], len(ks), axis=1)
    return Neighbours(repeated, none, (none, none, none))


def mean_of_rows(local: Values) -> Values:
    """Means [ks] of the rows of local values [n, ks] that are finite."""
    finite = local[np.isfinite(local).all(axis=1)]
    if not len(finite):
        return np.full(local.shape[1], np.nan)
    return finite.mean(axis=0)


@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _distances(points, codes, units, i, distances):
    """Distance of every row to row i; infinite to other categories and to its group."""
    dim, n = points.shape
    distances[:] = 0
    for column in range(dim):
        values = points[column]
        value = values[i]
        for j in range(n):
            distances[j] = max(distances[j], abs(values[j] - value))
    code = codes[i]
    group = units[i]
    for j in range(n):
        is_candidate = (codes[j] == code) & (units[j] != group)
        distances[j] = distances[j] if is_candidate else INFINITE


@numba.njit(cache=True, nogil=True)
def _smallest(values, smallest, ids):
    """Fills the smallest finite values, ascending, and their rows; returns how many."""
    size = len(smallest)
    count = 0
    limit = INFINITE
    for j in range(len(values)):
        if values[j] < limit:
            place = min(count, size - 1)
            while place > 0 and smallest[place - 1] > values[j]:
                smallest[place] = smallest[place - 1]
                ids[place] = ids[place - 1]
                place -= 1
            smallest[place] = values[j]
            ids[place] = j
            count = min(count + 1, size)
            if count == size:
                limit = smallest[size - 1]
    return count


@numba.njit(cache=True, nogil=True)
def _count(values, limit, closed):
    """The number of values below the limit; if `closed`, also those at the limit."""
    total = 0
    if closed:
        for j in range(len(values)):
            total += values[j] <= limit
    else:
        for j in range(len(values)):
            total += values[j] < limit
    return total


@numba.njit(cache=True, nogil=True)
def _scan(
    x, y, codes_x, codes_y, units, ks, counts, ids, distances, distances_x, distances_y
):
    """Fills counts [n, ks, (joint, x, y, closed)], ids and distances, by all pairs."""
    n = x.shape[1]
    near = ids.shape[1]
    size = max(ks.max(), near)
    in_x = np.empty(n, np.float32)
    in_y = np.empty(n, np.float32)
    joint = np.empty(n, np.float32)
    nearest = np.empty(size, np.float32)
    nearest_ids = np.empty(size, np.int32)
    for i in range(n):
        _distances(x, codes_x, units, i, in_x)
        _distances(y, codes_y, units, i, in_y)
        for j in range(n):
            joint[j] = max(in_x[j], in_y[j])
        available = _smallest(joint, nearest, nearest_ids)
        count = min(available, near)
        distances[i, :count] = nearest[:count]
        ids[i, :count] = nearest_ids[:count]
        if near:
            _smallest(in_x, distances_x[i], nearest_ids)
            _smallest(in_y, distances_y[i], nearest_ids)
        if available == 0:
            continue
        for column in range(len(ks)):
            k = min(ks[column], available)
            radius = nearest[k - 1]
            inside = _count(joint, radius, True)
            closed = inside > k or radius == 0
            counts[i, column, 0] = inside if closed else k
            counts[i, column, 1] = _count(in_x, radius, closed)
            counts[i, column, 2] = _count(in_y, radius, closed)
            counts[i, column, 3] = closed


def _ordered(points: Values, codes: Values) -> tuple[Values, Values, Values, Values]:
    """Numbers [d, n] in the order of categories, then of the first column.

    Also returns the row [n] at each place, the place [n] of each row, and the places
    where the category of each place begins and ends [n, 2].
    """
    if not len(points):
        points = np.zeros((1, len(codes)), np.float32)
    rows = np.lexsort((points[0], codes)).astype(np.int32)
    places = np.empty(len(rows), np.int32)
    places[rows] = np.arange(len(rows))
    ends = np.cumsum(np.bincount(codes))
    starts = np.concatenate([[0], ends[:-1]])
    limits = np.stack([starts, ends], axis=1)
    ordered_points = np.ascontiguousarray(points[:, rows])
    return ordered_points, rows, places, limits[codes[rows]]


@numba.njit(cache=True, nogil=True)
def _nearest(ordered, at, named, distances, ids):
    """Fills the nearest distances to the row at a place, ascending, and their rows.

    Returns their number. Ties are broken by row order if `named`.
    """
    points, rows, _, ends = ordered
    start, end = ends[at]
    size = len(distances)
    count = 0
    below = at - 1
    above = at + 1
    limit = INFINITE
    value = points[0, at]
    while below >= start or above < end:
        before = INFINITE
        after = INFINITE
        if below >= start:
            before = abs(value - points[0, below])
        if above < end:
            after = abs(points[0, above] - value)
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
        is_tied = count == size and distance == limit
        if distance > limit or (is_tied and row > ids[size - 1]):
            continue
        place = min(count, size - 1)
        while place > 0:
            previous = distances[place - 1]
            is_tied = previous == distance and ids[place - 1] > row
            if previous <= distance and not is_tied:
                break
            distances[place] = previous
            ids[place] = ids[place - 1]
            place -= 1
        distances[place] = distance
        ids[place] = row
        count = min(count + 1, size)
        if count == size:
            limit = distances[size - 1]
    return count


@numba.njit(cache=True, nogil=True)
def _within(ordered, at, limit, closed):
    """The number of other rows of a category that are nearer than the limit.

    If `closed`, rows at the limit are included.
    """
    points, _, _, ends = ordered
    start, end = ends[at]
    value = points[0, at]
    total = 0
    for outside in (start - 1, end):
        inside = at
        while abs(outside - inside) > 1:
            middle = (inside + outside) // 2
            distance = abs(points[0, middle] - value)
            if distance < limit or (closed and distance == limit):
                inside = middle
            else:
                outside = middle
        total += abs(inside - at)
    return total


@numba.njit(cache=True, nogil=True)
def _tied(ordered, at, limit):
    """The number of other rows of a category within the limit in all (two) columns."""
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
def _search(joint, in_x, in_y, ks, counts, ids, distances, distances_x, distances_y):
    """Fills counts, ids and distances as `_scan` does, from rows in order."""
    near = ids.shape[1]
    size = max(ks.max(), near) + 1  # with the next one, which shows ties
    nearest = np.empty(size, np.float32)
    nearest_ids = np.empty(size, np.int32)
    ignored = np.empty(near, np.int32)
    for at, i in enumerate(joint[1]):
        place_x = in_x[2][i]
        place_y = in_y[2][i]
        available = _nearest(joint, at, True, nearest, nearest_ids)
        count = min(available, near)
        distances[i, :count] = nearest[:count]
        ids[i, :count] = nearest_ids[:count]
        if near:
            _nearest(in_x, place_x, False, distances_x[i], ignored)
            _nearest(in_y, place_y, False, distances_y[i], ignored)
        if available == 0:
            continue
        for column in range(len(ks)):
            k = min(ks[column], available)
            radius = nearest[k - 1]
            closed = radius == 0 or (available > k and nearest[k] == radius)
            counts[i, column, 0] = _tied(joint, at, radius) if closed else k
            counts[i, column, 1] = _within(in_x, place_x, radius, closed)
            counts[i, column, 2] = _within(in_y, place_y, radius, closed)
            counts[i, column, 3] = closed
