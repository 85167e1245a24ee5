"""Twins: data made of a person's own rows, or like them, whose mutual information is known.

An estimator that is wrong on twins is likely to be wrong on the data, and by about as much; no drift with the sample
size sees a bias that does not move. Of each family a twin can be drawn at any level of information up to its `reach`:

null     x and y put together at random: both margins are the data's own, I = 0
scores   a score of x and a score of y, ranked to normal, are coupled with a correlation, and the data's own rows are
         put together by their ranks: X - a(X) - b(Y) - Y, so that I = -1/2 log(1 - correlation²)
cells    cells of x and of y (clusters, or the labels themselves) are coupled by a power of how often they met in the
         data: X - A - B - Y, so that I = I(A; B) of the coupling
latent   columns ranked to normal keep their correlations within a side; the canonical correlations between the sides
         are multiplied by one number: I = -1/2 sum log(1 - correlation²)
mixture  a law fitted to x and y together, or part of the draws put together at random: I by Monte Carlo

The first three use every row of the data once, so margins are exact and no row is repeated; the last two draw new rows,
whose columns have the data's quantiles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr
from sklearn.cluster import KMeans

from infoscope.estimators import laws
from infoscope.estimators.arrays.protocol import Pairs
from infoscope.estimators.variables import Variable

Floats, Rows = NDArray[np.float64], NDArray[np.intp]
_CELLS = (2, 4, 8)  # clusters of a side
_LARGEST_POWER = 64.0  # of the counts of cells
_SWEEPS = 200  # exchanges of partners, each of all rows
_RIDGE = 1e-3  # of correlations within a side
_LARGEST = 0.9995  # a correlation
_DRAWS = 20_000  # of Monte Carlo truths
_TIED = 0.05  # rows that share their score with another, at most: labels are no scores


@dataclass(frozen=True, eq=False)
class Twin:
    """One data set of known information.

    pairs   as many rows as the data
    truth   nats, of the law that it was drawn from, and `error`, its standard error (0: exact)
    family  the name of what drew it
    likeness  how much of the data's own dependence was kept: 1 all, more or less says that it was stretched
    """

    pairs: Pairs
    truth: float
    error: float
    family: str
    likeness: float = math.nan


class Family(Protocol):
    """Draws twins.

    name   what it is, in words
    reach  the most information of a twin, nats
    """

    name: str
    reach: float

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        """A twin of this information, or of the nearest that can be had: its `truth` says which."""


@dataclass(frozen=True, eq=False)
class Null:
    """x and y put together at random; with groups, those of y are moved on as blocks, so that rows that depend on one
    another stay together on either side."""

    pairs: Pairs
    name: str = "null"
    reach: float = 0.0

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        n = self.pairs.n
        if self.pairs.groups is None:
            partner = generator.permutation(n)
        else:
            order = _by_shuffled_group(self.pairs.groups, generator)
            partner = np.empty(n, np.intp)
            partner[order] = np.roll(order, int(generator.integers(n // 4, n - n // 4)))
        return Twin(_together(self.pairs, partner), 0.0, 0.0, self.name)


def _by_shuffled_group(groups: Rows, generator: np.random.Generator) -> Rows:
    """The rows [n], group by group, the groups in random order."""
    place = generator.permutation(int(groups.max()) + 1)
    return np.argsort(place[groups], kind="stable")


@dataclass(frozen=True, eq=False)
class Scores:
    """Two scores, one of each side, coupled as normal variables.

    a, b  scores of the rows [n]; equal ones are put in random order, which can only lose information
    kept  the correlation that their normal scores have in the data
    """

    pairs: Pairs
    a: Floats
    b: Floats
    name: str
    reach: float = -0.5 * math.log1p(-(_LARGEST**2))

    @property
    def kept(self) -> float:
        return float(np.corrcoef(_normal(self.a), _normal(self.b))[0, 1])

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        nats = min(max(nats, 0.0), self.reach)
        size = math.sqrt(-math.expm1(-2 * nats))
        correlation = math.copysign(size, self.kept)
        n = self.pairs.n
        u = generator.normal(size=n)
        v = correlation * u + math.sqrt(1 - correlation**2) * generator.normal(size=n)
        partner = np.empty(n, np.intp)
        partner[_order(self.a, generator)[_ranks(u)]] = _order(self.b, generator)[_ranks(v)]
        kept = abs(self.kept)
        return Twin(_together(self.pairs, partner), nats, 0.0, self.name, kept / size if size else math.nan)


def _order(score: Floats, generator: np.random.Generator) -> Rows:
    """Rows by rising score, equal ones in random order."""
    return np.lexsort((generator.random(len(score)), score))


def _ranks(values: Floats) -> Rows:
    ranks = np.empty(len(values), np.intp)
    ranks[np.argsort(values)] = np.arange(len(values))
    return ranks


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of both sides, coupled by a power of their counts in the data.

    a, b  the cell of every row, int [n], from 0 on
    """

    pairs: Pairs
    a: Rows
    b: Rows
    name: str

    @cached_property
    def _counts(self) -> Floats:
        joint = np.zeros((int(self.a.max()) + 1, int(self.b.max()) + 1))
        np.add.at(joint, (self.a, self.b), 1.0)
        return joint

    def shares(self, power: float) -> Floats:
        """The joint shares [cells of x, cells of y] at a power of the counts, with the data's own margins."""
        rows, columns = (self._counts.sum(axis=axis) / self.pairs.n for axis in (1, 0))
        # half a row more in every cell: what was not seen may be
        logs = np.log(self._counts + 0.5) - np.log(rows)[:, None] - np.log(columns)
        return _fitted_to_margins(power * logs, rows, columns)

    @cached_property
    def reach(self) -> float:
        return information(self.shares(_LARGEST_POWER))

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        nats = min(max(nats, 0.0), self.reach)
        power = 0.0
        if nats > 0:
            power = brentq(lambda p: information(self.shares(p)) - nats, 0.0, _LARGEST_POWER, xtol=1e-10)
        shares = self.shares(power)
        with np.errstate(divide="ignore"):
            weights = np.log(shares) - np.log(shares.sum(axis=1))[:, None] - np.log(shares.sum(axis=0))
        partner = coupled_partners(self.a, self.b, weights, generator)
        return Twin(_together(self.pairs, partner), information(shares), 0.0, self.name, power)


