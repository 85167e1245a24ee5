"""Twins: data made of a person's own rows, or like them, whose mutual information is known.

An estimator that is wrong on twins is likely to be wrong on the data, and by about as much; no drift with the sample
size sees a bias that does not move. Of each family a twin can be drawn at any level of information up to its `reach`:

null     x and y put together at random: both margins are the data's own, I = 0
scores   a score of x and a score of y, ranked to normal, are coupled with a correlation, and the data's own rows are
         put together by their ranks: X - a(X) - b(Y) - Y, so that I = -1/2 log(1 - correlation²); where scores have
         ties, what is left of it between their values
cells    cells of x and of y (clusters, or the labels themselves) are coupled by a power of how often they met in the
         data: X - A - B - Y, so that I = I(A; B) of the coupling
labels   labels are drawn anew, by a power of the odds that a classifier of other rows gives them: X - odds(X) - Y, so
         that I = H(Y) - H(Y | X) of these odds
latent   columns ranked to normal keep their correlations within a side; the canonical correlations between the sides
         are multiplied by one number: I = -1/2 sum log(1 - correlation²)
student  the same columns over one chi-square: extreme together, correlated or not; the level is set by the correlations
         or by the degrees of freedom
mixture  a law fitted to x and y together, loosened or sharpened: I by Monte Carlo

The first three use every row of the data once, so margins are exact and no row is repeated; so are those of x where
labels are drawn. The last three draw new rows, whose columns have the data's quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, entr, gammaln, logsumexp, ndtr, ndtri, softmax
from sklearn.cluster import KMeans

from infoscope.estimators import laws
from infoscope.estimators.arrays.protocol import Pairs
from infoscope.estimators.families.registry import as_family
from infoscope.estimators.laws import mixture, student
from infoscope.estimators.variables import Variable
from infoscope.metrics.advice.odds import forest, held_out_odds

Floats, Rows = NDArray[np.float64], NDArray[np.intp]
_CELLS, _ROWS_OF_CELL = (2, 4, 8, 16), 3  # clusters of a side, and rows of a pair of them at least
_VALUES, _NODES, _FAR = 128, 8, 8.5  # of a score that has ties, nodes between two of them, and the farthest
_LARGEST_POWER = 64.0  # of the counts of cells
_FITS_OF_MARGINS, _NEAR_MARGINS = 100, 1e-6
_SWEEPS = 40  # exchanges of partners, each of all rows, of which most have a likely one from the start
_RIDGE = 1e-3  # of correlations within a side
_LARGEST = 0.9995  # a correlation
_DRAWS = 20_000  # of Monte Carlo truths
_DEGREES = (0.3, 60.0)  # of freedom, at which twins have most and least
_FOLDS = 5  # of rows, whose odds are those of a classifier of the others
_LARGEST_ODDS = 32.0  # a power of the odds
_FITS_OF_SHARES, _NEAR = 50, 1e-3  # of a label's share, relative
_SMALLEST_POWER, _POWERS = 0.02, 40  # at which information is known
_WIDTHS = tuple(np.geomspace(0.05, 1.0, 13)[:-1])  # of the components of a mixture, times their own
_FEW_ROWS = 20  # for each column: below it a side is seen through its leading principal components
_COMPONENTS = 8
_TIED = 0.05  # of the rows share their value with another: beyond it columns or scores have ties


@dataclass(frozen=True, eq=False)
class Twin:
    """One data set of known information.

    pairs   as many rows as the data
    truth   nats, of the law that it was drawn from, and `error`, its standard error (0: exact)
    family  the name of what drew it
    likeness  how much of the data's own dependence was kept: 1 all, more or less says that it was stretched
    partner   [n] the row whose y a row has; None where rows were drawn anew
    """

    pairs: Pairs
    truth: float
    error: float
    family: str
    likeness: float = math.nan
    partner: Rows | None = None


class Family(Protocol):
    """Draws twins.

    name   what it is, in words
    least  the least information of a twin, nats
    reach  the most
    """

    name: str
    least: float
    reach: float

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        """A twin of this information, or of the nearest that can be had: its `truth` says which."""


@dataclass(frozen=True, eq=False)
class Null:
    """x and y put together at random; with groups, those of y are moved on as blocks, so that rows that depend on one
    another stay together on either side."""

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
        return Twin(_together(self.pairs, partner), 0.0, 0.0, self.name, partner=partner)


def _by_shuffled_group(groups: Rows, generator: np.random.Generator) -> Rows:
    """The rows [n], group by group, the groups in random order."""
    place = generator.permutation(int(groups.max()) + 1)
    return np.argsort(place[groups], kind="stable")


@dataclass(frozen=True, eq=False)
class Scores:
    """Two scores, one of each side, coupled as normal variables.

    a, b  scores of the rows [n]. Equal ones are put in random order; what twins hold is then what is left of a normal
          coupling when only the intervals between values are seen, by quadrature
    """

    pairs: Pairs
    a: Floats
    b: Floats
    name: str
    least: ClassVar[float] = 0.0

    @cached_property
    def kept(self) -> float:
        """The correlation that their normal scores have in the data."""
        return float(np.corrcoef(_normal(self.a), _normal(self.b))[0, 1])

    @cached_property
    def _couplings(self) -> _Powers:
        """The information of the normal variables in the place of a power."""
        grid = np.linspace(0.0, -0.5 * math.log1p(-(_LARGEST**2)), _POWERS)
        if max(map(_tied, (self.a, self.b))) <= _TIED:
            return _Powers(np.array, float, grid)
        cuts = [_cuts(score) for score in (self.a, self.b)]
        return _Powers(lambda nats: _between(*cuts, self._correlation(nats)), information, grid)

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
        return Twin(_together(self.pairs, partner), nats, 0.0, self.name, likeness, partner)


def _cuts(score: Floats) -> Floats:
    """The normal quantiles between which the values of a score lie; of many values those of even shares."""
    _, counts = np.unique(score, return_counts=True)
    if len(counts) > _VALUES:
        return ndtri(np.linspace(0.0, 1.0, _VALUES + 1))
    return ndtri(np.concatenate([[0.0], np.cumsum(counts) / len(score)]).clip(0.0, 1.0))


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


class _Powers:
    """Shares by their power and the information of each, found once for every level that is asked about.

    shares       power -> shares
    information  shares -> nats, which rises with the power
    grid         of powers, from 0 on, between which the power of a level is interpolated
    """

    def __init__(self, shares: Callable[[float], Floats], information: Callable[[Floats], float], grid: Floats):
        self._shares, self._information, self._grid = shares, information, grid
        self._nats = np.maximum.accumulate([self._information(shares(power)) for power in self._grid])
        self._known: dict[float, tuple[float, Floats, float]] = {}

    @property
    def reach(self) -> float:
        return float(self._nats[-1])

    def at(self, nats: float) -> tuple[float, Floats, float]:
        """The power whose information is about this, its shares, and what they hold, nats."""
        if nats not in self._known:
            power = float(np.interp(min(max(nats, 0.0), self.reach), self._nats, self._grid))
            shares = self._shares(power)
            self._known[nats] = power, shares, self._information(shares)
        return self._known[nats]


def _powers(largest: float) -> Floats:
    return np.concatenate([[0.0], np.geomspace(_SMALLEST_POWER, largest, _POWERS)])


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of both sides, coupled by a power of their counts in the data.

    a, b   the cell of every row, int [n], from 0 on
    added  rows of cells that were met more often than by chance are added to independent ones instead
    """

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
    def _powers(self) -> _Powers:
        return _Powers(self.shares, information, _powers(_LARGEST_POWER))

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        power, shares, nats = self._powers.at(nats)
        with np.errstate(divide="ignore"):
            weights = np.log(shares) - np.log(shares.sum(axis=1))[:, None] - np.log(shares.sum(axis=0))
        partner = coupled_partners(self.a, self.b, weights, generator)
        return Twin(_together(self.pairs, partner), nats, 0.0, self.name, power, partner)


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


