"""Critics against naive implementations that score one concatenated pair at a time."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from infoscope.estimators import make_critic
from tests.refusals import refused

KINDS = ["inner", "bilinear", "separable", "joint"]
N, M, DIM = 5, 7, 4


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def inputs(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=seeded(seed))


def perceptron(layers: list[tuple[torch.Tensor, torch.Tensor]]) -> nn.Sequential:
    """A plain torch perceptron with the given weights and biases."""
    modules: list[nn.Module] = []
    for weight, bias in layers:
        linear = nn.Linear(*reversed(weight.shape), dtype=weight.dtype)
        linear.load_state_dict({"weight": weight.detach(), "bias": bias.detach()})
        modules += [linear, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def joint_perceptron(critic) -> nn.Sequential:
    first = torch.cat([critic.first_x.weight[0], critic.first_y.weight[0]], dim=1)
    rest = [(layer.weight[0], layer.bias[0]) for layer in (*critic.hidden, critic.last)]
    return perceptron([(first, critic.first_y.bias[0]), *rest])


def tiled(critic, module: nn.Sequential, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.stack([torch.stack([module(torch.cat([a, b])).squeeze() for b in y]) for a in x])


@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("batched", [False, True])
def test_joint_critic_is_the_perceptron_of_all_concatenated_pairs(depth, batched):
    """By both ways of computing them; gradients are in test_pairwise_layers.py."""
    critic = make_critic("joint", 3, 6, depth=depth, width=8, generator=seeded(3)).double()
    module = joint_perceptron(critic)
    x, y = inputs(N, 3), inputs(M, 6, seed=1)
    scores = critic(x[None], y[None])[0] if batched else critic(x, y)
    expected = tiled(critic, module, x, y)
    assert_close(scores, expected, rtol=1e-12, atol=1e-14)


def test_separable_critic_by_loops():
    """S[i, j] = g(x_i) . h(y_j): rows are x, unlike the published code."""
    critic = make_critic("separable", 4, 3, depth=1, width=8, embed=5).double()
    g, h = (perceptron([(m.weight[0], m.bias[0]) for m in mlp.layers]) for mlp in (critic.embed_x, critic.embed_y))
    x, y = inputs(N, 4), inputs(M, 3, seed=1)
    expected = torch.stack([torch.stack([g(a) @ h(b) for b in y]) for a in x])
    assert_close(critic(x, y), expected, rtol=1e-12, atol=1e-14)


def test_bilinear_and_inner_critics_by_loops():
    x, y = inputs(N, 4), inputs(M, 3, seed=1)
    critic = make_critic("bilinear", 4, 3).double()
    weight, bias = critic.map_y.weight[0], critic.map_y.bias[0]
    expected = torch.stack([torch.stack([a @ (weight @ b + bias) for b in y]) for a in x])
    assert_close(critic(x, y), expected, rtol=1e-12, atol=1e-14)
    y = inputs(M, 4, seed=1)
    assert_close(make_critic("inner", 4, 4)(x, y), x @ y.T)


def test_layer_counts_of_the_paper():
    """Depth L has L + 1 hidden layers: L + 2 maps, the first counted once though it is kept in two blocks."""
    depth = 2
    joint = make_critic("joint", 10, 10, depth=depth)
    assert sum(p.numel() for p in joint.parameters()) == 20 * 256 + 256 + depth * (256 * 256 + 256) + 257
    separable = make_critic("separable", 10, 10, depth=depth)
    one = 10 * 256 + 256 + depth * (256 * 256 + 256) + 32 * 256 + 32
    assert sum(p.numel() for p in separable.parameters()) == 2 * one


@pytest.mark.parametrize("kind", ["bilinear", "separable", "joint"])
def test_initial_distribution_is_that_of_torch_linear(kind):
    """Bounds and variance of U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for every parameter; the joint critic's first layer
    sees x and y. False alarms: the tolerance is 6 standard errors of the variance, under 1e-7 for all parameters."""
    critic = make_critic(kind, 40, 60, width=50, generator=seeded(11))
    for name, parameter in critic.named_parameters():
        fan_in = {"map_y": 60, "embed_x.layers.0": 40, "embed_y.layers.0": 60, "first_x": 100, "first_y": 100}.get(
            name.rpartition(".")[0], 50
        )
        limit = fan_in**-0.5
        assert parameter.abs().max() <= limit
        tolerance = 6 * (0.8 / parameter.numel()) ** 0.5  # of the mean square, relative: kurtosis of the uniform is 1.8
        assert parameter.square().mean().item() == pytest.approx(limit**2 / 3, rel=tolerance)


@pytest.mark.parametrize("kind", ["bilinear", "separable", "joint"])
def test_a_member_is_the_critic_made_with_its_generator(kind):
    stacked = make_critic(kind, DIM, DIM, width=8, members=3, generator=[seeded(s) for s in (5, 6, 7)])
    for k, seed in enumerate((5, 6, 7)):
        single = make_critic(kind, DIM, DIM, width=8, generator=seeded(seed))
        for name, parameter in stacked.member(k).state_dict().items():
            assert torch.equal(parameter, single.state_dict()[name])
    shared = make_critic(kind, DIM, DIM, width=8, members=2, generator=seeded(5))
    assert all(torch.equal(a, b) for a, b in zip(shared.member(0).parameters(), stacked.member(0).parameters()))
    assert not any(torch.equal(a, b) for a, b in zip(shared.member(1).parameters(), shared.member(0).parameters()))


@pytest.mark.parametrize("kind", KINDS)
def test_members_score_as_they_do_alone(kind):
    critic = make_critic(kind, DIM, DIM, width=8, members=3).double()
    x, y = inputs(N, DIM), inputs(M, DIM, seed=1)
    own_x, own_y = inputs(3, N, DIM, seed=2), inputs(3, M, DIM, seed=3)
    shared, own = critic(x, y), critic(own_x, own_y)
    assert shared.shape == own.shape == (3, N, M)
    for k in range(3):
        member = critic.member(k)
        assert_close(shared[k], member(x, y), rtol=1e-12, atol=1e-14)
        assert_close(own[k], member(own_x[k], own_y[k]), rtol=1e-12, atol=1e-14)
        assert member(own_x[:1], own_y[:1]).shape == (1, N, M)


@pytest.mark.parametrize("kind", ["bilinear", "separable", "joint"])
def test_a_second_network_scores_pairs_only(kind):
    """As a critic of its own would, for one member and for several; it goes with the configuration."""
    sizes = {"depth": 1, "width": 8, "embed": 3}
    critic = make_critic(kind, DIM, DIM, **sizes, members=2, generator=seeded(4), second=True).double()
    first = make_critic(kind, DIM, DIM, **sizes).double()
    x, y, own = inputs(N, DIM), inputs(N, DIM, seed=1), inputs(2, N, DIM, seed=2)
    first.load_state_dict(critic.second.member(1).state_dict())
    assert_close(critic.second_scores(x, y)[1], first(x, y).diagonal(), rtol=1e-12, atol=1e-14)
    assert_close(critic.second_scores(own, own)[1], first(own[1], own[1]).diagonal(), rtol=1e-12, atol=1e-14)
    rebuilt = type(critic)(**json.loads(json.dumps(critic.config))).double()
    rebuilt.load_state_dict(critic.state_dict())
    assert torch.equal(rebuilt(x, y), critic(x, y))
    assert torch.equal(rebuilt.second_scores(x, y), critic.second_scores(x, y))
    assert make_critic(kind, DIM, DIM).second_scores(x.float(), y.float()) is None


def test_member_copies_and_share_does_not():
    critic = make_critic("joint", DIM, DIM, width=8, members=2)
    copied, shared = critic.member(1), critic.share(1)
    before = critic.first_x.weight[1].clone()
    with torch.no_grad():
        copied.first_x.weight += 1
    assert torch.equal(critic.first_x.weight[1], before)
    with torch.no_grad():
        shared.first_x.weight += 1
    assert torch.equal(critic.first_x.weight[1], before + 1)
    assert copied.config == shared.config == {**critic.config, "members": 1}


@pytest.mark.parametrize(
    ("arguments", "argument", "code"),
    [
        ({"kind": "mlp"}, "kind", "name"),
        ({"width": 2.5}, "width", "range"),
        ({"depth": -1}, "depth", "range"),
        ({"members": 2, "generator": [seeded(0)]}, "generator", "length"),
        ({"kind": "inner", "dim_y": 5}, "dim_y", "invalid"),
        ({"kind": "inner", "second": True}, "second", "type"),
    ],
)
def test_bad_arguments(arguments, argument, code):
    with refused(argument, code):
        make_critic(**{"kind": "joint", "dim_x": 4, "dim_y": 4, **arguments})


@pytest.mark.parametrize("x, y", [((5, 3), (5, 4)), ((3, 5, 4), (3, 5, 4))])
def test_bad_shapes(x, y):
    with refused(code="shape"):
        make_critic("joint", 4, 4, width=4, members=2)(torch.zeros(x), torch.zeros(y))
    with refused("k", "name"):
        make_critic("joint", 4, 4, members=2).member(2)
