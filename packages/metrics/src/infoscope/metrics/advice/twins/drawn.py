"""Rows that are drawn anew, whose columns have the data's quantiles, and labels that are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, entr, gammaln, softmax

from infoscope.errors import WrongType
from infoscope.estimators import laws
from infoscope.estimators.arrays.protocol import Pairs
from infoscope.estimators.laws import mixture, student
from infoscope.estimators.variables import Variable
from infoscope.metrics.advice.twins.protocol import LARGEST, Powers, Twin, powers_up_to
from infoscope.metrics.advice.twins.sides import covariance_of, with_margins

Floats, Rows = NDArray[np.float64], NDArray[np.intp]
_DRAWS = 20_000  # of Monte Carlo truths
_DEGREES = (0.3, 60.0)  # of freedom, at which twins have most and least
_LARGEST_ODDS = 32.0  # a power of the odds
_FITS_OF_SHARES, _NEAR = 50, 1e-3  # of a label's share, relative
_WIDTHS = tuple(np.geomspace(0.05, 1.0, 13)[:-1])  # of the components of a mixture, times their own


class Latent:
    """Normal columns behind those of the data, canonical correlations times one number; those below noise are dropped.

    ValueError: a variable has categories.
    """

    name = "latent"
    least = 0.0

    def __init__(self, pairs: Pairs) -> None:
        self.pairs, self._sides = pairs, (pairs.x, pairs.y)
        if any(side.codes is not None for side in self._sides):
            raise WrongType("x and y must be numbers for latent twins, got categories.")
        self._roots, white = [], []
        for side in self._sides:
            normal = side.rank_normal().continuous
            values, vectors = np.linalg.eigh(covariance_of(normal))
            self._roots.append((vectors * np.sqrt(values)) @ vectors.T)
            white.append(normal @ ((vectors / np.sqrt(values)) @ vectors.T))
        left, found, right = np.linalg.svd(white[0].T @ white[1] / pairs.n)
        self.noise = sum(math.sqrt(side.dim / pairs.n) for side in self._sides)
        kept = max(1, int((found > self.noise).sum()))
        self._axes = left[:, :kept], right[:kept].T
        self.correlations = np.minimum(found[:kept], LARGEST)

    @property
    def reach(self) -> float:
        return self._information(LARGEST / self.correlations[0])

    def _information(self, scale: float) -> float:
        return float(-0.5 * np.log1p(-((scale * self.correlations) ** 2)).sum())

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        nats = min(max(nats, 0.0), self.reach)
        scale = self._scale(nats)
        return self._twin(self._normal(scale, generator), nats, scale)

    def _scale(self, nats: float) -> float:
        """By which correlations of this information are those of the data."""
        most = LARGEST / self.correlations[0]
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
    """Latent columns that share one chi-square; `degrees` of freedom, None: the likeliest for the normal scores."""

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
    """Labels drawn by a power of cross-fitted odds log p(label | x) - log p(label) [n, labels]."""

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
    def _powers(self) -> Powers:
        return Powers(self.shares, _of_rows, powers_up_to(_LARGEST_ODDS))

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
    """A distribution fitted to x and y (`laws.fit`), with y partly permuted below its information, sharper above it."""

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
        """I, nats, and its standard error, with a `share` of rows drawn jointly and the others independently."""
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
