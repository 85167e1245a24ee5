"""Sampling intervals, paired differences and permutation tests of nearest-neighbour
estimates.
"""

import numpy as np
import pytest
from pytest import approx
from scipy import stats

from infoscope.estimators import knn
from infoscope.estimators.uncertainty.permutation import permutation_test, relabelled
from infoscope.estimators.uncertainty.subsampling import (
    half_samples,
    leave_one_out,
    subsample,
)
from tests.estimators.samples import covering, draws, normal_pair, sample_of
from tests.refusals import refused


def mixture(n, seed):
    """Three columns, of which the first depends on labels of four classes."""
    g = draws(seed)
    labels = g.integers(0, 4, n)
    z = g.normal(size=(n, 3))
    z[:, 0] += 1.5 * labels
    return z, labels


def standardised(z):
    return (z - z.mean(axis=0)) / z.std(axis=0)


def test_the_standard_error_by_its_formula():
    """From the definition, on estimates of every half-sample computed one by one."""
    z, labels = mixture(203, 1)
    scaled = standardised(z)
    plan = half_samples(203, 20, draws())
    estimates = []
    for member in plan.weights.T:
        rows = member > 0
        estimate = knn.mutual_information(scaled[rows], labels[rows], margins="given")
        estimates.append(estimate.value)
    subsampled = subsample(z, labels, resamples=plan)
    assert subsampled.estimates == approx(estimates, abs=1e-12)
    standard_error = np.std(estimates, ddof=1) * np.sqrt(101 / 102)
    assert subsampled.standard_error == approx(standard_error, rel=1e-9)
    margin = stats.t.ppf(0.975, 19) * standard_error
    assert subsampled.low == approx(subsampled.value - margin)
    assert subsampled.high == approx(subsampled.value + margin)


def test_intervals_cover_the_expectation():
    """30 data sets of 200 rows. An interval that covers 95 % covers fewer than 24 of 30
    with probability 0.0004; the expectation, from 100 data sets, is known to a tenth of
    an interval.
    """
    estimates = []
    for seed in range(1000, 1100):
        x, y = normal_pair(200, 0.93, seed)
        estimates.append(knn.mutual_information(x, y))
    subsampled = []
    for seed in range(30):
        x, y = normal_pair(200, 0.93, seed)
        subsampled.append(subsample(x, y, generator=draws(seed), resamples=40))
    assert covering(subsampled, np.mean(estimates)) >= 24


def test_differences_on_shared_resamples_are_paired():
    """Two blocks with nearly the same information about the labels differ by far less
    than either is uncertain.
    """
    z, labels = mixture(600, 7)
    similar = z + 0.01 * draws(8).normal(size=z.shape)
    plan = half_samples(600, 100, draws())
    first = subsample(z, labels, resamples=plan)
    second = subsample(similar, labels, resamples=plan)
    difference = first - second
    assert difference.value == approx(first.value - second.value)
    assert difference.standard_error < 0.5 * first.standard_error
    assert difference.standard_error == approx(
        np.std(first.estimates - second.estimates, ddof=1)
    )


def test_a_generator_repeats_and_terms_of_different_resamples_are_refused():
    z, labels = mixture(100, 9)
    first, again, other = (
        subsample(z, labels, generator=draws(seed)) for seed in (1, 1, 2)
    )
    assert first.standard_error == again.standard_error != other.standard_error
    with refused("terms", "conflict"):
        first - other


@pytest.mark.parametrize(
    "variables",
    [normal_pair(200, 0.7, 13), mixture(200, 14)],
    ids=["numbers", "labels"],
)
def test_permutations_find_information_and_never_give_zero(variables):
    result = permutation_test(*variables, permutations=99)
    assert result.p_value == 0.01
    assert result.exchanged == "rows"
    assert abs(result.null.mean()) < 5 * result.null.std() / np.sqrt(99) + 0.02


def permuted_within(labels, strata, g):
    permuted = labels.copy()
    for stratum in np.unique(strata):
        inside = strata == stratum
        permuted[inside] = g.permutation(labels[inside])
    return permuted


@pytest.mark.parametrize("conditional", [False, True])
def test_relabelling_is_exact(conditional):
    """Permuted labels on shared neighbours, against each estimated anew; some lists are
    too short for a rare class.
    """
    z, labels = mixture(300, 15)
    labels = np.minimum(labels, 3)
    labels[:12] = 4
    g = draws(17)
    scaled = standardised(z)
    strata = np.zeros(300, int)
    codes = []
    conditions = []
    measure = knn.mutual_information
    if conditional:
        measure = knn.conditional_mutual_information
        strata = g.integers(0, 2, 300)
        codes = [strata]
        _, *conditions = sample_of(scaled, knn.Discrete(strata)).variables
    rows = [labels]
    for _ in range(6):
        rows.append(permuted_within(labels, strata, g))
    alone = []
    for row in rows:
        estimate = measure(scaled, row, *codes, margins="given")
        alone.append(estimate.value)
    x, _ = sample_of(scaled, labels).variables
    together = relabelled(x, np.array(rows), conditions, 5)
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)


def test_numbers_that_are_constant_in_each_group_are_exchanged_among_groups():
    """30 groups of 4 rows, x of a group follows its y: within groups nothing can be
    exchanged.
    """
    g = draws(21)
    groups = np.repeat(np.arange(30), 4)
    of_groups = g.normal(size=30)
    y = of_groups[groups]
    x = y + 0.3 * g.normal(size=30)[groups] + 0.1 * g.normal(size=120)
    for variables in ((x, y), (y, x)):
        result = permutation_test(
            *variables, permutations=39, groups=groups, generator=draws(22)
        )
        assert result.exchanged == "whole groups"
        assert result.p_value == 1 / 40
    varying = permutation_test(
        x, y + 0.1 * g.normal(size=120), permutations=9, groups=groups
    )
    assert "within" in varying.exchanged


def test_a_subsample_that_loses_a_class_is_refused():
    """Three rows of the second class: half of the halves hold at most one."""
    x = draws(27).normal(size=60)
    labels = np.repeat([0, 1], [57, 3])
    with refused("y", "constant"):
        subsample(x, labels)


@pytest.mark.parametrize(
    "settings",
    [
        {"resamples": half_samples(50, 20, draws())},
        {"resamples": leave_one_out(100, 20, draws())},
        {"resamples": half_samples(100, 20, draws()), "groups": range(100)},
    ],
)
def test_resamples_of_other_rows_are_refused(settings):
    argument = list(settings)[-1]
    with refused(argument, "conflict"):
        subsample(*normal_pair(100, 0.9), **settings)


def test_no_permutations_are_refused():
    with refused("permutations", "range"):
        permutation_test(*normal_pair(100, 0.9), permutations=0)


def test_groups_of_other_sizes_cannot_be_exchanged():
    numbers = np.sqrt(2 * np.arange(9))
    y = np.r_[np.repeat(numbers, 10), [5.5] * 10]
    groups = np.r_[np.repeat(np.arange(9), 10), [9] * 5, [10] * 5]
    with refused("groups", "length"):
        permutation_test(draws().normal(size=100), y, groups=groups)
