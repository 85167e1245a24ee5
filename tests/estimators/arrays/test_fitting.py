"""What methods see of a sample: splits of whole groups, and columns prepared by training rows alone."""

import numpy as np
import pytest

from infoscope.estimators.arrays import as_pairs
from infoscope.estimators.arrays.fitting import Preparation, splits
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import Continuous, Discrete
from tests.refusals import refused


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    heavy = rng.standard_cauchy((400, 1))
    return as_variable("x", [Continuous(np.hstack([3 + 2 * rng.normal(size=(400, 1)), heavy])),
                             Discrete(rng.integers(0, 3, 400))])  # fmt: skip


def test_training_rows_have_mean_0_and_deviation_1_and_categories_are_columns(sample):
    rows = np.arange(200)
    found = Preparation.fit(sample, rows)(sample)[rows]
    assert found.shape == (200, 5)
    assert found[:, :2].mean(0) == pytest.approx(0.0, abs=1e-9)
    assert found[:, :2].std(0) == pytest.approx(1.0)
    assert (found[:, 2:].argmax(1) == sample.codes[:200]).all()


def test_only_heavy_tails_are_ranked_and_new_extremes_stay_apart_and_in_order(sample):
    found = Preparation.fit(sample, np.arange(200))
    assert found.knots[0] is None and found.knots[1] is not None
    far = np.zeros((6, 2))
    far[:, 1] = [-1e9, -1e6, -1.0, 1.0, 1e6, 1e9]
    scores = found(as_variable("x", [Continuous(far + [[0, 0], *[[1, 0]] * 5]), Discrete([0, 1, 2, 0, 1, 2])]))[:, 1]
    assert (np.diff(scores) > 0).all()
    assert np.abs(scores).max() < 20


def test_a_column_that_does_not_vary_among_the_training_rows_is_kept_finite():
    values = np.concatenate([np.zeros(30), [1.0, 2.0]])
    for margins in ("auto", "scaled", "rank"):
        found = Preparation.fit(as_variable("x", values), np.arange(30), margins)(as_variable("x", values))
        assert np.isfinite(found).all() and found[31] > found[30] > found[0]


def test_splits_hold_every_row_once_and_part_no_group():
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 40, 600)
    pairs = as_pairs(rng.normal(size=600), rng.normal(size=600), groups)
    held = []
    for split in splits(pairs, 4, np.random.default_rng(0)):
        parts = [split.training, split.stopping, split.held]
        assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(600))
        assert len(set(split.seen)) == len(split.training) + len(split.stopping)
        codes = [set(pairs.units[part]) for part in parts]
        assert not (codes[0] & codes[1] or codes[0] & codes[2] or codes[1] & codes[2])
        held.append(split.held)
    assert np.array_equal(np.sort(np.concatenate(held)), np.arange(600))


def test_what_cannot_be_prepared_or_split_is_said():
    variable = as_variable("x", np.arange(60.0) ** 1.5)
    with refused("margins", "name"):
        Preparation.fit(variable, np.arange(9), "log")
    with refused("rows", "range"):
        Preparation.fit(variable, np.arange(0))
    rng = np.random.default_rng(0)
    pairs = as_pairs(*rng.normal(size=(2, 60)), np.arange(60) % 2)
    with refused("groups", "range"):
        list(splits(pairs, 2, rng))
