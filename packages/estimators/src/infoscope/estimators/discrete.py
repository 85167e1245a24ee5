"""Entropies of categories from their counts, and what such estimates make of too few rows.

    plug_in       of the frequencies: biased low by about (m - 1) / (2 n) with m categories
    miller_madow  that, with (m - 1) / (2 n) added for the m that occur (Miller 1955)
    grassberger   log n - digamma of the counts in place of logarithms (after Grassberger 1988, without its alternating
                  term): what `knn` uses, whose chain rule is exact
    chao_shen     with unseen categories (Chao & Shen 2003, eqs. 5 and 7): the share of unseen probability is that of
                  the rows alone in their category, and every term is divided by the chance of having been seen

All in nats, of counts [m] of the categories that occur. With a handful of rows in each, joint entropies are too low and
information is too high: `expected_information` is what independent variables with the same counts would give.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln

_WINDOW = 12  # standard deviations of a cell's count that are summed over
_AT_ONCE = 2_000_000  # terms


def plug_in(counts: ArrayLike) -> float:
    shares = _shares_of(counts)
    return float(-(shares * np.log(shares)).sum())


def miller_madow(counts: ArrayLike) -> float:
    counts = checked(counts)
    return plug_in(counts) + (len(counts) - 1) / (2 * counts.sum())


def grassberger(counts: ArrayLike) -> float:
    counts = checked(counts)
    return float(digamma(counts.sum()) - (_shares_of(counts) * digamma(counts)).sum())


def chao_shen(counts: ArrayLike) -> float:
    """The entropy, nats; where every row is alone in its category, one is taken for a pair: else nothing is seen."""
    counts = checked(counts)
    n = counts.sum()
    if len(counts) == 1:
        return 0.0
    alone = (counts == 1).sum()
    shares = _shares_of(counts) * (1 - min(alone, n - 1) / n)
    seen = -np.expm1(n * np.log1p(-shares))
    return float(-(shares * np.log(shares) / seen).sum())


def expected_information(x: NDArray[np.intp], y: NDArray[np.intp], z: NDArray[np.intp] | None = None) -> float:
    """The mean estimate of `knn`, nats, when categories x [n] and y [n] are independent (given z [n], if any).

    The mean over all permutations of one of them among the rows of equal z: exact, from the counts alone, which are
    those of a hypergeometric law (as for the adjusted mutual information of Vinh et al. 2010). The truth is then 0.
    """
    if z is None:
        return _of_counts(np.bincount(x), np.bincount(y))
    total = 0.0
    for rows in np.split(np.argsort(z, kind="stable"), np.cumsum(np.bincount(z))[:-1]):
        if len(rows) > 1:
            total += len(rows) * _of_counts(*(np.unique(side[rows], return_counts=True)[1] for side in (x, y)))
    return total / len(x)


def expected_of_pairs(
    x: NDArray[np.intp], y: NDArray[np.intp], z: NDArray[np.intp] | None, generator: Generator, draws: int = 16
) -> float:
    """The same where rows alone in their combination of x, y and z [n] are left out, which chooses among the others.

    By drawn permutations of y among the rows of equal z; draws in which all rows are alone count as 0.
    """
    z = np.zeros(len(x), np.intp) if z is None else z
    order, total = np.argsort(z, kind="stable"), 0.0
    for _ in range(draws):
        drawn = np.empty_like(y)
        drawn[order] = y[np.lexsort((generator.random(len(y)), z))]
        cells = _sizes_of(x, drawn, z)
        kept = cells > 1
        if kept.any():
            parts = x[kept], drawn[kept], z[kept]
            sizes = [_sizes_of(*some) for some in (parts, parts[::2], parts[1:], parts[2:])]
            total += (digamma(sizes[0]) - digamma(sizes[1]) - digamma(sizes[2]) + digamma(sizes[3])).mean()
    return total / draws


def _sizes_of(*codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many rows share the combination of each [n]."""
    _, cell, sizes = np.unique(np.stack(codes), axis=1, return_inverse=True, return_counts=True)
    return sizes[cell.reshape(-1)]


def _of_counts(first: NDArray, second: NDArray) -> float:
    """expected_information of counts [a] and [b] of the same n rows."""
    (sizes, many), (others, times) = (np.unique(side[side > 0], return_counts=True) for side in (first, second))
    n = int((sizes * many).sum())
    log_factorial, psi = gammaln(np.arange(n + 1) + 1.0), digamma(np.maximum(np.arange(n + 1), 1))
    joint = 0.0
    for size, number in zip(sizes, many):
        mean = size * others / n
        spread = np.sqrt(mean * (1 - size / n) * (n - others) / max(n - 1, 1))
        low = np.maximum(np.maximum(1, size + others - n), np.floor(mean - _WINDOW * spread) - _WINDOW).astype(int)
        high = np.minimum(np.minimum(size, others), np.ceil(mean + _WINDOW * spread) + _WINDOW).astype(int)
        lengths = np.maximum(high - low + 1, 0)
        for part in np.array_split(np.arange(len(others)), -(-int(lengths.sum()) // _AT_ONCE) or 1):
            other = np.repeat(others[part], lengths[part])
            starts = np.cumsum(lengths[part]) - lengths[part]
            count = np.repeat(low[part] - starts, lengths[part]) + np.arange(lengths[part].sum())
            ways = log_factorial[size] + log_factorial[n - size] + log_factorial[other] + log_factorial[n - other]
            ways = ways - log_factorial[n] - log_factorial[count] - log_factorial[size - count]
            ways = ways - log_factorial[other - count] - log_factorial[n - size - other + count]
            terms = np.repeat(times[part], lengths[part]) * count * psi[count] * np.exp(ways)
            joint += number * terms.sum()
    margins = (many * sizes * psi[sizes]).sum() + (times * others * psi[others]).sum()
    return float((joint - margins) / n + psi[n])


def _shares_of(counts: ArrayLike) -> NDArray[np.float64]:
    counts = checked(counts)
    return counts / counts.sum()


def checked(counts: ArrayLike) -> NDArray[np.float64]:
    """float64 [m], zeros left out. ValueError: not one axis, nothing counted, or what is no count."""
    counts = np.asarray(counts, dtype=np.float64)
    if counts.ndim != 1 or not (counts >= 0).all() or np.mod(counts, 1).any() or not counts.sum() > 0:
        raise ValueError(f"counts must be whole numbers [m] that are not all 0, got {counts.tolist()!r:.80}.")
    return counts[counts > 0]
