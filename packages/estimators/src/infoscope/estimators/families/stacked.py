"""Mixtures of families, weighted on a validation set (Smyth & Wolpert 1999).

The distribution without input is one member of every mixture.
"""

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

Values = NDArray[np.float64]
EM_STEPS = 100  # of the weights (Dempster, Laird & Rubin 1977)


@dataclass(frozen=True)
class Stacked:
    """Mixtures of members of `families` and of the distribution without input.

    The weights maximise the likelihood on a random half of the rows, for members fitted
    to the other half (`WeightedMixture.half`). Members are then refitted to all rows.

    first  number of leading families that are also mixed without the others (`WeightedMixture.first`)
    """

    families: tuple[Family, ...]
    first: int | None = None

    @property
    def name(self) -> str:
        """The name with its members."""
        return (
            f"mixture of {', '.join(family.name for family in self.families)} and no "
            "input"
        )

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Kinds of outcomes that every member predicts."""
        kinds = list(self.families[0].outcomes)
        for family in self.families:
            kinds = [kind for kind in kinds if kind in family.outcomes]
        return tuple(kinds)

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        """The predictive distribution of y given x."""
        if x is None:
            return without_input(y, classes)
        generator = generator_or_default(generator)
        groups = np.arange(len(y)) if groups is None else groups
        validation = validation_half(y, classes, groups, generator)

        def members(rows: np.ndarray) -> list[Predictor]:
            """Distributions fitted to some rows, the first one without input."""
            x_rows = take(x, rows)
            y_rows = y[rows]
            fits = []
            for family in self.families:
                fit = family.fit(x_rows, y_rows, classes, groups[rows], generator)
                fits.append(fit)
            return [without_input(y_rows, classes), *fits]

        on_half = members(~validation)
        on_all = members(np.ones(len(y), bool))
        x_validation = take(x, validation)
        y_validation = y[validation]
        constant, *informed = on_half
        columns = [constant.log_density(None, y_validation)]
        for member in informed:
            columns.append(member.log_density(x_validation, y_validation))
        logs = np.column_stack(columns)

        def mixed(count: int, first: WeightedMixture | None) -> WeightedMixture:
            log_weights = maximum_likelihood_weights(logs[:, :count])
            half = WeightedMixture(log_weights, on_half[:count])
            return WeightedMixture(log_weights, on_all[:count], half, first)

        first = None if self.first is None else mixed(1 + self.first, None)
        return mixed(1 + len(self.families), first)


def validation_half(
    y: np.ndarray,
    classes: int | None,
    groups: np.ndarray,
    generator: np.random.Generator,
) -> NDArray[np.bool_]:
    """A random half of the groups, as a mask [n]; the other half has every class.

    OutOfRange: one group.
    """
    names, codes = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise OutOfRange(
            "groups must be at least 2 in every training set to weigh families, got 1."
        )
    places = np.argsort(generator.permutation(len(names)))[codes]
    validation = places < len(names) // 2
    if classes is None:
        return validation
    for missing in np.setdiff1d(y, y[~validation]):
        last_group = places[y == missing].max()
        without_group = validation & (places != last_group)
        if without_group.any():
            validation = without_group
    return validation


@dataclass(frozen=True, eq=False)
class WeightedMixture:
    """A weighted mixture of distributions, the first one without input.

    half   the mixture of members fitted to half of the rows, with the same weights
    first  the mixture of the leading families only
    """

    log_weights: Values
    members: Sequence[Any]
    half: WeightedMixture | None = None
    first: WeightedMixture | None = None

    def log_probabilities(self, x: Any) -> Values:
        """Log probabilities [n, classes], nats."""
        constant, *informed = self.members
        logs = [constant.log_probabilities(None)]
        for member in informed:
            logs.append(member.log_probabilities(x))
        return self._mixed(logs)

    def log_density(self, x: Any, y: np.ndarray) -> Values:
        """Log densities [n] of y given x, nats."""
        constant, *informed = self.members
        logs = [constant.log_density(None, y)]
        for member in informed:
            logs.append(member.log_density(x, y))
        return self._mixed(logs)

    def _mixed(self, logs: list[Values]) -> Values:
        """The log of the weighted sum of densities."""
        weighted = []
        for log_weight, log in zip(self.log_weights, logs):
            weighted.append(log_weight + log)
        terms = np.stack(np.broadcast_arrays(*weighted))
        total: Any = logsumexp(terms, axis=0)
        return total


def maximum_likelihood_weights(logs: Values) -> Values:
    """Log weights [m] of the mixture with the largest likelihood.

    The mixture is of m distributions with log densities [n, m].
    """
    logs = logs[np.isfinite(logs).any(axis=1)]
    ratios = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf))
    weights = np.full(logs.shape[1], 1 / logs.shape[1])
    if len(ratios):
        for _ in range(EM_STEPS):
            mixture = ratios @ weights
            responsibilities = ratios.T @ (1 / mixture)
            weights = weights * responsibilities / len(ratios)
    with np.errstate(divide="ignore"):
        return np.log(weights)
