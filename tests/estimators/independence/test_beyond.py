"""What columns tell of a target beyond others: known partial correlations, sizes near the level, known choices."""

import math

import numpy as np
import pytest

from infoscope.estimators.independence.beyond import beyond, choose, information_of_residuals, residuals
from infoscope.estimators.independence.functions import NUMBER, smooth


def numbers(*columns):
    return [smooth(column, NUMBER) for column in columns]


def partly(generator, n, slope):
    """x, y and z, jointly normal, with a partial correlation of x and y given z of slope / sqrt(1 + slope^2)."""
    z = generator.normal(size=n)
    x = z + generator.normal(size=n)
    return x, z + slope * (x - z) + generator.normal(size=n), z


@pytest.mark.parametrize("slope", [0.0, 0.5])
def test_information_of_normal_columns_is_that_of_their_partial_correlation(slope):
    """-log(1 - partial correlation^2) / 2, in the interval of about 95 % of 60 samples of 1,000 rows: fewer than 51 of
    them have probability 0.001, and the mean of the values has a standard error of 0.002."""
    truth, covered, values = math.log1p(slope**2) / 2, 0, []
    for seed in range(60):
        x, y, z = numbers(*partly(np.random.default_rng(seed), 1000, slope))
        found = information_of_residuals(*residuals([x, y], [z]))
        covered += found.low <= truth <= found.high
        values.append(found.value)
    assert covered >= 51
    assert np.mean(values) == pytest.approx(truth, abs=0.008)


NULLS = {
    "square": lambda z, g: (z**2 + g.normal(size=len(z)), z**2 + g.normal(size=len(z))),
    "sine and square": lambda z, g: (
        np.sin(3 * z) + g.normal(size=len(z)),
        z**2 + np.sin(3 * z) + g.normal(size=len(z)),
    ),
    "step": lambda z, g: ((z > 0.7) * 2 + g.normal(size=len(z)), (z > 0.7) * 2 + g.normal(size=len(z))),
}


@pytest.mark.parametrize("name", NULLS)
def test_size_of_the_test_beyond_others_is_near_its_level(name):
    """Of 60 tables each: 0.05 and at most three standard errors."""
    rejected = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        z = generator.normal(size=300)
        x, y = NULLS[name](z, generator)
        rejected += beyond(*numbers(x, y), numbers(z), 0.05).p <= 0.05
    assert rejected / 60 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)


def product_of_signs(dependent, seed):
    """x and y with a mean that no two of four columns show, and noise in common if they are dependent."""
    generator = np.random.default_rng(seed)
    z = generator.normal(size=(800, 4))
    common = 2 * np.sign(z[:, 0] * z[:, 1] * z[:, 2])
    e, w = generator.normal(size=(2, 800))
    return *numbers(common + e, common + 2 * dependent * e + w), numbers(*z.T)


def test_independence_that_no_regression_shows_is_not_rejected():
    """Polynomials leave a correlation of 0.8; at most one of 6 tables is rejected, and some are not decided."""
    p = np.array([beyond(*product_of_signs(False, seed), 0.05).p for seed in range(6)])
    assert (p <= 0.05).sum() <= 1
    assert np.isnan(p).any()


def test_a_dependence_next_to_what_no_regression_shows_is_found():
    assert beyond(*product_of_signs(True, 0), 0.05).p < 1e-6


def offered(columns, y):
    """Columns by name, those of most correlation first, as `choose` takes them."""
    by_strength = sorted(columns, key=lambda name: -abs(np.corrcoef(columns[name], y)[0, 1]))
    return {name: smooth(columns[name], NUMBER) for name in by_strength}, smooth(y, NUMBER)


def test_of_a_chain_the_last_one_is_chosen():
    generator = np.random.default_rng(0)
    x1 = generator.normal(size=500)
    x2 = x1 + 0.7 * generator.normal(size=500)
    found = choose(*offered({"x1": x1, "x2": x2}, x2 + 0.7 * generator.normal(size=500)), 0.01)
    assert found.chosen == ("x2",) and found.beyond["x1"].p > 0.01 and found.beyond["x2"].p < 1e-6


def test_one_that_two_others_replace_is_dropped():
    """The sum of two columns with noise depends most on the target, and says nothing once both are chosen."""
    a, b, noise, error = np.random.default_rng(0).normal(size=(4, 1000))
    found = choose(*offered({"a": a, "b": b, "both": a + b + 0.5 * noise}, a + b + error), 0.01)
    assert sorted(found.chosen) == ["a", "b"] and found.beyond["both"].p > 0.01
