"""Distributions fitted to typed variables: the Gaussian mixture or Student copula of normal scores that best predicts
held-out rows. Density ratios of their margins are exact.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import gammaln, logsumexp, ndtr, ndtri
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from infoscope.checks import require_int
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.classifier.inputs import assign_folds
from infoscope.estimators.column_types import as_variables
from infoscope.estimators.result import Estimate, mean_of
from infoscope.estimators.variables import Variable, join

ANY, MIXTURES, STUDENT = "any", "mixtures", "student"  # families
RIDGE = 1e-4  # added to variances of scores, which are about 1

Scores, Codes = NDArray[np.float64], NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Component:
    """One normal of a mixture: share of all rows, categories (codes [variables], -1: none), mean and covariance."""

    weight: float
    codes: NDArray[np.intp]
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Gaussian mixtures of normal scores, one in every joint category; columns int [c]: the variable of each column."""

    components: tuple[Component, ...]
    columns: NDArray[np.intp]

    @property
    def name(self) -> str:
        return f"a Gaussian mixture of {len(self.components)}" if len(self.components) > 1 else "a normal distribution"

    def log_density(self, scores: Scores, codes: Codes, variables: Sequence[int]) -> NDArray[np.float64]:
        """The log density of some of the variables [n]: minus infinity at categories that were not fitted."""
        columns = np.flatnonzero(np.isin(self.columns, variables))
        values = np.full((len(self.components), len(scores)), -np.inf)
        for number, component in enumerate(self.components):
            rows = (codes[:, variables] == component.codes[list(variables)]).all(axis=1)
            values[number, rows] = np.log(component.weight)
            if len(columns):
                factor = np.linalg.cholesky(component.covariance[np.ix_(columns, columns)])
                away = np.linalg.solve(factor, (scores[np.ix_(rows, columns)] - component.mean[columns]).T)
                constant = np.log(np.diag(factor)).sum() + 0.5 * len(columns) * np.log(2 * np.pi)
                values[number, rows] -= 0.5 * (away**2).sum(axis=0) + constant
        return logsumexp(values, axis=0)


@dataclass(frozen=True, eq=False)
class StudentCopula:
    """The copula of a multivariate Student distribution of correlations [c, c], with normal margins; continuous."""

    degrees: float
    correlation: NDArray[np.float64]
    columns: NDArray[np.intp]

    @property
    def name(self) -> str:
        return f"a Student copula of {self.degrees:g} degrees"

    def log_density(self, scores: Scores, codes: Codes, variables: Sequence[int]) -> NDArray[np.float64]:
        columns = np.flatnonzero(np.isin(self.columns, variables))
        if not len(columns):
            return np.zeros(len(scores))
        scores = np.clip(scores[:, columns], -8.0, 8.0)  # beyond 8 the normal distribution function is 1
        wide = -np.sign(scores) * stats.t.ppf(ndtr(-np.abs(scores)), self.degrees)
        factor = np.linalg.cholesky(self.correlation[np.ix_(columns, columns)])
        square = (np.linalg.solve(factor, wide.T) ** 2).sum(axis=0)
        joint = _log_t(square, len(columns), self.degrees) - np.log(np.diag(factor)).sum()
        return joint + (stats.norm.logpdf(scores) - _log_t(wide**2, 1, self.degrees)).sum(axis=1)


Distribution = Mixture | StudentCopula


def _log_t(square: NDArray[np.float64], dim: int, degrees: float) -> NDArray[np.float64]:
    """Log density of a Student vector of unit scale at a squared distance."""
    constant = gammaln((degrees + dim) / 2) - gammaln(degrees / 2) - dim / 2 * np.log(degrees * np.pi)
    return constant - (degrees + dim) / 2 * np.log1p(square / degrees)


def fit(
    variables: Sequence[Variable], generator: np.random.Generator, family: str = ANY, rows_to_choose: int = 3000
) -> Distribution:
    """The distribution that predicts 30 % of some rows best, refitted to all rows; STUDENT is for numbers only."""
    scores, codes, columns = _scores_and_codes(variables)
    joint = join(*variables).codes
    joint = np.zeros(len(scores), np.intp) if joint is None else joint
    fits = list(_candidates(scores.shape[1], len(scores) / (joint.max() + 1), bool((codes >= 0).any()), family))
    if len(fits) == 1:
        return fits[0](scores, codes, joint, columns)
    rows = generator.permutation(len(scores))[:rows_to_choose]
    train, test = np.split(rows, [int(len(rows) * 0.7)])

    def score(fit_to) -> float:
        fitted = fit_to(scores[train], codes[train], joint[train], columns)
        density = fitted.log_density(scores[test], codes[test], range(codes.shape[1]))
        return float(density[np.isfinite(density)].mean())

    return max(fits, key=score)(scores, codes, joint, columns)


