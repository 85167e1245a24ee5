"""The joint critic's layers against the same formula by autograd, in one block and in several, in every type."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from torch import Tensor
from torch.testing import assert_close

from infoscope.estimators.neural import _kernels as kernels
from infoscope.estimators.neural import pairwise_layers
from infoscope.estimators.neural.pairwise_layers import PairwiseLayers, pairwise_scores

N, M, WIDTH = 6, 5, 16


def drawn(depth: int, dtype: torch.dtype, seed: int = 0) -> list[Tensor]:
    g = torch.Generator().manual_seed(seed)
    shapes = [(N, WIDTH), (M, WIDTH), *[(WIDTH, WIDTH), (WIDTH,)] * depth, (1, WIDTH), (1,)]
    return [torch.randn(shape, generator=g, dtype=torch.float64).to(dtype) / shape[-1] ** 0.25 for shape in shapes]


def plain(left: Tensor, right: Tensor, *layers: Tensor) -> Tensor:
    h = (left[:, None] + right).relu()
    for weight, bias in zip(layers[:-2:2], layers[1:-2:2]):
        h = (h @ weight.T + bias).relu()
    return (h @ layers[-2].T + layers[-1]).squeeze(-1)


def with_gradients(call, given: list[Tensor]) -> tuple[Tensor, ...]:
    given = [one.clone().requires_grad_() for one in given]
    scores = call(*given)
    direction = torch.linspace(-1, 2, scores.numel(), dtype=scores.dtype).reshape(scores.shape)
    return scores.detach(), *torch.autograd.grad(scores, given, direction)


@pytest.mark.parametrize("block", [1, 2 * M * WIDTH, 1 << 20])
@pytest.mark.parametrize("dtype, close", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("depth", [0, 2])
def test_scores_and_gradients_are_those_of_the_formula(depth, dtype, close, block, monkeypatch):
    monkeypatch.setattr(pairwise_layers, "_BLOCK", block)
    given = drawn(depth, dtype)
    ours = with_gradients(lambda left, right, *layers: PairwiseLayers.apply(left, right, dtype, *layers), given)
    assert_close(ours, with_gradients(plain, given), rtol=close, atol=close)
    assert_close(pairwise_scores(*given[:2], dtype, *given[2:]), ours[0], rtol=close, atol=close)


def test_bfloat16_scores_are_those_of_rounded_numbers():
    """Beside float64: the error is that of factors with eight bits, and scores are not rounded to them."""
    given = drawn(2, torch.float32)
    exact = plain(*(one.double() for one in given))
    ours = with_gradients(
        lambda left, right, *layers: PairwiseLayers.apply(left, right, torch.bfloat16, *layers), given
    )
    relative = ((ours[0] - exact).norm() / exact.norm()).item()
    assert 1e-4 < relative < 2e-2
    assert (ours[0].bfloat16() != ours[0]).any()
    expected = with_gradients(plain, [one.double() for one in given])
    for one, other in zip(ours[1:], expected[1:], strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() <= 0.1 * other.norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_not_finite_stays_visible(dtype):
    given = drawn(2, torch.float32)
    given[0][1, 2], given[0][3, 4] = math.nan, math.inf
    given[2][:, 4] = given[2][:, 4].abs()
    scores = pairwise_scores(*given[:2], dtype, *given[2:])
    assert scores[1].isnan().all()
    assert not scores[3].isfinite().any()
    assert scores[[0, 2, 4, 5]].isfinite().all()


def test_bits_are_rounded_as_torch_rounds():
    """To the nearest bfloat16, ties to even; infinite and undefined numbers stay what they are."""
    g = torch.Generator().manual_seed(0)
    numbers = torch.randn(4096, generator=g) * 10 ** torch.empty(4096).uniform_(-30, 30, generator=g)
    ties = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, 3.3e38, math.inf, -0.0, 0.0])
    left, expected = torch.cat([numbers, ties]), torch.cat([numbers, ties]).relu().bfloat16()
    out = torch.empty(1, len(left), dtype=torch.bfloat16)
    kernels.relu_of_sums(left[None].numpy(), np.zeros((1, len(left)), np.float32), out.view(torch.uint16).numpy())
    assert_array_equal(out[0].float(), expected.float())


@pytest.mark.parametrize("bits", [0x7FFFFFFF, -1, 0x7F800001])
def test_no_undefined_number_becomes_another(bits):
    left = torch.tensor([[bits]], dtype=torch.int32).view(torch.float32)
    out = torch.zeros(1, 1, dtype=torch.bfloat16)
    kernels.relu_of_sums(left.numpy(), np.zeros((1, 1), np.float32), out.view(torch.uint16).numpy())
    assert out.isnan().all()
