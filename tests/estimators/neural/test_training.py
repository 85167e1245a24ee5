"""The engine against a plain loop, against itself in its other forms, and on a problem it must learn."""

from __future__ import annotations

import io
import math
import platform
import resource

import numpy as np
import pytest
import torch

from infoscope.data import GaussianPairs
from infoscope.estimators import BOUNDS, Training, fit_critic, make_critic, matmul, share_training
from infoscope.estimators.neural.bounds import split
from tests.refusals import refused

SOURCE = GaussianPairs(2, mutual_information=0.7)
MIXED = ["dv", ("js", "smile-1", "smile-inf"), "mine", ("smile-1", "smile-5"), "infonce", "mine-one-step", "nwj", "flo",
         ("infonce-anchor",), "dime-hellinger"]  # fmt: skip


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def critic_of(members: int = 1, kind: str = "joint", width: int = 8, dtype=torch.float64, second: bool = False):
    generators = [seeded(100 + k) for k in range(members)]
    return make_critic(kind, 2, 2, width=width, embed=4, members=members, generator=generators, second=second).to(dtype)


def same_weights(a, b, **tolerance) -> None:
    for one, other in zip(a.parameters(), b.parameters(), strict=True):
        torch.testing.assert_close(one, other, **tolerance)


@pytest.mark.parametrize("name", list(BOUNDS))
def test_a_training_is_the_plain_loop(name):
    """Estimate on the batch before the update, one step of Adam up the objective, the same critic afterwards."""
    trained, plain = (critic_of(second=name == "flo") for _ in range(2))
    trace = fit_critic(SOURCE, trained, name, 12, batch=8, learning_rate=1e-2, generator=seeded(1))

    bound, stream, expected, state = BOUNDS[name], seeded(1), [], None
    optimiser = torch.optim.Adam(plain.parameters(), lr=1e-2, fused=False)
    for _ in range(12):
        x, y = (side.double() for side in SOURCE.sample(8, stream))
        scores = split(plain(x, y), plain.second_scores(x, y))
        expected.append(bound.estimate(scores).item())
        value, state = bound.objective(scores, bound.objective.start(scores.matrix) if state is None else state)
        optimiser.zero_grad()
        (-value).backward()
        optimiser.step()
    np.testing.assert_allclose(trace.of(name), expected, rtol=0, atol=1e-10)
    same_weights(trained, plain, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["bilinear", "separable", "joint"])
@pytest.mark.parametrize("streams", ["one", "own", "two"])
def test_packed_sequential_and_alone_agree(kind, streams):
    """In float64 to 1e-9, whether members see the same batches or not; weights to 2e-6, because flo leaves a function
    of x open, along which Adam follows the rounding of a gradient that is zero.
    """
    members = len(MIXED)

    def generators():
        if streams == "one":
            return seeded(3)
        own = [seeded(3 + k) for k in range(members if streams == "own" else 2)]
        return [own[k % len(own)] for k in range(members)]

    arguments = {"batch": 8, "learning_rate": 3e-3}
    packed, sequential = critic_of(members, kind, second=True), critic_of(members, kind, second=True)
    together = fit_critic(SOURCE, packed, MIXED, 20, generator=generators(), packed=True, **arguments)
    in_turn = fit_critic(SOURCE, sequential, MIXED, 20, generator=generators(), packed=False, **arguments)
    assert together.reports == in_turn.reports
    np.testing.assert_allclose(together.values, in_turn.values, rtol=0, atol=1e-9)
    same_weights(packed, sequential, rtol=0, atol=2e-6)
    for k, entry in enumerate(MIXED):
        stream = seeded({"one": 3, "own": 3 + k, "two": 3 + k % 2}[streams])
        single = critic_of(members, kind, second=True).member(k)
        alone = fit_critic(SOURCE, single, [entry], 20, generator=stream, **arguments)
        for _, name in alone.reports:
            np.testing.assert_allclose(together.of(name, k), alone.of(name), rtol=0, atol=1e-9)
        same_weights(packed.member(k), single, rtol=0, atol=2e-6 if entry == "flo" else 1e-9)


