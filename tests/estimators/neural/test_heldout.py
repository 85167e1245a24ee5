"""Held-out estimates against a plain loop, closed forms and the lower bound they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from pytest import approx

from infoscope.data import GaussianPairs
from infoscope.estimators import (
    BOUNDS,
    SeparableCritic,
    fit_critic,
    held_out,
    make_critic,
)
from tests.refusals import refused

SOURCE = GaussianPairs(2, mutual_information=0.7)
ALL = ["nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-inf"]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", ["inner", "bilinear", "separable", "joint"])
def test_it_is_the_plain_loop(kind):
    """Mean, standard error and the rest over batches drawn one after another; nothing
    is trained.
    """
    critic = make_critic(kind, 2, 2, width=8, generator=seeded(1)).double()
    before = {name: value.clone() for name, value in critic.state_dict().items()}
    estimates = held_out(SOURCE, critic, ALL, 40, 5, seeded(2))
    stream = seeded(2)
    scores = []
    for _ in range(5):
        x, y = SOURCE.sample(40, stream)
        dtype = critic.dtype or x.dtype
        scores.append(critic(x.to(dtype), y.to(dtype)).double())
    assert list(estimates) == ALL
    for name, estimated in estimates.items():
        values = [BOUNDS[name].estimate(matrix).item() for matrix in scores]
        assert estimated.value == approx(np.mean(values), abs=1e-9)
        assert estimated.standard_error == approx(
            np.std(values, ddof=1) / math.sqrt(5), rel=1e-6
        )
        assert estimated.units == 5
        assert estimated.n == 200
    assert all(
        torch.equal(before[name], value) for name, value in critic.state_dict().items()
    )


def test_a_batch_that_is_not_finite_is_counted_and_not_hidden():
    critic = make_critic("joint", 2, 2, width=8)
    with torch.no_grad():
        critic.last.bias.fill_(math.nan)
    estimated = held_out(SOURCE, critic, "dv", 8, 3, seeded(8))["dv"]
    assert "3 of 3" in estimated.notes[-1]
    assert np.isnan([estimated.value, estimated.standard_error]).all()


def test_large_scores_do_not_overflow_where_float32_would():
    """Scores of 100 everywhere: exp(99) overflows float32 and is 9.9e42 in float64."""
    critic = make_critic("bilinear", 2, 2)
    with torch.no_grad():
        critic.map_y.weight.zero_()
        critic.map_y.bias.fill_(100.0)
    estimates = held_out(FixedOnes(), critic, ["nwj", "dv"], 8, 2, seeded(9))
    assert estimates["nwj"].value == approx(100 - math.exp(99), rel=1e-9)
    assert estimates["dv"].value == approx(0, abs=1e-9)


class FixedOnes:
    """x = (1, 0), always."""

    mutual_information = 0.0
    dim_x = 2
    dim_y = 2

    def sample(self, n, generator, device="cpu"):
        x = torch.zeros(n, 2)
        x[:, 0] = 1
        return x, x


@pytest.mark.parametrize(
    ("change", "argument", "code"),
    [
        ({"critic": make_critic("joint", 2, 2, width=4, members=2)}, "critic", "range"),
        ({"source": GaussianPairs(3, mutual_information=1.0)}, "source", "shape"),
        ({"bounds": []}, "bounds", "conflict"),
        ({"bounds": ["dv", "dv"]}, "bounds", "conflict"),
        ({"batches": 1}, "batches", "range"),
        ({"generator": None}, "generator", "type"),
    ],
)
def test_bad_input(change, argument, code):
    critic = make_critic("joint", 2, 2, width=4)
    arguments = dict(
        source=SOURCE,
        critic=critic,
        bounds="dv",
        batch=8,
        batches=2,
        generator=seeded(0),
    )
    with refused(argument, code):
        held_out(**{**arguments, **change})


NATS = 1.0
PAIRS = GaussianPairs(1, mutual_information=NATS)
# what an objective leaves open
OPEN = {"nwj": 0, "js": 0, "dv": 1, "mine": 1, "mine-one-step": 1, "infonce": 2}
# a report is blind to
NEEDED = {
    "nwj": 0,
    "js": 0,
    "smile-5": 0,
    "dv": 1,
    "mine": 1,
    "smile-inf": 1,
    "infonce": 2,
}


class FreeCritic(SeparableCritic):
    """The exact optimum of its objective, with what that leaves open at its worst."""

    def _scores(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        scores = PAIRS.log_ratio(x, y)
        match self.objectives:
            case ("nwj",):
                return scores + 1
            case ("dv",) | ("mine",) | ("mine-one-step",):
                return scores - 40
            case ("infonce",):
                return scores + 20 * x.sum(-1, keepdim=True)
        return scores


@pytest.mark.parametrize("objective", OPEN)
@pytest.mark.parametrize("bound", NEEDED)
def test_a_bound_is_read_from_sufficient_training_and_refused_elsewhere(
    objective, bound
):
    """What is read off an optimum is the truth (js: low by 1/e nats; infonce: at most
    log n), to 5 standard errors.
    """
    critic = FreeCritic(1, 1, depth=2, width=2, embed=32, objectives=[objective])
    if OPEN[objective] > NEEDED[bound] and objective != bound:
        with refused("bounds", "invalid"):
            held_out(PAIRS, critic, bound, 256, 20, seeded(0))
        return
    estimated = held_out(PAIRS, critic, bound, 256, 20, seeded(0))[bound]
    bias = -1 / math.e if bound == "js" else 0.0
    assert estimated.value == approx(
        NATS + bias, abs=5 * estimated.standard_error + 0.02
    )
    assert estimated.notes == ()


def test_every_member_keeps_its_own_objective_and_a_later_training_counts():
    critic = make_critic("joint", 1, 1, width=8, members=2, generator=seeded(0))
    assert critic.objectives is None
    fit_critic(PAIRS, critic, ["dv", ("js", "smile-5")], 2, batch=8)
    assert critic.objectives == ("dv", "js")
    assert critic.member(1).objectives == critic.share(1).objectives == ("js",)
    rebuilt = type(critic)(**critic.config)
    rebuilt.load_state_dict(critic.state_dict())
    assert rebuilt.objectives == critic.objectives
    fit_critic(PAIRS, critic, ["infonce", "nwj"], 1, batch=8)
    assert critic.objectives == ("infonce", "nwj")


def test_a_critic_of_unknown_training_has_a_note():
    """Critics that were logged before the objective was recorded load and are read,
    with a word.
    """
    critic = make_critic("bilinear", 1, 1)
    estimated = held_out(PAIRS, critic, "nwj", 16, 2, seeded(0))["nwj"]
    assert "not known" in estimated.notes[0]
    critic.trained_under(["my own"])
    estimated = held_out(PAIRS, critic, "dv", 16, 2, seeded(0))["dv"]
    assert "'my own'" in estimated.notes[0]
    with refused("objectives", "invalid"):
        critic.trained_under(["dv", "js"])
