"""A Gaussian mixture fitted to a sample of typed variables: a law like the data, whose information can be computed.

Continuous columns are first ranked to normal scores, which changes no information between variables; in every joint
category of the discrete columns they follow a mixture of normals of its own. Every margin of such a law is a mixture
again, so its log density ratios are exact, and its mutual information is a mean of them over draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import logsumexp, ndtri
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from infoscope.estimators.checks import generator_or_default, whole
from infoscope.estimators.classifier_inputs import assign_folds
from infoscope.estimators.classifier_terms import Estimate, clustered_error
from infoscope.estimators.resampling import group_codes
from infoscope.estimators.variables import Variable, as_variable, join, same_length

SIZES = (2, 4, 8, 16, 32)  # components begun as clusters of rows
SHELLS = (2, 3, 5)  # components begun around one centre, narrow to wide: heavy tails that columns share
ROWS_PER_PARAMETER = 2.0  # of a mixture of more than one component
FITTED_ROWS = 3000  # that choose the number of components
HELD_OUT = 0.3  # of them, on which it is chosen
RIDGE = 1e-4  # least variance, of unit scores: what is narrower than a hundredth of the spread is not resolved
STEPS = 60
WIDTHS = (0.1, 3.0)  # of shells, times the covariance
BATCH, CLIP = 100, 10.0  # rows that a held-out pair stands among; of log ratios, either way


@dataclass(frozen=True, eq=False)
class Component:
    """One normal of the mixture: its share of all rows, the joint category it belongs to, and what it is.

    codes [variables] are the categories of the discrete parts, -1 where a variable has none; mean [c] and covariance
    [c, c] are of all continuous columns side by side.
    """

    weight: float
    codes: NDArray[np.intp]
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mixture:
    """A law of some variables. columns [c] says which variable a continuous column belongs to."""

    components: tuple[Component, ...]
    columns: NDArray[np.intp]

    def draw(self, n: int, generator: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """n rows: scores [n, c] and categories [n, variables], in random order."""
        weights = np.array([component.weight for component in self.components])
        chosen = generator.choice(len(weights), n, p=weights / weights.sum())
        scores = generator.normal(size=(n, len(self.columns)))
        codes = np.empty((n, len(self.components[0].codes)), np.intp)
        for number, component in enumerate(self.components):
            rows = chosen == number
            codes[rows] = component.codes
            if rows.any() and len(self.columns):
                scores[rows] = component.mean + scores[rows] @ np.linalg.cholesky(component.covariance).T
        return scores, codes

    def log_density(
        self, scores: NDArray[np.float64], codes: NDArray[np.intp], variables: Sequence[int]
    ) -> NDArray[np.float64]:
        """Of some of the variables [n]: minus infinity at categories that the law does not hold."""
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

    def log_ratios(self, scores: NDArray[np.float64], codes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Of x of every row i and y of every row j [n, n], nats: 0 where either is of a category without a law."""
        n = len(scores)
        of_x, of_y = (np.repeat(np.arange(n), n), np.tile(np.arange(n), n))
        paired = np.where(self.columns == 0, scores[of_x], scores[of_y])
        named = np.stack([codes[of_x, 0], codes[of_y, 1]], axis=1)
        joint = self.log_density(paired, named, (0, 1)).reshape(n, n)
        of_x, of_y = self.log_density(scores, codes, (0,))[:, None], self.log_density(scores, codes, (1,))
        known = np.isfinite(of_x) & np.isfinite(of_y)
        return np.where(known, joint - np.where(known, of_x + of_y, 0.0), 0.0)

    def log_ratio(self, scores: NDArray[np.float64], codes: NDArray[np.intp]) -> NDArray[np.float64]:
        """The local information of x and y, or of x and y given z, at every row [n], nats; its mean is I of the law."""
        if codes.shape[1] == 2:
            terms = [(1, (0, 1)), (-1, (0,)), (-1, (1,))]
        else:
            terms = [(1, (0, 1, 2)), (1, (2,)), (-1, (0, 2)), (-1, (1, 2))]
        return sum(sign * self.log_density(scores, codes, variables) for sign, variables in terms)


