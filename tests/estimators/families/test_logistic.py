"""The fit of a logistic regression reaches the solution, whatever the data's shape."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from infoscope.estimators.families.logistic import fit_logistic

RNG = np.random.default_rng(0)
CLASSES = RNG.integers(0, 6, 1500)
OVERLAPPING = RNG.normal(size=(6, 5))[CLASSES] + RNG.normal(size=(1500, 5))
MIXING = np.eye(5) + 10 * RNG.normal(size=(5, 5))
RARE = np.where(RNG.random(1500) < 0.01, 2, CLASSES % 2)
FEW = CLASSES[:60]
CASES = {
    "separable": (50 * np.eye(6)[CLASSES] + RNG.normal(size=(1500, 6)), CLASSES),
    "correlated": (OVERLAPPING @ MIXING, CLASSES),
    "a rare class": (OVERLAPPING, RARE),
    "more columns than rows": (np.eye(200)[FEW] + RNG.normal(size=(60, 200)), FEW),
    "a constant column": (np.column_stack([OVERLAPPING, np.zeros(1500)]), CLASSES),
}


def objective(weights, intercepts, x, classes):
    logs = log_softmax(x @ weights + intercepts, axis=1)
    loss = -logs[np.arange(len(x)), classes].mean()
    return loss + 0.5 * (weights**2).sum() / len(x)


@pytest.mark.parametrize("name", CASES)
def test_no_worse_than_a_fit_to_convergence(name):
    """2e-5 nats per row above scikit-learn's minimum at a tolerance of 1e-8 at most:
    far below any sampling error.
    """
    x, classes = CASES[name]
    deviations = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(deviations > 0, deviations, 1)
    reference = LogisticRegression(max_iter=5000, tol=1e-8).fit(x, classes)
    least = objective(reference.coef_.T, reference.intercept_, x, classes)
    weights, intercepts = fit_logistic(x, classes, classes.max() + 1, 1.0)
    assert least - 1e-6 <= objective(weights, intercepts, x, classes) <= least + 2e-5
