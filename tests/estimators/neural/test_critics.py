"""Critics against naive implementations that score one concatenated pair at a time."""

from __future__ import annotations

import json

import pytest
import torch
from torch.testing import assert_close

from infoscope.estimators import make_critic
from tests.refusals import refused

KINDS = ["inner", "bilinear", "separable", "joint"]
N, M, DIM = 5, 7, 4


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def inputs(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=seeded(seed))


def perceptron(layers, h: torch.Tensor) -> torch.Tensor:
    """A perceptron of weights and biases, by plain torch."""
    *hidden, (weight, bias) = layers
    for w, b in hidden:
        h = torch.relu(h @ w.T + b)
    return h @ weight.T + bias


def weights_of(maps) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(layer.weight[0], layer.bias[0]) for layer in maps]


def inner_score(critic, x, y):
    return x @ y


def bilinear_score(critic, x, y):
    return x @ perceptron(weights_of([critic.map_y]), y)


def separable_score(critic, x, y):
    """Rows are x, unlike the published code."""
    g = perceptron(weights_of(critic.embed_x.layers), x)
    h = perceptron(weights_of(critic.embed_y.layers), y)
    return g @ h


def joint_score(critic, x, y):
    first = torch.cat([critic.first_x.weight[0], critic.first_y.weight[0]], dim=1)
    later = weights_of([*critic.hidden, critic.last])
    return perceptron([(first, critic.first_y.bias[0]), *later], torch.cat([x, y])).squeeze()


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(
    ("kind", "depth", "score"),
    [
        ("inner", 2, inner_score),
        ("bilinear", 2, bilinear_score),
        ("separable", 0, separable_score),
        ("separable", 1, separable_score),
        ("joint", 0, joint_score),
        ("joint", 2, joint_score),
    ],
)
def test_scores_are_those_of_one_pair_at_a_time(kind, depth, score, batched):
    """By both ways of computing them; gradients of the joint critic are in test_pairwise_layers.py."""
    dim_y = DIM if kind == "inner" else 6
    critic = make_critic(kind, DIM, dim_y, depth=depth, width=8, embed=5, generator=seeded(3)).double()
    x = inputs(N, DIM)
    y = inputs(M, dim_y, seed=1)
    scores = critic(x[None], y[None])[0] if batched else critic(x, y)
    rows = [torch.stack([score(critic, a, b) for b in y]) for a in x]
    assert_close(scores, torch.stack(rows), rtol=1e-12, atol=1e-14)


def test_layer_counts_of_the_paper():
    """Depth L has L + 1 hidden layers: L + 2 maps, the first counted once though it is kept in two blocks."""
    depth = 2
    joint = make_critic("joint", 10, 10, depth=depth)
    assert sum(p.numel() for p in joint.parameters()) == 20 * 256 + 256 + depth * (256 * 256 + 256) + 257
    separable = make_critic("separable", 10, 10, depth=depth)
    one = 10 * 256 + 256 + depth * (256 * 256 + 256) + 32 * 256 + 32
    assert sum(p.numel() for p in separable.parameters()) == 2 * one


FAN_IN = {"map_y": 60, "embed_x.layers.0": 40, "embed_y.layers.0": 60, "first_x": 100, "first_y": 100}


@pytest.mark.parametrize("kind", ["bilinear", "separable", "joint"])
def test_initial_distribution_is_that_of_torch_linear(kind):
    """Bounds and variance of U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for every parameter; the joint critic's first layer
    sees x and y. False alarms: the tolerance is 6 standard errors of the variance, under 1e-7 for all parameters."""
    critic = make_critic(kind, 40, 60, width=50, generator=seeded(11))
    for name, parameter in critic.named_parameters():
        layer, _, _ = name.rpartition(".")
        limit = FAN_IN.get(layer, 50) ** -0.5
        assert parameter.abs().max() <= limit
        tolerance = 6 * (0.8 / parameter.numel()) ** 0.5  # of the mean square, relative: kurtosis of the uniform is 1.8
        assert parameter.square().mean().item() == pytest.approx(limit**2 / 3, rel=tolerance)


def same_weights(a, b) -> bool:
    return all(torch.equal(one, other) for one, other in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.parametrize("kind", ["bilinear", "separable", "joint"])
def test_a_member_is_the_critic_made_with_its_generator(kind):
    seeds = (5, 6, 7)
    stacked = make_critic(kind, DIM, DIM, width=8, members=3, generator=[seeded(seed) for seed in seeds])
    for k, seed in enumerate(seeds):
        single = make_critic(kind, DIM, DIM, width=8, generator=seeded(seed))
        assert same_weights(stacked.member(k), single)
    shared = make_critic(kind, DIM, DIM, width=8, members=2, generator=seeded(5))
    first, second = shared.member(0), shared.member(1)
    assert same_weights(first, stacked.member(0))
    assert not any(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters()))


@pytest.mark.parametrize("kind", KINDS)
def test_members_score_as_they_do_alone(kind):
    critic = make_critic(kind, DIM, DIM, width=8, members=3).double()
    shared = inputs(N, DIM), inputs(M, DIM, seed=1)
    per_member = inputs(3, N, DIM, seed=2), inputs(3, M, DIM, seed=3)
    of_shared = critic(*shared)
    of_members = critic(*per_member)
    assert of_shared.shape == of_members.shape == (3, N, M)
    for k in range(3):
        member = critic.member(k)
        x, y = (values[k] for values in per_member)
        assert_close(of_shared[k], member(*shared), rtol=1e-12, atol=1e-14)
        assert_close(of_members[k], member(x, y), rtol=1e-12, atol=1e-14)
        assert member(x[None], y[None]).shape == (1, N, M)


@pytest.mark.parametrize("kind", ["bilinear", "separable", "joint"])
def test_a_second_network_scores_pairs_only(kind):
    """As a critic of its own would, for one member and for several; it goes with the configuration."""
    sizes = {"depth": 1, "width": 8, "embed": 3}
    critic = make_critic(kind, DIM, DIM, **sizes, members=2, generator=seeded(4), second=True).double()
    plain = make_critic(kind, DIM, DIM, **sizes).double()
    plain.load_state_dict(critic.second.member(1).state_dict())
    x, y = inputs(2, N, DIM)
    per_member = inputs(2, N, DIM, seed=2)
    for arguments, of_member in (((x, y), (x, y)), ((per_member, per_member), (per_member[1], per_member[1]))):
        expected = plain(*of_member).diagonal()
        assert_close(critic.second_scores(*arguments)[1], expected, rtol=1e-12, atol=1e-14)
    configuration = json.loads(json.dumps(critic.config))
    rebuilt = type(critic)(**configuration).double()
    rebuilt.load_state_dict(critic.state_dict())
    assert torch.equal(rebuilt(x, y), critic(x, y))
    assert torch.equal(rebuilt.second_scores(x, y), critic.second_scores(x, y))
    assert plain.second_scores(x, y) is None


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
