"""Rows of the data paired anew: each is used once in x and once in y."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, ndtri, softmax

from infoscope.estimators.arrays.protocol import Pairs
from infoscope.metrics.advice.twins.protocol import LARGEST, POWERS, Powers, Twin, information, powers_up_to
from infoscope.metrics.advice.twins.sides import TIED, normal_scores, tied, together

Floats, Rows = NDArray[np.float64], NDArray[np.intp]
_VALUES, _NODES, _FAR = 128, 8, 8.5  # of a score that has ties, nodes between two of them, and the farthest
_LARGEST_POWER = 64.0  # of the counts of cells
_FITS_OF_MARGINS, _NEAR_MARGINS = 100, 1e-6
_SWEEPS = 40  # exchanges of partners, each of all rows, of which most have a likely one from the start


@dataclass(frozen=True, eq=False)
class Null:
    """x and y paired at random; with groups, those of y are moved as blocks, so that dependent rows stay together."""

    pairs: Pairs
    name: str = "null"
    least: ClassVar[float] = 0.0
    reach: ClassVar[float] = 0.0

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        n = self.pairs.n
        if self.pairs.groups is None:
            partner = generator.permutation(n)
        else:
            order = _by_shuffled_group(self.pairs.groups, generator)
            partner = np.empty(n, np.intp)
            partner[order] = np.roll(order, int(generator.integers(n // 4, n - n // 4)))
        return Twin(together(self.pairs, partner), 0.0, 0.0, self.name, partner=partner)


def _by_shuffled_group(groups: Rows, generator: np.random.Generator) -> Rows:
    """The rows [n], group by group, the groups in random order."""
    place = generator.permutation(int(groups.max()) + 1)
    return np.argsort(place[groups], kind="stable")


@dataclass(frozen=True, eq=False)
class Scores:
    """Two scores [n], one of x and one of y, coupled as normal variables; with ties, information of intervals by
    quadrature.
    """

    pairs: Pairs
    a: Floats
    b: Floats
    name: str
    least: ClassVar[float] = 0.0

    @cached_property
    def kept(self) -> float:
        """The correlation that their normal scores have in the data."""
        return float(np.corrcoef(normal_scores(self.a), normal_scores(self.b))[0, 1])

    @cached_property
    def _couplings(self) -> Powers:
        """The information of the normal variables in the place of a power."""
        grid = np.linspace(0.0, -0.5 * math.log1p(-(LARGEST**2)), POWERS)
        if max(map(tied, (self.a, self.b))) <= TIED:
            return Powers(np.array, float, grid)
        cuts = [_cuts(score) for score in (self.a, self.b)]
        return Powers(lambda nats: _between(*cuts, self._correlation(nats)), information, grid)

    def _correlation(self, nats: float) -> float:
        """Of normal variables that hold this, with the sign that it has in the data."""
        return math.copysign(math.sqrt(-math.expm1(-2 * nats)), self.kept)

    @property
    def reach(self) -> float:
        return self._couplings.reach

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        coupled, _, nats = self._couplings.at(nats)
        correlation = self._correlation(coupled)
        n = self.pairs.n
        u = generator.normal(size=n)
        v = correlation * u + math.sqrt(1 - correlation**2) * generator.normal(size=n)
        partner = np.empty(n, np.intp)
        partner[_order(self.a, generator)[_ranks(u)]] = _order(self.b, generator)[_ranks(v)]
        likeness = self.kept / correlation if correlation else math.nan
        return Twin(together(self.pairs, partner), nats, 0.0, self.name, likeness, partner)


def _cuts(score: Floats) -> Floats:
    """The normal quantiles between which the values of a score lie; of many values some are put together, of about even
    shares, and never is one cut that many rows have."""
    _, counts = np.unique(score, return_counts=True)
    ends = np.concatenate([[0.0], np.cumsum(counts) / len(score)]).clip(0.0, 1.0)
    if len(counts) > _VALUES:
        ends = np.unique(ends[np.searchsorted(ends[:-1], np.linspace(0.0, 1.0, _VALUES + 1))])
    return ndtri(ends)


def _between(a: Floats, b: Floats, correlation: float) -> Floats:
    """Shares [cuts of a - 1, cuts of b - 1] of a normal law between cuts, by Gauss-Legendre nodes in each of a's."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    ends = np.clip(a, -_FAR, _FAR)
    half = np.diff(ends)[:, None] / 2
    u = (ends[:-1, None] + half) + half * nodes
    below = ndtr((b - correlation * u[..., None]) / math.sqrt(1 - correlation**2))
    shares = np.einsum("iq,iqj->ij", half * weights * np.exp(-0.5 * u**2), np.diff(below, axis=2))
    return shares / shares.sum()


