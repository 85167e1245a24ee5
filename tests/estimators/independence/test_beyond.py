"""What columns tell of a target beyond others: known partial correlations, sizes near the level, known choices."""

import math

import numpy as np
import pytest

from infoscope.estimators.independence.beyond import beyond, choose, information_of_residuals, residuals
from infoscope.estimators.independence.functions import CATEGORY, NUMBER, smooth


def numbers(*columns):
    return [smooth(column, NUMBER) for column in columns]


def partly(generator, n, slope):
    """x, y and z, jointly normal, with a partial correlation of x and y given z of slope / sqrt(1 + slope^2)."""
    z = generator.normal(size=n)
    x = z + generator.normal(size=n)
    return x, z + slope * (x - z) + generator.normal(size=n), z


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_information_of_normal_columns_is_that_of_their_partial_correlation(slope):
    """-log(1 - partial correlation^2) / 2, in the interval of about 95 % of 200 samples of 1,000 rows."""
    truth, covered, values = math.log1p(slope**2) / 2, 0, []
    for seed in range(200):
        x, y, z = numbers(*partly(np.random.default_rng(seed), 1000, slope))
        found = information_of_residuals(*residuals([x, y], [z]))
        covered += found.low <= truth <= found.high
        values.append(found.value)
    assert covered / 200 >= 0.91 and (covered <= 198 or slope == 0)
    assert np.mean(values) == pytest.approx(truth, abs=0.003)


def test_an_increasing_map_changes_nothing():
    x, y, z = partly(np.random.default_rng(0), 300, 0.5)
    plain = beyond(*numbers(x, y), numbers(z), 0.05)
    mapped = beyond(*numbers(np.exp(x), y**3), numbers(5 * z - 2), 0.05)
    assert mapped.p == pytest.approx(plain.p, rel=1e-6)
    assert mapped.information.value == pytest.approx(plain.information.value, rel=1e-6)


def test_groups_widen_the_interval():
    generator = np.random.default_rng(0)
    x, y, z = (column.repeat(4) for column in partly(generator, 100, 0.5))
    x, y, z = numbers(*(column + 0.01 * generator.normal(size=400) for column in (x, y, z)))
    variables, groups = residuals([x, y], [z]), np.arange(400) // 4
    alone, grouped = information_of_residuals(*variables), information_of_residuals(*variables, groups)
    assert grouped.units == 100 and grouped.standard_error > 1.5 * alone.standard_error


NULLS = {
    "line": lambda z, g: (z + g.normal(size=len(z)), z + g.normal(size=len(z))),
    "square": lambda z, g: (z**2 + g.normal(size=len(z)), z**2 + g.normal(size=len(z))),
    "step": lambda z, g: ((z > 0.7) * 2 + g.normal(size=len(z)), (z > 0.7) * 2 + g.normal(size=len(z))),
    "other": lambda z, g: (np.exp(z) + g.normal(size=len(z)), np.sin(2 * z) + g.normal(size=len(z))),
}


@pytest.mark.parametrize("name", NULLS)
def test_size_of_the_test_beyond_others_is_near_its_level(name):
    """Of 150 tables each: 0.05 and at most three standard errors."""
    rejected = 0
    for seed in range(150):
        generator = np.random.default_rng(seed)
        z = generator.normal(size=300)
        x, y = NULLS[name](z, generator)
        rejected += beyond(*numbers(x, y), numbers(z), 0.05).p <= 0.05
    assert rejected / 150 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)


def test_dependence_beyond_a_category_is_found():
    generator = np.random.default_rng(0)
    site = generator.integers(0, 4, 400)
    x = site + generator.normal(size=400)
    y = site + 0.5 * (x - site) + generator.normal(size=400)
    assert beyond(*numbers(x, y), [smooth(site.astype(float), CATEGORY)], 0.05).p < 1e-6


def offered(columns, y):
    """Columns by name, those of most correlation first, as `choose` takes them."""
    by_strength = sorted(columns, key=lambda name: -abs(np.corrcoef(columns[name], y)[0, 1]))
    return {name: smooth(columns[name], NUMBER) for name in by_strength}, smooth(y, NUMBER)


@pytest.mark.parametrize("seed", range(3))
def test_of_a_chain_the_last_one_is_chosen(seed):
    generator = np.random.default_rng(seed)
    x1 = generator.normal(size=500)
    x2 = x1 + 0.7 * generator.normal(size=500)
    found = choose(*offered({"x1": x1, "x2": x2}, x2 + 0.7 * generator.normal(size=500)), 0.01)
    assert found.chosen == ("x2",) and found.beyond["x1"].p > 0.01 and found.beyond["x2"].p < 1e-6


def test_of_a_sum_all_are_chosen():
    parts = np.random.default_rng(0).normal(size=(4, 500))
    found = choose(*offered(dict(zip("abc", parts)), parts.sum(axis=0)), 0.05)
    assert sorted(found.chosen) == list("abc") and all(one.p < 1e-6 for one in found.beyond.values())


def test_one_that_two_others_replace_is_dropped():
    """The sum of two columns with noise depends most on the target, and says nothing once both are chosen."""
    a, b, noise, error = np.random.default_rng(0).normal(size=(4, 1000))
    found = choose(*offered({"a": a, "b": b, "both": a + b + 0.5 * noise}, a + b + error), 0.01)
    assert sorted(found.chosen) == ["a", "b"] and found.beyond["both"].p > 0.01
