"""Critics on arrays: what is held out stays unseen, the error is that of new samples, groups stay together."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from infoscope.estimators import BOUNDS, estimate
from infoscope.estimators.arrays.critics import CriticEstimate, CriticMethod, Rows, _independent
from infoscope.estimators.arrays.protocol import as_pairs
from tests.refusals import refused

SMALL = {"width": 16, "embed": 8, "steps": 120, "batch": 64, "learning_rate": 5e-3, "folds": 2}
TRUTH = -0.5 * math.log(1 - 0.8**2)


def normal_pairs(n: int, seed: int = 0, rho: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, rho * x + math.sqrt(1 - rho**2) * rng.normal(size=n)


@pytest.mark.parametrize("bound", [name for name in BOUNDS if name != "mine-one-step"])
def test_half_a_nat_is_found_on_unseen_rows(bound):
    """.511 nats, of which a small critic of 120 steps finds most. Sampling error .04; js reads 1/e less."""
    x, y = normal_pairs(1200)
    found = estimate(x, y, bound, **SMALL)
    expected = TRUTH - (1 / math.e if bound == "js" else 0.0)
    assert float(found) == pytest.approx(expected, abs=0.15)
    assert 0.005 < found.standard_error < 0.12 and found.n == 1200 and found.unit == "nats"
    assert isinstance(found, CriticEstimate) and bound in found.method
    assert found.curve.groupby("fold")["kept"].sum().tolist() == [1, 1]


@pytest.mark.parametrize("bound", ["infonce-anchor", "smile-5", "infonce", "dv"])
def test_nothing_is_found_where_there_is_nothing(bound):
    """Independent sides in 10 columns: within 5 standard errors of 0, and no training value is reported."""
    rng = np.random.default_rng(2)
    found = estimate(rng.normal(size=(600, 10)), rng.normal(size=(600, 10)), bound, **SMALL)
    assert abs(found.value) < max(5 * found.standard_error, 0.02)


def test_the_interval_reaches_up_to_what_is_reported_of_rows_that_trained():
    """Of 20 columns with 400 rows much is learnt of single rows: the interval of new rows alone would miss .511."""
    x, y = normal_pairs(400)
    noise = np.random.default_rng(1).normal(size=(2, 400, 19))
    found = estimate(np.column_stack([x, noise[0]]), np.column_stack([y, noise[1]]), "dv", **SMALL | {"folds": 4})
    margin = found.value - found.low
    assert found.seen > found.value + found.standard_error and "single rows" in found.notes[-1]
    assert found.high == pytest.approx(found.seen + margin) and found.value + margin < TRUTH
    assert found.bits.high == pytest.approx(found.high / math.log(2))
    many = estimate(*normal_pairs(4000), "dv", **SMALL)
    assert abs(many.seen - many.value) < 3 * many.standard_error and many.low < TRUTH < many.high + 0.05


def test_critics_that_learn_nothing_say_so():
    rng = np.random.default_rng(2)
    found = estimate(rng.normal(size=(400, 10)), rng.normal(size=(400, 10)), "infonce", **SMALL)
    assert any("of 2 folds training found nothing" in note for note in found.notes)
    assert not any("found nothing" in note for note in estimate(*normal_pairs(600), "infonce", **SMALL).notes)


def test_the_error_is_that_of_new_samples():
    """Of 24 samples: the mean error against their spread, within a factor of 1.7 (chi of 23 degrees: 1e-4)."""
    found = [estimate(*normal_pairs(400, seed), "smile-5", **SMALL | {"steps": 60}) for seed in range(24)]
    ratio = np.mean([one.standard_error for one in found]) / np.std([float(one) for one in found], ddof=1)
    assert 1 / 1.7 < ratio < 1.7


def test_what_is_held_out_is_not_seen_by_its_critic(monkeypatch):
    """Other values of y in the held-out rows of fold 0 change nothing in the critic that reads them."""
    seen = []
    fit = CriticMethod.fit

    def record(self, bound, rows, stopping, generator):
        found = fit(self, bound, rows, stopping, generator)
        seen.append(found.critic.embed_y.layers[0].weight.detach().clone())
        return found

    monkeypatch.setattr(CriticMethod, "fit", record)
    x, y = normal_pairs(300)
    held = as_pairs(x, y).folds(2, np.random.default_rng(0)) == 0
    for values in (y, np.where(held, y[::-1] + 5, y)):
        estimate(x, values, "dv", **SMALL)
    assert torch.equal(seen[0], seen[2]) and not torch.equal(seen[1], seen[3])


def test_the_same_generator_gives_the_same_numbers():
    x, y = normal_pairs(300)
    first, again, other = (
        estimate(x, y, "infonce-anchor", generator=np.random.default_rng(seed), **SMALL) for seed in (1, 1, 2)
    )
    assert float(first) == float(again) != float(other)
    assert first.standard_error == again.standard_error


def test_restarts_are_told_and_the_best_judged_is_read():
    x, y = normal_pairs(300)
    found = estimate(x, y, "dv", restarts=2, **SMALL)
    assert "2 trainings each" in found.settings
    assert found.curve.groupby(["fold", "restart"]).size().shape == (4,)


def test_categories_are_columns_of_zeros_and_ones():
    x, y = normal_pairs(1200)
    labels = np.digitize(y, [-0.5, 0.5])
    found = estimate([*map(str, labels)], x, "infonce-anchor", **SMALL)
    assert 0.2 < float(found) < math.log(3)


def test_copies_and_groups_stay_together():
    """Each row three times in one group says what the rows say: the same value, and an error that is not smaller."""
    x, y = normal_pairs(400)
    once = estimate(x, y, "dv", **SMALL)
    copied = estimate(np.tile(x, 3), np.tile(y, 3), "dv", groups=np.tile(np.arange(400), 3), **SMALL)
    assert float(copied) == pytest.approx(once, abs=0.12)
    assert copied.standard_error > 0.6 * once.standard_error and copied.units == 400
    with refused("groups", "range"):
        estimate(x, y, "dv", groups=np.repeat(np.arange(10), 40), **SMALL)


def test_batches_hold_one_row_of_a_unit():
    units = np.repeat(np.arange(50), [1, 2, 3, 4, 5] * 10)
    x = torch.arange(len(units), dtype=torch.float32)[:, None]
    rows = Rows(x, x, units)
    drawn = [rows.sample(30, torch.Generator().manual_seed(seed))[0] for seed in range(400)]
    assert all(len(set(units[batch.flatten().int()])) == 30 for batch in drawn)
    counts = np.bincount(torch.cat(drawn).flatten().int(), minlength=len(units))
    assert counts.min() > 0
    rng = np.random.default_rng(0)
    batches = list(_independent(np.repeat(np.arange(100), 2), [x[:1].expand(200, 1)] * 2, 2048, rng))
    assert sorted(np.concatenate([places for *_, places in batches])) == list(range(200))
    assert all(len(set(places // 2)) == len(places) for *_, places in batches)


@pytest.mark.parametrize(("n", "among"), [(10, 10), (10, 100), (10, 1_000_000), (3, 37)])
def test_rows_of_a_batch_differ(n, among):
    rows = Rows(torch.arange(float(among))[:, None], torch.zeros(among, 1), np.arange(among)) if among >= 16 else None
    if rows is None:
        return
    for seed in range(20):
        assert len(rows.sample(n, torch.Generator().manual_seed(seed))[0].unique()) == n


def test_infonce_names_its_ceiling():
    x, y = normal_pairs(300)
    assert any("cannot exceed log 150 = 5.01 nats" in note for note in estimate(x, y, "infonce", **SMALL).notes)


@pytest.mark.parametrize("change", [{"steps": 0}, {"batch": 1}, {"folds": 1}, {"restarts": 0}, {"critic": "mlp"}])
def test_bad_settings_are_one_sentence(change):
    name = "kind" if "critic" in change else next(iter(change))
    with pytest.raises(ValueError, match=f"{name} must be"):
        estimate(*normal_pairs(300), "dv", **SMALL | change)
