"""Products of bfloat16 numbers: what is rounded, where they are refused, and that a training may resume in them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from infoscope.data import GaussianPairs
from infoscope.estimators import Training, estimate, fit_critic, make_critic
from infoscope.estimators.neural import precision
from infoscope.estimators.neural.precision import bf16_product, check_precision, has_bf16, in_bf16, products_in
from tests.refusals import refused

CPU = torch.device("cpu")
SOURCE = GaussianPairs(4, mutual_information=1.0)


needs_bf16 = pytest.mark.skipif(not has_bf16(CPU), reason="this processor does not multiply bfloat16 numbers")


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("shapes", [((5, 7), (7, 4)), ((3, 5, 7), (3, 7, 4)), ((5, 7), (3, 7, 4))])
def test_a_product_and_its_gradients_are_of_rounded_factors(shapes):
    """As a GPU computes them: factors with eight bits, sums and results in float32."""
    a, b = (torch.randn(shape, generator=seeded(k), requires_grad=True) for k, shape in enumerate(shapes))
    found = bf16_product(a, b)
    direction = torch.randn(found.shape, generator=seeded(2))
    rounded = [one.detach().bfloat16().double() for one in (a, b, direction)]
    of_a, of_b = torch.autograd.grad(found, (a, b), direction)
    of_shared = rounded[2] @ rounded[1].mT
    expected = (
        rounded[0] @ rounded[1],
        of_shared.sum(0) if of_shared.dim() > a.dim() else of_shared,
        rounded[0].mT @ rounded[2],
    )
    for one, other in zip((found, of_a, of_b), expected, strict=True):
        assert one.dtype == torch.float32
        assert_close(one.double(), other, rtol=1e-5, atol=1e-5)


def test_products_are_those_of_float32_again_after_an_error():
    with pytest.raises(RuntimeError), products_in("bf16"):
        assert in_bf16()
        raise RuntimeError
    assert not in_bf16()


def test_a_setting_of_torch_does_not_round_a_critic_of_float64():
    critic = make_critic("joint", 4, 4, generator=seeded(1)).double()
    x, y = (side.double() for side in SOURCE.sample(8, seeded(0)))
    expected, before = critic(x, y), torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        assert_close(critic(x, y), expected, rtol=1e-12, atol=1e-12)
    finally:
        torch.set_float32_matmul_precision(before)


def test_where_it_is_refused(monkeypatch):
    with refused("precision", "name"):
        check_precision("fp8", CPU, torch.float32)
    with refused("precision"):
        check_precision("bf16", CPU, torch.float64)
    for capability, known in (((7, 5), False), ((9, 0), True)):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, found=capability: found)
        assert has_bf16(torch.device("cuda")) is known
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_f": True})
    check_precision("float32", CPU, torch.float32)
    with refused("precision"):
        estimate(*torch.rand(2, 400).numpy(), "infonce", critic="inner", precision="fp8")
    with refused("precision"):
        fit_critic(SOURCE, make_critic("joint", 4, 4), "smile-5", 1, precision="bf16")


@needs_bf16
@pytest.mark.parametrize("kind", ["joint", "separable", "bilinear"])
def test_a_training_ends_near_that_of_float32(kind):
    """The same pairs and weights: estimates of the last half differ by little, and in the joint critic by something."""
    traces = [
        fit_critic(SOURCE, make_critic(kind, 4, 4, 1, 64, generator=seeded(1)), "smile-5", 300, generator=seeded(2),
                   precision=name).values[0]
        for name in precision.PRECISIONS
    ]  # fmt: skip
    halves = [trace[150:].mean() for trace in traces]
    assert kind != "joint" or (traces[0] != traces[1]).any()
    assert halves[0] == pytest.approx(halves[1], abs=0.05)


@needs_bf16
def test_a_training_repeats_and_resumes_bit_for_bit():
    def training():
        critic = make_critic("joint", 4, 4, width=64, generator=seeded(1))
        return Training(SOURCE, critic, "dv", 6, generator=seeded(2), precision="bf16")

    one, other, cut, resumed = (training() for _ in range(4))
    one.advance(6), other.advance(6), cut.advance(3)
    resumed.load_state_dict(cut.state_dict())
    resumed.advance(3)
    with refused("state", "conflict"):
        Training(SOURCE, cut.critic, "dv", 6, generator=seeded(2)).load_state_dict(cut.state_dict())
    for again in (other, resumed):
        np.testing.assert_array_equal(again.trace.values, one.trace.values)
    assert all(parameter.dtype == torch.float32 for parameter in one.critic.parameters())


@needs_bf16
def test_an_estimate_on_arrays_takes_it():
    x, y = (side.numpy() for side in SOURCE.sample(600, seeded(0)))
    settings = dict(folds=2, steps=100, critic="joint", width=32, batch=32)
    found = [estimate(x, y, "smile-5", precision=name, **settings) for name in precision.PRECISIONS]
    assert found[0].value != found[1].value
    assert found[0].value == pytest.approx(found[1].value, abs=0.2)
    assert ["bf16 products" in one.settings for one in found] == [False, True]
