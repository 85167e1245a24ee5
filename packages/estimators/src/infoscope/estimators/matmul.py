"""Float32 matrix products on a CPU, by the faster of torch's two libraries.

MKL keeps to AVX2 on processors not made by Intel; oneDNN uses AVX-512 on all. The choice depends on machine, type and
shape only, so results repeat bit for bit. INFOSCOPE_CPU_PRODUCTS = mkl or onednn, set before the first product,
overrides it. Everything else (float64, other devices, small products) is torch's own.
"""

from __future__ import annotations

import functools
import os

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from infoscope.errors import UnknownName
from infoscope.estimators.threads import MINIMUM

_CHOICES = ("mkl", "onednn")


@functools.cache
def library() -> str:
    """mkl or onednn for large float32 products, by process. UnknownName: INFOSCOPE_CPU_PRODUCTS is not available."""
    chosen = os.environ.get("INFOSCOPE_CPU_PRODUCTS", "")
    available = has_onednn()
    if chosen not in ("", *_CHOICES) or (chosen == "onednn" and not available):
        valid = _CHOICES if available else _CHOICES[:1]
        raise UnknownName(f"INFOSCOPE_CPU_PRODUCTS must be unset or one of {', '.join(valid)} here, got {chosen!r}.")
    return chosen or ("onednn" if available and prefers_onednn(torch.cpu.get_capabilities()) else "mkl")


def has_onednn() -> bool:
    """Whether this build of torch has oneDNN's products."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def prefers_onednn(processor: dict) -> bool:
    """Whether MKL leaves a part of this processor (as torch.cpu.get_capabilities describes it) unused."""
    return bool(processor.get("avx512_f")) and "Intel" not in processor.get("cpu_name", "Intel")


def by_onednn(a: Tensor, columns: int) -> bool:
    """Whether the product of a [n, k] and a matrix [k, columns] is oneDNN's; never in exported programs."""
    if torch.compiler.is_exporting():
        return False
    large = a.numel() * columns >= MINIMUM
    return large and a.dtype == torch.float32 and a.device.type == "cpu" and library() == "onednn"


def onednn(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    # Its fused ReLU is not used: it turns nan into 0, and a critic that diverged must show it.
    return torch.ops.mkldnn._linear_pointwise.default(a, b.T, bias, "none", [], "")


def product(a: Tensor, b: Tensor) -> Tensor:
    """a b of a [n, k] and b [k, m], without gradient."""
    return onednn(a, b) if by_onednn(a, b.shape[1]) else torch.mm(a, b)


def add_product_(total: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """total + a b, in place and without gradient: total [n, m], a [n, k], b [k, m]."""
    return total.add_(onednn(a, b)) if by_onednn(a, b.shape[1]) else total.addmm_(a, b)


def rectified(h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """relu(h weight^T + bias), without gradient: h [n, in], weight [out, in], bias [out] -> [n, out]."""
    large = by_onednn(h, len(weight))
    return (onednn(h, weight.T, bias) if large else torch.addmm(bias, h, weight.T)).relu_()


def linear(h: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """h weight^T + bias with gradients: h [n, in], weight [out, in], bias [out] -> [n, out]."""
    if not by_onednn(h, len(weight)):
        return functional.linear(h, weight, bias)
    return _OneDnnLinear.apply(h, weight, bias)


class _OneDnnLinear(torch.autograd.Function):
    """The linear map and its gradients, every product oneDNN's."""

    @staticmethod
    def forward(ctx, h: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(h, weight)
        return onednn(h, weight.T, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        h, weight = ctx.saved_tensors
        return (
            onednn(gradient, weight) if ctx.needs_input_grad[0] else None,
            onednn(gradient.T, h) if ctx.needs_input_grad[1] else None,
            gradient.sum(0) if ctx.needs_input_grad[2] else None,
        )
