"""Critics against naive implementations that score one concatenated pair at a time."""

from __future__ import annotations

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


def perceptron(layers, values: torch.Tensor) -> torch.Tensor:
    """A perceptron of layers of one member, by plain torch."""
    *hidden, last = layers
    for layer in hidden:
        values = torch.relu(values @ layer.weight[0].T + layer.bias[0])
    return values @ last.weight[0].T + last.bias[0]


def inner_score(critic, x, y):
    return x @ y


def bilinear_score(critic, x, y):
    return x @ perceptron([critic.map_y], y)


def separable_score(critic, x, y):
    """Rows are x, unlike the published code."""
    return perceptron(critic.embed_x.layers, x) @ perceptron(critic.embed_y.layers, y)


def joint_score(critic, x, y):
    of_x = critic.first_x.weight[0] @ x
    of_y = critic.first_y.weight[0] @ y + critic.first_y.bias[0]
    hidden = torch.relu(of_x + of_y)
    return perceptron([*critic.hidden, critic.last], hidden).squeeze()


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
    """By both ways of computing them; gradients of the joint critic are in
    test_pairwise_layers.py.
    """
    dim_y = DIM if kind == "inner" else 6
    critic = make_critic(
        kind, DIM, dim_y, depth=depth, width=8, embed=5, generator=seeded(3)
    ).double()
    x = inputs(N, DIM)
    y = inputs(M, dim_y, seed=1)
    if batched:
        (scores,) = critic(x[None], y[None])
    else:
        scores = critic(x, y)
    expected = torch.empty(N, M, dtype=torch.float64)
    for i in range(N):
        for j in range(M):
            expected[i, j] = score(critic, x[i], y[j])
    assert_close(scores, expected, rtol=1e-12, atol=1e-14)


def parameters_of(*widths):
    """Weights and biases of a perceptron of these widths."""
    count = 0
    for width, following in zip(widths, widths[1:]):
        count += width * following + following
    return count


def test_depth_counts_hidden_layers_after_the_first():
    """As in the paper; the first layer of a joint critic is counted once, though it is
    kept in two blocks.
    """
    joint = make_critic("joint", 10, 10, depth=2)
    separable = make_critic("separable", 10, 10, depth=2)
    for critic, count in (
        (joint, parameters_of(20, 256, 256, 256, 1)),
        (separable, 2 * parameters_of(10, 256, 256, 256, 32)),
    ):
        assert sum(parameter.numel() for parameter in critic.parameters()) == count


FAN_IN = {
    "map_y": 60,
    "embed_x.layers.0": 40,
    "embed_y.layers.0": 60,
    "first_x": 100,
    "first_y": 100,
}


@pytest.mark.parametrize("kind", ["bilinear", "separable", "joint"])
def test_initial_distribution_is_that_of_torch_linear(kind):
    """Bounds and variance of U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for every parameter;
    the joint critic's first layer sees x and y. False alarms: the tolerance is 6
    standard errors of the variance, under 1e-7 for all parameters.
    """
    critic = make_critic(kind, 40, 60, width=50, generator=seeded(11))
    for name, parameter in critic.named_parameters():
        layer, _, _ = name.rpartition(".")
        limit = FAN_IN.get(layer, 50) ** -0.5
        assert parameter.abs().max() <= limit
        # of the mean square, relative: kurtosis of the uniform is 1.8
        tolerance = 6 * (0.8 / parameter.numel()) ** 0.5
        assert parameter.square().mean().item() == pytest.approx(
            limit**2 / 3, rel=tolerance
        )


def flat_weights(critic) -> torch.Tensor:
    return torch.cat([parameter.flatten() for parameter in critic.parameters()])


@pytest.mark.parametrize("kind", ["bilinear", "separable", "joint"])
def test_a_member_is_the_critic_made_with_its_generator(kind):
    seeds = (5, 6, 7)
    stacked = make_critic(
        kind, DIM, DIM, width=8, members=3, generator=[seeded(seed) for seed in seeds]
    )
    for k, seed in enumerate(seeds):
        single = make_critic(kind, DIM, DIM, width=8, generator=seeded(seed))
        assert torch.equal(flat_weights(stacked.member(k)), flat_weights(single))
    shared = make_critic(kind, DIM, DIM, width=8, members=2, generator=seeded(5))
    first = flat_weights(shared.member(0))
    assert torch.equal(first, flat_weights(stacked.member(0)))
    assert (first != flat_weights(shared.member(1))).all()


@pytest.mark.parametrize("kind", ["bilinear", "separable", "joint"])
def test_a_second_network_scores_pairs_only(kind):
    """As a critic of its own would, for one member and for several; it goes with the
    configuration.
    """
    sizes = {"depth": 1, "width": 8, "embed": 3}
    critic = make_critic(
        kind, DIM, DIM, **sizes, members=2, generator=seeded(4), second=True
    ).double()
    plain = make_critic(kind, DIM, DIM, **sizes).double()
    plain.load_state_dict(critic.second.member(1).state_dict())
    x, y = inputs(2, N, DIM)
    expected = plain(x, y).diagonal()
    shared = critic.second_scores(x, y)
    assert_close(shared[1], expected, rtol=1e-12, atol=1e-14)
    per_member = critic.second_scores(torch.stack([y, x]), torch.stack([x, y]))
    assert_close(per_member[1], expected, rtol=1e-12, atol=1e-14)
    assert plain.second_scores(x, y) is None
    rebuilt = type(critic)(**critic.config).double()
    rebuilt.load_state_dict(critic.state_dict())
    assert torch.equal(rebuilt(x, y), critic(x, y))
    assert torch.equal(rebuilt.second_scores(x, y), shared)


def test_member_copies_and_share_does_not():
    critic = make_critic("joint", DIM, DIM, width=8, members=2)
    copied = critic.member(1)
    shared = critic.share(1)
    assert copied.config == shared.config == {**critic.config, "members": 1}
    before = critic.first_x.weight[1].clone()
    with torch.no_grad():
        copied.first_x.weight += 1
        assert torch.equal(critic.first_x.weight[1], before)
        shared.first_x.weight += 1
        assert torch.equal(critic.first_x.weight[1], before + 1)


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
    critic = make_critic("joint", 4, 4, width=4, members=2)
    with refused(code="shape"):
        critic(torch.zeros(x), torch.zeros(y))


def test_a_member_that_is_not_there_is_refused():
    critic = make_critic("joint", 4, 4, members=2)
    with refused("k", "name"):
        critic.member(2)
