"""Initial weights drawn from a given generator, not from torch's global one."""

from __future__ import annotations

import math

import torch
from torch import nn


def generator_or_default(generator: torch.Generator | None) -> torch.Generator:
    """The given CPU generator, or a fresh one with seed 0."""
    if generator is None:
        return torch.Generator().manual_seed(0)
    return generator


@torch.no_grad()
def draw_uniform(
    layer: nn.Linear | nn.Conv2d | nn.ConvTranspose2d,
    generator: torch.Generator,
    fan_in: int | None = None,
) -> None:
    """Draws torch's default U(-1, 1) / sqrt(fan-in) for weight, then bias; `fan_in`: of
    the whole layer of a block.
    """
    if fan_in is None:
        fan_in = layer.weight[0].numel()
    bound = 1.0 / math.sqrt(fan_in)
    for parameter in layer.parameters():
        parameter.uniform_(-bound, bound, generator=generator)


def linear(
    inputs: int, outputs: int, generator: torch.Generator, fan_in: int | None = None
) -> nn.Linear:
    """A linear layer with torch's default initial weights."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs)
    assert isinstance(layer, nn.Linear)
    draw_uniform(layer, generator, fan_in)
    return layer


def convolution(
    inputs: int, outputs: int, stride: int, generator: torch.Generator
) -> nn.Conv2d:
    """A 3 x 3 convolution that keeps the size up to its stride, without bias, with
    torch's default initial weights.
    """
    layer = nn.utils.skip_init(
        nn.Conv2d, inputs, outputs, 3, stride=stride, padding=1, bias=False
    )
    assert isinstance(layer, nn.Conv2d)
    draw_uniform(layer, generator)
    return layer
