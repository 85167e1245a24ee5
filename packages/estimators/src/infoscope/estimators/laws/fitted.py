"""Distributions fitted to typed variables: of Gaussian mixtures and Student copulas of normal scores, the one that
predicts held-out rows best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import logsumexp, ndtri

from infoscope.checks import require_int
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.classifier.inputs import assign_folds
from infoscope.estimators.laws import mixture, student
from infoscope.estimators.result import Estimate, mean_of
from infoscope.estimators.variables import Variable, as_variables, join

_FITTED_ROWS = 3000  # that choose the law
_HELD_OUT = 0.3  # of them, on which it is chosen
ANY, MIXTURES, STUDENT = "any", "mixtures", "student"  # families of laws
_BATCH, _CLIP = 100, 10.0  # rows that a held-out pair stands among; of log ratios, either way

Scores, Codes = NDArray[np.float64], NDArray[np.intp]


class Law(Protocol):
    """A distribution of normal scores [n, c] and categories [n, variables]; `columns` int [c]: the variable of each
    column.
    """

    columns: NDArray[np.intp]
    name: str

    def draw(self, n: int, generator: np.random.Generator) -> tuple[Scores, Codes]:
        """n independent rows."""

    def log_density(self, scores: Scores, codes: Codes, variables: Sequence[int]) -> NDArray[np.float64]:
        """The log density of some of the variables [n]: minus infinity at categories that were not fitted."""


def fit(variables: Sequence[Variable], generator: np.random.Generator, family: str = ANY) -> Law:
    """The distribution that predicts held-out rows best, fitted to all; family: ANY, MIXTURES or STUDENT (continuous
    only).
    """
    scores, codes, columns = _scores_and_codes(variables)
    joint = join(*variables).codes
    joint = np.zeros(len(scores), np.intp) if joint is None else joint
    fits = list(_fits(scores.shape[1], len(scores) / (joint.max() + 1), bool((codes >= 0).any()), family))
    if len(fits) == 1:
        return fits[0](scores, codes, joint, columns)
    rows = generator.permutation(len(scores))[:_FITTED_ROWS]
    kept = int(len(rows) * (1 - _HELD_OUT))
    train, test = rows[:kept], rows[kept:]

    def score(of) -> float:
        density = of(scores[train], codes[train], joint[train], columns).log_density(
            scores[test], codes[test], range(codes.shape[1])
        )
        return float(density[np.isfinite(density)].mean())

    return max(fits, key=score)(scores, codes, joint, columns)


def _fits(dim: int, rows: float, has_codes: bool, family: str) -> Iterator[Any]:
    """The distributions that can be fitted, by columns, rows of a category, and categories."""
    if family != STUDENT:
        yield from mixture.fits(dim, rows)
    if family != MIXTURES and dim > 1 and not has_codes:
        yield student.fitted


def log_ratio(law: Law, scores: Scores, codes: Codes) -> NDArray[np.float64]:
    """The local information of x and y, or of x and y given z, at every row [n], nats; its mean is I."""
    if codes.shape[1] == 2:
        terms = [(1, (0, 1)), (-1, (0,)), (-1, (1,))]
    else:
        terms = [(1, (0, 1, 2)), (1, (2,)), (-1, (0, 2)), (-1, (1, 2))]
    return sum(sign * law.log_density(scores, codes, variables) for sign, variables in terms)


def log_ratios(law: Law, scores: Scores, codes: Codes) -> NDArray[np.float64]:
    """The log ratio of x of every row i and y of every row j [n, n], nats: 0 where a category was not fitted."""
    n = len(scores)
    of_x, of_y = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    paired = np.where(law.columns == 0, scores[of_x], scores[of_y])
    named = np.stack([codes[of_x, 0], codes[of_y, 1]], axis=1)
    joint = law.log_density(paired, named, (0, 1)).reshape(n, n)
    x, y = law.log_density(scores, codes, (0,))[:, None], law.log_density(scores, codes, (1,))
    known = np.isfinite(x) & np.isfinite(y)
    return np.where(known, joint - np.where(known, x + y, 0.0), 0.0)


def held_out(
    x: Any,
    y: Any,
    groups: ArrayLike | None = None,
    folds: int = 5,
    generator: np.random.Generator | None = None,
) -> Estimate:
    """A lower bound on I(x; y), nats, up to its error: InfoNCE (van den Oord et al. 2018) of distributions on unseen
    rows.

    Arguments as in `subsample`; folds at least 3. Every unseen pair stands among 100 pairs of x with other y: at most
    log 100. ValueError: as `knn.mutual_information`.
    """
    named, row_groups = as_variables(groups, x=x, y=y)
    variables = tuple(named.values())
    n = variables[0].n
    generator = generator_or_default(generator)
    row_groups = np.arange(n) if row_groups is None else row_groups
    fold_of = assign_folds(np.zeros(n, np.intp), row_groups, require_int("folds", folds, 3), generator)
    values, names = np.empty(n), []
    for law, test, scores, codes in cross_fitted(variables, fold_of, generator):
        names.append(law.name)
        order = generator.permutation(len(test))
        for rows in np.array_split(order, max(1, len(test) // _BATCH)):
            ratios = np.clip(log_ratios(law, scores[rows], codes[rows]), -_CLIP, _CLIP)
            values[test[rows]] = np.diag(ratios) - (logsumexp(ratios, axis=1) - np.log(len(rows)))
    return mean_of(values, row_groups, method=" or ".join(sorted(set(names))), settings=f"{folds} folds")


def cross_fitted(
    variables: Sequence[Variable], fold_of: NDArray[np.intp], generator: np.random.Generator, family: str = ANY
) -> Iterator[tuple[Law, NDArray[np.intp], Scores, Codes]]:
    """For every fold 0, 1, ... [n]: the distribution of all other rows, and the fold's rows, scores and codes."""
    for fold in range(int(fold_of.max()) + 1):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        law = fit([variable.take(train) for variable in variables], generator, family)
        scores = np.hstack([_scores_among(v.continuous[train], v.continuous[test]) for v in variables])
        codes = np.stack([_codes_among(v, train, test) for v in variables], axis=1)
        yield law, test, scores, codes


