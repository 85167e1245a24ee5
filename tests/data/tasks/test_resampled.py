"""Items paired by their labels: couplings against tables of draws, and items of the
right class, once each.
"""

import math

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from pytest import approx

from infoscope.data import ImagePool
from infoscope.data.tasks import resampled
from infoscope.data.tasks.resampled import (
    case,
    copied_share,
    coupled_information,
    coupled_labels,
    items,
)
from tests.data.common import plug_in
from tests.refusals import refused


@pytest.fixture
def numbered(monkeypatch):
    """A pool of two classes of 1,500 images each of which tells its class and its
    number.
    """
    labels = torch.arange(3000) % 2
    numbers = torch.arange(3000)
    pixels = torch.stack([labels, numbers // 256, numbers % 256], dim=1)
    pool = ImagePool(pixels.byte()[:, None], labels, "numbered")
    monkeypatch.setitem(resampled.POOLS, "mnist-0-1", lambda: pool)
    resampled._sorted.cache_clear()
    yield pool
    resampled._sorted.cache_clear()


@pytest.mark.parametrize("nats", [0.0, 1e-3, 0.2, 0.6, math.log(2) - 1e-9, math.log(2)])
def test_a_coupling_is_found_from_its_information(nats):
    share = copied_share(nats)
    assert 0 <= share <= 1
    assert coupled_information(share) == approx(nats, abs=1e-12)


def test_items_are_of_their_classes_and_come_once(numbered):
    a, b = coupled_labels(1000, 0.5, default_rng(0))
    x, y = items("mnist-0-1", a, b, default_rng(1))
    assert_array_equal(x[:, 0], a)
    assert_array_equal(y[:, 0], b)
    both = np.concatenate([x, y])
    numbers = both[:, 1:] @ [256, 1]
    assert len(set(numbers)) == 2000


def test_a_distribution_draws_items_with_its_information(numbered):
    distribution = case("mnist-0-1", 0.5)
    half = 0.5 * math.log(2)
    assert distribution.truth() == (approx(half), 0)
    x, y = distribution.sample(1200, default_rng(3))
    nats = plug_in(x[:, 0].astype(int), y[:, 0].astype(int))
    assert nats == approx(half, abs=0.08)  # five standard errors


def test_too_many_rows_for_the_items_are_refused(numbered):
    with refused("n", "few"):
        case("mnist-0-1", 0.5).sample(1600, default_rng(0))


def test_the_most_rows_leave_every_item_for_one_row(numbered):
    most = resampled.most_rows("mnist-0-1")
    assert most in (1200, 1300)
    for seed in range(20):
        case("mnist-0-1", 0.5).sample(most, default_rng(seed))
