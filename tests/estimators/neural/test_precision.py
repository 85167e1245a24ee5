"""Products of bfloat16 numbers: what is rounded, where they are refused, and that a
training may resume in them.
"""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from infoscope.data import GaussianPairs
from infoscope.estimators import fit_critic, make_critic
from infoscope.estimators.neural.precision import (
    bf16_product,
    check_precision,
    in_bf16,
    products_in,
)
from tests.refusals import refused

CPU = torch.device("cpu")
SOURCE = GaussianPairs(4, mutual_information=1.0)


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("shape", [(3, 5, 7), (5, 7)])
def test_a_product_and_its_gradients_are_of_rounded_factors(shape):
    """As a GPU computes them: factors with eight bits, sums and results in float32."""
    a = torch.randn(shape, generator=seeded(0), requires_grad=True)
    b = torch.randn(3, 7, 4, generator=seeded(1), requires_grad=True)
    product = bf16_product(a, b)
    direction = torch.randn(product.shape, generator=seeded(2))
    of_a, of_b = torch.autograd.grad(product, (a, b), direction)
    rounded_a = a.detach().bfloat16().double()
    rounded_b = b.detach().bfloat16().double()
    rounded_direction = direction.bfloat16().double()
    expected_a = (rounded_direction @ rounded_b.mT).sum_to_size(shape)
    expected_b = rounded_a.mT @ rounded_direction
    for result, expected in (
        (product, rounded_a @ rounded_b),
        (of_a, expected_a),
        (of_b, expected_b),
    ):
        assert result.dtype == torch.float32
        assert_close(result.double(), expected, rtol=1e-5, atol=1e-5)


def test_products_are_those_of_float32_again_after_an_error():
    with pytest.raises(RuntimeError), products_in("bf16"):
        assert in_bf16()
        raise RuntimeError
    assert not in_bf16()


def test_a_setting_of_torch_does_not_round_a_critic_of_float64():
    critic = make_critic("joint", 4, 4, generator=seeded(1)).double()
    x, y = torch.stack(SOURCE.sample(8, seeded(0))).double()
    expected = critic(x, y)
    before = torch.get_float32_matmul_precision()
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
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_f": True})
    check_precision("float32", CPU, torch.float32)
    with refused("precision"):
        fit_critic(SOURCE, make_critic("joint", 4, 4), "smile-5", 1, precision="bf16")