def _scores_among(known: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
    """The normal score [m, c] that new rows would have among known ones."""
    found = np.empty(new.shape)
    for place, (column, values) in enumerate(zip(known.T, new.T)):
        inside = np.sort(column)
        ranks = (np.searchsorted(inside, values, "left") + np.searchsorted(inside, values, "right")) / 2
        found[:, place] = ndtri((ranks + 0.5) / (len(inside) + 1))
    return found


def _codes_among(variable: Variable, known: NDArray[np.intp], new: NDArray[np.intp]) -> NDArray[np.intp]:
    """The codes of new rows as `take` numbers them for the known ones; -2 for a category that is not among those."""
    if variable.codes is None:
        return np.full(len(new), -1)
    present = np.unique(variable.codes[known])
    place = np.minimum(np.searchsorted(present, variable.codes[new]), len(present) - 1)
    return np.where(present[place] == variable.codes[new], place, -2)


def _normal_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every column [n, c] by its ranks as quantiles of the normal; equal values have equal scores."""
    return ndtri((stats.rankdata(values, axis=0) - 0.5) / len(values)) if values.size else values


def _scores_and_codes(variables: Sequence[Variable]) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """The input of a fit: normal scores [n, c], categories [n, variables], and the variable of each column."""
    scores = _normal_scores(np.hstack([variable.continuous for variable in variables]))
    codes = [np.full(variable.n, -1) if variable.codes is None else variable.codes for variable in variables]
    return scores, np.stack(codes, axis=1), np.repeat(np.arange(len(variables)), [v.dim for v in variables])
