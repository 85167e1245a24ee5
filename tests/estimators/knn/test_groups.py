"""Rows that depend on one another, copies, and the notes of estimates that repeated rows or wide spheres spoil."""

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

ENGINES = ["numba", "sklearn", "cpu"]


def gaussian_pair(n, seed):
    return normal_pair(n, 0.5**0.5, seed)


@pytest.mark.parametrize("engine", ENGINES)
def test_information_across_groups_by_hand(engine):
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
    found = mutual_information(x, y, k, standardise=False, groups=groups, engine=engine, local=True)
    assert np.allclose(found.local, values, atol=1e-12)
    sums = np.bincount(groups, weights=np.array(values) - np.mean(values))
    assert found.standard_error == pytest.approx(np.sqrt(20 / 19 * (sums**2).sum()) / 60)


def test_groups_of_one_row_change_nothing():
    (x, y), labels = gaussian_pair(200, 0), np.random.default_rng(1).integers(0, 3, 200)
    for measure, given in (
        (mutual_information, (x, y)),
        (mutual_information, (x, labels)),
        (mutual_information, (labels, labels % 2)),
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
    twice = [np.tile(side, 2) for side in (x, y)]
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
    for method in (uncertainty.subsample, uncertainty.jackknife):
        kept = method(*twice, groups=groups, resamples=20)
        assert kept.value == pytest.approx(float(plain), abs=1e-6) and kept.n == 400
        assert any("400 rows" in note for note in kept.notes)


def test_nearly_copies_are_left_out_or_noted():
    """Four noisy views of each of 150 independent pairs; between groups there is nothing."""
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(150), 4)
    x, y = generator.normal(size=(2, 150))[:, groups] + 0.01 * generator.normal(size=(2, 600))
    assert mutual_information(x, y) > 0.4
    found = mutual_information(x, y, groups=groups)
    assert abs(found) < 4 * found.standard_error + 0.05
    independent = uncertainty.subsample(*gaussian_pair(600, 1), groups=groups, resamples=10, drift=False)
    assert not any("own group" in note for note in independent.notes)
    noted = uncertainty.subsample(x, y, groups=groups, resamples=10)  # .4 nats or more, where there are none
    assert any("own group" in note for note in noted.notes)
    assert noted.verdict == "unreliable" and "own group" in noted.reasons[0]


def test_point_masses_and_grids_are_noted():
    generator = np.random.default_rng(0)
    zero = generator.random((2, 600)) < 0.75
    inflated = mutual_information(*np.where(zero, 0, generator.exponential(size=(2, 600))), k=3)
    assert any("is not known" in note for note in inflated.notes)
    grid = mutual_information(*(generator.integers(0, 6, (2, 600)) + 0.5))
    assert any("of 16.7 rows" in note for note in grid.notes)


def test_neighbourhoods_of_nearly_all_rows_are_no_precision():
    x, y = gaussian_pair(6, 0)
    estimate = mutual_information(x, y)
    assert np.isnan(estimate.standard_error)
    assert any("6 samples" in note for note in estimate.notes)
    assert not mutual_information(*gaussian_pair(60, 0)).notes


def test_entropies_of_wide_neighbourhoods_say_so():
    """Uniform in ten dimensions: 0; the estimate is 2 too high with an error of .02."""
    cube = np.random.default_rng(0).random((1000, 10))
    estimate = entropy(cube)
    assert float(estimate) > 1
    assert any("10 dimensions" in note for note in estimate.notes)
    assert not entropy(cube[:, :2]).notes


def test_a_side_that_follows_from_the_other_has_no_upper_end():
    x = np.random.default_rng(0).normal(size=500)
    found = mutual_information(x, 2 * x + 1)
    assert found.high == np.inf and np.isfinite(found.low) and "no end" in found.notes[-1]
    labels = np.repeat([0, 1], 250)  # a label that a number tells has an end: its entropy
    assert np.isfinite(mutual_information(x + 100 * labels, labels).high)


def test_an_interval_of_few_groups_is_wide_and_says_so():
    """2 groups of independent rows: Student t with one degree, 12.7 standard errors. Beside it 500 groups."""
    x, y = gaussian_pair(1000, 0)
    two, many = (mutual_information(x, y, groups=np.arange(1000) % count) for count in (2, 500))
    assert two.high - two.low == pytest.approx(2 * 12.706 * two.standard_error, rel=1e-3)
    assert many.high - many.low == pytest.approx(2 * 1.965 * many.standard_error, rel=1e-2)
    assert any("2 groups alone" in note for note in two.notes) and not any("alone" in note for note in many.notes)


@pytest.mark.parametrize("patients", [20, 50, 100])
def test_groups_that_lie_together_are_said_to_mislead(patients):
    """Effects of patients on both sides, independent: far below 0. Without effects nothing is said."""
    generator = np.random.default_rng(0)
    of_row = np.arange(2000) % patients
    x, y = (generator.normal(size=patients)[of_row] + 0.3 * generator.normal(size=2000) for _ in range(2))
    found = mutual_information(x, y, groups=of_row)
    assert any("lie together" in note for note in found.notes)
    alone = mutual_information(*generator.normal(size=(2, 2000)), groups=of_row)
    assert not any("lie together" in note for note in alone.notes)


def test_rounding_of_one_side_is_told():
    x, y = gaussian_pair(1000, 0)
    for pair in ((x.round(1), y), (x, y.round(1))):
        assert any("one side" in note for note in mutual_information(*pair).notes)
    for pair in ((x, y), (x.round(1), y.round(1)), (x, y > 0)):
        assert not any("one side" in note for note in mutual_information(*pair).notes)
