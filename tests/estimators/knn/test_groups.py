"""Rows that depend on one another, and copies."""

import numpy as np
import pytest
from pytest import approx

from infoscope.estimators import uncertainty
from infoscope.estimators.knn.estimators import (
    co_information,
    conditional_mutual_information,
    entropy,
    mutual_information,
    total_correlation,
)
from tests.estimators.samples import normal_pair


def gaussian_pair(n, seed):
    return normal_pair(n, 0.5**0.5, seed)


X, Y = gaussian_pair(200, 0)
LABELS = np.random.default_rng(1).integers(0, 3, 200)


@pytest.mark.parametrize(
    ("measure", "variables"),
    [
        (conditional_mutual_information, (X, Y, LABELS)),
        (total_correlation, ([X, Y, LABELS],)),
        (co_information, (X, LABELS, Y)),
        (entropy, (X,)),
        (entropy, (LABELS,)),
    ],
)
def test_groups_of_one_row_change_nothing(measure, variables):
    plain = measure(*variables)
    grouped = measure(*variables, groups=[f"row {i}" for i in range(200)])
    assert float(grouped) == approx(plain, abs=1e-12)
    assert grouped.notes == plain.notes
    assert grouped.standard_error == approx(plain.standard_error)


def test_copies_within_groups_are_counted_once():
    """Every row twice: .7 for .347 without groups."""
    x, y = gaussian_pair(400, 0)
    groups = np.tile(np.arange(400), 2)
    twice_x = x[groups]
    twice_y = y[groups]
    plain = mutual_information(x, y)
    assert mutual_information(twice_x, twice_y) > plain + 0.2
    grouped = mutual_information(twice_x, twice_y, groups=groups)
    subsampled = uncertainty.subsample(twice_x, twice_y, groups=groups, resamples=20)
    for estimate in (grouped, subsampled):
        assert estimate.n == 400
        assert estimate.value == approx(plain, abs=1e-6)
    of_labels = mutual_information(twice_x, twice_y > 0, groups=groups)
    assert of_labels.value == approx(mutual_information(x, y > 0), abs=1e-6)
    assert entropy(twice_x, groups=groups).value == approx(entropy(x), abs=1e-6)


@pytest.mark.parametrize(
    ("count", "quantile", "tolerance"), [(2, 12.706, 1e-3), (500, 1.965, 1e-2)]
)
def test_an_interval_of_few_groups_is_wide(count, quantile, tolerance):
    """Student t of independent groups: with 2 groups one degree of freedom."""
    estimate = mutual_information(
        *gaussian_pair(1000, 0), groups=np.arange(1000) % count
    )
    width = estimate.high - estimate.low
    assert width == approx(2 * quantile * estimate.standard_error, rel=tolerance)
