"""Settings of tests of independence: what is said of them holds of large samples."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from infoscope.data.tasks.independence import SETTINGS, common_cause, setting


def sampled(name, n, seed, dependent):
    return setting(name).sample(n, np.random.default_rng(seed), dependent)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("dependent", [False, True])
def test_a_setting_draws_what_it_states(name, dependent):
    columns = setting(name).columns
    x, y, *conditions = sampled(name, 60, 0, dependent)
    assert len(x) == len(y) == 60
    assert len(conditions) == (columns > 0)
    for condition in conditions:
        assert pd.DataFrame(condition).shape == (60, columns)
    same_x, *_ = sampled(name, 60, 0, dependent)
    np.testing.assert_array_equal(x, same_x)


LINEAR = [
    "linear-0",
    "linear-1-of-100",
    "mixed-condition-2",
    "linear-3",
    "linear-5",
    "one-of-10",
    "linear-10",
]


def partial_correlation(x, y, z=None):
    """What is left of x and y by least squares on the numbers of z and a column for
    each label, correlated.
    """
    columns = [np.ones(len(x))]
    for _, column in pd.DataFrame(z).items():
        if column.dtype.kind == "i":
            column = np.eye(3)[column]
        columns.append(column)
    design = np.column_stack(columns)
    variables = np.column_stack([x, y])
    weights, *_ = np.linalg.lstsq(design, variables, rcond=None)
    residuals = variables - design @ weights
    return np.corrcoef(residuals.T)[0, 1]


@pytest.mark.parametrize("name", LINEAR)
def test_linear_settings_have_their_information(name):
    """-log(1 - r^2) / 2 of the partial correlation r; five standard errors at 40,000
    rows are 0.025 in r.
    """
    nats = setting(name).information
    expected = np.sqrt(1 - np.exp(-2 * nats))
    dependent = sampled(name, 40_000, 1, True)
    independent = sampled(name, 40_000, 2, False)
    assert partial_correlation(*dependent) == approx(expected, abs=0.025)
    assert partial_correlation(*independent) == approx(0, abs=0.025)


def test_labels_lose_information():
    assert np.isnan(setting("labels-1").information)
    with_noise = common_cause(1, 100, 1.0)
    assert with_noise.information == approx(np.log(2) / 2)


def test_the_circle_has_no_correlation_but_of_squares():
    """cov(cos^2, sin^2) = -1 / 8; the variance of (cos + e)^2 is 1 / 8 + 2 s^2 + 2 s^4
    at noise s = 0.3.
    """
    expected = -0.125 / (0.125 + 2 * 0.09 + 2 * 0.09**2)
    x, y = sampled("circle-0", 40_000, 3, True)
    assert partial_correlation(x, y) == approx(0, abs=0.025)
    assert partial_correlation(x**2, y**2) == approx(expected, abs=0.025)
