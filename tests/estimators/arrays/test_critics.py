"""Critics on arrays: what is held out stays unseen, the error is that of new samples,
groups stay together.
"""

import math

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from pytest import approx

from infoscope.estimators import estimate
from infoscope.estimators.arrays.critics import (
    CriticEstimate,
    CriticMethod,
    Rows,
    _independent_batches,
)
from infoscope.estimators.pairs import as_pairs
from tests.estimators.samples import draws, normal_information, normal_pair
from tests.refusals import refused

SMALL = {
    "width": 16,
    "embed": 8,
    "steps": 120,
    "batch": 64,
    "learning_rate": 5e-3,
    "folds": 2,
}
TRUTH = normal_information(0.8)


@pytest.fixture(scope="module")
def of_400_rows():
    """A dv critic's estimate of 400 rows, .511 nats."""
    return estimate(*normal_pair(400, 0.8), "dv", **SMALL)


def test_an_estimate_states_how_its_critics_were_trained(of_400_rows):
    assert isinstance(of_400_rows, CriticEstimate)
    assert "dv" in of_400_rows.method
    is_kept = of_400_rows.curve.groupby("fold")["kept"]
    assert is_kept.sum().tolist() == [1, 1]
    settings = SMALL | {"steps": 8, "restarts": 2}
    restarted = estimate(*normal_pair(300, 0.8), "dv", **settings)
    trainings = restarted.curve.groupby(["fold", "restart"])
    assert trainings.ngroups == 4


def test_trainings_are_drawn_with_the_weights_that_were_kept(of_400_rows):
    lines = of_400_rows.plot_curve(Figure().subplots()).lines
    folds = of_400_rows.curve.groupby("fold")
    for (_, fold), line, dot in zip(folds, lines[::2], lines[1::2], strict=True):
        np.testing.assert_allclose(line.get_ydata() * math.log(2), fold["training"])
        np.testing.assert_array_equal(dot.get_xdata(), fold["step"][fold["kept"]])


def test_the_interval_reaches_up_to_what_is_reported_of_rows_that_trained():
    """Of 20 columns with 400 rows much is learnt of single rows: the interval of new
    rows alone would miss .511.
    """
    x, y = draws(1).normal(size=(2, 400, 20))
    x[:, 0], y[:, 0] = normal_pair(400, 0.8)
    estimated = estimate(x, y, "dv", **SMALL)
    assert estimated.seen > estimated.value + estimated.standard_error
    margin = estimated.value - estimated.low
    assert estimated.high == approx(estimated.seen + margin)
    assert estimated.value + margin < TRUTH
    assert estimated.bits.high == approx(estimated.high / math.log(2))


def test_critics_that_learn_nothing_are_noted(of_400_rows):
    x, y = draws(2).normal(size=(2, 400, 10))
    estimated = estimate(x, y, "infonce", **SMALL)
    assert abs(estimated.value) < max(5 * estimated.standard_error, 0.02)
    notes = " ".join(estimated.notes)
    assert "did not improve on the initial weights" in notes
    # the ceiling of its batches
    assert "log2 200 = 7.64 bits" in notes
    assert "did not improve" not in " ".join(of_400_rows.notes)


def test_what_is_held_out_is_not_seen_by_its_critic(monkeypatch):
    """Other values of y in the held-out rows of fold 0 change nothing in the critic
    that reads them.
    """
    weights = []
    fit = CriticMethod.fit

    def record(self, bound, rows, stopping, generator):
        result = fit(self, bound, rows, stopping, generator)
        first, *_ = result.critic.embed_y.layers
        weights.append(first.weight.detach().clone())
        return result

    monkeypatch.setattr(CriticMethod, "fit", record)
    x, y = normal_pair(300, 0.8)
    is_held_out = as_pairs(x, y).folds(2, draws()) == 0
    changed = np.where(is_held_out, y[::-1] + 5, y)
    settings = SMALL | {"steps": 8}
    estimate(x, y, "dv", **settings)
    estimate(x, changed, "dv", **settings)
    fold_0, fold_1, changed_fold_0, changed_fold_1 = weights
    assert torch.equal(fold_0, changed_fold_0)
    assert not torch.equal(fold_1, changed_fold_1)


def test_copies_and_groups_stay_together(of_400_rows):
    """Each row three times in one group says what the rows say: the same value, and an
    error that is not smaller.
    """
    x, y = np.tile(normal_pair(400, 0.8), 3)
    groups = np.tile(np.arange(400), 3)
    copied = estimate(x, y, "dv", groups=groups, **SMALL)
    assert copied.units == 400
    assert copied.value == approx(of_400_rows, abs=0.15)
    assert copied.standard_error > 0.6 * of_400_rows.standard_error
    with refused("groups", "range"):
        estimate(x, y, "dv", groups=groups % 10, **SMALL)


def test_batches_hold_one_row_of_a_unit():
    units = np.repeat(np.arange(50), [1, 2, 3, 4, 5] * 10)
    numbers = torch.arange(len(units), dtype=torch.float32)[:, None]
    rows = Rows(numbers, numbers, units)
    for seed in range(100):
        x, _ = rows.sample(30, torch.Generator().manual_seed(seed))
        assert len(set(units[x.flatten().int()])) == 30


def test_independent_batches_hold_every_row_once():
    units = np.repeat(np.arange(100), 2)
    values = torch.zeros(200, 1)
    every_row = []
    for *_, rows in _independent_batches(units, values, values, 2048, draws()):
        assert len(set(units[rows])) == len(rows)
        every_row.extend(rows)
    assert sorted(every_row) == list(range(200))
