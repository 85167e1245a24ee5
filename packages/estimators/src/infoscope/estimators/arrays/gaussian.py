"""Normal distributions of the numbers and of their normal scores.

The bias of log determinants of n rows is removed exactly (Wishart). The standard error is that of the mean of the local
log ratios, but at least that of independent variables, where 2 n times the estimate is chi-squared. With groups, n is
the number of independent rows whose covariances vary as much.
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
from infoscope.estimators.result import Estimate, mean_influence, mean_of, root_sum_squares
from infoscope.estimators.variables import joint_codes

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Gaussian(Described):
    """1/2 ln (det Sx det Sy / det S) of the covariances, less its bias at n rows."""

    name: ClassVar[str] = "gaussian"
    takes: ClassVar[str] = NUMBERS
    use: ClassVar[str] = "numbers that are jointly normal; few rows"
    cost: ClassVar[str] = "n d²; 0.03 s"
    source: ClassVar[str] = "Cover & Thomas 2006, theorem 8.4.1; bias: Misra, Singh & Demchuk 2005"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        values = np.hstack(
            [
                (variable.continuous - variable.continuous.mean(axis=0)) / variable.scales()
                for variable in (pairs.x, pairs.y)
            ]
        )
        local, _, rows = _local_information(values, pairs)
        return _mean_with_error(local, None, pairs.x.dim * pairs.y.dim, rows, pairs, "normal distribution")


@dataclass(frozen=True)
class Gcmi(Described):
    """The same of normal scores, which no monotone map of a column changes.

    With labels 1/2 (ln det S - sum p ln det S of a label), less its bias. A lower bound where the numbers of x or of y
    are a single column without ties; with several columns on both it may exceed I.
    """

    name: ClassVar[str] = "gcmi"
    takes: ClassVar[str] = NUMBERS_OR_LABELS
    use: ClassVar[str] = "numbers that rise or fall together, whatever their scales; few rows"
    cost: ClassVar[str] = "n d² + d n log n; 0.1 s"
    source: ClassVar[str] = "Ince et al. 2017"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        variables = [variable for variable in (pairs.x, pairs.y) if variable.dim]
        scores = np.hstack([variable.rank_normal().continuous for variable in variables])
        if len(variables) == 2:
            local, slopes, rows = _local_information(scores, pairs)
            freedom = pairs.x.dim * pairs.y.dim
        else:
            labels = next(variable for variable in (pairs.x, pairs.y) if not variable.dim)
            local, slopes, rows = _local_information_of_labels(scores, labels.codes, pairs.groups)
            freedom = (labels.categories - 1) * scores.shape[1] * (scores.shape[1] + 3) // 2
        influence = local + _influence_through_ranks(scores, slopes)
        return _mean_with_error(local, influence, freedom, rows, pairs, "Gaussian copula")


def _local_information(values: Values, pairs: Pairs) -> tuple[Values, Values, float]:
    """Unbiased local information [n], nats, of standardised columns [n, d]; its gradient [n, d]; independent rows."""
    edge = pairs.x.dim
    both, inverse = _log_density(values)
    rows = _independent_rows(values @ cholesky(inverse, lower=True), pairs.groups)
    local, slopes, bias = both, -values @ inverse, -_log_det_bias(values.shape[1], rows)
    for part in (slice(0, edge), slice(edge, None)):
        alone, inverse = _log_density(values[:, part])
        local = local - alone
        slopes[:, part] += values[:, part] @ inverse
        bias += _log_det_bias(len(inverse), rows)
    return local - 0.5 * bias, slopes, rows


def _local_information_of_labels(
    scores: Values, codes: NDArray[np.intp], groups: NDArray | None
) -> tuple[Values, Values, float]:
    """The same of normal scores [n, d] and labels [n]."""
    n, dim = scores.shape
    sizes = np.bincount(codes)
    if sizes.min() <= dim:
        raise TooFew(
            f"every label must have more rows than there are columns, {dim}, got {np.sum(sizes <= dim)} of "
            f"{len(sizes)} labels with fewer; merge labels, or reduce the columns."
        )
    alone, inverse = _log_density(scores)
    local, slopes, white = -alone, scores @ inverse, np.empty_like(scores)
    for label in range(len(sizes)):
        rows = codes == label
        centred = scores[rows] - scores[rows].mean(axis=0)
        own, inverse = _log_density(centred)
        local[rows] += own
        slopes[rows] -= centred @ inverse
        white[rows] = centred @ cholesky(inverse, lower=True)
    within = None if groups is None else joint_codes([groups, codes])[0]
    share = _independent_rows(white, within) / n
    bias = _log_det_bias(dim, share * n) - sum(size / n * _log_det_bias(dim, share * size) for size in sizes)
    return local - 0.5 * bias, slopes, share * n


def _log_density(values: Values) -> tuple[Values, Values]:
    """Log density [n], up to a constant, of normal centred values [n, d]; inverse covariance. ValueError: singular."""
    n, dim = values.shape
    if n <= dim:
        raise TooFew(f"x and y must have more rows than columns, got {n} rows of {dim} columns.")
    covariance = values.T @ values / n
    spread = np.sqrt(np.diag(covariance))
    rank = np.linalg.matrix_rank(covariance / spread / spread[:, None], hermitian=True) if spread.all() else 0
    if rank < dim:
        raise NoVariation(f"x and y must have linearly independent columns, got covariances of rank {rank} for {dim}.")
    factor = cholesky(covariance, lower=True)
    inverse = cho_solve((factor, True), np.eye(dim))
    squares = np.einsum("na,ab,nb->n", values, inverse, values, optimize=True)
    return -0.5 * squares - np.log(np.diag(factor)).sum(), 0.5 * (inverse + inverse.T)


def _log_det_bias(dim: int, rows: float) -> float:
    """Mean of ln det of the covariance (over n) of normal rows less the true ln det (Misra et al. 2005)."""
    if rows <= dim:
        raise TooFew(
            f"groups must carry the information of more independent rows than the {dim} columns, got {rows:.1f}."
        )
    return float(digamma((rows - np.arange(1, dim + 1)) / 2).sum() + dim * np.log(2 / rows))


def _independent_rows(white: Values, groups: NDArray | None) -> float:
    """Number of white rows [n, d] in groups [n] over the design effect."""
    n, dim = white.shape
    if groups is None:
        return n
    square = (white**2).sum(axis=1)
    single, together = float((square**2 - 2 * square + dim).sum()), 0.0
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        part, size = white[rows], len(rows)
        inner = part @ part.T if size < dim else part.T @ part
        together += float((inner**2).sum() - 2 * size * square[rows].sum() + size**2 * dim)
    return n * single / together


def _influence_through_ranks(scores: Values, slopes: Values) -> Values:
    """Influence of a row through the ranks of others [n] (Ruymgaart et al. 1972), for slopes [n, d] in the scores."""
    n = len(scores)
    order = np.argsort(scores, axis=0, kind="stable")
    sorted_scores = np.take_along_axis(scores, order, axis=0)
    weights = np.take_along_axis(slopes, order, axis=0) * np.sqrt(2 * np.pi) * np.exp(sorted_scores**2 / 2) / n
    above = np.cumsum(weights[::-1], axis=0)[::-1] - 0.5 * weights
    moved = np.empty_like(scores)
    np.put_along_axis(moved, order, above, axis=0)
    return (moved - moved.mean(axis=0)).sum(axis=1)


def _mean_with_error(
    local: Values, influence: Values | None, freedom: int, rows: float, pairs: Pairs, method: str
) -> Estimate:
    """The mean of local values; error by `influence` (None: of the mean), at least that of independent variables."""
    notes: tuple[str, ...] = ()
    if pairs.groups is not None:
        notes = (
            f"Corrected for the bias of {rows:,.0f} independent rows: their covariances vary as much as the groups'.",
        )
    found = mean_of(local, pairs.groups, method=method, notes=notes)
    if influence is not None:
        influence = mean_influence(influence, pairs.groups)
        found = replace(found, influence=influence, standard_error=root_sum_squares(influence))
    return replace(found, standard_error=max(found.standard_error, np.sqrt(freedom / 2) / rows))


METHODS: tuple[Described, ...] = (Gaussian(), Gcmi())