@pytest.mark.parametrize("streams", ["one", "own"])
def test_packing_changes_no_number_over_many_steps(streams):
    """200 steps in float64, members of five objectives and three seeds: packed, in turn and alone to 1e-8, because
    rounding grows along a training."""
    seeds = (3, 4, 5)
    members = [(seed, group) for seed in seeds for group in share_training(["nwj", "js", "infonce", "dv", "mine"])]

    def fit(chosen, packed):
        stream = {seed: seeded(3 if streams == "one" else seed) for seed in seeds}
        initial = [seeded(100 + seed) for seed, _ in chosen]
        critic = make_critic("joint", 2, 2, width=8, members=len(chosen), generator=initial).double()
        bounds = [group for _, group in chosen]
        batches = [stream[seed] for seed, _ in chosen]
        trace = fit_critic(SOURCE, critic, bounds, 200, batch=8, generator=batches, packed=packed)
        return trace.values, critic

    (together, packed), (in_turn, sequential) = fit(members, True), fit(members, False)
    assert np.isfinite(together).all() and np.ptp(together, axis=1).min() > 1e-3
    np.testing.assert_allclose(together, in_turn, rtol=0, atol=1e-8)
    same_weights(packed, sequential, rtol=0, atol=1e-8)
    for k in (0, 7, 14):
        alone, single = fit([members[k]], None)
        np.testing.assert_array_equal(in_turn[k], alone[0])
        same_weights(sequential.member(k), single, rtol=0, atol=0)


def test_bounds_that_share_a_training_report_what_they_would_alone():
    group = ("js", "smile-1", "smile-5", "smile-inf", "smile-0.5")
    shared = fit_critic(SOURCE, critic_of(), [group], 15, batch=8, generator=seeded(2))
    for name in group:
        alone = fit_critic(SOURCE, critic_of(), name, 15, batch=8, generator=seeded(2))
        np.testing.assert_array_equal(shared.of(name), alone.of(name))


