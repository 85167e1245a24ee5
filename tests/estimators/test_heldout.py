"""Held-out estimates against a plain loop, closed forms and the lower bound they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from infoscope.data import GaussianPairs
from infoscope.estimators import BOUNDS, InnerCritic, fit_critic, held_out, make_critic
from infoscope.estimators.blocked import PairwiseLayers

SOURCE = GaussianPairs(2, mutual_information=0.7)
ALL = ["nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-inf"]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", ["inner", "bilinear", "separable", "joint"])
def test_it_is_the_plain_loop(kind):
    """Mean, standard error and the rest over batches drawn one after another; nothing is trained."""
    critic = make_critic(kind, 2, 2, width=8, generator=seeded(1)).double()
    before = {name: value.clone() for name, value in critic.state_dict().items()}
    found = held_out(SOURCE, critic, ALL, 40, 5, seeded(2))

    stream = seeded(2)
    scores = [critic(*(side.to(critic.dtype or side.dtype) for side in SOURCE.sample(40, stream))) for _ in range(5)]
    assert list(found) == ALL
    for name, got in found.items():
        values = [BOUNDS[name].estimate(s.double()).item() for s in scores]
        assert got.mean == pytest.approx(np.mean(values), abs=1e-9)
        assert got.standard_error == pytest.approx(np.std(values, ddof=1) / math.sqrt(5), rel=1e-6)
        assert (got.batches, got.pairs, got.nonfinite) == (5, 200, 0)
    assert all(torch.equal(before[name], value) for name, value in critic.state_dict().items())


def test_one_bound_and_a_member_of_several():
    critic = make_critic("joint", 2, 2, width=8, members=3, generator=[seeded(k) for k in range(3)])
    shared = held_out(SOURCE, critic.share(2), "dv", 16, 3, seeded(4))
    copied = held_out(SOURCE, critic.member(2), [BOUNDS["dv"]], 16, 3, seeded(4), device="cpu")
    assert shared == copied and list(shared) == ["dv"]


class ExactCritic(InnerCritic):
    """The exact log density ratio of SOURCE."""

    def _scores(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return SOURCE.log_ratio(x, y)


def test_an_exact_critic_reports_the_truth():
    """dv with the exact log ratio: 20 batches of 512 pairs agree with the true 0.7 nats within 5 standard errors.

    The bias of the logarithm is about 0.002 nats against a standard error of about 0.01, so a false alarm is some 4.8
    standard errors, under 1e-4 with 19 degrees of freedom.
    """
    found = held_out(SOURCE, ExactCritic(2, 2), ["dv", "js"], 512, 20, seeded(5))
    assert 0 < found["dv"].standard_error < 0.05
    assert found["dv"].mean == pytest.approx(0.7, abs=5 * found["dv"].standard_error)
    assert found["js"].mean == pytest.approx(0.7 - 1 / math.e, abs=5 * found["js"].standard_error)


def test_what_was_learnt_holds_on_fresh_pairs():
    """After training for 1 bit: a lower bound above 0.8 of it, not above the truth by 5 standard errors.

    The untrained critic reports about 0: this fails if anything but the trained weights is measured.
    """
    bit = math.log(2)
    source = GaussianPairs(2, mutual_information=bit)
    critic = make_critic("joint", 2, 2, width=32, generator=seeded(1))
    untrained = held_out(source, critic, "infonce", 256, 4, seeded(6))["infonce"]
    assert abs(untrained.mean) < 0.1
    fit_critic(source, critic, "infonce", 400, learning_rate=3e-3, generator=seeded(4))
    found = held_out(source, critic, "infonce", 256, 20, seeded(6))["infonce"]
    assert 0.8 * bit < found.mean < bit + 5 * found.standard_error


def test_scores_without_gradients_equal_those_with(monkeypatch):
    """The joint critic's two ways, several blocks and the last one partial; no layer's output of all pairs is kept."""
    critic = make_critic("joint", 2, 2, width=16).double()
    x, y = (side.double() for side in SOURCE.sample(70, seeded(7)))
    expected = critic(x, y).detach()
    monkeypatch.setattr(PairwiseLayers, "apply", lambda *_: pytest.fail("keeps every layer for a backward pass"))
    with torch.no_grad():
        torch.testing.assert_close(critic(x, y), expected, rtol=1e-12, atol=1e-14)


def test_a_batch_that_is_not_finite_is_counted_and_not_hidden():
    critic = make_critic("joint", 2, 2, width=8)
    with torch.no_grad():
        critic.last.bias.fill_(math.nan)
    found = held_out(SOURCE, critic, ["dv", "nwj"], 8, 3, seeded(8))
    assert all(got.nonfinite == 3 and math.isnan(got.mean) and math.isnan(got.standard_error) for got in found.values())


def test_large_scores_do_not_overflow_where_float32_would():
    """Scores of 100 everywhere: exp(99) overflows float32 and is 9.9e42 in float64."""
    critic = make_critic("bilinear", 2, 2)
    with torch.no_grad():
        critic.map_y.weight.zero_()
        critic.map_y.bias.fill_(100.0)
    ones = FixedOnes()
    found = held_out(ones, critic, ["nwj", "dv"], 8, 2, seeded(9))
    assert found["nwj"].mean == pytest.approx(100 - math.exp(99), rel=1e-9) and found["nwj"].nonfinite == 0
    assert found["dv"].mean == pytest.approx(0, abs=1e-9)


class FixedOnes:
    """x = (1, 0), always."""

    mutual_information, dim_x, dim_y = 0.0, 2, 2

    def sample(self, n, generator, device="cpu"):
        x = torch.zeros(n, 2)
        x[:, 0] = 1
        return x, x


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"critic": make_critic("joint", 2, 2, width=4, members=2)},
            r"critic must have one member \(see share\), got 2",
        ),
        ({"critic": nn.Linear(2, 2)}, "critic must be a Critic"),
        ({"source": GaussianPairs(3, mutual_information=1.0)}, r"source must have dimensions .* = \(2, 2\)"),
        ({"source": object()}, "source must have sample"),
        ({"bounds": []}, r"bounds must be one bound or several different ones, got \[\]"),
        ({"bounds": ["dv", "dv"]}, "bounds must be one bound or several different ones"),
        ({"bounds": "dvv"}, "bound must be one of nwj"),
        ({"batch": 1}, "batch must be a whole number of at least 2, got 1"),
        ({"batches": 1}, "batches must be a whole number of at least 2, got 1"),
        ({"generator": None}, "generator must be a torch.Generator, got NoneType"),
    ],
)
def test_bad_input(change, message):
    arguments = {
        "source": SOURCE,
        "critic": make_critic("joint", 2, 2, width=4),
        "bounds": "dv",
        "batch": 8,
        "batches": 2,
        "generator": seeded(0),
    }
    with pytest.raises(ValueError, match=message):
        held_out(**{**arguments, **change})
