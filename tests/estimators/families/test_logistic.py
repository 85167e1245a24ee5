"""The fit of a logistic regression reaches the solution, whatever the data's shape."""

import functools

import numpy as np
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression

from infoscope.estimators.families.logistic import fit_logistic

log_softmax = functools.partial(special.log_softmax, axis=1)


def objective(weights, intercepts, x, classes, penalty):
    logs = log_softmax(x @ weights + intercepts)
    return -logs[np.arange(len(x)), classes].mean() + 0.5 * penalty * (weights**2).sum() / len(x)


def cases():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 6, 1500)
    overlapping = rng.normal(size=(6, 5))[classes] + rng.normal(size=(1500, 5))
    correlated = overlapping @ (np.eye(5) + 10 * rng.normal(size=(5, 5)))
    rare = np.where(rng.random(1500) < 0.01, 5, classes % 2)
    rare = np.unique(rare, return_inverse=True)[1]
    return {
        "separable": (np.eye(6)[classes] * 50 + rng.normal(size=(1500, 6)), classes),
        "correlated": (correlated, classes),
        "a rare class": (overlapping, rare),
        "more columns than rows": (rng.normal(size=(60, 200)) + np.eye(200)[classes[:60]], classes[:60]),
        "a constant column": (np.column_stack([overlapping, np.zeros(1500)]), classes),
    }


@pytest.mark.parametrize("name", cases())
def test_no_worse_than_a_fit_to_convergence(name):
    """2e-5 nats per row above scikit-learn's minimum at a tolerance of 1e-8 at most: far below any sampling error."""
    (x, classes), penalty = cases()[name], 1.0
    x = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    model = LogisticRegression(C=1 / penalty, max_iter=5000, tol=1e-8).fit(x, classes)
    least = objective(model.coef_.T, model.intercept_, x, classes, penalty)
    found = objective(*fit_logistic(x, classes, int(classes.max()) + 1, penalty), x, classes, penalty)
    assert least - 1e-6 <= found <= least + 2e-5