@pytest.mark.parametrize("packed", [False, True])
def test_interrupted_training_ends_bit_identical(packed):
    """Saved to bytes, read back without pickle's code, continued on fresh objects that start from other numbers."""

    def training(seed):
        critic = make_critic("joint", 2, 2, width=8, members=4, generator=seeded(seed))
        bounds = ["mine", ("js", "smile-1"), "mine-one-step", "dv"]
        streams = [seeded(seed + k // 2) for k in range(4)]
        sources = [SOURCE, GaussianPairs(2, mutual_information=2.0)]
        return Training(sources, critic, bounds, [9, 8], batch=8, generator=streams, packed=packed)

    whole = training(5)
    whole.advance(100)
    first = training(5)
    first.advance(4)
    first.advance(3)
    saved = io.BytesIO()
    torch.save(first.state_dict(), saved)
    first.advance(5)  # what happens after a snapshot does not reach it
    saved.seek(0)
    second = training(6)
    second.load_state_dict(torch.load(saved, weights_only=True))
    assert (second.done, second.total) == (7, 17)
    second.advance(10)
    np.testing.assert_array_equal(second.trace.values, whole.trace.values)
    assert all(torch.equal(a, b) for a, b in zip(second.critic.parameters(), whole.critic.parameters()))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the limits that are raised are glibc's")
def test_a_step_reuses_the_memory_of_the_one_before():
    """About 14 MiB of arrays a step: given back every time, that is 2500 pages; kept, about none."""
    training = Training(SOURCE, make_critic("joint", 2, 2), "dv", 30)
    training.advance(15)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    training.advance(15)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 15 * 300


@pytest.mark.parametrize("library", ["mkl", "onednn"])
def test_float32_products_of_either_library_repeat_bit_for_bit(library, monkeypatch):
    """At a width from which oneDNN is used: two trainings, and one that is interrupted, end in the same numbers."""
    if library == "onednn" and not matmul.has_onednn():
        pytest.skip("this build of torch has no oneDNN products")
    monkeypatch.setenv("INFOSCOPE_CPU_PRODUCTS", library)
    matmul.library.cache_clear()

    def training():
        critic = make_critic("joint", 2, 2, width=64, generator=seeded(1))
        return Training(SOURCE, critic, "dv", 6, batch=64, generator=seeded(2))

    try:
        runs = [training() for _ in range(3)]
        runs[0].advance(6), runs[1].advance(6), runs[2].advance(3)
        resumed = training()
        resumed.load_state_dict(runs[2].state_dict())
        resumed.advance(3)
    finally:
        matmul.library.cache_clear()
    for other in (runs[1], resumed):
        np.testing.assert_array_equal(other.trace.values, runs[0].trace.values)
        assert all(torch.equal(a, b) for a, b in zip(other.critic.parameters(), runs[0].critic.parameters()))


def test_state_of_another_training_is_refused():
    state = Training(SOURCE, critic_of(), "js", 5, batch=8).state_dict()
    with refused("state", "conflict"):
        Training(SOURCE, critic_of(), "dv", 5, batch=8).load_state_dict(state)


def test_a_schedule_runs_through_one_critic():
    """The truth follows the schedule; weights, Adam and the stream of batches carry over."""
    low, high = GaussianPairs(2, mutual_information=0.5), GaussianPairs(2, mutual_information=1.5)
    trace = fit_critic([low, high], critic_of(), "dv", [3, 4], batch=8)
    np.testing.assert_allclose(trace.truth, [0.5] * 3 + [1.5] * 4)
    cut, uncut = critic_of(), critic_of()
    one = fit_critic([low, low], cut, "dv", [3, 4], batch=8)
    other = fit_critic(low, uncut, "dv", 7, batch=8)
    np.testing.assert_array_equal(one.values, other.values)
    assert all(torch.equal(a, b) for a, b in zip(cut.parameters(), uncut.parameters()))


@pytest.mark.parametrize("packed", [False, True])
def test_a_diverged_member_is_visible_and_touches_no_other(packed):
    bounds = ["dv", "dv", "nwj"]
    healthy = fit_critic(SOURCE, critic_of(3), bounds, 10, batch=8, packed=packed)
    critic = critic_of(3)
    with torch.no_grad():
        critic.hidden[0].weight[1, 0, 0] = math.nan
    trace = fit_critic(SOURCE, critic, bounds, 10, batch=8, packed=packed)
    np.testing.assert_array_equal(trace.nonfinite, [0, 10, 0])
    np.testing.assert_array_equal(trace.values[[0, 2]], healthy.values[[0, 2]])
    assert critic.member(1).last.weight.isnan().all()


@pytest.mark.parametrize("bound", [name for name in BOUNDS if name != "smile-1"])
def test_it_learns_one_bit(bound):
    """1 bit in two Gaussian vectors: the mean of 200 late estimates is within 0.2 bits of it (js: of 1/e nats less).

    The standard error of that mean is about 0.02 bits: with 0.1 bits left for what is not yet learnt, a false alarm
    is 5 of them, under 1e-6. The untrained critic scores all pairs about 0 and reports the same as a constant.
    """
    bit = math.log(2)
    source = GaussianPairs(2, mutual_information=bit)
    critic = critic_of(width=32, dtype=torch.float32, second=bound == "flo")
    trace = fit_critic(source, critic, bound, 500, learning_rate=3e-3, generator=seeded(4))
    optimum = bit - 1 / math.e if bound == "js" else bit
    assert trace.of(bound)[-200:].mean() == pytest.approx(optimum, abs=0.2 * bit)
    assert trace.of(bound)[0] == pytest.approx(-1 / math.e if bound in ("js", "nwj") else 0, abs=0.15)
    assert trace.nonfinite.sum() == 0


def test_a_source_need_not_know_its_information():
    class Rows:
        dim_x = dim_y = 2

        def sample(self, n, generator, device="cpu"):
            return SOURCE.sample(n, generator, device)

    known, unknown = (fit_critic(source, critic_of(), "dv", 5, batch=8, generator=seeded(1)) for source in
                      (SOURCE, Rows()))  # fmt: skip
    np.testing.assert_array_equal(known.values, unknown.values)
    assert np.isnan(unknown.truth).all() and np.isfinite(known.truth).all()


def test_two_scores_need_a_critic_that_has_them():
    with refused("critic", "type"):
        fit_critic(SOURCE, critic_of(), "flo", 5)


def test_infonce_never_exceeds_the_logarithm_of_the_batch():
    source = GaussianPairs(2, mutual_information=6.0)
    trace = fit_critic(source, critic_of(width=32), "infonce", 150, batch=4, learning_rate=1e-2)
    assert math.log(4) - 0.2 < trace.of("infonce")[-50:].mean() < trace.of("infonce").max() <= math.log(4)


def test_trace_and_progress():
    seen = []
    trace = fit_critic(
        SOURCE,
        critic_of(2),
        [("js", "smile-5"), "dv"],
        250,
        batch=4,
        progress=lambda training: seen.append((training.done, training.trace.values.shape[1])),
    )
    assert trace.reports == ((0, "js"), (0, "smile-5"), (1, "dv"))
    assert trace.values.shape == (3, 250) and trace.values.dtype == trace.truth.dtype == np.float64
    assert [done for done, _ in seen] == [*range(3, 250, 3), 250] and all(a == b for a, b in seen)
    np.testing.assert_array_equal(trace.of(BOUNDS["dv"], member=1), trace.values[2])
    with refused("(member, bound)", "name"):
        trace.of("dv")


def test_one_bound_for_all_members_and_a_critic_without_parameters():
    trace = fit_critic(SOURCE, critic_of(3), "dv", 3, batch=4)
    assert trace.reports == ((0, "dv"), (1, "dv"), (2, "dv"))
    inner = fit_critic(SOURCE, make_critic("inner", 2, 2), "dv", 3, batch=4, generator=seeded(1))
    x, y = SOURCE.sample(4, seeded(1))
    assert inner.of("dv")[0] == pytest.approx(BOUNDS["dv"].estimate(x @ y.T).item(), abs=1e-6)


def test_same_seed_same_numbers_whatever_runs_beside_it():
    run = lambda: fit_critic(SOURCE, critic_of(), "dv", 5, batch=8, generator=seeded(9)).values  # noqa: E731
    first = run()
    torch.rand(3), np.random.rand(3)
    np.testing.assert_array_equal(run(), first)
    assert not np.array_equal(fit_critic(SOURCE, critic_of(), "dv", 5, batch=8, generator=seeded(8)).values, first)


class Endless:
    mutual_information, dim_x, dim_y = math.inf, 2, 2

    def sample(self, n, generator, device="cpu"):
        raise AssertionError("never drawn from")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"bound": "dvv"}, "bound must be one of nwj"),
        ({"bound": [("js", "dv"), "dv"]}, "bound must group different bounds of one objective"),
        ({"bound": ["dv", ()]}, "bound must group different bounds of one objective"),
        ({"bound": ["dv", ("js", "js")]}, "bound must group different bounds of one objective"),
        ({"bound": ["dv"]}, "bound must be one bound or one entry for each of 2 members, got 1"),
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
        ({"steps": [3]}, "source and steps must be one source and a number, or two sequences"),
        ({"source": [SOURCE], "steps": [3, 3]}, "steps must have one entry for each of 1 sources, got 2"),
        ({"source": GaussianPairs(3, mutual_information=1.0)}, r"source must have dimensions .* = \(2, 2\)"),
        ({"source": object()}, "source must have sample, dim_x and dim_y, got object"),
        ({"source": Endless()}, "source must have a finite mutual_information, got inf"),
        ({"batch": 1}, "batch must be a whole number of at least 2, got 1"),
        ({"learning_rate": -1.0}, "learning_rate must be a positive number, got -1.0"),
        ({"learning_rate": math.nan}, "learning_rate must be a positive number, got nan"),
        ({"generator": [seeded(0)] * 3}, "generator must be one torch.Generator or one for each of 2 members"),
        ({"critic": torch.nn.Linear(2, 2)}, "critic must be a Critic"),
    ],
)
def test_bad_input(change, message):
    arguments = {"source": SOURCE, "critic": critic_of(2), "bound": "dv", "steps": 3}
    with pytest.raises(ValueError, match=message):
        fit_critic(**{**arguments, **change})


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gpu_agrees_with_cpu():
    """Packed on CUDA, one after another on the CPU, the same CPU generator: float64 to 1e-9."""
    members = len(MIXED)
    on_gpu, on_cpu = critic_of(members, second=True), critic_of(members, second=True)
    there = Training(SOURCE, on_gpu, MIXED, 20, batch=8, generator=seeded(3), device="cuda")
    assert there.packed
    there.advance(20)
    here = fit_critic(SOURCE, on_cpu, MIXED, 20, batch=8, generator=seeded(3))
    np.testing.assert_allclose(there.trace.values, here.values, rtol=0, atol=1e-9)
    same_weights(on_gpu.cpu(), on_cpu, rtol=0, atol=2e-6)  # see test_packed_sequential_and_alone_agree
