"""The binary symmetric channel: closed forms, the exact solver, and the exact density
ratio of the labels.
"""

import itertools
import math

import pytest
import torch
from pytest import approx

from infoscope.data import ChannelPairs, channel_information, crossover_for
from tests.data.common import generator

LN2 = math.log(2.0)


@pytest.mark.parametrize("crossover", [0.01, 0.24, 0.26, 0.499])
def test_information_is_ln2_minus_the_binary_entropy(crossover):
    unflipped = 1 - crossover
    entropy = -crossover * math.log(crossover) - unflipped * math.log(unflipped)
    information = channel_information(crossover, 7)
    assert information == approx(7 * (LN2 - entropy), abs=1e-14)


@pytest.mark.parametrize("contrast", [1e-8, 1e-5, 1e-3])
def test_information_near_one_half_follows_its_series(contrast):
    """ln 2 - H((1 - d) / 2) = d^2 / 2 + d^4 / 12 + ..., which the plain difference
    would lose to cancellation.
    """
    crossover = 0.5 - contrast / 2
    d = 1.0 - 2.0 * crossover
    series = d**2 / 2 + d**4 / 12
    assert channel_information(crossover, 1) == approx(series, rel=1e-12)


@pytest.mark.parametrize(
    "share", [1e-18, 1e-6, 0.1, 0.188, 0.1888, 0.9, 1 - 1e-6, 1 - 1e-14]
)
def test_round_trip(share):
    information = share * 10 * LN2
    returned = channel_information(crossover_for(information, 10), 10)
    assert returned == approx(information, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("sources", [1, 49])
def test_the_ends_are_exact(sources):
    everything = sources * LN2
    assert crossover_for(everything, sources) == 0.0
    assert crossover_for(math.log(2.0**sources), sources) == 0.0
    assert crossover_for(0.0, sources) == 0.5
    assert channel_information(0.5, sources) == 0.0
    assert channel_information(0.0, sources) == everything


@pytest.mark.parametrize("crossover", [0.0, 0.1, 0.5])
def test_log_ratio_over_every_pair(crossover):
    """Over all pairs of three bits: the ratio integrates to 1 and its mean under the
    joint is the information.
    """
    source = ChannelPairs(3, crossover)
    every = torch.tensor(
        list(itertools.product((0.0, 1.0), repeat=3)), dtype=torch.float64
    )
    ratio = source.log_ratio(every, every)
    joint = ratio.exp() / 64
    is_flipped = every[:, None] != every
    flips = is_flipped.sum(-1).double()
    expected = crossover**flips * (1 - crossover) ** (3 - flips) / 8
    torch.testing.assert_close(joint, expected)
    possible = joint > 0
    mean = (joint * ratio)[possible].sum().item()
    assert mean == approx(source.mutual_information, abs=1e-12)
    assert (ratio[~possible] == -math.inf).all()


def test_log_ratio_takes_leading_axes():
    source = ChannelPairs(4, 0.2)
    pairs = torch.stack(source.sample(30, generator()))
    x, y = pairs.view(2, 2, 3, 5, 4)
    ratio = source.log_ratio(x, y)
    assert ratio.shape == (2, 3, 5, 5)
    last = source.log_ratio(x[1, 2], y[1, 2])
    assert torch.equal(ratio[1, 2], last)