class Latent:
    """Normal columns behind those of the data, coupled by its canonical correlations times one number.

    Correlations below the noise of so many columns and rows, sqrt(d_x / n) + sqrt(d_y / n), are left out, but for the
    first. ValueError: a side has categories.
    """

    name = "latent"
    least = 0.0

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
        self.noise = sum(math.sqrt(side.dim / pairs.n) for side in self._sides)
        kept = max(1, int((found > self.noise).sum()))
        self._axes = left[:, :kept], right[:kept].T
        self.correlations = np.minimum(found[:kept], _LARGEST)

    @property
    def reach(self) -> float:
        return self._information(_LARGEST / self.correlations[0])

    def _information(self, scale: float) -> float:
        return float(-0.5 * np.log1p(-((scale * self.correlations) ** 2)).sum())

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        nats = min(max(nats, 0.0), self.reach)
        scale = self._scale(nats)
        return self._twin(self._normal(scale, generator), nats, scale)

    def _scale(self, nats: float) -> float:
        """By which correlations of this information are those of the data."""
        most = _LARGEST / self.correlations[0]
        return brentq(lambda s: self._information(s) - nats, 0.0, most, xtol=1e-13) if nats > 0 else 0.0

    def _normal(self, scale: float, generator: np.random.Generator) -> list[Floats]:
        """Correlated normal columns of x and of y, at a scale of the correlations between them."""
        correlations = scale * self.correlations
        x, y = (generator.normal(size=(self.pairs.n, side.dim)) for side in self._sides)
        on_x, on_y = x @ self._axes[0], y @ self._axes[1]
        moved = correlations * on_x + np.sqrt(1 - correlations**2) * on_y
        y = y + (moved - on_y) @ self._axes[1].T
        return [x @ self._roots[0], y @ self._roots[1]]

    def _twin(self, columns: Sequence[Floats], nats: float, likeness: float) -> Twin:
        x, y = (with_margins(*of) for of in zip(self._sides, columns))
        return Twin(replace(self.pairs, x=x, y=y, groups=None), nats, 0.0, self.name, likeness)


