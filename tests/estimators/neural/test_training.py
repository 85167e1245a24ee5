"""The engine against a plain loop, against itself in its other forms, and on a problem
it must learn.
"""

import io
import math

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx

from infoscope.data import GaussianPairs
from infoscope.estimators import (
    BOUNDS,
    Training,
    fit_critic,
    make_critic,
    share_training,
)
from infoscope.estimators.neural.bounds import split
from tests.refusals import refused

SOURCE = GaussianPairs(2, mutual_information=0.7)
MIXED = [
    "dv",
    ("js", "smile-1", "smile-inf"),
    "mine",
    ("smile-1", "smile-5"),
    "infonce",
    "mine-one-step",
    "nwj",
    "flo",
    ("infonce-anchor",),
    "dime-hellinger",
]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def critic_of(members=1, kind="joint", width=8, dtype=torch.float64, second=False):
    generators = [seeded(100 + k) for k in range(members)]
    sizes = {"width": width, "embed": 4, "members": members}
    critic = make_critic(kind, 2, 2, **sizes, generator=generators, second=second)
    return critic.to(dtype)


def assert_same_weights(critic, other, atol=0.0):
    for parameter, expected in zip(
        critic.parameters(), other.parameters(), strict=True
    ):
        torch.testing.assert_close(parameter, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("name", list(BOUNDS))
def test_a_training_is_the_plain_loop(name):
    """Estimate on the batch before the update, one step of Adam up the objective, the
    same critic afterwards.
    """
    second = name == "flo"
    trained = critic_of(second=second)
    trace = fit_critic(
        SOURCE, trained, name, 8, batch=8, learning_rate=1e-2, generator=seeded(1)
    )

    plain = critic_of(second=second)
    optimiser = torch.optim.Adam(plain.parameters(), lr=1e-2, fused=False)
    bound = BOUNDS[name]
    stream = seeded(1)
    memory = None
    expected = []
    for _ in range(8):
        x, y = SOURCE.sample(8, stream)
        x, y = x.double(), y.double()
        scores = split(plain(x, y), plain.second_scores(x, y))
        expected.append(bound.estimate(scores).item())
        if memory is None:
            memory = bound.objective.start(scores.matrix)
        value, memory = bound.objective(scores, memory)
        optimiser.zero_grad()
        (-value).backward()
        optimiser.step()
    assert_allclose(trace.of(name), expected, rtol=0, atol=1e-10)
    assert_same_weights(trained, plain, atol=1e-9)


MEMBERS = len(MIXED)
SEEDS = {
    "one": [3] * MEMBERS,
    "two": [3, 4] * (MEMBERS // 2),
    "own": list(range(3, 3 + MEMBERS)),
}
SETTINGS = {"steps": 12, "batch": 8, "learning_rate": 3e-3}


@pytest.mark.parametrize(
    ("kind", "streams"), [("joint", "one"), ("joint", "two"), ("separable", "own")]
)
def test_packed_sequential_and_alone_agree(kind, streams):
    """In float64 to 1e-9, whether members see the same batches or not; weights to 2e-6,
    because flo leaves a function of x open, along which Adam follows the rounding of a
    gradient that is zero.
    """
    seeds = SEEDS[streams]

    def train(packed):
        critic = critic_of(MEMBERS, kind, second=True)
        # one for all members of a seed
        generators = {seed: seeded(seed) for seed in seeds}
        generator = [generators[seed] for seed in seeds]
        if streams == "one":
            generator = generator[0]
        trace = fit_critic(
            SOURCE, critic, MIXED, generator=generator, packed=packed, **SETTINGS
        )
        return critic, trace

    packed, of_packed = train(True)
    sequential, of_sequential = train(False)
    assert of_packed.reports == of_sequential.reports
    assert_allclose(of_packed.values, of_sequential.values, rtol=0, atol=1e-9)
    assert_same_weights(packed, sequential, atol=2e-6)
    for k in (1, 2, 7, 9):
        single = critic_of(MEMBERS, kind, second=True).member(k)
        alone = fit_critic(
            SOURCE, single, [MIXED[k]], generator=seeded(seeds[k]), **SETTINGS
        )
        for _, name in alone.reports:
            assert_allclose(of_packed.of(name, k), alone.of(name), rtol=0, atol=1e-9)
        tolerance = 2e-6 if MIXED[k] == "flo" else 1e-9
        assert_same_weights(packed.member(k), single, atol=tolerance)


def test_bounds_that_share_a_training_report_what_they_would_alone():
    group = ("js", "smile-1", "smile-inf", "smile-0.5")
    shared = fit_critic(SOURCE, critic_of(), [group], 10, batch=8, generator=seeded(2))
    for name in group:
        alone = fit_critic(SOURCE, critic_of(), name, 10, batch=8, generator=seeded(2))
        assert_array_equal(shared.of(name), alone.of(name))


@pytest.mark.parametrize("packed", [False, True])
def test_interrupted_training_ends_bit_identical(packed):
    """Saved to bytes, read back without pickle's code, continued on fresh objects that
    start from other numbers.
    """

    def training(seed):
        critic = make_critic("joint", 2, 2, width=8, members=4, generator=seeded(seed))
        bounds = ["mine", ("js", "smile-1"), "mine-one-step", "dv"]
        streams = [seeded(seed + k // 2) for k in range(4)]
        sources = [SOURCE, GaussianPairs(2, mutual_information=2.0)]
        return Training(
            sources, critic, bounds, [9, 8], batch=8, generator=streams, packed=packed
        )

    whole = training(5)
    whole.advance(100)
    interrupted = training(5)
    interrupted.advance(4)
    interrupted.advance(3)
    saved = io.BytesIO()
    torch.save(interrupted.state_dict(), saved)
    interrupted.advance(5)  # what happens after a snapshot does not reach it
    saved.seek(0)
    resumed = training(6)
    resumed.load_state_dict(torch.load(saved, weights_only=True))
    assert resumed.done == 7
    assert resumed.total == 17
    resumed.advance(10)
    assert_array_equal(resumed.trace.values, whole.trace.values)
    assert_same_weights(resumed.critic, whole.critic)
    other = Training(SOURCE, critic_of(), "dv", 5, batch=8)
    with refused("state", "conflict"):
        other.load_state_dict(interrupted.state_dict())


def test_a_schedule_runs_through_one_critic():
    """The truth follows the schedule; weights, Adam and the stream of batches carry
    over.
    """
    low = GaussianPairs(2, mutual_information=0.5)
    high = GaussianPairs(2, mutual_information=1.5)
    trace = fit_critic([low, high], critic_of(), "dv", [3, 4], batch=8)
    assert_allclose(trace.truth, [0.5] * 3 + [1.5] * 4)
    critic = critic_of()
    uncut_critic = critic_of()
    cut = fit_critic([low, low], critic, "dv", [3, 4], batch=8)
    uncut = fit_critic(low, uncut_critic, "dv", 7, batch=8)
    assert_array_equal(cut.values, uncut.values)
    assert_same_weights(critic, uncut_critic)


@pytest.mark.parametrize("packed", [False, True])
def test_a_diverged_member_is_visible_and_touches_no_other(packed):
    settings = {"bound": ["dv", "dv", "nwj"], "steps": 10, "batch": 8, "packed": packed}
    healthy = fit_critic(SOURCE, critic_of(3), **settings)
    critic = critic_of(3)
    with torch.no_grad():
        critic.hidden[0].weight[1, 0, 0] = math.nan
    trace = fit_critic(SOURCE, critic, **settings)
    assert_array_equal(trace.nonfinite, [0, 10, 0])
    assert_array_equal(trace.values[[0, 2]], healthy.values[[0, 2]])
    assert critic.member(1).last.weight.isnan().all()


def test_every_bound_learns_one_bit():
    """1 bit in two Gaussian vectors: the mean of 100 late estimates is within 0.2 bits
    of it (js: of 1/e nats less).

    Its standard error is about 0.02 bits, and 0.05 to 0.14 are not yet learnt. The
    untrained critics score all pairs about 0 and report the same as a constant.
    """
    bit = math.log(2)
    source = GaussianPairs(2, mutual_information=bit)
    groups = share_training(list(BOUNDS))
    critic = critic_of(len(groups), width=16, dtype=torch.float32, second=True)
    settings = {
        "batch": 48,
        "learning_rate": 6e-3,
        "generator": seeded(4),
        "packed": True,
    }
    trace = fit_critic(source, critic, groups, 250, **settings)
    assert trace.nonfinite.sum() == 0
    for member, name in trace.reports:
        values = trace.of(name, member)
        bias = -1 / math.e if name == "js" else 0.0
        untrained = -1 / math.e if name in ("js", "nwj") else 0.0
        assert values[-100:].mean() == approx(bit + bias, abs=0.2 * bit), name
        assert values[0] == approx(untrained, abs=0.3), name


def test_a_trace_is_drawn_with_the_truth_and_summed_up_in_a_table():
    trace = fit_critic(SOURCE, critic_of(2), [("js", "smile-5"), "dv"], 20, batch=4)
    assert trace.reports == ((0, "js"), (0, "smile-5"), (1, "dv"))
    assert_array_equal(trace.of(BOUNDS["dv"], member=1), trace.values[2])
    with refused("(member, bound)", "name"):
        trace.of("dv")
    bits = trace.values / np.log(2)
    *lines, truth = trace.plot(Figure().subplots()).lines
    assert_array_equal([line.get_ydata() for line in lines[::2]], bits)
    assert_array_equal(truth.get_ydata(), trace.truth / np.log(2))
    last_tenth = trace.table["last tenth (bits)"]
    assert_allclose(last_tenth, bits[:, -2:].mean(axis=1))


class Endless:
    mutual_information = math.inf
    dim_x = 2
    dim_y = 2

    def sample(self, n, generator, device="cpu"):
        raise AssertionError


@pytest.mark.parametrize(
    ("change", "argument", "code"),
    [
        ({"bound": [("js", "dv"), "dv"]}, "bound", "conflict"),
        ({"bound": ["dv", ()]}, "bound", "conflict"),
        ({"bound": ["dv", ("js", "js")]}, "bound", "conflict"),
        ({"bound": ["dv"]}, "bound", "length"),
        ({"bound": "flo"}, "critic", "type"),  # which has no second scores
        ({"source": [SOURCE], "steps": [3, 3]}, "steps", "length"),
        ({"source": GaussianPairs(3, mutual_information=1.0)}, "source", "shape"),
        ({"source": Endless()}, "source", "missing"),
        ({"learning_rate": -1.0}, "learning_rate", "range"),
        ({"generator": [seeded(0)] * 3}, "generator", "length"),
    ],
)
def test_bad_input(change, argument, code):
    arguments = {"source": SOURCE, "critic": critic_of(2), "bound": "dv", "steps": 3}
    with refused(argument, code):
        fit_critic(**{**arguments, **change})


@pytest.mark.gpu
@needs_gpu
def test_gpu_agrees_with_cpu():
    """Packed on CUDA, one after another on the CPU, the same CPU generator: float64 to
    1e-9.
    """
    on_gpu = critic_of(MEMBERS, second=True)
    on_cpu = critic_of(MEMBERS, second=True)
    training = Training(
        SOURCE, on_gpu, MIXED, 20, batch=8, generator=seeded(3), device="cuda"
    )
    assert training.packed
    training.advance(20)
    of_cpu = fit_critic(SOURCE, on_cpu, MIXED, 20, batch=8, generator=seeded(3))
    assert_allclose(training.trace.values, of_cpu.values, rtol=0, atol=1e-9)
    # see test_packed_sequential_and_alone_agree
    assert_same_weights(on_gpu.cpu(), on_cpu, atol=2e-6)


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("kind", ["joint", "separable", "bilinear"])
def test_bf16_on_a_gpu_is_near_float32(kind):
    """Packed, the same pairs and weights: the first estimates to the rounding of
    factors, the last by their level.
    """

    def values_in(precision):
        critic = critic_of(2, kind, 64, torch.float32)
        settings = {"generator": seeded(3), "device": "cuda", "precision": precision}
        return fit_critic(SOURCE, critic, "smile-5", 200, **settings).values

    exact = values_in("float32")
    rounded = values_in("bf16")
    assert_allclose(rounded[:, 0], exact[:, 0], rtol=0, atol=0.01)
    assert (exact != rounded).any()
    level = exact[:, 100:].mean(axis=1)
    assert_allclose(rounded[:, 100:].mean(axis=1), level, rtol=0, atol=0.1)