def _candidates(dim: int, rows: float, has_codes: bool, family: str) -> Iterator[Any]:
    """Fitting functions (scores, codes, joint, columns) -> Distribution with at least two rows per parameter."""
    if family != STUDENT:
        most = rows / ((dim + 1) * (dim + 2))  # two rows per parameter
        yield functools.partial(_mixture, 1, False)
        yield from (functools.partial(_mixture, size, False) for size in (2, 4, 8, 16, 32) if dim and size <= most)
        yield from (functools.partial(_mixture, size, True) for size in (2, 3, 5) if dim > 1 and size <= most)
    if family != MIXTURES and dim > 1 and not has_codes:
        yield _student


def _mixture(count: int, shells: bool, scores: Scores, codes: Codes, joint: Codes, columns: Codes) -> Mixture:
    """A mixture in each joint category `joint` [n]; with few rows one component, shrunk to the pooled covariance."""
    dim, components = scores.shape[1], []
    sizes = np.bincount(joint)
    means = np.stack([np.bincount(joint, column) / np.maximum(sizes, 1) for column in scores.T] or [sizes * 0.0], 1)
    within = scores - means[joint][:, :dim]
    pooled = within.T @ within / len(scores)
    for category in np.flatnonzero(sizes):
        rows = np.flatnonzero(joint == category)
        if count > 1 and len(rows) > count * (dim + 1) * (dim + 2) / 2:
            parts = mixture_components(scores[rows], count, shells)
        else:
            spread, size = within[rows].T @ within[rows], len(rows)
            if len(rows) < len(scores):
                spread, size = spread + (dim + 1) * pooled, size + dim + 1
            parts = [(1.0, means[category, :dim], spread / size + RIDGE * np.eye(dim))]
        share = len(rows) / len(scores)
        components += [Component(share * weight, codes[rows[0]], mean, spread) for weight, mean, spread in parts]
    return Mixture(tuple(components), columns)


def mixture_components(scores: Scores, count: int, shells: bool) -> list[tuple[float, NDArray, NDArray]]:
    """Weight, mean and covariance of each component of the maximum-likelihood mixture. It is initialised from clusters,
    or from shells (narrow to wide covariances around one centre) for heavy tails that columns share.
    """
    model = GaussianMixture(count, reg_covar=RIDGE, random_state=0)
    if shells:
        covariance = np.atleast_2d(np.cov(scores.T)) + RIDGE * np.eye(scores.shape[1])
        widths = np.geomspace(0.1, 3.0, count)[:, None, None]
        model.set_params(means_init=np.tile(scores.mean(axis=0), (count, 1)))
        model.set_params(precisions_init=np.linalg.inv(covariance) / widths)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a mixture short of the maximum is valid as well
        model.fit(scores)
    return list(zip(model.weights_, model.means_, model.covariances_))


def _student(scores: Scores, codes: Codes, joint: Codes, columns: Codes) -> StudentCopula:
    """Correlations by Kendall's tau (Lindskog et al. 2003); the most likely of some degrees of freedom."""
    values, vectors = np.linalg.eigh(np.sin(np.pi / 2 * kendall(scores)))
    found = (vectors * np.maximum(values, RIDGE)) @ vectors.T  # pairwise correlations may not be positive definite
    scale = np.sqrt(np.diag(found))
    correlation = found / scale / scale[:, None]
    fits = [StudentCopula(degrees, correlation, columns) for degrees in (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)]
    return max(fits, key=lambda fitted: fitted.log_density(scores, codes, range(codes.shape[1])).mean())


