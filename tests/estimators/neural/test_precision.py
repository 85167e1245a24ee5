"""Products of bfloat16 numbers: what is rounded, where they are refused, and that a training may resume in them."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from infoscope.data import GaussianPairs
from infoscope.estimators import estimate, fit_critic, make_critic
from infoscope.estimators.neural.precision import bf16_product, check_precision, has_bf16, in_bf16, products_in
from tests.refusals import refused

CPU = torch.device("cpu")
SOURCE = GaussianPairs(4, mutual_information=1.0)


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("shapes", [((3, 5, 7), (3, 7, 4)), ((5, 7), (3, 7, 4))])
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