def _order(score: Floats, generator: np.random.Generator) -> Rows:
    """Rows by rising score, equal ones in random order."""
    return np.lexsort((generator.random(len(score)), score))


def _ranks(values: Floats) -> Rows:
    ranks = np.empty(len(values), np.intp)
    ranks[np.argsort(values)] = np.arange(len(values))
    return ranks


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of x and y (int [n]), coupled by a power of their joint counts; `added`: from independence upwards."""

    pairs: Pairs
    a: Rows
    b: Rows
    name: str
    added: bool = False
    least: ClassVar[float] = 0.0

    @cached_property
    def _counts(self) -> Floats:
        joint = np.zeros((int(self.a.max()) + 1, int(self.b.max()) + 1))
        np.add.at(joint, (self.a, self.b), 1.0)
        return joint

    def shares(self, power: float) -> Floats:
        """The joint shares [cells of x, cells of y] at a power of the counts, with the data's own margins."""
        rows, columns = (self._counts.sum(axis=axis) / self.pairs.n for axis in (1, 0))
        if self.added:
            expected = self.pairs.n * np.outer(rows, columns)
            beyond = np.maximum(self._counts - expected - np.sqrt(expected), 0.0)
            return _fitted_to_margins(np.log1p(power * beyond / expected), rows, columns)
        # half a row more in every cell: what was not seen may be
        logs = np.log(self._counts + 0.5) - np.log(rows)[:, None] - np.log(columns)
        return _fitted_to_margins(power * logs, rows, columns)

    @property
    def reach(self) -> float:
        return self._powers.reach

    @cached_property
    def _powers(self) -> Powers:
        return Powers(self.shares, information, powers_up_to(_LARGEST_POWER))

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        power, shares, nats = self._powers.at(nats)
        with np.errstate(divide="ignore"):
            weights = np.log(shares) - np.log(shares.sum(axis=1))[:, None] - np.log(shares.sum(axis=0))
        partner = coupled_partners(self.a, self.b, weights, generator)
        return Twin(together(self.pairs, partner), nats, 0.0, self.name, power, partner)


def _fitted_to_margins(logs: Floats, rows: Floats, columns: Floats) -> Floats:
    """exp(logs) times a factor of each row and of each column, so that its margins are these."""
    of_row, of_column = np.zeros(len(rows)), np.zeros(len(columns))
    for _ in range(_FITS_OF_MARGINS):
        of_row = np.log(rows) - logsumexp(logs + of_column, axis=1)
        moved = np.log(columns) - logsumexp(logs + of_row[:, None], axis=0)
        done = np.abs(moved - of_column).max() < _NEAR_MARGINS
        of_column = moved
        if done:
            break
    return np.exp(logs + of_row[:, None] + of_column)


def coupled_partners(a: Rows, b: Rows, weights: Floats, generator: np.random.Generator) -> Rows:
    """For every row the row whose y it gets, [n]: permutations weighted by exp(weights[a_i, b_p(i)]), by Metropolis
    swaps.
    """
    n = len(a)
    partner = _begun(a, b, weights, generator)
    for _ in range(_SWEEPS):
        order = generator.permutation(n)
        i, j = order[: n // 2], order[n // 2 : 2 * (n // 2)]
        of_i, of_j = b[partner[i]], b[partner[j]]
        gain = weights[a[i], of_j] + weights[a[j], of_i] - weights[a[i], of_i] - weights[a[j], of_j]
        taken = np.log(generator.random(len(i))) < gain
        i, j = i[taken], j[taken]
        partner[i], partner[j] = partner[j], partner[i]
    return partner


def _begun(a: Rows, b: Rows, weights: Floats, generator: np.random.Generator) -> Rows:
    """Partners near that law: a cell of y is drawn for each row, and rows whose cell has run out share what is left."""
    sizes = np.bincount(b, minlength=weights.shape[1])
    with np.errstate(divide="ignore"):
        asked = softmax(weights + np.log(sizes), axis=1).cumsum(axis=1)[a]
    wanted = (generator.random((len(a), 1)) > asked[:, :-1]).sum(axis=1)
    partner, left = np.full(len(a), -1), []
    for cell in range(weights.shape[1]):
        rows = generator.permutation(np.flatnonzero(wanted == cell))
        there = generator.permutation(np.flatnonzero(b == cell))
        both = min(len(rows), len(there))
        partner[rows[:both]] = there[:both]
        left.append(there[both:])
    partner[partner < 0] = generator.permutation(np.concatenate(left))
    return partner
