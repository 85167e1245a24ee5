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
    """Multinomial logistic regression: log odds linear in the features, penalty / 2 *
    |weights|^2 on the summed loss.

    degree  of the polynomial of the inputs, products included

    Features, and the inputs of powers, are standardised by the rows that are fitted.
    """

    penalty: float = 1.0
    degree: int = 1
    outcomes = (CLASSES,)

    def __post_init__(self) -> None:
        require_number("penalty", self.penalty, ends=False)
        require_int("degree", self.degree)

    @property
    def name(self) -> str:
        degree = f", degree={self.degree}" if self.degree > 1 else ""
        return f"logistic(penalty={self.penalty:g}{degree})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        classes = needed(classes)
        if x is None:
            return without_input(y, classes)
        inputs = as_matrix("x", x)
        features = Features.of(inputs, self.degree)
        weights, intercepts = fit_logistic(features(inputs), y, classes, self.penalty)
        return Categorical(
            lambda new: log_softmax(features(new) @ weights + intercepts, axis=1)
        )


def fit_logistic(
    x: np.ndarray, y: np.ndarray, classes: int, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights [d, classes] and intercepts [classes] of least summed log loss + penalty
    / 2 * |weights|^2.

    x [n, d], y codes [n]. The penalty is on standardised inputs; with two classes on
    the one vector of log odds. Classes that are not in y have the intercept -inf.
    """
    weights = np.zeros((x.shape[1], classes))
    intercepts = np.full(classes, -np.inf)
    present = np.unique(y)
    intercepts[present] = 0.0
    if len(present) > 1:
        scaling = Features.of(x, 1)
        with threads_for(x.size * len(present)):
            model = LogisticRegression(C=1.0 / penalty, tol=1e-6, max_iter=1000).fit(
                scaling(x), y
            )
        fitted = present[1:] if len(present) == 2 else present
        weights[:, fitted] = model.coef_.T / scaling.scale[:, None]
        intercepts[fitted] = model.intercept_ - scaling.centre @ weights[:, fitted]
    return weights, intercepts
