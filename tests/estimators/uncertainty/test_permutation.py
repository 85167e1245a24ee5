"""What permutation tests exchange, and their p-value."""

import numpy as np

from infoscope.estimators.uncertainty.permutation import exchange, p_value
from tests.refusals import refused

WITHIN, WHOLES = "rows within a group", "whole groups"


def test_what_is_exchanged():
    rng = np.random.default_rng(13)
    groups = np.repeat(np.arange(20), 3)
    strata = np.repeat(rng.integers(2, size=20), 3)
    within, kind = exchange(np.tile([0, 1, 2], 20), strata, groups)
    drawn = np.tile([0, 1, 2], 20)[within(rng)].reshape(20, 3)
    assert kind == WITHIN and (np.sort(drawn, axis=1) == [0, 1, 2]).all() and (drawn != [0, 1, 2]).any()
    target = np.repeat(rng.integers(2, size=20), 3)
    whole, kind = exchange(target, strata, groups)
    drawn = target[whole(rng)]
    assert kind == WHOLES and (drawn.reshape(20, 3) == drawn[::3, None]).all() and (drawn != target).any()
    for stratum in (0, 1):
        assert drawn[strata == stratum].sum() == target[strata == stratum].sum()
    with refused("the permuted variable", "constant"):
        exchange(strata, strata, None)


def test_groups_are_exchanged_with_those_of_the_same_shares_of_given():
    """A third and two thirds of the rows at given = 1 are different conditions; twice as many rows are not."""
    strata = np.array([0, 0, 1] * 10 + [0, 1, 1] * 10 + [0, 0, 0, 0, 1, 1] * 5)
    groups = np.repeat(np.arange(25), [3] * 20 + [6] * 5)
    target = np.random.default_rng(15).permutation(25)[groups]
    draw, kind = exchange(target, strata, groups)
    drawn = target[draw(np.random.default_rng(16))]
    alike = np.isin(groups, [*range(10), *range(20, 25)])
    assert kind == WHOLES and set(drawn[alike]) == set(target[alike]) and set(drawn) == set(target)
    assert all(len(set(drawn[groups == group])) == 1 for group in range(25))
    assert (drawn[alike] != target[alike]).any()


def test_ties_with_the_observed_estimate_count_up_to_rounding():
    null = np.array([0.3 - 1e-15, 0.3, 0.3 + 1e-15, 0.2, 0.3 - 1e-9])
    assert p_value(0.3, null) == 4 / 6 and p_value(1e6, np.array([1e6 - 1e-7, 1e6 - 1e-3])) == 2 / 3
