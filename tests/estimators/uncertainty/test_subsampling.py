"""Sampling intervals, paired differences and permutation tests of nearest-neighbour estimates."""

import numpy as np
import pytest
from scipy import stats

from infoscope.estimators import knn
from infoscope.estimators.uncertainty.permutation import permutation_test, relabelled
from infoscope.estimators.uncertainty.subsampling import half_samples, leave_one_out, subsample
from tests.estimators.samples import draws, normal_pair, sample_of
from tests.refusals import refused


def gaussian(n, seed, correlation=0.93):
    return normal_pair(n, correlation, seed)


def mixture(n, seed, dim=3, classes=4):
    g = draws(seed)
    labels = g.integers(0, classes, n)
    z = g.normal(size=(n, dim))
    z[:, 0] += 1.5 * labels
    return z, labels


def test_the_standard_error_by_its_formula():
    """From the definition, on estimates of every half-sample computed one by one."""
    z, labels = mixture(203, 1)
    scaled = (z - z.mean(axis=0)) / z.std(axis=0)
    plan = half_samples(203, 20, draws())
    kept = [member > 0 for member in plan.weights.T]
    each = [float(knn.mutual_information(scaled[rows], labels[rows], margins="given")) for rows in kept]
    found = subsample(z, labels, resamples=plan)
    assert found.estimates == pytest.approx(each, abs=1e-12)
    assert found.standard_error == pytest.approx(np.std(each, ddof=1) * np.sqrt(101 / 102), rel=1e-9)
    margin = stats.t.ppf(0.975, 19) * found.standard_error
    assert found.degrees == 19 and (found.low, found.high) == pytest.approx((found - margin, found + margin))


def test_intervals_cover_the_expectation():
    """30 data sets of 200 rows. An interval that covers 95 % covers fewer than 24 of 30 with probability 0.0004; the
    expectation, from 100 data sets, is known to a tenth of an interval.
    """
    expectation = np.mean([knn.mutual_information(*gaussian(200, seed)) for seed in range(1000, 1100)])
    covered = 0
    for seed in range(30):
        x, y = gaussian(200, seed)
        found = subsample(x, y, generator=draws(seed), resamples=40)
        covered += found.low <= expectation <= found.high
    assert covered >= 24


def test_differences_on_shared_resamples_are_paired():
    """Two blocks that say nearly the same about the labels differ by far less than either is uncertain."""
    z, labels = mixture(600, 7)
    other = z + 0.01 * draws(8).normal(size=z.shape)
    plan = half_samples(600, 100, draws())
    a, b = (subsample(block, labels, resamples=plan) for block in (z, other))
    paired = a - b
    assert paired.value == pytest.approx(a.value - b.value)
    assert paired.standard_error < 0.5 * a.standard_error
    assert paired.standard_error == pytest.approx(np.std(a.estimates - b.estimates, ddof=1))
    assert (a - a).value == (a - a).standard_error == 0


def test_a_generator_repeats_and_terms_of_different_resamples_are_refused():
    z, labels = mixture(100, 9)
    first, second, other = (subsample(z, labels, generator=draws(seed)) for seed in (1, 1, 2))
    assert first.standard_error == second.standard_error != other.standard_error
    with refused("terms", "conflict"):
        first - other


def test_permutations_find_information_and_never_give_zero():
    for variables in (gaussian(200, 13, 0.7), mixture(200, 14)):
        found = permutation_test(*variables, permutations=99)
        assert found.p_value == 0.01 and found.exchanged == "rows" and len(found.null) == 99
        assert abs(found.null.mean()) < 5 * found.null.std() / np.sqrt(99) + 0.02


@pytest.mark.parametrize("conditional", [False, True])
def test_relabelling_is_exact(conditional):
    """Permuted labels on shared neighbours, against each estimated anew; some lists are too short for a rare class."""
    z, labels = mixture(300, 15)
    labels[:12], labels[12:] = 4, np.minimum(labels[12:], 3)
    given = [knn.Discrete(draws(16).integers(0, 2, 300))] if conditional else []
    g = draws(17)
    strata = given[0].values if given else np.zeros(300, int)
    drawn = [labels]
    for _ in range(6):
        row = labels.copy()
        for stratum in np.unique(strata):
            row[strata == stratum] = g.permutation(row[strata == stratum])
        drawn.append(row)
    scaled = (z - z.mean(axis=0)) / z.std(axis=0)
    together = relabelled(variable(scaled), np.array(drawn), [variable(given[0])] if given else [], 5)
    measure = knn.conditional_mutual_information if given else knn.mutual_information
    alone = [float(measure(scaled, row, *given, margins="given")) for row in drawn]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)


def variable(value):
    return sample_of(value, knn.Discrete(np.arange(len(getattr(value, "values", value))) % 2)).variables[0]


def test_numbers_that_are_constant_in_each_group_are_exchanged_among_groups():
    """30 groups of 4 rows, x of a group follows its y: within groups nothing can be exchanged, whole ones tell."""
    g, groups = draws(21), np.repeat(np.arange(30), 4)
    y = g.normal(size=30)
    y, x = y[groups], (y + 0.3 * g.normal(size=30))[groups] + 0.1 * g.normal(size=120)
    for variables in ((x, y), (y, x)):
        found = permutation_test(*variables, permutations=39, groups=groups, generator=draws(22))
        assert found.exchanged == "whole groups" and found.p_value == 1 / 40
    both = permutation_test(x, y + 0.1 * g.normal(size=120), permutations=9, groups=groups)
    assert "within" in both.exchanged


def test_an_estimate_states_its_estimator_and_deviations():
    z, labels = mixture(300, 24)
    labels[:4], labels[4] = 7, 9
    plain = knn.mutual_information(z, labels)
    found = subsample(z, labels)
    assert found.method == plain.method == "Ross" and found.notes == plain.notes and len(found.notes) == 2
    assert found.settings == "k = 5, half-subsamples (100)"


def test_a_subsample_that_loses_a_class_is_refused():
    """Three rows of the second class: half of the halves hold at most one."""
    x, labels = draws(27).normal(size=60), np.repeat([0, 1], [57, 3])
    with refused("y", "constant"):
        subsample(x, labels)


@pytest.mark.parametrize(("call", "argument", "code"), [
    (lambda x, y: permutation_test(x, np.r_[np.repeat(np.sqrt(2 * np.arange(9)), 10), [5.5] * 10],
                                   groups=np.r_[np.repeat(np.arange(9), 10), [9] * 5, [10] * 5]),
     "groups", "length"),
    (lambda x, y: subsample(x, y, resamples=half_samples(50, 20, draws())), "resamples", "conflict"),
    (lambda x, y: subsample(x, y, resamples=leave_one_out(100, 20, draws())), "resamples", "conflict"),
    (lambda x, y: subsample(x, y, resamples=half_samples(100, 20, draws()), groups=range(100)), "groups", "conflict"),
    (lambda x, y: permutation_test(x, y, permutations=0), "permutations", "range"),
])  # fmt: skip
def test_bad_input_is_one_sentence(call, argument, code):
    x, y = gaussian(100, 19)
    with refused(argument, code):
        call(x, y)
