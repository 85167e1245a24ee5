"""Logistic regression as a predictive family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from infoscope.errors import OutOfRange
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.laws import CategoricalLaw, without_input
from infoscope.estimators.families.protocol import CLASSES, Features, needed
from infoscope.estimators.threads import threads_for
from infoscope.estimators.variables import as_matrix

MAX_GRADIENT = 1e-6  # nats per row: a fit stops when no derivative is larger
MAX_ITERATIONS = 1000  # of L-BFGS


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic regression: log odds linear in the features, penalty / 2 * |weights|^2 on the summed loss.

    penalty  positive; several: the one of least log loss on a fifth of the groups
    degree   of the polynomial of the inputs, products included

    Features, and the inputs of powers, are standardised by the rows that are fitted.
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
        inputs, classes = as_matrix("x", x), needed(classes)
        features = Features.of(inputs, self.degree)
        found, penalty = features(inputs), self.penalties[0]
        if len(self.penalties) > 1:
            groups = np.arange(len(y)) if groups is None else groups
            penalty = self._choose(found, y, classes, groups, generator_or_default(generator))
        weights, intercepts = fit_logistic(found, y, classes, penalty)
        return CategoricalLaw(lambda new: log_softmax(features(new) @ weights + intercepts, axis=1))

    def _choose(
        self, features: np.ndarray, y: np.ndarray, classes: int, groups: np.ndarray, generator: np.random.Generator
    ) -> float:
        """The penalty. A class that all the rows set aside have for themselves does not count."""
        order = generator.permutation(np.unique(groups))
        if len(order) < 2:
            raise OutOfRange("groups must be at least 2 in every training set to choose a penalty, got 1.")
        aside = np.isin(groups, order[: max(1, len(order) // 5)])
        losses = []
        for penalty in self.penalties:
            weights, intercepts = fit_logistic(features[~aside], y[~aside], classes, penalty)
            logs = log_softmax(features[aside] @ weights + intercepts, axis=1)[np.arange(aside.sum()), y[aside]]
            losses.append(-logs[np.isfinite(logs)].sum())
        return self.penalties[int(np.argmin(losses))]


def fit_logistic(x: np.ndarray, y: np.ndarray, classes: int, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights [d, classes] and intercepts [classes] of least summed log loss + penalty / 2 * |weights|^2.

    x [n, d], y codes [n]. The penalty is on standardised inputs; with two classes on the one vector of log odds.
    Classes that are not in y have the intercept -inf.
    """
    weights, intercepts = np.zeros((x.shape[1], classes)), np.full(classes, -np.inf)
    present = np.unique(y)
    intercepts[present] = 0.0
    if len(present) > 1:
        scaling = Features.of(x, 1)
        with threads_for(x.size * len(present)):
            model = LogisticRegression(C=1.0 / penalty, tol=MAX_GRADIENT, max_iter=MAX_ITERATIONS).fit(scaling(x), y)
        own = present[1:] if len(present) == 2 else present
        weights[:, own] = model.coef_.T / scaling.scale[:, None]
        intercepts[own] = model.intercept_ - scaling.centre @ weights[:, own]
    return weights, intercepts
