"""Linear regression with a penalty against its definition, row by row."""

import numpy as np
import pytest

from infoscope.estimators.families import Ridge
from tests.refusals import refused


def drawn(n=40, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns)) * 10.0 ** np.arange(columns)
    return x, np.column_stack([x[:, 0] + rng.normal(size=n), rng.normal(size=n)])


@pytest.mark.parametrize(("penalty", "columns"), [(1e-4, 3), (7.0, 3), (1.0, 60)])
def test_weights_and_residuals_are_those_of_least_penalised_squares(penalty, columns):
    """Each row left out, with the scale of the inputs as it is; also where columns are more than rows."""
    x, y = drawn(columns=columns)
    fitted = Ridge(penalty).fit(x, y)
    standard, centred = (x - x.mean(axis=0)) / x.std(axis=0), y - y.mean(axis=0)
    gram = standard.T @ standard + penalty * np.eye(columns)
    np.testing.assert_allclose(fitted.mean(x) - y.mean(axis=0), standard @ np.linalg.solve(gram, standard.T @ centred))
    design = np.hstack([np.ones((40, 1)), standard])
    ridge = penalty * np.diag([0.0] + [1.0] * columns)
    left_out = []
    for row in range(40):
        others = np.arange(40) != row
        some = design[others]
        weights = np.linalg.solve(some.T @ some + ridge, some.T @ y[others])
        left_out.append(y[row] - design[row] @ weights)
    np.testing.assert_allclose(fitted.covariance, np.transpose(left_out) @ left_out / 40, rtol=1e-6)


def test_what_it_needs():
    x, y = drawn()
    with refused("penalty", "range"):
        Ridge(0)
    with refused("variance", "type"):
        Ridge(1.0).fit(x, x[:, :1] - x[:, 1:2])
    assert np.isfinite(Ridge(1.0).fit(np.ones((40, 2)), y).log_density(np.ones((40, 2)), y)).all()
