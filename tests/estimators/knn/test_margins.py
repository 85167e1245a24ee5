"""Margins of nearest-neighbour estimates: ranked where tails are heavy, untouched where
they are not.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators import uncertainty
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.knn.estimators import (
    co_information,
    conditional_mutual_information,
    entropy,
    mutual_information,
    total_correlation,
)
from infoscope.estimators.scales import heavy_tails
from tests.estimators.samples import normal_pairs, sample_of

LIGHT = {
    "normal": lambda g: g.normal(size=(60, 400)),
    "exponential": lambda g: g.exponential(size=(1000, 400)),
    "counts": lambda g: g.poisson(1.0, (60, 400)).astype(float),
    "mostly zero": lambda g: np.maximum(g.normal(size=(60, 400)), 0.5),
}


@pytest.mark.parametrize("distribution", LIGHT)
def test_ordinary_tails_are_left_alone(distribution):
    """Measured on 4,000 columns each: at most 1 in 1,000 with 50 rows, none with 1,000."""
    columns = LIGHT[distribution](default_rng(0))
    assert heavy_tails(columns).mean() <= 0.01


def power_of_normal(g):
    normal = g.normal(size=(2000, 50))
    return normal * np.sqrt(np.abs(normal))


def with_an_outlier(values):
    return np.vstack([np.full((1, 3), 1e9), values])


HEAVY = {  # missed in fewer than 1 of 10,000 columns
    "Student of 2 degrees": lambda g: g.standard_t(2, (2000, 50)),
    "normal to the power 1.5": power_of_normal,
    "an outlier among normals": lambda g: with_an_outlier(g.normal(size=(999, 3))),
    "an outlier among counts": lambda g: with_an_outlier(g.poisson(1.0, (999, 3))),
}


@pytest.mark.parametrize("distribution", HEAVY)
@pytest.mark.parametrize("scale", [-1.0, 1e-150, 1e150])
def test_heavy_tails_are_seen_at_any_scale(distribution, scale):
    columns = HEAVY[distribution](default_rng(0))
    assert heavy_tails(columns * scale).all()


def test_scores_keep_order_and_ties():
    values = np.array([3.0, -1.0, 3.0, 1e100, 0.0, 3.0, -1e100, 0.0])
    scores = as_variable("x", values).rank_normal()
    numbers = scores.continuous[:, 0]
    order = np.sign(np.subtract.outer(values, values))
    np.testing.assert_array_equal(np.sign(np.subtract.outer(numbers, numbers)), order)
    assert numbers.std() == approx(1)
    assert scores.ranked == 1
    assert scores.take(np.array([0, 3, 4])).ranked == 1


def test_one_outlier_does_not_hide_the_information():
    """Truth .347; the standard deviation of an estimate is .03."""
    x, y = normal_pairs(1000, np.sqrt(0.5))
    clean = mutual_information(x, y)
    x[3] = 1e9
    estimate = mutual_information(x, y)
    assert mutual_information(x, y, margins="scaled") < 0.01
    assert abs(estimate - clean) < 0.02
    assert "rank-normal margins" in estimate.method
    (note,) = [note for note in estimate.notes if "normal scores" in note]
    assert "of x" in note


X, Y = normal_pairs(500, 0.8, 2)
Z = default_rng(1).normal(size=(500, 1))
LABELS = (default_rng(2).random(500) < 0.5).astype(int)
BENT_X = np.exp(3 * X)
BENT_Y = Y**3
BENT_Z = np.sinh(4 * Z)


@pytest.mark.parametrize(
    ("measure", "plain", "bent"),
    [
        (mutual_information, (X, Y), (BENT_X, BENT_Y)),
        (mutual_information, (X, LABELS), (BENT_X, LABELS)),
        (conditional_mutual_information, (X, LABELS, Z), (BENT_X, LABELS, BENT_Z)),
        (total_correlation, ([X, Y, Z],), ([BENT_X, BENT_Y, BENT_Z],)),
        (co_information, (X, Z, Y), (BENT_X, BENT_Z, BENT_Y)),
    ],
)
def test_ranks_are_the_same_under_any_increasing_map(measure, plain, bent):
    ranked = measure(*plain, margins="rank")
    assert ranked.method.endswith("rank-normal margins")
    assert measure(*bent, margins="rank").value == approx(ranked, abs=1e-9)
    assert measure(*bent).value == approx(ranked, abs=0.1)


def test_subsamples_are_measured_in_the_margins_of_the_whole():
    g = default_rng(0)
    x, y = g.standard_cauchy((2, 400))
    x = np.where(x > 5, np.round(x), x)
    z = x + g.standard_cauchy(400)
    whole = conditional_mutual_information(x, y, z)
    subsampled = uncertainty.subsample(x, y, z, resamples=20)
    assert subsampled.value == approx(whole.value, abs=1e-9)
    assert subsampled.method == whole.method
    assert set(subsampled.notes) == set(whole.notes)
    rows = subsampled.resamples.weights[:, 3] > 0
    half = [variable.take(rows) for variable in sample_of(x, y, z).variables]
    of_half = conditional_mutual_information(*half, margins="given")
    assert subsampled.estimates[3] == approx(of_half.value, abs=1e-9)


def test_an_outlier_does_not_set_the_unit_of_an_entropy():
    """Two independent normals: 2.84 nats. One value of 1e9 adds its own local value,
    log(1e9) / n, and no more.
    """
    x = default_rng(0).normal(size=(1000, 2))
    clean = entropy(x)
    x[3, 0] = 1e9
    estimate = entropy(x)
    assert 0 < estimate - clean < 2 * np.log(1e9) / 1000 + 0.01
    assert any("scaled by quartiles" in note for note in estimate.notes)
    assert entropy(x * [1e5, 1e-3]).value == approx(estimate + np.log(100), abs=1e-9)
