"""What `diagnose` finds in a sample before it is measured, and what `estimate` makes of it."""

import numpy as np
import pytest

from infoscope.estimators import diagnose, estimate
from infoscope.estimators.arrays import as_pairs
from tests.estimators.samples import draws, normal_pair
from tests.refusals import refused


def labelled(g, n=600, columns=1):
    """Numbers [n, columns] and a label of two that knows nothing of them."""
    return g.normal(size=(n, columns)), g.random(n) < 0.5


def oversampled(g, n=1000, columns=2):
    """A label of the last tenth of n rows, whose rows are drawn again and again until there are as many of each."""
    x, rare = g.normal(size=(n, columns)), np.arange(n) >= 0.9 * n
    rows = g.permutation(np.r_[: int(0.9 * n), g.integers(int(0.9 * n), n, int(0.9 * n))])
    return x[rows], rare[rows]


def thrice(g):
    x, label = labelled(g)
    return np.tile(x, (3, 1)), np.tile(label, 3)


def some_again(g):
    x, label = labelled(g)
    rows = np.r_[:600, g.integers(600, size=12)]
    return x[rows], label[rows]


@pytest.mark.parametrize("sample", [oversampled, thrice, some_again])
def test_copies_of_rows_are_one_group(sample):
    for seed in range(3):
        x, label = sample(draws(seed))
        found = diagnose(x, label)
        assert found.duplicates == len(x) - len(np.unique(x, axis=0)) and found.serial is None
        assert len(np.unique(found.pairs.groups)) == len(x) - found.duplicates
        assert f"{found.duplicates:,} of {len(x):,} rows are copies" in str(found)
        np.testing.assert_array_equal(diagnose(label, x).pairs.groups, found.pairs.groups)


def test_duplicated_rows_say_what_the_rows_say_once():
    """Taken for rows of their own they would give .3 nats more."""
    x, y = normal_pair(300, 0.8)
    twice = np.r_[x, x], np.r_[y, y]
    once, found, blind = estimate(x, y), estimate(*twice), estimate(*twice, method="ksg")
    assert found.value == pytest.approx(once.value, abs=1e-6) and found.n == 300
    assert found.standard_error > 0.9 * once.standard_error and blind > once + 0.2
    assert any("300 of 600" in note for note in found.notes) and not any("copies" in note for note in once.notes)


def test_equal_rows_of_rounded_columns_are_left():
    """Rows of two rounded columns, copied: chance would make some of them, if the columns depended on one another."""
    x, label = oversampled(draws(1))
    found = diagnose(x.round(2), label)
    assert found.duplicates == 0 and found.pairs.groups is None


def test_groups_of_one_row_are_none():
    walks = np.cumsum(draws().normal(size=(2, 1000)), axis=1)
    found = diagnose(*walks, groups=np.arange(1000))
    assert found.pairs.groups is None and found.serial.lag is None and len(found.pairs.notes) == 2
    blocks = diagnose(*walks, groups=np.arange(1000) // 50)
    assert blocks.serial is None and blocks.pairs.groups.max() == 19


def test_independent_rows_have_no_notes():
    found = diagnose(*normal_pair(500, 0.6, seed=3))
    assert found.pairs.notes == () and found.duplicates == 0 and found.serial is None and str(found)


def test_folds_keep_units_whole_and_are_of_like_size():
    g = draws()
    groups = np.repeat(np.arange(60), g.integers(1, 8, 60))
    pairs = as_pairs(*g.normal(size=(2, len(groups))), groups)
    fold_of = pairs.folds(5, draws(1))
    assert all(len(set(fold_of[groups == group])) == 1 for group in range(60))
    sizes = np.bincount(fold_of)
    assert len(sizes) == 5 and np.ptp(sizes) <= 7
    alone = as_pairs(*normal_pair(200, 0.6))
    assert np.ptp(np.bincount(alone.folds(3, draws(1)))) <= 1
    with refused("x and y", "few"):
        alone.folds(12, draws(1))
