"""What `diagnose` finds in a sample before it is measured, and what `estimate` makes of
it.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from infoscope.estimators import diagnose, estimate
from infoscope.estimators.arrays import as_pairs
from tests.estimators.samples import draws, normal_pair
from tests.refusals import refused


def rows_of_oversampling(g):
    """Rows of which the last tenth are drawn again and again until there are as many of
    them as of the others.
    """
    return np.r_[:900, g.integers(900, 1000, 900)]


REPEATED = {
    "a rare class": rows_of_oversampling,
    "all thrice": lambda g: np.tile(np.arange(1000), 3),
    "a few": lambda g: np.r_[:1000, g.integers(1000, size=12)],
}


@pytest.mark.parametrize("name", REPEATED)
@pytest.mark.parametrize("seed", range(3))
def test_copies_of_rows_are_one_group(name, seed):
    g = draws(seed)
    rows = g.permutation(REPEATED[name](g))
    x = g.normal(size=(1000, 2))[rows]
    label = rows >= 900
    diagnosis = diagnose(x, label)
    distinct = len(np.unique(rows))
    assert diagnosis.duplicates == len(rows) - distinct
    assert diagnosis.serial is None
    assert len(np.unique(diagnosis.pairs.groups)) == distinct
    assert_array_equal(diagnose(label, x).pairs.groups, diagnosis.pairs.groups)


def test_duplicated_rows_inform_as_they_do_once():
    """Taken for rows of their own they would give .3 nats more."""
    x, y = normal_pair(300, 0.8)
    once = estimate(x, y)
    twice = estimate(np.r_[x, x], np.r_[y, y])
    assert twice.value == pytest.approx(once.value, abs=1e-6)
    assert twice.n == 300
    assert twice.standard_error > 0.9 * once.standard_error
    assert any("300 of 600" in note for note in twice.notes)


def test_equal_rows_of_rounded_columns_are_left():
    """Rows of two rounded columns, copied: chance would make some of them, if the
    columns depended on one another.
    """
    g = draws(1)
    rows = rows_of_oversampling(g)
    x = g.normal(size=(1000, 2)).round(2)
    diagnosis = diagnose(x[rows], rows >= 900)
    assert diagnosis.duplicates == 0
    assert diagnosis.pairs.groups is None


def test_groups_of_one_row_are_none():
    walks = np.cumsum(draws().normal(size=(2, 1000)), axis=1)
    of_rows = diagnose(*walks, groups=np.arange(1000))
    assert of_rows.pairs.groups is None
    assert of_rows.serial.lag is None
    assert len(of_rows.pairs.notes) == 2
    of_blocks = diagnose(*walks, groups=np.arange(1000) // 50)
    assert of_blocks.serial is None
    assert of_blocks.pairs.groups.max() == 19


def test_folds_keep_units_whole_and_are_of_like_size():
    g = draws()
    sizes = g.integers(1, 8, 60)
    groups = np.repeat(np.arange(60), sizes)
    x, y = g.normal(size=(2, len(groups)))
    folds = as_pairs(x, y, groups).folds(5, draws(1))
    first_rows = np.cumsum(sizes) - sizes
    assert_array_equal(folds, folds[first_rows][groups])
    rows_of_folds = np.bincount(folds)
    assert len(rows_of_folds) == 5
    assert np.ptp(rows_of_folds) <= 7
    with refused("x and y", "few"):
        as_pairs(x[:50], y[:50]).folds(12, draws(1))
