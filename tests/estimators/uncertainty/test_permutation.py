"""What permutation tests exchange, and their p-value."""

import numpy as np
from numpy.random import default_rng

from infoscope.estimators.uncertainty.permutation import exchange, p_value
from tests.refusals import refused

GROUPS = np.repeat(np.arange(20), 3)
STRATA = np.repeat(np.arange(20) % 2, 3)


def test_values_that_vary_within_groups_are_exchanged_within_them():
    target = np.tile([0, 1, 2], 20)
    draw, kind = exchange(target, STRATA, GROUPS)
    assert kind == "rows within a group"
    drawn = target[draw(default_rng(13))].reshape(20, 3)
    assert (np.sort(drawn, axis=1) == [0, 1, 2]).all()
    assert (drawn != [0, 1, 2]).any()


def test_values_that_are_constant_in_groups_are_exchanged_among_those_of_a_stratum():
    """Half of the groups of either stratum have each value."""
    target = np.repeat(np.arange(20) // 2 % 2, 3)
    draw, kind = exchange(target, STRATA, GROUPS)
    assert kind == "whole groups"
    drawn = target[draw(default_rng(13))]
    by_group = drawn.reshape(20, 3)
    assert (by_group == by_group[:, :1]).all()
    assert (drawn != target).any()
    for stratum in (0, 1):
        inside = stratum == STRATA
        assert drawn[inside].sum() == target[inside].sum()
    with refused("the permuted variable", "constant"):
        exchange(STRATA, STRATA, None)


def test_groups_are_exchanged_with_those_of_the_same_shares_of_given():
    """A third and two thirds of the rows at given = 1 are different conditions; twice
    as many rows are not.
    """
    a_third = [0, 0, 1] * 10
    two_thirds = [0, 1, 1] * 10
    a_third_of_six = [0, 0, 0, 0, 1, 1] * 5
    strata = np.array(a_third + two_thirds + a_third_of_six)
    groups = np.repeat(np.arange(25), [3] * 20 + [6] * 5)
    draw, kind = exchange(groups, strata, groups)
    assert kind == "whole groups"
    drawn = groups[draw(np.random.default_rng(16))]
    _, first_rows = np.unique(groups, return_index=True)
    np.testing.assert_array_equal(drawn, drawn[first_rows][groups])
    has_a_third = (groups < 10) | (groups >= 20)
    assert set(drawn) == set(groups)
    assert set(drawn[has_a_third]) == set(groups[has_a_third])
    assert (drawn != groups)[has_a_third].any()


def test_ties_with_the_observed_estimate_are_included_up_to_rounding():
    null = np.array([0.3 - 1e-15, 0.3, 0.3 + 1e-15, 0.2, 0.3 - 1e-9])
    assert p_value(0.3, null) == 4 / 6
    assert p_value(1e6, np.array([1e6 - 1e-7, 1e6 - 1e-3])) == 2 / 3
