"""Normal distributions of the numbers and of their normal scores.

The bias of log determinants of n rows is removed exactly (Wishart). The standard error
is that of the mean of the local log ratios, but at least that of independent variables,
where 2 n times the estimate is chi-squared. With groups, n is the number of independent
rows whose covariances vary as much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky
from scipy.special import digamma

from infoscope.errors import NoVariation, TooFew
from infoscope.estimators.arrays.protocol import NUMBERS, NUMBERS_OR_LABELS, Described
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import (
    Estimate,
    mean_influence,
    mean_of,
    root_sum_squares,
)
from infoscope.estimators.variables import joint_codes
from infoscope.notes import Note

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Gaussian(Described):
    """1/2 ln (det Sx det Sy / det S) of the covariances, less its bias at n rows."""

    name: ClassVar[str] = "gaussian"
    takes: ClassVar[str] = NUMBERS
    use: ClassVar[str] = "numbers that are jointly normal; few rows"
    cost: ClassVar[str] = "n d²; 0.03 s"
    source: ClassVar[str] = (
        "Cover & Thomas 2006, theorem 8.4.1; bias: Misra, Singh & Demchuk 2005"
    )

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        columns = []
        for variable in (pairs.x, pairs.y):
            centred = variable.continuous - variable.continuous.mean(axis=0)
            columns.append(centred / variable.scales())
        information = _of_numbers(np.hstack(columns), pairs)
        return _mean_with_error(
            information, information.local, pairs, "normal distribution"
        )


@dataclass(frozen=True)
class Gcmi(Described):
    """The same of normal scores, which no monotone map of a column changes.

    With labels 1/2 (ln det S - sum p ln det S of a label), less its bias. A lower bound
    where the numbers of x or of y are a single column without ties; with several
    columns on both it may exceed I.
    """

    name: ClassVar[str] = "gcmi"
    takes: ClassVar[str] = NUMBERS_OR_LABELS
    use: ClassVar[str] = (
        "numbers that rise or fall together, whatever their scales; few rows"
    )
    cost: ClassVar[str] = "n d² + d n log n; 0.1 s"
    source: ClassVar[str] = "Ince et al. 2017"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        scores = []
        for variable in (pairs.x, pairs.y):
            if variable.dim:
                ranked = variable.rank_normal()
                scores.append(ranked.continuous)
        both_numbers = len(scores) == 2
        scores = np.hstack(scores)
        if both_numbers:
            information = _of_numbers(scores, pairs)
        else:
            labels = pairs.y if pairs.x.dim else pairs.x
            information = _of_labels(scores, labels.strata, pairs.groups)
        through_ranks = _influence_through_ranks(scores, information.slopes)
        influence = information.local + through_ranks
        return _mean_with_error(information, influence, pairs, "Gaussian copula")


@dataclass(frozen=True, eq=False)
class _Information:
    """Unbiased information of normal columns.

    local    [n], nats
    slopes   [n, d], its gradient in the columns
    rows     independent rows
    freedom  of the chi-squared that 2 n times the estimate of independent variables is
    """

    local: Values
    slopes: Values
    rows: float
    freedom: int


def _of_numbers(values: Values, pairs: Pairs) -> _Information:
    """Of standardised columns [n, d], those of x first."""
    edge = pairs.x.dim
    local, inverse = _log_density(values)
    white = values @ cholesky(inverse, lower=True)
    rows = _independent_rows(white, pairs.groups)
    slopes = -values @ inverse
    bias = -_log_det_bias(values.shape[1], rows)
    for part in (slice(0, edge), slice(edge, None)):
        density, inverse = _log_density(values[:, part])
        local = local - density
        slopes[:, part] += values[:, part] @ inverse
        bias += _log_det_bias(len(inverse), rows)
    freedom = pairs.x.dim * pairs.y.dim
    return _Information(local - 0.5 * bias, slopes, rows, freedom)


def _of_labels(
    scores: Values,
    codes: NDArray[np.intp],
    groups: NDArray | None,
) -> _Information:
    """Of normal scores [n, d] and labels [n]."""
    n, dim = scores.shape
    sizes = np.bincount(codes)
    if sizes.min() <= dim:
        raise TooFew(
            f"every label must have more rows than there are columns, {dim}, got "
            f"{np.sum(sizes <= dim)} of "
            f"{len(sizes)} labels with fewer; merge labels, or reduce the columns."
        )
    density, inverse = _log_density(scores)
    local = -density
    slopes = scores @ inverse
    white = np.empty_like(scores)
    for label in range(len(sizes)):
        rows = codes == label
        of_label = scores[rows]
        centred = of_label - of_label.mean(axis=0)
        density, inverse = _log_density(centred)
        local[rows] += density
        slopes[rows] -= centred @ inverse
        white[rows] = centred @ cholesky(inverse, lower=True)
    within = None
    if groups is not None:
        within, _ = joint_codes((groups, codes))
    share = _independent_rows(white, within) / n
    bias_within = 0.0
    for size in sizes:
        bias_within += size / n * _log_det_bias(dim, share * size)
    bias = _log_det_bias(dim, share * n) - bias_within
    of_a_label = dim * (dim + 3) // 2
    freedom = (len(sizes) - 1) * of_a_label
    return _Information(local - 0.5 * bias, slopes, share * n, freedom)


def _log_density(values: Values) -> tuple[Values, Values]:
    """Log density [n] of centred normal values [n, d], and their inverse covariance.

    The log density is up to a constant. ValueError: a singular covariance.
    """
    n, dim = values.shape
    if n <= dim:
        raise TooFew(
            f"x and y must have more rows than columns, got {n} rows of {dim} columns."
        )
    covariance = values.T @ values / n
    spread = np.sqrt(np.diag(covariance))
    rank = 0
    if spread.all():
        correlation = covariance / spread / spread[:, None]
        rank = np.linalg.matrix_rank(correlation, hermitian=True)
    if rank < dim:
        raise NoVariation(
            "x and y must have linearly independent columns, got covariances of rank "
            f"{rank} for {dim}."
        )
    factor = cholesky(covariance, lower=True)
    inverse = cho_solve((factor, True), np.eye(dim))
    squares = np.einsum("na,ab,nb->n", values, inverse, values, optimize=True)
    log_root = np.log(np.diag(factor)).sum()
    symmetric = 0.5 * (inverse + inverse.T)
    return -0.5 * squares - log_root, symmetric


def _log_det_bias(dim: int, rows: float) -> float:
    """Bias of the log determinant of the covariance (over n) of normal rows.

    Source: Misra et al. 2005.
    """
    if rows <= dim:
        raise TooFew(
            "groups must carry the information of more independent rows than the "
            f"{dim} columns, got {rows:.1f}."
        )
    degrees = rows - np.arange(1, dim + 1)
    scale = dim * np.log(2 / rows)
    return float(digamma(degrees / 2).sum() + scale)


def _independent_rows(white: Values, groups: NDArray | None) -> float:
    """Number of white rows [n, d] in groups [n] over the design effect."""
    n, dim = white.shape
    if groups is None:
        return n
    square = (white**2).sum(axis=1)
    of_rows = square**2 - 2 * square + dim
    single = float(of_rows.sum())
    together = 0.0
    order = np.argsort(groups, kind="stable")
    steps = np.diff(groups[order])
    edges = np.flatnonzero(steps) + 1
    for rows in np.split(order, edges):
        part = white[rows]
        size = len(rows)
        inner = part @ part.T if size < dim else part.T @ part
        crossed = 2 * size * square[rows].sum()
        constant = size**2 * dim
        together += float((inner**2).sum() - crossed + constant)
    return n * single / together


def _influence_through_ranks(scores: Values, slopes: Values) -> Values:
    """Influence [n] of a row through the ranks of other rows (Ruymgaart et al. 1972).

    `slopes` [n, d] are derivatives with respect to the scores.
    """
    n = len(scores)
    order = np.argsort(scores, axis=0, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=0)
    weights = np.take_along_axis(slopes, order, axis=0)
    weights = weights * np.sqrt(2 * np.pi)
    weights = weights * np.exp(ordered**2 / 2)
    weights = weights / n
    from_above = weights[::-1].cumsum(axis=0)
    above = from_above[::-1] - 0.5 * weights
    moved = np.empty_like(scores)
    np.put_along_axis(moved, order, above, axis=0)
    moved = moved - moved.mean(axis=0)
    return moved.sum(axis=1)


def _mean_with_error(
    information: _Information,
    influence: Values,
    pairs: Pairs,
    method: str,
) -> Estimate:
    """The mean of local values, with its error by the influence of rows.

    The error is at least the error for independent variables.
    """
    notes: tuple[str, ...] = ()
    if pairs.groups is not None:
        rows = f"{information.rows:,.0f} independent rows"
        sentence = (
            f"Corrected for the bias of {rows}: their covariances vary as much as the "
            "groups'."
        )
        notes = (Note(sentence, "dependent rows", "groups"),)
    estimate = mean_of(
        information.local,
        pairs.groups,
        method=method,
        notes=notes,
    )
    influence = mean_influence(influence, pairs.groups)
    error_at_independence = np.sqrt(information.freedom / 2) / information.rows
    error = max(root_sum_squares(influence), error_at_independence)
    return replace(estimate, influence=influence, standard_error=error)


METHODS: tuple[Described, ...] = (Gaussian(), Gcmi())
