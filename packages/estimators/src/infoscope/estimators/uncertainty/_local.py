"""Local permutations (after Runge 2018): rows exchanged among the nearest in z, and `knn` estimates of I(x; y | z)
under all of them from one pass over the distances in y and z. Time is n^2 a permutation, memory linear in n.
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

BLOCK = 32  # rows whose distances are kept at once


def local_permutations(
    z: Variable, k_perm: int, permutations: int, generator: np.random.Generator, groups: NDArray | None = None,
    reuse: bool = False,
) -> NDArray[np.intp]:  # fmt: skip
    """Rows [permutations, n] whose x takes the place of a row's: each among its k_perm nearest in z, itself included.

    Within categories and `groups` [n]. No x is used twice, except with `reuse` (as published, biased upwards).
    """
    labels = [codes for codes in (z.codes, groups) if codes is not None]
    near = np.hstack([np.arange(z.n)[:, None], nearest(z.continuous, k_perm - 1, joint_codes(labels)[0]).ids])
    drawn = np.empty((permutations, z.n), np.intp)
    if reuse:
        for row in drawn:
            draw_in_turn(generator.permutation(z.n), generator.permuted(near, axis=1), row)
    else:
        swap(near, generator, 10 * z.n, drawn)  # ten exchanges tried for each row
    return drawn


@numba.njit(cache=True, nogil=True)
def swap(near, generator, turns, drawn):
    """Fills drawn [B, n] with states of a chain over the permutations that give each i one of near[i] (-1: none)."""
    n, many = near.shape
    own, owner = np.arange(n), np.arange(n)
    for state in drawn:
        for _ in range(turns):
            i = generator.integers(0, n)
            wanted = near[i, generator.integers(0, many)]
            if wanted < 0:
                continue
            j, given = owner[wanted], own[i]
            for c in range(many):
                if near[j, c] == given:
                    own[i], own[j], owner[wanted], owner[given] = wanted, given, i, j
                    break
        state[:] = own


@numba.njit(cache=True, nogil=True)
def draw_in_turn(order, choices, drawn):
    """drawn[i] = the first of choices[i] (-1: none) that is not taken, by turns in the given order; else the last."""
    taken = np.zeros(len(order), np.bool_)
    for i in order:
        for j in choices[i]:
            if j >= 0:
                drawn[i] = j
                if not taken[j]:
                    break
        taken[drawn[i]] = True


def permuted_estimates(x: Variable, y: Variable, z: Variable, rows: NDArray[np.intp], k: int) -> NDArray[np.float64]:
    """I(x[rows]; y | z) [B], nats, of prepared variables for rows [B, n]: each as `knn` estimates it."""
    codes = [np.zeros(z.n, np.intp) if variable.codes is None else variable.codes for variable in (x, y, z)]
    of_z, of_yz = codes[2], joint_codes(codes[1:])[0]
    counted = np.ones(rows.shape)
    for weights, row in zip(counted, rows) if of_yz.any() or codes[0].any() else ():
        cells = joint_codes([of_yz, codes[0][row]])[0]
        weights[:] = np.bincount(cells)[cells] > 1
    table = np.concatenate([[np.nan], digamma(np.arange(1, z.n + 1))])
    columns = [np.ascontiguousarray(variable.continuous) for variable in (x, y, z)]
    accidents = knn.MAX_CHANCE_TIES if x.ranked + y.ranked + z.ranked else 0

    def summed(closed: bool, some: NDArray) -> tuple[NDArray, NDArray]:
        sums, tied = np.zeros(some.sum()), np.zeros(some.sum(), np.int64)
        for start in range(0, z.n, BLOCK):  # a person can interrupt between blocks
            end = min(start + BLOCK, z.n)
            add_local_values(
                start, end, *columns, codes[0], of_yz, of_z, rows[some], counted[some], k, closed, table, sums, tied
            )
        return sums, tied

    sums, tied = summed(False, np.ones(len(rows), bool))
    left = counted.sum(axis=1)
    crowded = (tied > knn.MAX_TIED_SHARE * left) & (tied > accidents)
    if crowded.any():
        sums[crowded], _ = summed(True, crowded)
    return sums / left


@numba.njit(cache=True, nogil=True)
def add_local_values(start, end, x, y, z, of_x, of_yz, of_z, rows, counted, k, closed, table, sums, tied):
    """Adds the local values of the rows start..end to sums [B], and how many have tied distances to tied [B].

    x, y, z float64 [n, d]; of_... codes [n]; rows and counted [B, n] (0: left out); table: digamma; closed spheres or
    open.
    """
    n, many = len(z), end - start
    in_z, in_yz = np.empty((many, n)), np.empty((many, n))
    for q in range(many):
        i = start + q
        for j in range(n):
            apart = exact_distance(z, i, j) if of_z[i] == of_z[j] else np.inf
            in_z[q, j] = apart
            in_yz[q, j] = max(apart, exact_distance(y, i, j)) if of_yz[i] == of_yz[j] else np.inf
    moved, labels = np.empty((x.shape[1], n)), np.empty(n, np.intp)
    in_xz, joint, radii = np.empty(n), np.empty(n), np.zeros(many)
    labelled = of_x.max() > 0
    for b in range(len(rows)):
        for j in range(n):
            labels[j] = of_x[rows[b, j]]
            for c in range(len(moved)):
                moved[c, j] = x[rows[b, j], c]
        weights = counted[b]
        everyone = weights.min() > 0
        for q in range(many):
            i = start + q
            if weights[i] == 0:
                continue
            joint_distances(in_z[q], in_yz[q], moved, labels, labelled, i, in_xz, joint)
            joint[i] = np.inf
            if not everyone:
                for j in range(n):
                    joint[j] = joint[j] if weights[j] > 0 else np.inf
            there = count_below(joint, np.inf)
            own = min(k, there)
            radius = radii[q] = smallest(joint, own, radii[q])  # that of the last permutation is not far
            ties = count_below(joint, np.nextafter(radius, np.inf)) - own
            here = ties > 0 or radius == 0
            tied[b] += here
            if closed or here:
                limit, itself = np.nextafter(radius, np.inf), 1
            else:
                limit, itself = radius, 0
            if everyone:
                xz, yz, only_z = count_below(in_xz, limit), count_below(in_yz[q], limit), count_below(in_z[q], limit)
            else:
                xz, yz = weighted_below(in_xz, limit, weights), weighted_below(in_yz[q], limit, weights)
                only_z = weighted_below(in_z[q], limit, weights)
            sums[b] += table[int(own + ties)] - table[int(xz) - itself] - table[int(yz) - itself]
            sums[b] += table[int(only_z) - itself]


@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})  # a maximum is exact in any order
def joint_distances(in_z, in_yz, moved, labels, labelled, i, in_xz, joint):
    """Distances of row i to all [n] in x and z, and in x, y and z; moved [d, n] and labels [n] are those of x."""
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
    for j in range(len(column)):
        distances[j] = max(distances[j], abs(column[j] - value))


@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def weighted_below(values, limit, weights):
    count = 0.0
    for j in range(len(values)):
        count += weights[j] if values[j] < limit else 0.0
    return count


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "nnan", "nsz"})
def greatest_at_most(values, limit):
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
        middle = 1.15 * low + 1e-9 if high == np.inf else 0.85 * high if low == 0 else (low + high) / 2
        if not low < middle < high:
            break
    return greatest_at_most(values, high)
