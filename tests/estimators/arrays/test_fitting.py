"""What methods see of a sample: splits of whole groups, and columns prepared by
training rows alone.
"""

from itertools import combinations

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators.arrays import as_pairs
from infoscope.estimators.arrays.fitting import Preparation, splits
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import Continuous, Discrete

TRAINING = np.arange(200)


@pytest.fixture
def sample():
    """A normal column, one of heavy tails, and a label of three."""
    g = default_rng(0)
    normal = 3 + 2 * g.normal(size=400)
    heavy = g.standard_cauchy(400)
    numbers = np.column_stack([normal, heavy])
    return as_variable("x", [Continuous(numbers), Discrete(g.integers(0, 3, 400))])


def test_training_rows_have_mean_0_and_deviation_1_and_categories_are_columns(sample):
    prepared = Preparation.fit(sample, TRAINING)(sample)[TRAINING]
    assert prepared.shape == (200, 5)
    numbers, indicators = np.split(prepared, [2], axis=1)
    assert numbers.mean(0) == approx(0.0, abs=1e-9)
    assert numbers.std(0) == approx(1.0)
    np.testing.assert_array_equal(indicators.argmax(1), sample.codes[:200])


def test_only_heavy_tails_are_ranked_and_new_extremes_stay_apart_and_in_order(sample):
    preparation = Preparation.fit(sample, TRAINING)
    normal, heavy, *_ = preparation.knots
    assert normal is None
    assert heavy is not None
    extremes = [-1e9, -1e6, -1.0, 1.0, 1e6, 1e9]
    numbers = Continuous(np.column_stack([np.arange(6.0), extremes]))
    new = as_variable("x", [numbers, Discrete([0, 1, 2, 0, 1, 2])])
    scores = preparation(new)[:, 1]
    assert (np.diff(scores) > 0).all()
    assert np.abs(scores).max() < 20


@pytest.mark.parametrize("margins", ["auto", "scaled", "rank"])
def test_a_column_that_does_not_vary_among_the_training_rows_is_kept_finite(margins):
    values = as_variable("x", np.r_[np.zeros(30), 1.0, 2.0])
    prepared = Preparation.fit(values, np.arange(30), margins)(values)
    assert np.isfinite(prepared).all()
    assert prepared[31] > prepared[30] > prepared[0]


def test_splits_hold_every_row_once_and_part_no_group():
    g = default_rng(3)
    x, y = g.normal(size=(2, 600))
    pairs = as_pairs(x, y, g.integers(0, 40, 600))
    every_row = list(range(600))
    held = []
    for split in splits(pairs, 4, g):
        parts = [split.training, split.stopping, split.held]
        assert sorted(np.concatenate(parts)) == every_row
        for first, second in combinations(parts, 2):
            assert not set(pairs.units[first]) & set(pairs.units[second])
        assert len(set(split.seen)) == len(split.training) + len(split.stopping)
        held.extend(split.held)
    assert sorted(held) == every_row
