"""Critics on arrays: what is held out stays unseen, the error is that of new samples, groups stay together."""

import math

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from infoscope.estimators import estimate
from infoscope.estimators.arrays.critics import CriticEstimate, CriticMethod, Rows, _independent_batches
from infoscope.estimators.pairs import as_pairs
from tests.estimators.samples import draws, normal_information, normal_pair
from tests.refusals import refused

SMALL = {"width": 16, "embed": 8, "steps": 120, "batch": 64, "learning_rate": 5e-3, "folds": 2}
TRUTH = normal_information(0.8)


@pytest.fixture(scope="module")
def read():
    """A dv critic's estimate of 400 rows, .511 nats."""
    return estimate(*normal_pair(400, 0.8), "dv", **SMALL)


def test_an_estimate_states_how_its_critics_were_trained(read):
    assert isinstance(read, CriticEstimate) and "dv" in read.method
    assert read.curve.groupby("fold")["kept"].sum().tolist() == [1, 1]
    twice = estimate(*normal_pair(300, 0.8), "dv", restarts=2, **SMALL | {"steps": 8})
    assert "2 trainings each" in twice.settings
    assert twice.curve.groupby(["fold", "restart"]).size().shape == (4,)


def test_trainings_are_drawn_with_the_weights_that_were_kept(read):
    lines = read.plot_curve(Figure().subplots()).lines
    for (_, fold), line, dot in zip(read.curve.groupby("fold"), lines[::2], lines[1::2], strict=True):
        np.testing.assert_allclose(line.get_ydata() * math.log(2), fold["training"])
        np.testing.assert_array_equal(dot.get_xdata(), fold["step"][fold["kept"]])


def test_the_interval_reaches_up_to_what_is_reported_of_rows_that_trained():
    """Of 20 columns with 400 rows much is learnt of single rows: the interval of new rows alone would miss .511."""
    x, y = normal_pair(400, 0.8)
    noise = draws(1).normal(size=(2, 400, 19))
    found = estimate(np.column_stack([x, noise[0]]), np.column_stack([y, noise[1]]), "dv", **SMALL)
    margin = found.value - found.low
    assert found.seen > found.value + found.standard_error and "single rows" in found.notes[-1]
    assert found.high == pytest.approx(found.seen + margin) and found.value + margin < TRUTH
    assert found.bits.high == pytest.approx(found.high / math.log(2))
    many = estimate(*normal_pair(2000, 0.8), "dv", **SMALL)
    assert abs(many.seen - many.value) < 3 * many.standard_error and many.low < TRUTH < many.high + 0.05


def test_critics_that_learn_nothing_are_noted(read):
    x, y = draws(2).normal(size=(2, 400, 10))
    found = estimate(x, y, "infonce", **SMALL)
    assert abs(found.value) < max(5 * found.standard_error, 0.02)
    assert any("found no dependence" in note for note in found.notes)
    assert any("log2 200 = 7.64 bits" in note for note in found.notes)  # the ceiling of its batches
    assert not any("found no dependence" in note for note in read.notes)


def test_what_is_held_out_is_not_seen_by_its_critic(monkeypatch):
    """Other values of y in the held-out rows of fold 0 change nothing in the critic that reads them."""
    seen = []
    fit = CriticMethod.fit

    def record(self, bound, rows, stopping, generator):
        found = fit(self, bound, rows, stopping, generator)
        seen.append(found.critic.embed_y.layers[0].weight.detach().clone())
        return found

    monkeypatch.setattr(CriticMethod, "fit", record)
    x, y = normal_pair(300, 0.8)
    held = as_pairs(x, y).folds(2, draws()) == 0
    for values in (y, np.where(held, y[::-1] + 5, y)):
        estimate(x, values, "dv", **SMALL | {"steps": 8})
    assert torch.equal(seen[0], seen[2]) and not torch.equal(seen[1], seen[3])


def test_copies_and_groups_stay_together(read):
    """Each row three times in one group says what the rows say: the same value, and an error that is not smaller."""
    x, y = normal_pair(400, 0.8)
    copied = estimate(np.tile(x, 3), np.tile(y, 3), "dv", groups=np.tile(np.arange(400), 3), **SMALL)
    assert float(copied) == pytest.approx(read, abs=0.15)
    assert copied.standard_error > 0.6 * read.standard_error and copied.units == 400
    with refused("groups", "range"):
        estimate(x, y, "dv", groups=np.repeat(np.arange(10), 40), **SMALL)


def test_batches_hold_one_row_of_a_unit():
    units = np.repeat(np.arange(50), [1, 2, 3, 4, 5] * 10)
    x = torch.arange(len(units), dtype=torch.float32)[:, None]
    rows = Rows(x, x, units)
    drawn = [rows.sample(30, torch.Generator().manual_seed(seed))[0] for seed in range(400)]
    assert all(len(set(units[batch.flatten().int()])) == 30 for batch in drawn)
    batches = list(_independent_batches(np.repeat(np.arange(100), 2), *[x[:1].expand(200, 1)] * 2, 2048, draws()))
    assert sorted(np.concatenate([places for *_, places in batches])) == list(range(200))
    assert all(len(set(places // 2)) == len(places) for *_, places in batches)