def kendall(columns: NDArray[np.float64], most: int = 12, shifts: int = 50) -> NDArray[np.float64]:
    """Kendall's tau b of columns [n, c] with each other, [c, c]; above `most` columns from `shifts` pairs per row."""
    n, dim = columns.shape
    if dim <= most or n <= 2 * shifts:
        found = np.eye(dim)
        for a, b in zip(*np.tril_indices(dim, -1)):
            found[a, b] = found[b, a] = stats.kendalltau(columns[:, a], columns[:, b]).statistic
        return found
    generator = np.random.default_rng(0)
    columns = columns[generator.permutation(n)]  # successive rows of a series are similar
    found = np.zeros((dim, dim))
    for shift in 1 + generator.permutation((n - 1) // 2)[:shifts]:
        signs = np.sign(columns - np.roll(columns, shift, axis=0)).astype(np.float32)
        found += signs.T @ signs
    scale = np.sqrt(np.diag(found))
    return found / scale / scale[:, None]


def log_ratio(fitted: Distribution, scores: Scores, codes: Codes) -> NDArray[np.float64]:
    """The local information of x and y at every row [n], nats; its mean is I."""
    joint, x, y = (fitted.log_density(scores, codes, variables) for variables in ((0, 1), (0,), (1,)))
    return joint - x - y


def log_ratios(fitted: Distribution, scores: Scores, codes: Codes) -> NDArray[np.float64]:
    """The log ratio of x of every row i and y of every row j [n, n], nats: 0 where a category was not fitted."""
    n = len(scores)
    of_x, of_y = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    paired = np.where(fitted.columns == 0, scores[of_x], scores[of_y])
    named = np.stack([codes[of_x, 0], codes[of_y, 1]], axis=1)
    joint = fitted.log_density(paired, named, (0, 1)).reshape(n, n)
    x, y = fitted.log_density(scores, codes, (0,))[:, None], fitted.log_density(scores, codes, (1,))
    known = np.isfinite(x) & np.isfinite(y)
    return np.where(known, joint - np.where(known, x + y, 0.0), 0.0)


def held_out(
    x: Any, y: Any, groups: ArrayLike | None = None, folds: int = 5, generator: np.random.Generator | None = None
) -> Estimate:
    """A lower bound on I(x; y), nats, up to its error: InfoNCE (van den Oord et al. 2018) on unseen rows.

    Arguments as in `subsample`; folds at least 3. Every unseen pair is compared with 100 pairs of x and other y, so the
    estimate is at most log 100. ValueError: as `knn.mutual_information`.
    """
    named, row_groups = as_variables(groups, x=x, y=y)
    variables = tuple(named.values())
    n = variables[0].n
    generator = generator_or_default(generator)
    row_groups = np.arange(n) if row_groups is None else row_groups
    fold_of = assign_folds(np.zeros(n, np.intp), row_groups, require_int("folds", folds, 3), generator)
    values, names, batch, clip = np.empty(n), [], 100, 10.0
    for fitted, test, scores, codes in cross_fitted(variables, fold_of, generator):
        names.append(fitted.name)
        order = generator.permutation(len(test))
        for rows in np.array_split(order, max(1, len(test) // batch)):
            ratios = np.clip(log_ratios(fitted, scores[rows], codes[rows]), -clip, clip)
            values[test[rows]] = np.diag(ratios) - (logsumexp(ratios, axis=1) - np.log(len(rows)))
    return mean_of(values, row_groups, method=" or ".join(sorted(set(names))), settings=f"{folds} folds")


def cross_fitted(
    variables: Sequence[Variable], fold_of: NDArray[np.intp], generator: np.random.Generator, family: str = ANY
) -> Iterator[tuple[Distribution, NDArray[np.intp], Scores, Codes]]:
    """For every fold 0, 1, ... [n]: the distribution fitted to the other rows; the fold's rows, scores and codes."""
    for fold in range(int(fold_of.max()) + 1):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        fitted = fit([variable.take(train) for variable in variables], generator, family)
        scores = np.hstack([_scores_relative_to(v.continuous[train], v.continuous[test]) for v in variables])
        codes = np.stack([_codes_relative_to(v, train, test) for v in variables], axis=1)
        yield fitted, test, scores, codes


def _scores_relative_to(known: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
    """The normal scores [m, c] of new rows by the ranks of known ones."""
    found = np.empty(new.shape)
    for place, (column, values) in enumerate(zip(known.T, new.T)):
        inside = np.sort(column)
        ranks = (np.searchsorted(inside, values, "left") + np.searchsorted(inside, values, "right")) / 2
        found[:, place] = ndtri((ranks + 0.5) / (len(inside) + 1))
    return found


def _codes_relative_to(variable: Variable, known: NDArray[np.intp], new: NDArray[np.intp]) -> NDArray[np.intp]:
    """The codes of new rows, as `take` numbers them for the known ones; -2 for other categories."""
    if variable.codes is None:
        return np.full(len(new), -1)
    present = np.unique(variable.codes[known])
    place = np.minimum(np.searchsorted(present, variable.codes[new]), len(present) - 1)
    return np.where(present[place] == variable.codes[new], place, -2)


def _scores_and_codes(variables: Sequence[Variable]) -> tuple[Scores, Codes, NDArray[np.intp]]:
    """Normal scores [n, c] (equal for equal values), categories [n, variables], and the variable of each column."""
    values = np.hstack([variable.continuous for variable in variables])
    scores = ndtri((stats.rankdata(values, axis=0) - 0.5) / len(values)) if values.size else values
    codes = [np.full(variable.n, -1) if variable.codes is None else variable.codes for variable in variables]
    return scores, np.stack(codes, axis=1), np.repeat(np.arange(len(variables)), [v.dim for v in variables])
