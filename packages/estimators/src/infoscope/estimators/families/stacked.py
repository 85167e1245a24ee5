"""Mixtures of families and of the distribution without input, weighted on a validation set (Smyth & Wolpert 1999)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from infoscope.errors import OutOfRange
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.distributions import without_input
from infoscope.estimators.families.protocol import Family, Predictor, take


@dataclass(frozen=True)
class Stacked:
    """Mixtures of members of `families` and of the distribution without input.

    The weights maximise the likelihood on a random half of the rows, for members fitted to the other half
    (`WeightedMixture.half`); then members are refitted to all rows. first: how many of the families are also mixed
    without the others (`WeightedMixture.first`).
    """

    families: tuple[Family, ...]
    first: int | None = None

    @property
    def name(self) -> str:
        return f"mixture of {', '.join(family.name for family in self.families)} and no input"

    @property
    def outcomes(self) -> tuple[str, ...]:
        return tuple(kind for kind in self.families[0].outcomes if all(kind in one.outcomes for one in self.families))

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        if x is None:
            return without_input(y, classes)
        generator = generator_or_default(generator)
        groups = np.arange(len(y)) if groups is None else groups
        validation = validation_half(y, classes, groups, generator)
        every = np.ones(len(y), bool)
        members = [
            [without_input(y[rows], classes)]
            + [family.fit(take(x, rows), y[rows], classes, groups[rows], generator) for family in self.families]
            for rows in (~validation, every)
        ]
        logs = np.column_stack([
            np.broadcast_to(member.log_density(take(x, validation) if place else None, y[validation]), validation.sum())
            for place, member in enumerate(members[0])
        ])  # fmt: skip

        def mixed(count: int, first: WeightedMixture | None) -> WeightedMixture:
            log_weights = maximum_likelihood_weights(logs[:, :count])
            half, whole = (some[:count] for some in members)
            return WeightedMixture(log_weights, whole, WeightedMixture(log_weights, half), first)

        first = None if self.first is None else mixed(1 + self.first, None)
        return mixed(1 + len(self.families), first)


def validation_half(
    y: np.ndarray, classes: int | None, groups: np.ndarray, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """A random half of the groups, as a mask [n]; the rest has every class. OutOfRange: one group."""
    names, codes = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise OutOfRange("groups must be at least 2 in every training set to weigh families, got 1.")
    place = np.empty(len(names), np.int64)
    place[generator.permutation(len(names))] = np.arange(len(names))
    place = place[codes]
    validation = place < len(names) // 2
    for missing in np.setdiff1d(y, y[~validation]) if classes is not None else ():
        fewer = validation & (place != place[y == missing].max())
        validation = fewer if fewer.any() else validation
    return validation


@dataclass(frozen=True, eq=False)
class WeightedMixture:
    """A weighted mixture of distributions, the first one without input; half, first: as in `Stacked`."""

    log_weights: NDArray[np.float64]
    members: Sequence[Any]
    half: WeightedMixture | None = None
    first: WeightedMixture | None = None

    def log_probabilities(self, x: Any) -> NDArray[np.float64]:
        return self._mixed(
            [self.members[0].log_probabilities(None), *(member.log_probabilities(x) for member in self.members[1:])]
        )

    def log_density(self, x: Any, y: np.ndarray) -> NDArray[np.float64]:
        return self._mixed(
            [self.members[0].log_density(None, y), *(member.log_density(x, y) for member in self.members[1:])]
        )

    def _mixed(self, logs: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        weighted = [weight + one for weight, one in zip(self.log_weights, logs)]
        return logsumexp(np.stack(np.broadcast_arrays(*weighted)), axis=0)


def maximum_likelihood_weights(logs: NDArray[np.float64], steps: int = 100) -> NDArray[np.float64]:
    """Log weights [m] of the mixture of m distributions with log densities [n, m] that has the largest likelihood."""
    logs = logs[np.isfinite(logs).any(axis=1)]
    ratios = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf))
    weights = np.full(logs.shape[1], 1 / logs.shape[1])
    for _ in range(steps if len(ratios) else 0):
        weights = weights * (ratios.T @ (1 / (ratios @ weights))) / len(ratios)
    with np.errstate(divide="ignore"):
        return np.log(weights)
