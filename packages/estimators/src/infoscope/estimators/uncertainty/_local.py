"""Local permutations (after Runge 2018): x is exchanged among the nearest rows in z.

One pass over the distances in y and z gives the `knn` estimates of I(x; y | z) under all
permutations. Time is n^2 a permutation, memory linear in n.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.knn._numba import count_below, exact_distance
from infoscope.estimators.knn.search import nearest
from infoscope.estimators.variables import Variable, joint_codes

BLOCK = 32  # rows whose distances are in memory at once
EXCHANGES_PER_ROW = 10  # attempts between two permutations


def local_permutations(
    z: Variable, k_perm: int, permutations: int, generator: np.random.Generator, groups: NDArray | None = None,
    reuse: bool = False,
) -> NDArray[np.intp]:  # fmt: skip
    """Rows [permutations, n] whose x replaces the x of each row.

    The replacing row is one of the k_perm nearest in z, the row itself included, with
    the same categories and group. A permutation uses each x once, but any number of
    times with `reuse` (as published, biased upwards).
    """
    strata = z.strata
    if groups is not None:
        strata, _ = joint_codes((strata, groups))
    others = nearest(z.continuous, k_perm - 1, strata).ids
    near = np.hstack([np.arange(z.n)[:, None], others])
    rows = np.empty((permutations, z.n), np.intp)
    if reuse:
        for row in rows:
            order = generator.permutation(z.n)
            choices = generator.permuted(near, axis=1)
            draw_in_turn(order, choices, row)
    else:
        swap(near, generator, EXCHANGES_PER_ROW * z.n, rows)
    return rows


@numba.njit(cache=True, nogil=True)
def swap(near, generator, turns, drawn):
    """Fills drawn [B, n] with states of a Markov chain over permutations.

    A permutation gives each row i one of near[i] (-1: none).
    """
    n, neighbours = near.shape
    source = np.arange(n)  # the row whose x each row has
    place = np.arange(n)  # the row that has each row's x
    for state in drawn:
        for _ in range(turns):
            i = generator.integers(0, n)
            new = near[i, generator.integers(0, neighbours)]
            if new < 0:
                continue
            old = source[i]
            j = place[new]
            for c in range(neighbours):
                if near[j, c] == old:
                    source[i] = new
                    source[j] = old
                    place[new] = i
                    place[old] = j
                    break
        state[:] = source


@numba.njit(cache=True, nogil=True)
def draw_in_turn(order, choices, drawn):
    """Writes drawn[i]: the first of choices[i] (-1: none) that no earlier row uses.

    Rows choose in this order. If all choices are used, the last choice is drawn.
    """
    is_used = np.zeros(len(order), np.bool_)
    for i in order:
        for j in choices[i]:
            if j >= 0:
                drawn[i] = j
                if not is_used[j]:
                    break
        is_used[drawn[i]] = True


def permuted_estimates(
    x: Variable, y: Variable, z: Variable, rows: NDArray[np.intp], k: int
) -> NDArray[np.float64]:
    """`knn` estimates [B] of I(x[rows]; y | z), nats, for rows [B, n].

    The variables are already on the scale of the search.
    """
    a, b, c = (np.ascontiguousarray(each.continuous) for each in (x, y, z))
    codes_x = x.strata
    codes_z = z.strata
    codes_yz, _ = joint_codes((y.strata, codes_z))
    counted = np.ones(rows.shape)
    if codes_yz.any() or codes_x.any():
        for weights, row in zip(counted, rows):
            cells, _ = joint_codes((codes_yz, codes_x[row]))
            weights[:] = np.bincount(cells)[cells] > 1
    table = digamma(np.arange(z.n + 1, dtype=float))
    table[0] = np.nan

    def summed(closed: bool, chosen: NDArray) -> tuple[NDArray, NDArray]:
        """Sums of local values of the chosen permutations, and numbers of tied rows."""
        sums = np.zeros(chosen.sum())
        tied = np.zeros(len(sums), np.int64)
        chosen_rows = rows[chosen]
        weights = counted[chosen]
        for start in range(0, z.n, BLOCK):  # the user can interrupt between blocks
            end = min(start + BLOCK, z.n)
            add_local_values(
                start, end, a, b, c, codes_x, codes_yz, codes_z, chosen_rows, weights,
                k, closed, table, sums, tied,
            )  # fmt: skip
        return sums, tied

    sums, tied = summed(False, np.ones(len(rows), bool))
    rows_counted = counted.sum(axis=1)
    chance_ties = knn.MAX_CHANCE_TIES if x.ranked + y.ranked + z.ranked else 0
    max_ties = np.maximum(knn.MAX_TIED_SHARE * rows_counted, chance_ties)
    has_ties = tied > max_ties
    if has_ties.any():
        sums[has_ties], _ = summed(True, has_ties)
    return sums / rows_counted


@numba.njit(cache=True, nogil=True)
def add_local_values(
    start, end, x, y, z, of_x, of_yz, of_z, rows, counted, k, closed, table, sums, tied
):
    """Adds the local values of the rows start..end to sums [B].

    Adds the number of rows with tied distances to tied [B].

    x, y, z          float64 [n, d]
    of_x, of_yz, of_z  codes [n]
    rows, counted    [B, n]; a row with counted = 0 is left out
    closed           whether spheres are closed
    table            digamma of 0, 1, 2, ...
    """
    n = len(z)
    size = end - start
    in_z = np.empty((size, n))
    in_yz = np.empty((size, n))
    for q in range(size):
        i = start + q
        for j in range(n):
            distance = exact_distance(z, i, j) if of_z[i] == of_z[j] else np.inf
            in_z[q, j] = distance
            in_yz[q, j] = np.inf
            if of_yz[i] == of_yz[j]:
                in_yz[q, j] = max(distance, exact_distance(y, i, j))
    moved = np.empty((x.shape[1], n))
    labels = np.empty(n, np.intp)
    in_xz = np.empty(n)
    joint = np.empty(n)
    radii = np.zeros(size)
    labelled = of_x.max() > 0
    for b in range(len(rows)):
        for j in range(n):
            labels[j] = of_x[rows[b, j]]
            for c in range(len(moved)):
                moved[c, j] = x[rows[b, j], c]
        weights = counted[b]
        everyone = weights.min() > 0
        for q in range(size):
            i = start + q
            if weights[i] == 0:
                continue
            joint_distances(in_z[q], in_yz[q], moved, labels, labelled, i, in_xz, joint)
            joint[i] = np.inf
            if not everyone:
                for j in range(n):
                    joint[j] = joint[j] if weights[j] > 0 else np.inf
            k_here = min(k, count_below(joint, np.inf))
            # the search starts from the radius of the last permutation
            radius = smallest(joint, k_here, radii[q])
            radii[q] = radius
            above = np.nextafter(radius, np.inf)
            ties = count_below(joint, above) - k_here
            is_tied = ties > 0 or radius == 0
            tied[b] += is_tied
            limit = radius
            itself = 0
            if closed or is_tied:
                limit = above
                itself = 1
            if everyone:
                xz = count_below(in_xz, limit)
                yz = count_below(in_yz[q], limit)
                only_z = count_below(in_z[q], limit)
            else:
                xz = weighted_below(in_xz, limit, weights)
                yz = weighted_below(in_yz[q], limit, weights)
                only_z = weighted_below(in_z[q], limit, weights)
            digamma_joint = table[int(k_here + ties)]
            digamma_xz = table[int(xz) - itself]
            digamma_yz = table[int(yz) - itself]
            sums[b] += digamma_joint - digamma_xz - digamma_yz
            sums[b] += table[int(only_z) - itself]


# a maximum is exact in any order
@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def joint_distances(in_z, in_yz, moved, labels, labelled, i, in_xz, joint):
    """Writes distances [n] of row i in x and z to in_xz, in x, y and z to joint.

    moved [d, n] are the numbers of x, labels [n] its codes.
    """
    in_xz[:] = in_z
    for c in range(len(moved)):
        furthest(moved[c], moved[c, i], in_xz)
    if labelled:
        for j in range(len(labels)):
            in_xz[j] = in_xz[j] if labels[j] == labels[i] else np.inf
    for j in range(len(joint)):
        joint[j] = max(in_xz[j], in_yz[j])


@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def furthest(column, value, distances):
    """Raises distances [n] to |column - value| where the latter is larger."""
    for j in range(len(column)):
        distances[j] = max(distances[j], abs(column[j] - value))


@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def weighted_below(values, limit, weights):
    """Sum of the weights of values below the limit."""
    count = 0.0
    for j in range(len(values)):
        count += weights[j] if values[j] < limit else 0.0
    return count


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "nnan", "nsz"})
def greatest_at_most(values, limit):
    """The greatest value that is at most the limit; 0 if there is none."""
    greatest = 0.0
    for j in range(len(values)):
        greatest = max(greatest, values[j] if values[j] <= limit else 0.0)
    return greatest


@numba.njit(cache=True, nogil=True)
def smallest(values, k, guess):
    """The k-th smallest of non-negative values, by bisection from a guess."""
    low, high, middle = 0.0, np.inf, guess
    if count_below(values, np.nextafter(low, np.inf)) >= k:
        return low
    while True:
        count = count_below(values, np.nextafter(middle, np.inf))
        if count < k:
            low = middle
        else:
            high = middle
            if count == k:
                break
        if high == np.inf:
            middle = 1.15 * low + 1e-9
        elif low == 0:
            middle = 0.85 * high
        else:
            middle = (low + high) / 2
        if not low < middle < high:
            break
    return greatest_at_most(values, high)