def _fitted_to_margins(logs: Floats, rows: Floats, columns: Floats) -> Floats:
    """exp(logs) times a factor of each row and of each column, so that its margins are these."""
    of_row, of_column = np.zeros(len(rows)), np.zeros(len(columns))
    for _ in range(500):
        of_row = np.log(rows) - logsumexp(logs + of_column, axis=1)
        moved = np.log(columns) - logsumexp(logs + of_row[:, None], axis=0)
        done = np.abs(moved - of_column).max() < 1e-12
        of_column = moved
        if done:
            break
    return np.exp(logs + of_row[:, None] + of_column)


def information(joint: Floats) -> float:
    """I of joint shares [a, b], nats."""
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / product[there])).sum())


def coupled_partners(a: Rows, b: Rows, weights: Floats, generator: np.random.Generator) -> Rows:
    """For every row the row whose y it gets, [n]: a permutation p with probability proportional to the product of
    exp(weights[a_i, b_p(i)]), which is the law of draws from a coupling given how often each cell was drawn.

    Rows exchange partners two by two (Metropolis), all at once.
    """
    n = len(a)
    partner = generator.permutation(n)
    for _ in range(_SWEEPS):
        order = generator.permutation(n)
        i, j = order[: n // 2], order[n // 2 : 2 * (n // 2)]
        of_i, of_j = b[partner[i]], b[partner[j]]
        gain = weights[a[i], of_j] + weights[a[j], of_i] - weights[a[i], of_i] - weights[a[j], of_j]
        taken = np.log(generator.random(len(i))) < gain
        i, j = i[taken], j[taken]
        partner[i], partner[j] = partner[j], partner[i]
    return partner


class Latent:
    """Normal columns behind those of the data, coupled by its canonical correlations times one number.

    Correlations below the noise of so many columns and rows, sqrt(d_x / n) + sqrt(d_y / n), are left out, but for the
    first. ValueError: a side has categories.
    """

    name = "latent"

    def __init__(self, pairs: Pairs) -> None:
        self.pairs, self._sides = pairs, (pairs.x, pairs.y)
        if any(side.codes is not None for side in self._sides):
            raise ValueError("x and y must be numbers for latent twins, got categories.")
        self._roots, white = [], []
        for side in self._sides:
            normal = side.rank_normal().continuous
            values, vectors = np.linalg.eigh(_covariance(normal))
            self._roots.append((vectors * np.sqrt(values)) @ vectors.T)
            white.append(normal @ ((vectors / np.sqrt(values)) @ vectors.T))
        left, found, right = np.linalg.svd(white[0].T @ white[1] / pairs.n)
        kept = max(1, int((found > sum(math.sqrt(side.dim / pairs.n) for side in self._sides)).sum()))
        self._axes = left[:, :kept], right[:kept].T
        self.correlations = np.minimum(found[:kept], _LARGEST)

    @property
    def reach(self) -> float:
        return self._information(_LARGEST / self.correlations[0])

    def _information(self, scale: float) -> float:
        return float(-0.5 * np.log1p(-((scale * self.correlations) ** 2)).sum())

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        nats, most = min(max(nats, 0.0), self.reach), _LARGEST / self.correlations[0]
        scale = brentq(lambda s: self._information(s) - nats, 0.0, most, xtol=1e-13) if nats else 0.0
        correlations = scale * self.correlations
        n = self.pairs.n
        x, y = (generator.normal(size=(n, side.dim)) for side in self._sides)
        on_x, on_y = x @ self._axes[0], y @ self._axes[1]
        moved = correlations * on_x + np.sqrt(1 - correlations**2) * on_y
        y = y + (moved - on_y) @ self._axes[1].T
        x, y = (_with_margins(*of) for of in zip(self._sides, (x @ self._roots[0], y @ self._roots[1])))
        return Twin(replace(self.pairs, x=x, y=y, groups=None), nats, 0.0, self.name, scale)


class Mixture:
    """A law fitted to x and y together; below its own information, a part of the draws has its y put at random.

    law  of normal scores and categories (`laws.fit`)
    """

    name = "mixture"

    def __init__(self, pairs: Pairs, law: laws.Law) -> None:
        self.pairs, self.law, self._of_x = pairs, law, law.columns == 0
        generator = np.random.default_rng(0)
        scores, codes = law.draw(_DRAWS, generator)
        self._ratio = laws.log_ratio(law, scores, codes)
        self._apart = laws.log_ratio(law, *self._put_together(scores, codes, generator.permutation(_DRAWS)))

    def _put_together(self, scores: Floats, codes: Rows, partner: Rows) -> tuple[Floats, Rows]:
        """The x of every draw with the y of its partner."""
        return (np.where(self._of_x, scores, scores[partner]), np.stack([codes[:, 0], codes[partner, 1]], axis=1))

    @property
    def reach(self) -> float:
        return self.truth(1.0)[0]

    def truth(self, share: float) -> tuple[float, float]:
        """I, nats, and its standard error, where a `share` of the rows comes from the law and the others have x and y
        apart: both kinds of draws are weighed by it."""
        if not share:
            return 0.0, 0.0
        together = np.log1p(share * np.expm1(self._ratio))
        if share == 1.0:  # pairs that the law does not hold have no share
            return float(together.mean()), float(together.std() / math.sqrt(_DRAWS))
        apart = np.log1p(share * np.expm1(self._apart))
        error = math.hypot(share * together.std(), (1 - share) * apart.std()) / math.sqrt(_DRAWS)
        return float(share * together.mean() + (1 - share) * apart.mean()), error

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        nats = max(nats, 0.0)
        share = 1.0 if nats >= self.reach else brentq(lambda s: self.truth(s)[0] - nats, 0.0, 1.0) if nats else 0.0
        n = self.pairs.n
        scores, codes = self.law.draw(n, generator)
        loose = np.flatnonzero(generator.random(n) >= share)
        partner = np.arange(n)
        partner[loose] = generator.permutation(loose)
        scores, codes = self._put_together(scores, codes, partner)
        x = _with_margins(self.pairs.x, scores[:, self._of_x], codes[:, 0])
        y = _with_margins(self.pairs.y, scores[:, ~self._of_x], codes[:, 1])
        return Twin(replace(self.pairs, x=x, y=y, groups=None), *self.truth(share), self.name, share)


def families(pairs: Pairs, generator: np.random.Generator) -> tuple[Family, ...]:
    """All that can be made of these pairs: a null always; scores, latent twins and mixtures of numbers; cells of what
    has numbers or labels."""
    found: list[Family] = [Null(pairs)]
    both = pairs.x.codes is None and pairs.y.codes is None
    if both:
        found += [*scores(pairs, generator), Latent(pairs)]
    found += cells(pairs, generator)
    found.append(Mixture(pairs, laws.fit((pairs.x, pairs.y), generator)))
    return tuple(found)


def scores(pairs: Pairs, generator: np.random.Generator) -> list[Scores]:
    """Pairs of scores of numbers: the first canonical variates of normal columns, the lengths of whitened rows, and
    random directions."""
    sides = [side.rank_normal().continuous for side in (pairs.x, pairs.y)]
    white = [_whitened(side) for side in sides]
    left, _, right = np.linalg.svd(white[0].T @ white[1])
    found = [Scores(pairs, white[0] @ left[:, 0], white[1] @ right[0], "scores: canonical variates")]
    if min(side.shape[1] for side in sides) > 1:
        found.append(Scores(pairs, *((side**2).sum(axis=1) for side in white), "scores: lengths"))
        ways = [side @ generator.normal(size=side.shape[1]) for side in white]
        found.append(Scores(pairs, *ways, "scores: random directions"))
    return [one for one in found if max(map(_tied, (one.a, one.b))) <= _TIED]


def cells(pairs: Pairs, generator: np.random.Generator) -> list[Cells]:
    """Clusters of either side, 2, 4 and 8 of them; a side of categories is its own cells."""
    found = []
    for count in _CELLS:
        a, b = (_cells_of(side, count, generator) for side in (pairs.x, pairs.y))
        found.append(Cells(pairs, a, b, f"cells: {int(a.max()) + 1} x {int(b.max()) + 1}"))
    of_name = {one.name: one for one in found}  # categories on both sides have the same cells at every count
    return list(of_name.values())


def _cells_of(side: Variable, count: int, generator: np.random.Generator) -> Rows:
    if not side.dim:
        return side.codes
    white = _whitened(side.rank_normal().continuous)
    if side.codes is not None:
        white = np.hstack([white, np.eye(side.categories)[side.codes]])
    seed = int(generator.integers(2**31))
    return KMeans(count, n_init=1, random_state=seed).fit_predict(white).astype(np.intp)


def _whitened(columns: Floats) -> Floats:
    """Columns [n, d] at unit covariance."""
    values, vectors = np.linalg.eigh(_covariance(columns))
    return (columns - columns.mean(axis=0)) @ (vectors / np.sqrt(values))


def _covariance(columns: Floats) -> Floats:
    """Of columns [n, d] of unit variance, [d, d]; its least eigenvalue is that of a ridge at least."""
    dim = columns.shape[1]
    return (1 - _RIDGE) * np.cov(columns.T).reshape(dim, dim) + _RIDGE * np.eye(dim)


def _normal(score: Floats) -> Floats:
    """The normal scores of a column [n]."""
    return Variable(score[:, None], None, 1).rank_normal().continuous[:, 0]


def _tied(score: Floats) -> float:
    """The share of rows whose score another row has, too."""
    _, counts = np.unique(score, return_counts=True)
    return float(counts[counts > 1].sum() / len(score))


def _together(pairs: Pairs, partner: Rows) -> Pairs:
    """The rows of x, each with the y of its partner; a row that is two people's is of neither's group."""
    return replace(pairs, y=pairs.y.take(partner), groups=None)


def _with_margins(side: Variable, scores: Floats, codes: Rows | None = None) -> Variable:
    """A side with the quantiles of its columns at normal scores [n, c], by a line between rows, and these codes."""
    levels = ndtr(scores) * side.n - 0.5
    columns = [
        np.interp(level, np.arange(side.n), np.sort(column)) for level, column in zip(levels.T, side.continuous.T)
    ]
    continuous = np.column_stack(columns) if columns else np.empty((len(scores), 0))
    if side.codes is None:
        return replace(side, continuous=continuous)
    present, names = np.unique(codes, return_inverse=True)
    return replace(side, continuous=continuous, codes=names.reshape(-1).astype(np.intp), categories=len(present))
