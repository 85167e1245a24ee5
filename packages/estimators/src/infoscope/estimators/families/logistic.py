"""Logistic regression as a predictive family, with all folds and penalties in one computation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from infoscope.errors import OutOfRange
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families._logistic_solver import Weights, fit_logistic
from infoscope.estimators.families.laws import CategoricalLaw, without_input
from infoscope.estimators.families.protocol import CLASSES, Features, needed
from infoscope.estimators.variables import as_matrix


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic regression: log odds linear in the features, penalty / 2 * |weights|^2 on the summed loss.

    penalty  positive; several: each subset takes the one of least log loss on a fifth of its groups
    degree   of the polynomial of the inputs, products included

    Features are standardised by the rows that are fitted; powers are of inputs scaled by all rows, held-out inputs
    included.
    """

    penalty: float | tuple[float, ...] = 1.0
    degree: int = 1
    outcomes = (CLASSES,)

    def __post_init__(self) -> None:
        if not self.penalties or not all(penalty > 0.0 for penalty in self.penalties):
            raise OutOfRange(f"penalty must be one or more positive numbers, got {self.penalty!r}.")
        if self.degree < 1:
            raise OutOfRange(f"degree must be at least 1, got {self.degree!r}.")

    @property
    def penalties(self) -> tuple[float, ...]:
        return tuple(self.penalty) if isinstance(self.penalty, Sequence) else (self.penalty,)

    @property
    def name(self) -> str:
        penalties = " or ".join(f"{penalty:g}" for penalty in self.penalties)
        return f"logistic(penalty={penalties}{f', degree={self.degree}' if self.degree > 1 else ''})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if x is None:
            return without_input(y, needed(classes))
        return self.fit_subsets(x, y, [np.ones(len(y), dtype=bool)], classes, groups, generator)[0]

    def fit_subsets(
        self,
        x: Any,
        y: np.ndarray,
        subsets: Sequence[np.ndarray],
        classes: int | None = None,
        groups: np.ndarray | None = None,
        generator: np.random.Generator | None = None,
    ) -> list[CategoricalLaw]:
        inputs, classes = as_matrix("x", x), needed(classes)
        features = Features.of(inputs, self.degree)
        found = features(inputs)
        penalties = [self.penalties[0]] * len(subsets)
        if len(self.penalties) > 1:
            groups = np.arange(len(y)) if groups is None else groups
            penalties = self._choose(found, y, classes, subsets, groups, generator)
        fits = fit_logistic(found, y, classes, subsets, penalties)
        return [CategoricalLaw(lambda new, fit=fit: log_probabilities(fit, features(new))) for fit in fits]

    def _choose(
        self,
        features: np.ndarray,
        y: np.ndarray,
        classes: int,
        subsets: Sequence[np.ndarray],
        groups: np.ndarray,
        generator: np.random.Generator | None,
    ) -> list[float]:
        """The penalty of every subset. A class that all the rows set aside have for themselves does not count."""
        generator = generator_or_default(generator)
        asides = []
        for rows in subsets:
            order = generator.permutation(np.unique(groups[rows]))
            if len(order) < 2:
                raise OutOfRange("groups must be at least 2 in every training set to choose a penalty, got 1.")
            asides.append(rows & np.isin(groups, order[: max(1, len(order) // 5)]))
        kept = [rows & ~aside for rows, aside in zip(subsets, asides)]
        losses = np.empty((len(self.penalties), len(subsets)))
        for place, penalty in enumerate(self.penalties):
            tried = fit_logistic(features, y, classes, kept, [penalty] * len(subsets))
            for lane, (fit, aside) in enumerate(zip(tried, asides)):
                own = log_probabilities(fit, features[aside])[np.arange(aside.sum()), y[aside]]
                losses[place, lane] = -own[np.isfinite(own)].sum()
        return [self.penalties[place] for place in losses.argmin(axis=0)]


def log_probabilities(fit: Weights, features: np.ndarray) -> np.ndarray:
    """Log probabilities [n, classes] of features [n, p]."""
    weights, intercepts = fit
    return log_softmax(features @ weights + intercepts, axis=1)
