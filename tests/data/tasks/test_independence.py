"""Settings of tests of independence: what is said of them holds of large samples."""

import numpy as np
import pytest

from infoscope.data.tasks.independence import SETTINGS, given, setting


def columns_of(z):
    """Numbers of z and a column for each label."""
    if not isinstance(z, dict):
        return z
    return np.column_stack([np.eye(3)[v] if v.dtype.kind == "i" else v for v in z.values()])


def partial_correlation(x, y, z=None):
    """What is left of x and y by least squares on z, correlated."""
    design = np.column_stack([np.ones(len(x)), *([] if z is None else [columns_of(z)])])
    left = [variable - design @ np.linalg.lstsq(design, variable, rcond=None)[0] for variable in (x, y)]
    return np.corrcoef(*left)[0, 1]


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_draws_what_it_states(name):
    of = setting(name)
    for dependent in (False, True):
        x, y, *z = of.sample(60, np.random.default_rng(0), dependent)
        assert len(x) == len(y) == 60 and len(z) == (of.columns > 0)
        if z:
            assert len(z[0] if isinstance(z[0], dict) else z[0].T) == of.columns
        again = of.sample(60, np.random.default_rng(0), dependent)
        np.testing.assert_array_equal(x, again[0])
    same = of.sample(60, np.random.default_rng(0), False)
    assert (same[1] != y).any()


LINEAR = ["linear-0", "linear-1-of-100", "mixed-condition-2", "linear-3", "linear-5", "one-of-10", "linear-10"]


@pytest.mark.parametrize("name", LINEAR)
def test_linear_settings_have_their_information(name):
    """-log(1 - r^2) / 2 of the partial correlation r; five standard errors at 40,000 rows are 0.025 in r."""
    of = setting(name)
    r = partial_correlation(*of.sample(40_000, np.random.default_rng(1), True))
    assert r == pytest.approx(np.sqrt(1 - np.exp(-2 * of.information)), abs=0.025)
    assert abs(partial_correlation(*of.sample(40_000, np.random.default_rng(2), False))) < 0.025


def test_labels_lose_information():
    assert np.isnan(setting("labels-1").information) and given(1, 100, 1.0).information == pytest.approx(np.log(2) / 2)


def test_the_circle_has_no_correlation_but_of_squares():
    """cov(cos^2, sin^2) = -1 / 8; the variance of (cos + e)^2 is 1 / 8 + 2 s^2 + 2 s^4 at noise s = 0.3."""
    expected = -0.125 / (0.125 + 2 * 0.09 + 2 * 0.09**2)
    x, y = setting("circle-0").sample(40_000, np.random.default_rng(3), True)
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.025
    assert np.corrcoef(x**2, y**2)[0, 1] == pytest.approx(expected, abs=0.025)
