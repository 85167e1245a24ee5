"""Rows that depend on one another, and copies."""

import numpy as np
import pytest
from scipy.special import digamma

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


def test_information_across_groups_by_hand():
    """Each row against the rows of other groups: the formula of KSG 1, one row at a time."""
    x, y = gaussian_pair(60, 0)
    groups, k = np.arange(60) // 3, 4
    values = []
    for i in range(60):
        others = groups != groups[i]
        across, along = np.abs(x - x[i])[others], np.abs(y - y[i])[others]
        radius = np.sort(np.maximum(across, along))[k - 1]
        counts = 1 + np.sum(across < radius), 1 + np.sum(along < radius)
        values.append(digamma(k) + digamma(others.sum() + 1) - digamma(counts[0]) - digamma(counts[1]))
    found = mutual_information(x, y, k, margins="given", groups=groups, local=True)
    assert np.allclose(found.local, values, atol=1e-12)
    sums = np.bincount(groups, weights=np.array(values) - np.mean(values))
    assert found.standard_error == pytest.approx(np.sqrt(20 / 19 * (sums**2).sum()) / 60)


def test_groups_of_one_row_change_nothing():
    (x, y), labels = gaussian_pair(200, 0), np.random.default_rng(1).integers(0, 3, 200)
    for measure, given in (
        (mutual_information, (x, y)),
        (mutual_information, (x, labels)),
        (conditional_mutual_information, (x, y, labels)),
        (total_correlation, ([x, y, labels],)),
        (co_information, (x, labels, y)),
        (entropy, (x,)),
        (entropy, (labels,)),
    ):
        alone, plain = measure(*given, groups=[f"row {i}" for i in range(200)]), measure(*given)
        assert float(alone) == pytest.approx(plain, abs=1e-12) and alone.notes == plain.notes
        assert alone.standard_error == pytest.approx(plain.standard_error)


def test_copies_within_groups_are_counted_once():
    """Every row twice: .7 for .347 without groups."""
    x, y = gaussian_pair(400, 0)
    twice = [np.tile(variable, 2) for variable in (x, y)]
    labels = (y > 0).astype(int)
    groups = np.tile(np.arange(400), 2)
    plain = mutual_information(x, y)
    assert mutual_information(*twice) > plain + 0.2
    found = mutual_information(*twice, groups=groups)
    assert float(found) == pytest.approx(plain, abs=1e-6) and found.n == 400
    assert any("400 rows" in note for note in found.notes)
    assert float(entropy(twice[0], groups=groups)) == pytest.approx(entropy(x), abs=1e-6)
    beside = mutual_information(twice[0], np.tile(labels, 2), groups=groups)
    assert float(beside) == pytest.approx(mutual_information(x, labels), abs=1e-6)
    subsampled = uncertainty.subsample(*twice, groups=groups, resamples=20)
    assert subsampled.value == pytest.approx(float(plain), abs=1e-6) and subsampled.n == 400


def test_an_interval_of_few_groups_is_wide():
    """2 groups of independent rows: Student t with one degree, 12.7 standard errors. Beside it 500 groups."""
    x, y = gaussian_pair(1000, 0)
    two, many = (mutual_information(x, y, groups=np.arange(1000) % count) for count in (2, 500))
    assert two.high - two.low == pytest.approx(2 * 12.706 * two.standard_error, rel=1e-3)
    assert many.high - many.low == pytest.approx(2 * 1.965 * many.standard_error, rel=1e-2)
