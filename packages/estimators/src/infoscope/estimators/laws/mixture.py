"""Gaussian mixtures of normal scores, one in every joint category; density ratios of their margins are exact."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

_SIZES = (2, 4, 8, 16, 32)  # components begun as clusters of rows
_SHELLS = (2, 3, 5)  # components begun around one centre, narrow to wide: heavy tails that columns share
_ROWS_PER_PARAMETER = 2.0  # of a mixture of more than one component
_RIDGE = 1e-4  # least variance, of unit scores: what is narrower than a hundredth of the spread is not resolved
_STEPS, _TOLERANCE = 60, 1e-3  # of a fit: it ends where the mean log density changes less, nats
_WIDTHS = (0.1, 3.0)  # of shells, times the covariance

_Parameters = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]  # weights, means, covariances
_Start = tuple[str, int] | None  # how components are begun, and how many; None: there is one


@dataclass(frozen=True, eq=False)
class Component:
    """One normal of the mixture: its share of all rows, its categories (codes [variables], -1: none), mean and
    covariance.
    """

    weight: float
    codes: NDArray[np.intp]
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mixture:
    """A distribution of some variables (`laws.Law`)."""

    components: tuple[Component, ...]
    columns: NDArray[np.intp]

    @property
    def name(self) -> str:
        return f"a Gaussian mixture of {len(self.components)}" if len(self.components) > 1 else "a normal law"

    def with_width(self, width: float) -> Mixture:
        """The same centres with components so many times as wide."""
        narrower = [replace(one, covariance=width**2 * one.covariance) for one in self.components]
        return replace(self, components=tuple(narrower))

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


def fits(dim: int, rows: float) -> Iterator[Any]:
    """Ways to fit a mixture that a category of so many rows can bear: (scores, codes, joint, columns) -> Mixture."""
    yield functools.partial(fitted, None)
    most = rows / (_ROWS_PER_PARAMETER * (dim + 1) * (dim + 2) / 2)
    if dim:
        yield from (functools.partial(fitted, ("clusters", size)) for size in _SIZES if size <= most)
    if dim > 1:
        yield from (functools.partial(fitted, ("shells", size)) for size in _SHELLS if size <= most)


def fitted(
    start: _Start, scores: NDArray[np.float64], codes: NDArray[np.intp], joint: NDArray[np.intp],
    columns: NDArray[np.intp],
) -> Mixture:  # fmt: skip
    """The mixture of rows of joint categories `joint` [n]; few rows: one component, shrunk to the pooled covariance."""
    pooled, components = _pooled(scores, joint), []
    for category in np.unique(joint):
        rows = np.flatnonzero(joint == category)
        for weight, mean, covariance in _parts(scores[rows], start, pooled if len(rows) < len(scores) else None):
            components.append(Component(weight * len(rows) / len(scores), codes[rows[0]], mean, covariance))
    return Mixture(tuple(components), columns)


def _parts(
    scores: NDArray[np.float64], start: _Start, pooled: NDArray[np.float64] | None
) -> list[tuple[float, NDArray[np.float64], NDArray[np.float64]]]:
    """(weight, mean, covariance) of the components of one category."""
    rows, dim = scores.shape
    if start is not None and rows > start[1] * (dim + 1) * (dim + 2) / 2:
        return [(float(weight), *of) for weight, *of in zip(*_mixture(scores, start))]
    centred = scores - scores.mean(axis=0)
    spread, count = centred.T @ centred, rows
    if pooled is not None:
        spread, count = spread + (dim + 1) * pooled, rows + dim + 1
    return [(1.0, scores.mean(axis=0), spread / count + _RIDGE * np.eye(dim))]


def _pooled(scores: NDArray[np.float64], joint: NDArray[np.intp]) -> NDArray[np.float64]:
    """Covariance within the categories."""
    if not scores.shape[1]:
        return np.empty((0, 0))
    sizes = np.bincount(joint)
    sums = np.stack([np.bincount(joint, weights=column) for column in scores.T], axis=1)
    means = sums / np.maximum(sizes, 1)[:, None]
    centred = scores - means[joint]
    return centred.T @ centred / len(scores)


def _mixture(scores: NDArray[np.float64], start: tuple[str, int]) -> _Parameters:
    """The likeliest mixture by EM from a start: weights [k], means [k, c], covariances [k, c, c]; as scikit-learn,
    faster.
    """
    kind, number = start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rows that repeat are fewer clusters
        labels = KMeans(number, n_init=1, random_state=0).fit(scores).labels_
    columns = np.ascontiguousarray(scores.T)
    found = _maximise(columns, (labels == np.arange(number)[:, None]).astype(float))
    if kind == "shells":
        covariance = np.atleast_2d(np.cov(columns)) + _RIDGE * np.eye(len(columns))
        means = np.tile(scores.mean(axis=0), (number, 1))
        found = found[0], means, np.geomspace(*_WIDTHS, number)[:, None, None] * covariance
    likelihood = -np.inf
    for _ in range(_STEPS):  # a law that is not the likeliest is a law as well
        values = _weighted_log_densities(columns, *found)
        largest = values.max(axis=0)
        densities = np.exp(values - largest)
        total = densities.sum(axis=0)
        found = _maximise(columns, densities / total)
        before, likelihood = likelihood, float((largest + np.log(total)).mean())
        if abs(likelihood - before) < _TOLERANCE:
            break
    return found


def _weighted_log_densities(
    columns: NDArray[np.float64], weights: NDArray[np.float64], means: NDArray[np.float64],
    covariances: NDArray[np.float64],
) -> NDArray[np.float64]:  # fmt: skip
    """Of every component at every row [k, n]."""
    whitening = np.linalg.inv(np.linalg.cholesky(covariances))
    away = whitening @ columns - whitening @ means[:, :, None]
    scale = np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(axis=1) - 0.5 * len(columns) * np.log(2 * np.pi)
    return (np.log(weights) + scale)[:, None] - 0.5 * np.einsum("kcn,kcn->kn", away, away)


def _maximise(columns: NDArray[np.float64], shares: NDArray[np.float64]) -> _Parameters:
    """The components that hold these shares [k, n] of every row."""
    sizes = shares.sum(axis=1) + 10 * np.finfo(float).eps
    means = shares @ columns.T / sizes[:, None]
    centred = columns - means[:, :, None]
    covariances = (shares[:, None] * centred) @ centred.transpose(0, 2, 1) / sizes[:, None, None]
    return sizes / sizes.sum(), means, covariances + _RIDGE * np.eye(len(columns))