def held_out(
    x: Any,
    y: Any,
    groups: ArrayLike | None = None,
    folds: int = 5,
    generator: np.random.Generator | None = None,
) -> Estimate:
    """A lower bound on I(x; y), nats, up to its error: InfoNCE (van den Oord et al. 2018) of mixtures on unseen rows.

    x, y    [n] or [n, d], typed as `knn` types them
    groups  [n], rows that depend on one another and so share a fold
    folds   at least 2: the mixture that is asked about a fold was fitted to the others

    Every unseen pair stands among BATCH pairs of x with the y of other rows; with any critic the mean of its log share
    is at most I in expectation, and at most log BATCH. ValueError: as `knn.mutual_information`.
    """
    variables = as_variable("x", x), as_variable("y", y)
    n = same_length(x=variables[0], y=variables[1])
    generator = generator_or_default(generator)
    row_groups = np.arange(n) if groups is None else group_codes(n, groups)[1]
    fold_of = assign_folds(np.zeros(n, np.intp), row_groups, whole("folds", folds, 2), generator)
    values, sizes = np.empty(n), []
    for fold in range(folds):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        law = fit([variable.take(train) for variable in variables], generator)
        sizes.append(len(law.components))
        scores = np.hstack([scores_among(v.continuous[train], v.continuous[test]) for v in variables])
        codes = np.stack([_codes_among(v, train, test) for v in variables], axis=1)
        order = generator.permutation(len(test))
        for rows in np.array_split(order, max(1, len(test) // BATCH)):
            ratios = np.clip(law.log_ratios(scores[rows], codes[rows]), -CLIP, CLIP)
            values[test[rows]] = np.diag(ratios) - (logsumexp(ratios, axis=1) - np.log(len(rows)))
    value, error = float(values.mean()), clustered_error(values, row_groups)
    units = int(row_groups.max()) + 1
    margin = float(stats.t.ppf(0.975, units - 1)) * error
    name = f"Gaussian mixture of {min(sizes)} to {max(sizes)}"
    return Estimate(value, error, value - margin, value + margin, n, units, name)


def scores_among(known: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
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


def normal_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every column [n, c] by its ranks as quantiles of the normal; equal values have equal scores."""
    return ndtri((stats.rankdata(values, axis=0) - 0.5) / len(values)) if values.size else values


def scores_and_codes(variables: Sequence[Variable]) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """What a mixture is fitted to: normal scores [n, c], categories [n, variables], and the variable of each column."""
    scores = normal_scores(np.hstack([variable.continuous for variable in variables]))
    codes = [np.full(variable.n, -1) if variable.codes is None else variable.codes for variable in variables]
    return scores, np.stack(codes, axis=1), np.repeat(np.arange(len(variables)), [v.dim for v in variables])


def fit(variables: Sequence[Variable], generator: np.random.Generator) -> Mixture:
    """The mixture of some variables of equal length, of as many components as predict held-out rows best.

    The number is one for all joint categories; a category of few rows has one component, drawn to the pooled one.
    """
    scores, codes, columns = scores_and_codes(variables)
    joint = join(*variables).codes
    joint = np.zeros(len(scores), np.intp) if joint is None else joint
    if not scores.shape[1]:
        return Mixture(tuple(_fitted(scores, codes, joint, None)), columns)
    rows = generator.permutation(len(scores))[:FITTED_ROWS]
    kept = int(len(rows) * (1 - HELD_OUT))
    train, test = rows[:kept], rows[kept:]
    best, chosen = -np.inf, None
    for start in _starts(scores.shape[1], len(scores) / (joint.max() + 1)):
        trial = Mixture(tuple(_fitted(scores[train], codes[train], joint[train], start)), columns)
        density = trial.log_density(scores[test], codes[test], range(codes.shape[1]))
        score = density[np.isfinite(density)].mean()
        if score > best:
            best, chosen = score, start
    return Mixture(tuple(_fitted(scores, codes, joint, chosen)), columns)


Start = tuple[str, int] | None


def _starts(dim: int, rows: float) -> list[Start]:
    """The ways to begin that a category of so many rows can bear; None is one component."""
    most = rows / (ROWS_PER_PARAMETER * (dim + 1) * (dim + 2) / 2)
    of_shells = [("shells", size) for size in SHELLS if size <= most and dim > 1]
    return [None, *(("clusters", size) for size in SIZES if size <= most), *of_shells]


def _fitted(
    scores: NDArray[np.float64], codes: NDArray[np.intp], joint: NDArray[np.intp], start: Start
) -> list[Component]:
    """The components of every joint category, their weights the shares of its rows."""
    components = []
    dim = scores.shape[1]
    pooled = np.eye(dim) if dim == 0 else _pooled(scores, joint)
    for category in np.unique(joint):
        rows = np.flatnonzero(joint == category)
        own, share = scores[rows], len(rows) / len(scores)
        number = 1 if start is None else start[1]
        if number > 1 and len(rows) > number * (dim + 1) * (dim + 2) / 2:
            found = _mixture(own, start)
            parts = zip(found.weights_, found.means_, found.covariances_)
        else:
            centred = own - own.mean(axis=0)
            spread = (centred.T @ centred + (dim + 1) * pooled * (len(rows) < len(scores))) / (
                len(rows) + (dim + 1) * (len(rows) < len(scores))
            )
            parts = [(1.0, own.mean(axis=0), spread + RIDGE * np.eye(dim))]
        components += [
            Component(share * float(weight), codes[rows[0]], mean, covariance) for weight, mean, covariance in parts
        ]
    return components


def _pooled(scores: NDArray[np.float64], joint: NDArray[np.intp]) -> NDArray[np.float64]:
    """Covariance within the categories."""
    sizes = np.bincount(joint)
    means = np.stack([np.bincount(joint, weights=column) for column in scores.T], axis=1) / np.maximum(sizes, 1)[:, None]
    centred = scores - means[joint]
    return centred.T @ centred / len(scores)


def _mixture(scores: NDArray[np.float64], start: tuple[str, int]) -> GaussianMixture:
    kind, number = start
    model = GaussianMixture(number, reg_covar=RIDGE, max_iter=STEPS, random_state=0)
    if kind == "shells":
        covariance = np.atleast_2d(np.cov(scores.T)) + RIDGE * np.eye(scores.shape[1])
        scales = np.geomspace(*WIDTHS, number)
        precisions = np.linalg.inv(covariance) / scales[:, None, None]
        model.set_params(means_init=np.tile(scores.mean(axis=0), (number, 1)), precisions_init=precisions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a law that is not the likeliest is a law as well
        return model.fit(scores)
