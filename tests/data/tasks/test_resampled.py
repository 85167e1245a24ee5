"""Items paired by their labels: couplings against tables of draws, and items of the right class, once each."""

import math

import numpy as np
import pytest
import torch

from infoscope.data import ImagePool, crossover_for
from infoscope.data.tasks import resampled
from infoscope.data.tasks.resampled import (
    NAMES,
    case,
    coupled_information,
    coupled_labels,
    floor,
    items,
    kept_share,
    level_names,
)
from tests.refusals import refused


@pytest.fixture
def numbered(monkeypatch):
    """A pool of ten classes of 300 images each of which tells its class and its number."""
    labels = torch.arange(3000) % 10
    images = torch.stack([labels, torch.arange(3000) // 256, torch.arange(3000) % 256], dim=1).byte()[:, None]
    pool = ImagePool(images, labels, "numbered")
    monkeypatch.setitem(resampled.POOLS, "mnist", lambda: pool)
    resampled._sorted.cache_clear()
    yield pool
    resampled._sorted.cache_clear()


@pytest.mark.parametrize("count", [2, 10])
def test_a_coupling_is_found_from_its_information(count):
    for nats in (0.0, 1e-3, 0.2, 0.6, math.log(count) - 1e-9, math.log(count)):
        kept = kept_share(nats, count)
        assert 0 <= kept <= 1 and coupled_information(kept, count) == pytest.approx(nats, abs=1e-12)


def test_two_classes_are_the_binary_symmetric_channel():
    kept = kept_share(0.3, 2)
    assert (1 - kept) / 2 == pytest.approx(crossover_for(0.3, 1), abs=1e-12)


def test_a_table_of_draws_has_the_information():
    n = 400_000
    a, b = coupled_labels(n, 10, kept_share(1.2, 10), np.random.default_rng(0))
    joint = np.bincount(a * 10 + b, minlength=100).reshape(10, 10) / n
    product = joint.sum(1, keepdims=True) * joint.sum(0)
    assert (joint * np.log(joint / product)).sum() == pytest.approx(1.2 + 81 / (2 * n), abs=0.01)  # 5 standard errors


def test_items_are_of_their_classes_and_come_once(numbered):
    a, b = coupled_labels(1000, 10, 0.5, np.random.default_rng(0))
    x, y = items("mnist", a, b, np.random.default_rng(1))
    assert (x[:, 0] == a).all() and (y[:, 0] == b).all()
    numbers = np.concatenate([x, y])[:, 1:] @ [256, 1]
    assert len(set(numbers)) == 2000


def test_a_distribution_draws_labels_whose_information_is_the_floor(numbered):
    name = "mnist-at-2.000"
    x, y = case(name).sample(800, np.random.default_rng(3))
    a, b = x[:, 0].astype(int), y[:, 0].astype(int)
    joint = np.bincount(a * 10 + b, minlength=100).reshape(10, 10) / 800
    there = joint > 0
    product = joint.sum(1, keepdims=True) * joint.sum(0)
    plug_in = (joint[there] * np.log((joint / product)[there])).sum()
    assert floor(name, 800, np.random.default_rng(3)) == pytest.approx(plug_in)
    assert case(name).truth() == (pytest.approx(2 * math.log(2)), 0.0)


def test_too_many_rows_for_the_items_are_refused(numbered):
    with refused("n", "few"):
        case("mnist-at-1.000").sample(1600, np.random.default_rng(0))


def test_the_most_rows_leave_every_item_for_one_row(numbered):
    most = resampled.most_rows("mnist")  # 300 items of each of ten classes: 220 are wanted on average
    assert most == 1000 or most == 1100
    for seed in range(20):
        case("mnist-at-1.000").sample(most, np.random.default_rng(seed))


def test_levels_reach_from_zero_to_the_entropy_of_labels():
    assert (len(NAMES), NAMES[0], NAMES[-1]) == (200, "mnist-0-1-at-0.000", "mnist-0-1-at-1.000")
    assert len(set(NAMES)) == 200
    assert level_names("mnist", 3)[-1] == "mnist-at-3.320"
    assert all(np.isfinite(case(name).truth()[0]) for name in NAMES)
