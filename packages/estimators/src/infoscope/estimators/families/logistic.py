"""Logistic regression as a predictive family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from infoscope.checks import require_int, require_number
from infoscope.estimators.columns import as_matrix
from infoscope.estimators.families.distributions import Categorical, without_input
from infoscope.estimators.families.protocol import CLASSES, Features, Predictor, needed
from infoscope.estimators.threads import threads_for


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic regression.

    Log odds are linear in the features; penalty / 2 * |weights|^2 is added to the summed
    loss. Features, and the inputs of powers, are standardised by the training rows.

    degree  of the polynomial of the inputs, products included
    """

    penalty: float = 1.0
    degree: int = 1
    outcomes = (CLASSES,)

    def __post_init__(self) -> None:
        require_number("penalty", self.penalty, ends=False)
        require_int("degree", self.degree)

    @property
    def name(self) -> str:
        """The name with its settings."""
        degree = f", degree={self.degree}" if self.degree > 1 else ""
        return f"logistic(penalty={self.penalty:g}{degree})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        """The predictive distribution of the classes y [n] given x."""
        classes = needed(classes)
        if x is None:
            return without_input(y, classes)
        inputs = as_matrix("x", x)
        features = Features.of(inputs, self.degree)
        weights, intercepts = fit_logistic(features(inputs), y, classes, self.penalty)

        def predict(new: Any) -> np.ndarray:
            log_odds = features(new) @ weights + intercepts
            return log_softmax(log_odds, axis=1)

        return Categorical(predict)


def fit_logistic(
    x: np.ndarray, y: np.ndarray, classes: int, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights [d, classes] and intercepts [classes] of logistic regression.

    They minimise the summed log loss + penalty / 2 * |weights|^2 for x [n, d] and codes
    y [n]. The penalty is on the weights of standardised inputs; two classes have one
    vector of log odds. Classes that are not in y have the intercept -inf.
    """
    weights = np.zeros((x.shape[1], classes))
    intercepts = np.full(classes, -np.inf)
    present = np.unique(y)
    intercepts[present] = 0.0
    if len(present) > 1:
        scaling = Features.of(x, 1)
        model = LogisticRegression(C=1.0 / penalty, tol=1e-6, max_iter=1000)
        with threads_for(x.size * len(present)):
            model.fit(scaling(x), y)
        fitted = present[1:] if len(present) == 2 else present
        weights[:, fitted] = model.coef_.T / scaling.scale[:, None]
        shift = scaling.centre @ weights[:, fitted]
        intercepts[fitted] = model.intercept_ - shift
    return weights, intercepts
