"""Linear regression with a penalty against its definition, row by row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from infoscope.estimators.families import Ridge
from tests.refusals import refused


def sample(columns):
    """Inputs [40, columns] of different scales, and targets [40, 2] of which one
    depends on them.
    """
    rng = np.random.default_rng(0)
    scales = 10.0 ** np.arange(columns)
    x = scales * rng.normal(size=(40, columns))
    y = rng.normal(size=(40, 2))
    y[:, 0] += x[:, 0]
    return x, y


@pytest.mark.parametrize(("penalty", "columns"), [(1e-4, 3), (7.0, 3), (1.0, 60)])
def test_weights_and_residuals_are_those_of_least_penalised_squares(penalty, columns):
    """Each row left out, with the scale of the inputs as it is; also where columns are
    more than rows.
    """
    x, y = sample(columns)
    centred = x - x.mean(axis=0)
    standard = centred / x.std(axis=0)
    design = np.column_stack([np.ones(40), standard])
    ridge = np.diag([0.0] + [penalty] * columns)

    def coefficients(rows):
        transposed = design[rows].T
        gram = transposed @ design[rows] + ridge
        return np.linalg.solve(gram, transposed @ y[rows])

    fit = Ridge(penalty).fit(x, y)
    every_row = np.arange(40)
    assert_allclose(fit.mean(x), design @ coefficients(every_row))
    residuals = np.zeros((40, 2))
    for row in every_row:
        others = every_row != row
        residuals[row] = y[row] - design[row] @ coefficients(others)
    covariance = residuals.T @ residuals / 40
    assert_allclose(fit.covariance, covariance, rtol=1e-6)


def test_impossible_settings_and_exact_targets_are_refused():
    x, _ = sample(3)
    with refused("penalty", "range"):
        Ridge(0)
    with refused("variance", "type"):
        first, second, _ = x.T
        Ridge(1.0).fit(x, (first - second)[:, None])


def test_constant_inputs_have_finite_densities():
    _, y = sample(3)
    x = np.ones((40, 2))
    fit = Ridge(1.0).fit(x, y)
    assert np.isfinite(fit.log_density(x, y)).all()
