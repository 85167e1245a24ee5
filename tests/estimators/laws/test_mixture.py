"""The fit of a Gaussian mixture against scikit-learn's, step by step the same."""

import warnings

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from infoscope.estimators.laws import mixture


@pytest.mark.parametrize(("kind", "number"), [("clusters", 2), ("clusters", 8), ("shells", 3)])
@pytest.mark.parametrize(("n", "dim"), [(120, 1), (400, 3)])
def test_a_fit_is_that_of_scikit_learn(kind, number, n, dim):
    """From the same start; columns that share their tails, so that there is something to find."""
    g = np.random.default_rng(dim)
    scores = g.normal(size=(n, dim)) * np.where(g.random(n) < 0.5, 1.0, 4.0)[:, None]
    reference = GaussianMixture(number, reg_covar=mixture._RIDGE, max_iter=mixture._STEPS, random_state=0)
    if kind == "shells":
        covariance = np.atleast_2d(np.cov(scores.T)) + mixture._RIDGE * np.eye(dim)
        precisions = np.linalg.inv(covariance) / np.geomspace(*mixture._WIDTHS, number)[:, None, None]
        reference.set_params(means_init=np.tile(scores.mean(axis=0), (number, 1)), precisions_init=precisions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference.fit(scores)
    assert reference.n_iter_ > 3
    expected = reference.weights_, reference.means_, reference.covariances_
    for found, known in zip(mixture._mixture(scores, (kind, number)), expected):
        np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-10)


def test_rows_that_repeat_are_fewer_clusters():
    scores = np.repeat([[0.0], [1.0], [3.0]], 40, axis=0)
    weights, means, covariances = mixture._mixture(scores, ("clusters", 4))
    assert weights.sum() == pytest.approx(1) and np.isfinite(means).all()
    assert (covariances >= mixture._RIDGE * 0.999).all()
