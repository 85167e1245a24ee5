"""Matrix products of a training in bfloat16: factors rounded to eight bits, sums in
float32.

Weights, their optimiser, scores and losses are float32 (mixed precision, Micikevicius
et al. 2018); held-out estimates are computed in float32. On a GPU results of products
are float32. On a CPU the joint critic's layers over pairs also store results and
gradients as bfloat16, and the library may compute small products in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from infoscope.checks import one_of
from infoscope.errors import InvalidInput

PRECISIONS = ("float32", "bf16")
# of a CPU that multiplies bfloat16, as torch names them
_UNITS = ("avx512_bf16", "amx_bf16")
_AMPERE = (8, 0)  # compute capability of the first NVIDIA GPUs that multiply bfloat16
_current: ContextVar[str] = ContextVar("precision", default=PRECISIONS[0])


def has_bf16(device: torch.device) -> bool:
    """Whether this device multiplies bfloat16 numbers."""
    if device.type == "cuda":
        return (
            torch.version.hip is None
            and torch.cuda.get_device_capability(device) >= _AMPERE
        )
    if device.type != "cpu":
        return False
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(unit) for unit in _UNITS)


def check_precision(
    precision: str, device: torch.device, dtype: torch.dtype | None
) -> str:
    """The precision. ValueError: not of PRECISIONS; bf16 without such products."""
    if one_of("precision", precision, PRECISIONS) == "float32":
        return precision
    if dtype not in (torch.float32, None):
        raise InvalidInput(
            f"precision must be float32 for weights of {dtype}, got 'bf16'."
        )
    if not has_bf16(device):
        raise InvalidInput(
            f"precision must be float32 on device {device}, got 'bf16': it takes a "
            "CPU with AVX512-BF16 or AMX, or an "
            "NVIDIA GPU from Ampere on."
        )
    return precision


@contextmanager
def products_in(precision: str) -> Iterator[None]:
    """Products of critics inside have this precision; float32 is the one of torch."""
    if precision == "float32":
        yield
        return
    mkldnn: Any = torch.backends.mkldnn  # its types lack matmul
    matmul = mkldnn.matmul
    before = matmul.fp32_precision
    token = _current.set(precision)
    matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        matmul.fp32_precision = before
        _current.reset(token)


def in_bf16() -> bool:
    """Whether products are of bfloat16: by torch on a CPU, by `product` on a GPU."""
    return _current.get() == "bf16"


def product(a: Tensor, b: Tensor) -> Tensor:
    """a b [..., n, m] of a [..., n, k] and b [..., k, m]."""
    return bf16_product(a, b) if a.is_cuda and in_bf16() else a @ b


def linear(h: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """h weight^T + bias [..., n, out].

    h [..., n, in], weight [..., out, in], bias [..., out].
    """
    if h.is_cuda and in_bf16():
        mapped = product(h, weight.mT)
        return mapped if bias is None else mapped + bias.unsqueeze(-2)
    if h.dim() == 2:
        return functional.linear(h, weight, bias)
    if bias is None:
        return h @ weight.mT
    return torch.baddbmm(bias.unsqueeze(1), h, weight.mT)


def bf16_product(a: Tensor, b: Tensor) -> Tensor:
    """a b, float32, of a [(members,) n, k] and b [(members,) k, m] in bfloat16."""
    members = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return _Bf16Product.apply(a.expand(*members, -1, -1), b.expand(*members, -1, -1))


class _Bf16Product(torch.autograd.Function):
    """`bf16_product` of factors with equally many members."""

    @staticmethod
    def forward(ctx, a: Tensor, b: Tensor) -> Tensor:
        a, b = a.bfloat16(), b.bfloat16()
        ctx.save_for_backward(a, b)
        return _float32_sums(a, b)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        a, b = ctx.saved_tensors
        gradient = gradient.bfloat16()
        gradient_a = None
        gradient_b = None
        if ctx.needs_input_grad[0]:
            gradient_a = _float32_sums(gradient, b.mT)
        if ctx.needs_input_grad[1]:
            gradient_b = _float32_sums(a.mT, gradient)
        return gradient_a, gradient_b


def _float32_sums(a: Tensor, b: Tensor) -> Tensor:
    """a b of bfloat16 numbers, summed and returned in float32.

    On a CPU, for tests, the same numbers are multiplied as float32.
    """
    if not a.is_cuda:
        return a.float() @ b.float()
    multiply = torch.mm if a.dim() == 2 else torch.bmm
    return multiply(a, b, out_dtype=torch.float32)
