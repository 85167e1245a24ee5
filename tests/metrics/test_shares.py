"""Intervals of shares: closed forms, what groups do to them, and how often they hold
the least of several.
"""

from typing import NamedTuple

import numpy as np
from pytest import approx

from infoscope.metrics.shares import clopper_pearson, least_interval, share_interval
from tests.refusals import refused


class Share(NamedTuple):
    value: float
    standard_error: float
    n: int
    clusters: int


def share(right):
    """Of independent items [n]."""
    p = right.mean()
    n = len(right)
    return Share(p, np.sqrt(p * (1 - p) / (n - 1)), n, n)


def test_clopper_pearson_of_all_none_and_half():
    assert clopper_pearson(10, 10) == (approx(0.025 ** (1 / 10)), 1.0)
    assert clopper_pearson(0, 20, 0.99) == (0.0, approx(1 - 0.005 ** (1 / 20)))
    low, high = clopper_pearson(5, 10)  # the published 95 % interval of 5 of 10
    assert low == approx(0.1871, abs=1e-4)
    assert high == approx(0.8129, abs=1e-4)


def test_dependent_items_in_groups_widen_the_interval():
    """Copies add no information: the interval of 20 groups of 5 copies is that of about
    20 items, and wider by the t quantiles; that of all right is exactly that of 20.
    """
    right = np.arange(20) % 4 > 0
    single = share(right)
    copied = Share(single.value, single.standard_error, 100, 20)
    width = np.diff(share_interval(copied)) / np.diff(share_interval(single))
    assert 1.0 < width < 1.12
    assert share_interval(Share(1.0, 0.0, 100, 20)) == clopper_pearson(20, 20)
    # no more than there are
    assert share_interval(Share(0.6, 0.0, 100, 20)) == clopper_pearson(60, 100)
    assert share_interval(Share(0.6, np.nan, 5, 1)) == (0.0, 1.0)
    assert share_interval(Share(1.0, np.nan, 1, 1)) == (approx(0.025), 1.0)
    assert np.isnan(share_interval(Share(np.nan, np.nan, 5, 5))).all()


def test_the_interval_of_the_smallest_share_covers_it_after_selection():
    """Twenty slices of 40 items, all with .8 or one with .7: the interval of the least
    covers the least true share at least with its nominal probability (it is
    conservative); that of the lowest alone does not where all are equal.
    """
    rng = np.random.default_rng(0)
    for least in (0.8, 0.7):
        truths = np.array([least] + [0.8] * 19)
        held = []
        naive = []
        for _ in range(300):
            shares = [share(rng.random(40) < p) for p in truths]
            low, high = least_interval(shares)
            own = share_interval(min(shares))
            held.append(low <= least <= high)
            naive.append(own[0] <= least <= own[1])
            assert low <= min(shares).value <= high
        assert np.mean(held) > 0.95
        if least == 0.8:
            assert np.mean(naive) < 0.9
    with refused("shares", "range"):
        least_interval([])
    assert np.isnan(
        least_interval([share(np.arange(9) > 2), Share(np.nan, np.nan, 4, 4)])
    ).all()