class Student(Latent):
    """Latent columns that share one chi-square: I = -1/2 sum log(1 - correlation²) and what the degrees of freedom add.

    degrees  of freedom; None: those that are likeliest for the normal scores
    """

    name = "student: correlations"

    def __init__(self, pairs: Pairs, degrees: float | None = None) -> None:
        super().__init__(pairs)
        self.degrees = _likeliest_degrees(self._sides) if degrees is None else degrees

    @property
    def least(self) -> float:
        return shared_tails(self.degrees, *(side.dim for side in self._sides))

    @property
    def reach(self) -> float:
        return self.least + super().reach

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        nats = min(max(nats, self.least), self.reach)
        scale = self._scale(nats - self.least)
        return self._twin(self._widened(self._normal(scale, generator), self.degrees, generator), nats, scale)

    def _widened(self, columns: Sequence[Floats], degrees: float, generator: np.random.Generator) -> list[Floats]:
        shared = np.sqrt(generator.chisquare(degrees, (self.pairs.n, 1)) / degrees)
        return [side / shared for side in columns]


class StudentDegrees(Student):
    """The same with the correlations of the data, if they are more than noise, at other degrees of freedom."""

    name = "student: degrees"

    @cached_property
    def _kept(self) -> float:
        """Scale of the correlations: 0 where not even the first is beyond noise."""
        return float(self.correlations[0] > self.noise)

    @cached_property
    def least(self) -> float:
        return self._of_degrees(_DEGREES[1])

    @cached_property
    def reach(self) -> float:
        return self._of_degrees(_DEGREES[0])

    def _of_degrees(self, degrees: float) -> float:
        return self._information(self._kept) + shared_tails(degrees, *(side.dim for side in self._sides))

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        nats = min(max(nats, self.least), self.reach)
        ends = [math.log(end) for end in _DEGREES]
        if nats in (self.least, self.reach):
            log = ends[nats == self.least]
        else:
            log = brentq(lambda d: self._of_degrees(math.exp(d)) - nats, *ends, xtol=1e-12)
        columns = self._widened(self._normal(self._kept, generator), math.exp(log), generator)
        return self._twin(columns, nats, self.degrees / math.exp(log))


def shared_tails(degrees: float, dim_x: int, dim_y: int) -> float:
    """I of two uncorrelated parts of a Student vector, nats, from its entropy (Cover & Thomas 2006, ch. 17)."""
    return sum(sign * _entropy_of_student(degrees, dim) for sign, dim in ((1, dim_x), (1, dim_y), (-1, dim_x + dim_y)))


def _entropy_of_student(degrees: float, dim: int) -> float:
    """Of unit scale, nats."""
    both = (degrees + dim) / 2
    constant = gammaln(degrees / 2) - gammaln(both) + dim / 2 * math.log(degrees * math.pi)
    return float(constant + both * (digamma(both) - digamma(degrees / 2)))


def _likeliest_degrees(sides: Sequence[Variable]) -> float:
    """Of the copula of all columns together, on a grid."""
    scores = np.hstack([side.rank_normal().continuous for side in sides])
    joint = np.zeros(len(scores), np.intp)
    law = student.fitted(scores, joint[:, None] - 1, joint, np.zeros(scores.shape[1], np.intp))
    return law.degrees


