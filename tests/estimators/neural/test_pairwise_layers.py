"""The joint critic's layers against the same formula by autograd, in one block and in
several, in every type.
"""

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


def drawn(depth: int, dtype: torch.dtype) -> list[Tensor]:
    """Values of x [N, WIDTH] and of y [M, WIDTH], and weights and biases of the layers."""
    g = torch.Generator().manual_seed(0)
    hidden = [(WIDTH, WIDTH), (WIDTH,)] * depth
    tensors = []
    for shape in [(N, WIDTH), (M, WIDTH), *hidden, (1, WIDTH), (1,)]:
        values = (
            torch.randn(shape, generator=g, dtype=torch.float64) / shape[-1] ** 0.25
        )
        tensors.append(values.to(dtype))
    return tensors


def plain(left: Tensor, right: Tensor, *layers: Tensor) -> Tensor:
    *hidden, weight, bias = layers
    values = (left[:, None] + right).relu()
    for hidden_weight, hidden_bias in zip(hidden[::2], hidden[1::2]):
        values = (values @ hidden_weight.T + hidden_bias).relu()
    return (values @ weight.T + bias).squeeze(-1)


def in_dtype(dtype):
    """The scores under test, as a function of the same tensors as `plain`."""
    return lambda left, right, *layers: PairwiseLayers.apply(
        left, right, dtype, *layers
    )


def with_gradients(function, tensors: list[Tensor]) -> tuple[Tensor, ...]:
    """The scores, and the gradients of a weighted sum of them."""
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    scores = function(*leaves)
    direction = torch.linspace(-1, 2, scores.numel(), dtype=scores.dtype).reshape(
        scores.shape
    )
    return scores.detach(), *torch.autograd.grad(scores, leaves, direction)


@pytest.mark.parametrize("block", [1, 2 * M * WIDTH, 1 << 20])
@pytest.mark.parametrize(
    "dtype, close", [(torch.float64, 1e-12), (torch.float32, 1e-5)]
)
@pytest.mark.parametrize("depth", [0, 2])
def test_scores_and_gradients_are_those_of_the_formula(
    depth, dtype, close, block, monkeypatch
):
    monkeypatch.setattr(pairwise_layers, "_BLOCK", block)
    left, right, *layers = tensors = drawn(depth, dtype)
    expected = with_gradients(plain, tensors)
    assert_close(
        with_gradients(in_dtype(dtype), tensors), expected, rtol=close, atol=close
    )
    assert_close(
        pairwise_scores(left, right, dtype, *layers),
        expected[0],
        rtol=close,
        atol=close,
    )


def test_bfloat16_scores_are_those_of_rounded_numbers():
    """Beside float64: the error is that of factors with eight bits, and scores are not
    rounded to them.
    """
    tensors = drawn(2, torch.float32)
    scores, *gradients = with_gradients(in_dtype(torch.bfloat16), tensors)
    exact, *expected = with_gradients(plain, [tensor.double() for tensor in tensors])
    relative = (scores - exact).norm() / exact.norm()
    assert 1e-4 < relative < 2e-2
    assert (scores.bfloat16() != scores).any()
    for gradient, reference in zip(gradients, expected, strict=True):
        assert gradient.dtype == torch.float32
        assert (gradient - reference).norm() <= 0.1 * reference.norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_not_finite_stays_visible(dtype):
    left, right, weight, *layers = drawn(2, torch.float32)
    left[1, 2] = math.nan
    left[3, 4] = math.inf
    weight[:, 4] = weight[:, 4].abs()
    scores = pairwise_scores(left, right, dtype, weight, *layers)
    assert scores[1].isnan().all()
    assert not scores[3].isfinite().any()
    assert scores[[0, 2, 4, 5]].isfinite().all()


def relu_in_bfloat16(values: Tensor) -> Tensor:
    """relu of float32 values [n], rounded by the kernel."""
    left = values[None].numpy()
    out = torch.zeros(left.shape, dtype=torch.bfloat16)
    kernels.relu_of_sums(left, np.zeros_like(left), out.view(torch.uint16).numpy())
    return out[0]


def test_bits_are_rounded_as_torch_rounds():
    """To the nearest bfloat16, ties to even; infinite numbers stay what they are."""
    g = torch.Generator().manual_seed(0)
    numbers = torch.randn(4096, generator=g) * 10 ** torch.empty(4096).uniform_(
        -30, 30, generator=g
    )
    ties = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, 3.3e38, math.inf, -0.0, 0.0])
    values = torch.cat([numbers, ties])
    assert_array_equal(
        relu_in_bfloat16(values).float(), values.relu().bfloat16().float()
    )


@pytest.mark.parametrize("bits", [0x7FFFFFFF, -1, 0x7F800001])
def test_no_undefined_number_becomes_another(bits):
    undefined = torch.tensor([bits], dtype=torch.int32).view(torch.float32)
    assert relu_in_bfloat16(undefined).isnan().all()
