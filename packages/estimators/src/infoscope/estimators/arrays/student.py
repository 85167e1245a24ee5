"""The copula of a multivariate Student distribution, fitted to normal scores.

Each fold is evaluated by the copula that is fitted to the other folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, ndtri

from infoscope.errors import TooFew
from infoscope.estimators.arrays.protocol import NUMBERS, Described
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate, mean_of

Values = NDArray[np.float64]

DEGREES = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)  # candidates
MAX_EXACT = 12  # columns; for more, Kendall's tau is from a sample of pairs
SHIFTS = 50  # pairs per row in this sample
_LEAST_EIGENVALUE = 1e-4  # of correlations that are estimated pair by pair
_LARGEST_SCORE = 8.0  # beyond it the normal distribution function is 1


@dataclass(frozen=True)
class StudentCopula(Described):
    """The mean log ratio of held-out rows by a multivariate Student copula.

    The copula has 1 to 10 degrees of freedom. The estimate is no bound.

    folds  each is measured by the copula fitted to the others; groups stay whole
    """

    folds: int = 5

    name: ClassVar[str] = "student-copula"
    takes: ClassVar[str] = NUMBERS
    use: ClassVar[str] = "numbers whose extremes occur together, such as returns"
    cost: ClassVar[str] = "n d² by folds; 3 s"
    source: ClassVar[str] = (
        "Demarta & McNeil 2005; Lindskog, McNeil & Schmock 2003 for Kendall's tau"
    )

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        x = pairs.x.continuous
        y = pairs.y.continuous
        numbers = np.hstack([x, y])
        columns = numbers.shape[1]
        folds = pairs.folds(self.folds, generator)
        largest = int(np.bincount(folds).max())
        rows = pairs.n - largest
        if rows <= columns:
            raise TooFew(
                f"x and y must have more rows outside a fold than columns, got {rows} "
                f"rows of {columns} columns."
            )
        local = np.empty(pairs.n)
        names = set()
        for fold in range(int(folds.max()) + 1):
            training = numbers[folds != fold]
            held_out = numbers[folds == fold]
            copula = fit(normal_scores(training))
            scores = scores_among(training, held_out)
            local[folds == fold] = copula.log_ratio(scores, pairs.x.dim)
            names.add(copula.name)
        return mean_of(
            local,
            pairs.groups,
            method=" or ".join(sorted(names)),
            settings=f"{self.folds} folds",
        )


@dataclass(frozen=True, eq=False)
class Copula:
    """The copula of a Student distribution of correlations [c, c], with normal margins."""

    degrees: float
    correlation: Values

    @property
    def name(self) -> str:
        return f"a Student copula of {self.degrees:g} degrees"

    def log_density(
        self,
        scores: Values,
        columns: slice = slice(None),
    ) -> Values:
        """The log density [n] of some of the columns of normal scores [n, c], nats."""
        from scipy import stats  # takes two seconds to import

        scores = scores[:, columns]
        scores = scores.clip(-_LARGEST_SCORE, _LARGEST_SCORE)
        count = scores.shape[1]
        tails = ndtr(-np.abs(scores))
        sizes = stats.t.ppf(tails, self.degrees)
        quantiles = -np.sign(scores) * sizes
        correlation = self.correlation[columns, columns]
        factor = np.linalg.cholesky(correlation)
        white = np.linalg.solve(factor, quantiles.T)
        square = (white**2).sum(axis=0)
        joint = _log_student(square, count, self.degrees)
        diagonal = np.diag(factor)
        joint = joint - np.log(diagonal).sum()
        alone = _log_student(quantiles**2, 1, self.degrees)
        margins = stats.norm.logpdf(scores) - alone
        return joint + margins.sum(axis=1)

    def log_ratio(self, scores: Values, edge: int) -> Values:
        """The local information [n], nats, between two sets of normal scores [n, c].

        The first set has the first `edge` columns, the second set the others.
        """
        x = self.log_density(scores, slice(None, edge))
        y = self.log_density(scores, slice(edge, None))
        return self.log_density(scores) - x - y


def _log_student(square: Values, dim: int, degrees: float) -> Values:
    """Log density of a Student vector of unit scale at a squared distance."""
    half = (degrees + dim) / 2
    constant = gammaln(half) - gammaln(degrees / 2)
    scale = np.log(degrees * np.pi)
    constant = constant - dim / 2 * scale
    return constant - half * np.log1p(square / degrees)


def fit(scores: Values) -> Copula:
    """The copula of normal scores [n, c].

    Correlations are by Kendall's tau (Lindskog et al. 2003), degrees of freedom by
    maximum likelihood.
    """
    tau = kendall(scores)
    correlations = np.sin(np.pi / 2 * tau)
    values, vectors = np.linalg.eigh(correlations)
    # correlations that are estimated pair by pair may be indefinite
    values = np.maximum(values, _LEAST_EIGENVALUE)
    matrix = (vectors * values) @ vectors.T
    scale = np.sqrt(np.diag(matrix))
    correlation = matrix / scale / scale[:, None]
    copulas = [Copula(degrees, correlation) for degrees in DEGREES]

    def likelihood(copula: Copula) -> float:
        density = copula.log_density(scores)
        return density.mean()

    return max(copulas, key=likelihood)


def kendall(columns: Values) -> Values:
    """Kendall's tau b [c, c] of columns [n, c].

    For more than MAX_EXACT columns, from SHIFTS pairs per row.
    """
    from scipy import stats

    n, dim = columns.shape
    if dim <= MAX_EXACT or n <= 2 * SHIFTS:
        tau = np.eye(dim)
        below_diagonal = np.tril_indices(dim, -1)
        for a, b in zip(*below_diagonal):
            pair: Any = stats.kendalltau(columns[:, a], columns[:, b])
            tau[a, b] = pair.statistic
            tau[b, a] = pair.statistic
        return tau
    generator = np.random.default_rng(0)
    order = generator.permutation(n)  # successive rows of a series are similar
    columns = columns[order]
    tau = np.zeros((dim, dim))
    max_shift = (n - 1) // 2
    chosen = generator.permutation(max_shift)[:SHIFTS]
    for shift in 1 + chosen:
        partners = np.roll(columns, shift, axis=0)
        signs = np.sign(columns - partners)
        signs = signs.astype(np.float32)
        tau += signs.T @ signs
    scale = np.sqrt(np.diag(tau))
    return tau / scale / scale[:, None]


def normal_scores(values: Values) -> Values:
    """Normal quantiles of the mean ranks of columns [n, c]."""
    from scipy.stats import rankdata

    ranks = rankdata(values, axis=0)
    return ndtri((ranks - 0.5) / len(values))


def scores_among(training: Values, new: Values) -> Values:
    """Normal scores of new rows [m, c] by their ranks among training rows [n, c]."""
    scores = []
    for inside, column in zip(training.T, new.T):
        ordered = np.sort(inside)
        below = np.searchsorted(ordered, column, "left")
        not_above = np.searchsorted(ordered, column, "right")
        ranks = (below + not_above) / 2
        shares = (ranks + 0.5) / (len(ordered) + 1)
        scores.append(ndtri(shares))
    return np.stack(scores, axis=1)


METHODS: tuple[Described, ...] = (StudentCopula(),)