class Labels:
    """Labels on one side, drawn by a power of the odds that a classifier gives them at each row of the other.

    odds  log p(label | x) - log p(label) of rows that the classifier was not fitted to [n, labels]
    """

    least = 0.0

    def __init__(self, pairs: Pairs, odds: Floats, name: str) -> None:
        self.pairs, self.name, self._odds = pairs, name, odds
        self._of_x = not pairs.x.dim  # whose side the labels are
        labels = pairs.x if self._of_x else pairs.y
        self._prior = np.bincount(labels.codes, minlength=labels.categories) / pairs.n

    def shares(self, power: float) -> Floats:
        """p(label | row) [n, labels], whose mean over rows is near the data's own shares."""
        logs, shift = power * self._odds, np.zeros(len(self._prior))
        for _ in range(_FITS_OF_SHARES):
            found = softmax(logs + shift + np.log(self._prior), axis=1)
            apart = np.log(self._prior) - np.log(found.mean(axis=0))
            shift = shift + apart
            if np.abs(apart).max() < _NEAR:
                break
        return found

    @property
    def reach(self) -> float:
        return self._powers.reach

    @cached_property
    def _powers(self) -> _Powers:
        return _Powers(self.shares, _of_rows, _powers(_LARGEST_ODDS))

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        power, shares, nats = self._powers.at(nats)
        drawn = (generator.random((self.pairs.n, 1)) > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
        present, codes = np.unique(drawn, return_inverse=True)
        labels = Variable(np.empty((self.pairs.n, 0)), codes.reshape(-1).astype(np.intp), len(present))
        sides = {"x": labels} if self._of_x else {"y": labels}
        return Twin(replace(self.pairs, groups=None, **sides), nats, 0.0, self.name, power)


def _of_rows(shares: Floats) -> float:
    """I of a row, each as likely, and a label by its shares [n, labels]; nats."""
    return float(entr(shares.mean(axis=0)).sum() - entr(shares).sum(axis=1).mean())


class Mixture:
    """A law fitted to x and y together. Below its own information, a part of the draws has its y put at random; above
    it, the components of a mixture are narrower about their centres.

    law  of normal scores and categories (`laws.fit`)
    """

    name = "mixture"
    least = 0.0

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
        return max([self._own, *(nats for _, nats, _ in self._narrower)])

    @cached_property
    def _own(self) -> float:
        return self.truth(1.0)[0]

    @cached_property
    def _narrower(self) -> list[tuple[laws.Law, float, float]]:
        """Laws of narrower components, with their I and the error of that."""
        found = []
        for width in _WIDTHS if isinstance(self.law, mixture.Mixture) else ():
            law = self.law.with_width(width)
            ratio = laws.log_ratio(law, *law.draw(_DRAWS, np.random.default_rng(0)))
            found.append((law, float(ratio.mean()), float(ratio.std() / math.sqrt(_DRAWS))))
        return found

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
        nats, law, share, likeness = max(nats, 0.0), self.law, 1.0, 1.0
        nearest = min(self._narrower, key=lambda one: abs(one[1] - nats), default=None)
        if nats <= self._own:
            likeness = share = brentq(lambda s: self.truth(s)[0] - nats, 0.0, 1.0) if nats < self._own else 1.0
        if nats > self._own and nearest and abs(nearest[1] - nats) < nats - self._own:
            law, *told = nearest
            likeness = told[0] / self._own
        else:
            told = self.truth(share)
        n = self.pairs.n
        scores, codes = law.draw(n, generator)
        loose = np.flatnonzero(generator.random(n) >= share)
        partner = np.arange(n)
        partner[loose] = generator.permutation(loose)
        scores, codes = self._put_together(scores, codes, partner)
        x = with_margins(self.pairs.x, scores[:, self._of_x], codes[:, 0])
        y = with_margins(self.pairs.y, scores[:, ~self._of_x], codes[:, 1])
        return Twin(replace(self.pairs, x=x, y=y, groups=None), *told, self.name, likeness)


def families(pairs: Pairs, generator: np.random.Generator) -> tuple[Family, ...]:
    """All that can be made of these pairs: a null and cells always; scores unless a side is labels alone; of numbers,
    unless values repeat or columns are too many, latent twins and Student laws, and mixtures, of categories too; labels
    that are drawn anew where one side is labels."""
    found: list[Family] = [Null(pairs)]
    kinds = pairs.x.kind, pairs.y.kind
    drawn_anew = not any(is_wide(side) or has_ties(side) for side in (pairs.x, pairs.y))
    if "discrete" not in kinds:
        found += scores(pairs, generator)
    if kinds == ("continuous", "continuous") and drawn_anew:
        of_tails = Student(pairs)
        found += [Latent(pairs), of_tails, StudentDegrees(pairs, of_tails.degrees)]
    if "discrete" in kinds and kinds != ("discrete", "discrete"):
        found += labels(pairs, generator)
    found += cells(pairs, generator)
    if kinds != ("discrete", "discrete") and drawn_anew:
        found.append(Mixture(pairs, laws.fit((pairs.x, pairs.y), generator)))
    return tuple(found)


def labels(pairs: Pairs, generator: np.random.Generator) -> list[Labels]:
    """Labels drawn by the odds of linear classifiers and of trees."""
    asked = {"logistic": as_family("logistic"), "trees": forest(pairs)}
    return [
        Labels(pairs, held_out_odds(family, pairs, _FOLDS, generator), f"labels: {name}")
        for name, family in asked.items()
    ]


def scores(pairs: Pairs, generator: np.random.Generator) -> list[Scores]:
    """Pairs of scores of numbers, categories as columns of 0 and 1: the first canonical variates of normal columns, the
    lengths of whitened rows, and random directions."""
    white = [_whitened(replace(side, continuous=_numbers_of(side)).as_numbers()) for side in (pairs.x, pairs.y)]
    left, _, right = np.linalg.svd(white[0].T @ white[1])
    found = [Scores(pairs, white[0] @ left[:, 0], white[1] @ right[0], "scores: canonical variates")]
    if min(side.shape[1] for side in white) > 1:
        found.append(Scores(pairs, *((side**2).sum(axis=1) for side in white), "scores: lengths"))
        ways = [side @ generator.normal(size=side.shape[1]) for side in white]
        found.append(Scores(pairs, *ways, "scores: random directions"))
    return found


def is_wide(side: Variable) -> bool:
    return side.dim * _FEW_ROWS > side.n


def has_ties(side: Variable) -> bool:
    """Whether a column repeats values: twins that are drawn anew would hold less than they say, for their numbers are
    put on the values of the data."""
    return any(_tied(column) > _TIED for column in side.continuous.T)


def narrowed(side: Variable) -> Callable[[Variable], Floats]:
    """(variable of these columns) -> its numbers as normal scores [n, d]; of wide ones the leading principal components
    of this side, as they are."""
    if not is_wide(side):
        return lambda other: other.rank_normal().continuous
    centre = side.continuous.mean(axis=0)
    _, _, axes = np.linalg.svd(side.continuous - centre, full_matrices=False)
    return lambda other: (other.continuous - centre) @ axes[:_COMPONENTS].T


def _numbers_of(side: Variable) -> Floats:
    return narrowed(side)(side)


def cells(pairs: Pairs, generator: np.random.Generator) -> list[Cells]:
    """Clusters of either side, 2 to 16 of them as rows allow; a side of categories is its own cells."""
    found = []
    for count in _CELLS:
        if count > 2 and _ROWS_OF_CELL * count**2 > pairs.n:
            break
        a, b = (_cells_of(side, count, generator) for side in (pairs.x, pairs.y))
        found.append(Cells(pairs, a, b, f"cells: {int(a.max()) + 1} x {int(b.max()) + 1}"))
    of_name = {one.name: one for one in found}  # categories on both sides have the same cells at every count
    if pairs.x.kind == pairs.y.kind == "discrete":
        name = f"cells, added: {pairs.x.categories} x {pairs.y.categories}"
        of_name[name] = Cells(pairs, pairs.x.codes, pairs.y.codes, name, added=True)
    return list(of_name.values())


def _cells_of(side: Variable, count: int, generator: np.random.Generator) -> Rows:
    if not side.dim:
        return side.codes
    columns = _numbers_of(side)
    white = columns / columns.std() if is_wide(side) else _whitened(columns)
    seed = int(generator.integers(2**31))
    rows = replace(side, continuous=white).as_numbers()
    return KMeans(count, n_init=1, random_state=seed).fit_predict(rows).astype(np.intp)


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


def with_margins(side: Variable, columns: Floats, codes: Rows | None = None) -> Variable:
    """A side whose columns have the data's values in the order of `columns` [n, c], and these codes."""
    order = np.argsort(columns, axis=0)
    continuous = np.empty_like(side.continuous)
    np.put_along_axis(continuous, order, np.sort(side.continuous, axis=0), axis=0)
    if side.codes is None:
        return replace(side, continuous=continuous)
    present, names = np.unique(codes, return_inverse=True)
    return replace(side, continuous=continuous, codes=names.reshape(-1).astype(np.intp), categories=len(present))
