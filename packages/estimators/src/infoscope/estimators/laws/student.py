"""The copula of a multivariate Student distribution, with normal margins; density ratios are exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln, ndtr, ndtri

_DEGREES = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
_RIDGE = 1e-4  # as of mixtures
_FEW, _SHIFTS = 12, 50  # columns, up to which all pairs of rows are compared; partners of a row beyond
_FARTHEST = 8.0  # a score: beyond it the normal distribution function is 1 in double precision


@dataclass(frozen=True, eq=False)
class StudentCopula:
    """A distribution of continuous variables (`laws.Law`), by its correlations [c, c]."""

    degrees: float
    correlation: NDArray[np.float64]
    columns: NDArray[np.intp]

    @property
    def name(self) -> str:
        return f"a Student copula of {self.degrees:g} degrees"

    def draw(self, n: int, generator: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        normal = generator.normal(size=(n, len(self.columns))) @ np.linalg.cholesky(self.correlation).T
        wide = normal / np.sqrt(generator.chisquare(self.degrees, size=(n, 1)) / self.degrees)
        below = stats.t.cdf(-np.abs(wide), self.degrees)  # of the nearer tail, which does not round to 1
        return -np.sign(wide) * ndtri(below), np.full((n, int(self.columns.max()) + 1), -1)

    def log_density(
        self, scores: NDArray[np.float64], codes: NDArray[np.intp], variables: Sequence[int]
    ) -> NDArray[np.float64]:
        columns = np.flatnonzero(np.isin(self.columns, variables))
        if not len(columns):
            return np.zeros(len(scores))
        scores = np.clip(scores[:, columns], -_FARTHEST, _FARTHEST)
        wide = _quantiles(scores, self.degrees)
        factor = np.linalg.cholesky(self.correlation[np.ix_(columns, columns)])
        square = (np.linalg.solve(factor, wide.T) ** 2).sum(axis=0)
        joint = _log_t(square, len(columns), self.degrees) - np.log(np.diag(factor)).sum()
        return joint + (stats.norm.logpdf(scores) - _log_t(wide**2, 1, self.degrees)).sum(axis=1)


def _log_t(square: NDArray[np.float64], dim: int, degrees: float) -> NDArray[np.float64]:
    """Log density of a Student vector of unit scale at a squared distance."""
    constant = gammaln((degrees + dim) / 2) - gammaln(degrees / 2) - dim / 2 * np.log(degrees * np.pi)
    return constant - (degrees + dim) / 2 * np.log1p(square / degrees)


def _quantiles(scores: NDArray[np.float64], degrees: float) -> NDArray[np.float64]:
    """Student quantiles at the levels of normal scores."""
    return -np.sign(scores) * stats.t.ppf(ndtr(-np.abs(scores)), degrees)


def fitted(
    scores: NDArray[np.float64], codes: NDArray[np.intp], joint: NDArray[np.intp], columns: NDArray[np.intp]
) -> StudentCopula:
    """Correlations by Kendall's tau (Lindskog et al. 2003); of _DEGREES the likeliest."""
    correlation = _correlation(scores)
    found = [StudentCopula(degrees, correlation, columns) for degrees in _DEGREES]
    return max(found, key=lambda law: law.log_density(scores, codes, range(codes.shape[1])).mean())


def _correlation(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.sin(np.pi / 2 * kendall(scores))
    values, vectors = np.linalg.eigh(found)
    found = (vectors * np.maximum(values, _RIDGE)) @ vectors.T  # correlations one by one may not fit together
    scale = np.sqrt(np.diag(found))
    return found / scale / scale[:, None]


def kendall(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kendall's tau b of every two of the columns [n, c]: [c, c]; beyond 12 columns from 50 pairs a row (variance + 4
    %).
    """
    n, dim = columns.shape
    found = np.eye(dim)
    if dim <= _FEW or n <= 2 * _SHIFTS:
        for a in range(dim):
            for b in range(a):
                found[a, b] = found[b, a] = stats.kendalltau(columns[:, a], columns[:, b]).statistic
        return found
    generator = np.random.default_rng(0)
    columns = columns[generator.permutation(n)]  # rows in the order of time have neighbours that are alike
    found = np.zeros((dim, dim))
    for shift in 1 + generator.permutation((n - 1) // 2)[:_SHIFTS]:
        signs = np.sign(columns - np.roll(columns, shift, axis=0)).astype(np.float32)
        found += signs.T @ signs
    scale = np.sqrt(np.diag(found))
    return found / scale / scale[:, None]
