"""Nearest neighbours in x, in y and in both, in the maximum norm, for the estimator of
Kraskov et al. (2004).

One search gives the counts at several k at once, which repeated searches in a k-d tree
do not: of one column each among rows in its order, of more columns, or of groups, in
one pass over all pairs of rows. Rows of other categories are infinitely far (Ross
2014), tied radii are counted with their boundary (Mesner & Shalizi 2019), rows of a
group are no neighbours.
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
    """Local information [n, ks], nats (nan: no neighbour), the nearest rows [n, near]
    in x and y together (-1: none), and ascending distances [n, near] in both, in x and
    in y (infinite: none).
    """

    local: Values
    ids: Values
    distances: tuple[Values, Values, Values]


def neighbours(
    x: Numbers, y: Numbers, groups: Values | None, ks: tuple[int, ...], near: int = 0
) -> Neighbours:
    """Counts for x and y, each numbers [n, d] and codes [n] or None; ids and distances
    of the `near` nearest rows.
    """
    n = len(x[0])
    points = []
    codes = []
    for numbers, labels in (x, y):
        points.append(np.ascontiguousarray(numbers.T, dtype=np.float32))
        codes.append(
            np.zeros(n, np.int32) if labels is None else labels.astype(np.int32)
        )
    ids = np.full((n, near), -1, np.int32)
    distances = [np.full((n, near), np.inf, np.float32) for _ in range(3)]
    counts = np.zeros((n, len(ks), 4), np.int32)
    searched_ks = np.array(ks)
    if groups is None and max(map(len, points)) == 1:
        joint = _ordered(np.vstack(points), joint_codes(codes)[0])
        variables = [_ordered(*variable) for variable in zip(points, codes)]
        _search(joint, *variables, searched_ks, counts, ids, *distances)
    else:
        units = np.arange(n) if groups is None else groups
        _scan(
            *points,
            *codes,
            units.astype(np.int32),
            searched_ks,
            counts,
            ids,
            *distances,
        )
    psi = digamma(np.maximum(np.arange(n + 2), 1))
    candidates = n
    if groups is not None:
        group_sizes = np.bincount(groups)[groups]
        candidates = (n - group_sizes + 1)[:, None]
    inside, in_x, in_y, closed = np.moveaxis(counts, 2, 0)
    in_x = in_x + ((closed == 0) | (len(points[0]) == 0))
    in_y = in_y + ((closed == 0) | (len(points[1]) == 0))
    local = psi[inside] + psi[candidates] - psi[in_x] - psi[in_y]
    local[inside == 0] = np.nan
    return Neighbours(local, ids, tuple(distances))


def estimates(
    x: Numbers, y: Numbers, groups: Values | None, ks: tuple[int, ...]
) -> Values:
    """KSG estimates [ks]; nan where no row has a neighbour."""
    return mean_of_rows(local_information(x, y, groups, ks).local)


def local_information(
    x: Numbers, y: Numbers, groups: Values | None, ks: tuple[int, ...], near: int = 0
) -> Neighbours:
    """Neighbours of numbers; of categories alone the digamma of counts (Grassberger
    1988).
    """
    if x[0].shape[1] or y[0].shape[1]:
        return neighbours(x, y, groups, ks, near)
    n = len(x[0])
    none = np.empty((n, 0))
    cells, _ = joint_codes([x[1], y[1]])

    def psi(codes: Values) -> Values:
        """Digamma of the number of rows in each row's category."""
        return digamma(class_sizes(Variable(none, codes, 1), groups))

    psi_marginals = psi(x[1]) + psi(y[1])
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
        distances[j] = (
            distances[j]
            if (codes[j] == code) & (units[j] != group)
            else np.float32(np.inf)
        )


@numba.njit(cache=True, nogil=True)
def _smallest(values, smallest, ids):
    """The smallest finite values in ascending order, with their rows; returns how many
    there are.
    """
    size = len(smallest)
    count = 0
    limit = np.float32(np.inf)
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
def _scan(
    x,
    y,
    x_codes,
    y_codes,
    units,
    ks,
    counts,
    joint_ids,
    joint_distances,
    x_distances,
    y_distances,
):
    """Fills counts [n, ks, (joint, x, y, closed)], ids and distances."""
    n = x.shape[1]
    near = joint_ids.shape[1]
    size = max(ks.max(), near)
    in_x = np.empty(n, np.float32)
    in_y = np.empty(n, np.float32)
    joint = np.empty(n, np.float32)
    nearest = np.empty(size, np.float32)
    ids = np.empty(size, np.int32)
    for i in range(n):
        _distances(x, x_codes, units, i, in_x)
        _distances(y, y_codes, units, i, in_y)
        for j in range(n):
            joint[j] = max(in_x[j], in_y[j])
        available = _smallest(joint, nearest, ids)
        count = min(available, near)
        joint_distances[i, :count] = nearest[:count]
        joint_ids[i, :count] = ids[:count]
        if near:
            _smallest(in_x, x_distances[i], ids)
            _smallest(in_y, y_distances[i], ids)
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
    """Numbers [d, n] in the order of their categories, then of the first column; the
    row [n] at each place, the place [n] of each row, and where the category at each
    place begins and ends [n, 2].
    """
    points = points if len(points) else np.zeros((1, len(codes)), np.float32)
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
    """Fills the nearest distances to the row at a place, ascending, and their rows;
    returns how many there are.

    Ties are broken by row order if `named`.
    """
    points, rows, _, ends = ordered
    start, end = ends[at]
    size = len(distances)
    count = 0
    below = at - 1
    above = at + 1
    limit = np.float32(np.inf)
    while below >= start or above < end:
        before = (
            abs(points[0, at] - points[0, below])
            if below >= start
            else np.float32(np.inf)
        )
        after = (
            abs(points[0, above] - points[0, at]) if above < end else np.float32(np.inf)
        )
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
        if distance > limit or (
            count == size and distance == limit and row > ids[size - 1]
        ):
            continue
        place = min(count, size - 1)
        while place > 0:
            previous = distances[place - 1]
            is_later = previous > distance or (
                previous == distance and ids[place - 1] > row
            )
            if not is_later:
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
    """How many other rows of the category are nearer than the limit to the row at a
    place, or at it where closed.
    """
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
    """How many other rows of the category are within the limit of the row at a place,
    in all columns.
    """
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
def _search(joint, in_x, in_y, ks, counts, ids, distances, x_distances, y_distances):
    """Fills what `_scan` does, of rows in order (`_ordered`): counts [n, ks, (joint, x,
    y, closed)], ids, distances.
    """
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
            _nearest(in_x, place_x, False, x_distances[i], ignored)
            _nearest(in_y, place_y, False, y_distances[i], ignored)
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
