"""Sums of densities of every subset of latents in one pass over a data set, in float32.

Densities are divided by their value at the draw's own row, so that no sum underflows.
Sums within blocks of rows are float32, sums over blocks float64; means are pairs of
float32, which keeps the precision of narrow posteriors.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# rows of data per block: intermediate results fit in the L2 cache (measured)
WIDTH = 1024
PRODUCT, REDUNDANT, SYNERGISTIC = range(3)

# 2^f for |f| <= 1/2 as a Taylor polynomial, error 1.2e-7; adding ROUND puts the nearest integer in the low bits.
C0, C1, C2, C3, C4, C5, C6 = (
    np.float32(np.log(2) ** k / np.prod(np.arange(1.0, k + 1))) for k in range(7)
)
ROUND, LOWEST, HIGHEST = np.float32(1.5 * 2**23), np.float32(-126), np.float32(127)
HALF_LOG2_E = 0.5 / np.log(2)


class Plan(NamedTuple):
    """A posterior as arrays over the n rows of data, and the factors.

    kind          PRODUCT, REDUNDANT or SYNERGISTIC: the structure of the correlated part
    block, bases, alones   base rows of the correlated part; all base rows; further rows of single latents
    mean_high, mean_low, rate, level   float32 [g, n]: a Gaussian row is 2^(level - ((z - mean) rate)^2)
    probability   float32 [categories of all categorical latents, n]
    quadratic_mean, _matrix, _gain, _level, mixing   float64, of quadratic forms (SYNERGISTIC)
    codes         int32 [K, n]: factors; least, greatest [blocks, K]: their range in each WIDTH rows
    """

    kind: int
    block: int
    bases: int
    alones: int
    mean_high: np.ndarray
    mean_low: np.ndarray
    rate: np.ndarray
    level: np.ndarray
    probability: np.ndarray
    quadratic_mean: np.ndarray
    quadratic_matrix: np.ndarray
    quadratic_gain: np.ndarray
    quadratic_level: np.ndarray
    mixing: np.ndarray
    codes: np.ndarray
    least: np.ndarray
    greatest: np.ndarray


class Draws(NamedTuple):
    """Drawn latents and their densities at the row each was drawn from (`own`, base 2
    logarithms).

    high, low, own           float32 [m, g], for the Gaussian rows
    category, category_own   [m, c]: row of Plan.probability, and one over its value at the own row
    quadratic, shift, quadratic_own   float64 [m, d] each
    codes                    int32 [m, K]: factors of the own row
    """

    high: np.ndarray
    low: np.ndarray
    own: np.ndarray
    category: np.ndarray
    category_own: np.ndarray
    quadratic: np.ndarray
    shift: np.ndarray
    quadratic_own: np.ndarray
    codes: np.ndarray


@intrinsic
def times_power(context, mantissa, rounded):
    """mantissa times 2^k, k the integer in the low bits of `rounded`; float32."""

    def generate(_, builder, signature, arguments):
        integer = ir.IntType(32)
        exponent = builder.shl(
            builder.bitcast(arguments[1], integer), ir.Constant(integer, 23)
        )
        bits = builder.add(builder.bitcast(arguments[0], integer), exponent)
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(types.float32, types.float32), generate


@numba.njit(fastmath={"contract"}, inline="always")
def power_of_two(x):
    """2^x in float32, relative error below 3e-7; at least 2^-126, negligible in sums
    with the own density, 1.
    """
    x = min(max(x, LOWEST), HIGHEST)
    rounded = x + ROUND
    f = x - (rounded - ROUND)
    return times_power(
        C0 + f * (C1 + f * (C2 + f * (C3 + f * (C4 + f * (C5 + f * C6))))), rounded
    )


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def fill_gaussian(row, high, low, own, mean_high, mean_low, rate, level):
    """row[j] = density of one Gaussian row at one draw, divided by that at the own row."""
    for j in range(len(mean_high)):
        t = ((high - mean_high[j]) + (low - mean_low[j])) * rate[j]
        row[j] = power_of_two((level[j] - own) - t * t)


@numba.njit(cache=True, nogil=True)
def multiply(one, other, into, width):
    for j in range(width):
        into[j] = one[j] * other[j]


@numba.njit(cache=True, nogil=True)
def leave_one_out(rows, rest, joint, suffix, width):
    """rest[l] = product of all rows except l, joint = product of all; suffix: two rows
    of work space.
    """
    last = len(rows) - 1
    rest[0, :width] = 1
    for i in range(last):
        multiply(rest[i], rows[i], rest[i + 1], width)
    multiply(rest[last], rows[last], joint, width)
    suffix[last % 2, :width] = rows[last, :width]
    for i in range(last - 1, -1, -1):
        multiply(rest[i], suffix[(i + 1) % 2], rest[i], width)
        multiply(rows[i], suffix[(i + 1) % 2], suffix[i % 2], width)


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def fill_synergistic(plan, draws, m, start, width, rests, work):
    """Density ratios of (z + mixing e, e) without element l of e, for every l; work:
    float64 [d + 2, width].

    rests[l] = 2^(level_l - own_l - square / (2 ln 2) + gain_l v_l^2), v being work[:d]
    and square work[d].
    """
    dim = len(plan.quadratic_mean)
    square, y = work[dim], work[dim + 1]
    square[:width] = 0
    for i in range(dim):
        work[i, :width] = draws.shift[m, i]
    for i in range(dim):
        z, mean = draws.quadratic[m, i], plan.quadratic_mean[i, start : start + width]
        precision = plan.quadratic_matrix[i, start : start + width]
        for j in range(width):
            r = z - mean[j]
            y[j] = r * precision[j]
            square[j] += r * y[j]
        for k in range(dim):
            v, weight = work[k], plan.mixing[i, k]
            for j in range(width):
                v[j] -= weight * y[j]
    for i in range(dim):
        row, v, own = rests[i], work[i], draws.quadratic_own[m, i]
        level, gain = (
            plan.quadratic_level[i, start : start + width],
            plan.quadratic_gain[i, start : start + width],
        )
        for j in range(width):
            row[j] = power_of_two(
                np.float32(
                    level[j] - own - HALF_LOG2_E * square[j] + gain[j] * v[j] * v[j]
                )
            )


@numba.njit(cache=True, nogil=True)
def fill_terms(plan, draws, m, start, width, terms, multipliers, spare, work):
    """terms [u, width]: base rows, further single latents, all base rows but one, their
    product, quadratic forms.
    """
    bases, alones, block = plan.bases, plan.alones, plan.block
    categories = draws.category.shape[1]
    gaussians = bases - categories
    for g in range(len(plan.rate)):
        row = multipliers[max(g - gaussians - alones, 0)]
        if g < gaussians:
            row = terms[g]
        elif g < gaussians + alones:
            row = terms[bases + g - gaussians]
        stop = start + width
        fill_gaussian(
            row, draws.high[m, g], draws.low[m, g], draws.own[m, g], plan.mean_high[g, start:stop],
            plan.mean_low[g, start:stop], plan.rate[g, start:stop], plan.level[g, start:stop],
        )  # fmt: skip
    for c in range(categories):
        row, factor = terms[bases - categories + c], draws.category_own[m, c]
        probability = plan.probability[draws.category[m, c], start : start + width]
        for j in range(width):
            row[j] = probability[j] * factor
    rest, joint, quadratic = (
        terms[bases + alones : 2 * bases + alones],
        terms[2 * bases + alones],
        2 * bases + alones + 1,
    )
    if plan.kind == SYNERGISTIC:
        fill_synergistic(plan, draws, m, start, width, terms[quadratic:], work)
    leave_one_out(terms[:bases], rest, joint, spare, width)
    if plan.kind == REDUNDANT:
        for i in range(block):
            multiply(rest[i], multipliers[i], rest[i], width)
    for i in range(quadratic, len(terms)):
        for other in range(block, bases):
            multiply(terms[i], terms[other], terms[i], width)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def row_sum(row, width):
    total = np.float32(0)
    for j in range(width):
        total += row[j]
    return total


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def masked_sum(row, mask, width):
    total = np.float32(0)
    for j in range(width):
        total += row[j] * mask[j]
    return total


@numba.njit(cache=True, nogil=True)
def sweep(plan, draws, begin, end, terms_count, sums):
    """sums [m, 1 + K, u] += terms summed over all rows of data, then over those that
    share factor k, for draws begin..end.

    Rows sorted by factors go faster.
    """
    factors, n = plan.codes.shape
    terms = np.empty((terms_count, WIDTH), np.float32)
    multipliers = np.empty((max(plan.block, 1), WIDTH), np.float32)
    spare, mask = np.empty((2, WIDTH), np.float32), np.empty(WIDTH, np.float32)
    work = np.empty((len(plan.quadratic_mean) + 2, WIDTH))
    whole = np.empty(terms_count)
    for block in range(len(plan.least)):
        start = block * WIDTH
        width = min(WIDTH, n - start)
        for m in range(begin, end):
            fill_terms(plan, draws, m, start, width, terms, multipliers, spare, work)
            for u in range(terms_count):
                whole[u] = row_sum(terms[u], width)
                sums[m, 0, u] += whole[u]
            for k in range(factors):
                code = draws.codes[m, k]
                if code < plan.least[block, k] or code > plan.greatest[block, k]:
                    continue
                if plan.least[block, k] == plan.greatest[block, k]:
                    for u in range(terms_count):
                        sums[m, 1 + k, u] += whole[u]
                    continue
                codes = plan.codes[k, start : start + width]
                for j in range(width):
                    mask[j] = np.float32(1) if codes[j] == code else np.float32(0)
                for u in range(terms_count):
                    sums[m, 1 + k, u] += masked_sum(terms[u], mask, width)
