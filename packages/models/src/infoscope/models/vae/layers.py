"""The convolutional encoder and decoder of the variational autoencoders (Tokui & Sato 2021, table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import nn

from infoscope.checks import require_ints
from infoscope.errors import WrongShape
from infoscope.models.initialisation import draw_uniform, linear


def checked_shape(image_shape: Sequence[int], channels: Sequence[int]) -> tuple[list[int], list[int]]:
    """Both as lists; ValueError unless the image has 1 to 3 channels and sides that the stages can halve."""
    shape, channels = require_ints("image_shape", image_shape, 3), require_ints("channels", channels)
    if shape[0] > 3:
        raise WrongShape(f"image_shape must begin with 1 to 3 channels, not {shape[0]}.")
    if shape[1] % 2 ** len(channels) or shape[2] % 2 ** len(channels):
        raise WrongShape(
            f"image_shape must have a height and width divisible by {2 ** len(channels)} for {len(channels)} stages "
            f"of convolution, not {shape}."
        )
    return shape, channels


def encoder(
    shape: Sequence[int], outputs: int, channels: Sequence[int], hidden: int, generator: torch.Generator
) -> nn.Sequential:
    """Images [n, *shape] to [n, outputs]: 4 x 4 convolutions of stride 2, a hidden layer, a linear layer."""
    layers: list[nn.Module] = []
    for inputs, features in zip([shape[0], *channels], channels):
        layers += [_halving(nn.Conv2d, inputs, features, generator), nn.ReLU(inplace=True)]
    layers += [nn.Flatten(), linear(prod(_inner(shape, channels)), hidden, generator), nn.ReLU(inplace=True)]
    layers += [linear(hidden, outputs, generator)]
    # the faster layout of convolutions on CPUs; weights keep their names and shapes
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)


def decoder(
    shape: Sequence[int], inputs: int, channels: Sequence[int], hidden: int, generator: torch.Generator
) -> nn.Sequential:
    """Codes [n, inputs] to logits [n, *shape]: the encoder mirrored, with transposed convolutions."""
    inner = _inner(shape, channels)
    layers: list[nn.Module] = [linear(inputs, hidden, generator), nn.ReLU(inplace=True)]
    layers += [linear(hidden, prod(inner), generator), nn.ReLU(inplace=True), nn.Unflatten(1, inner)]
    widths = [*reversed(channels), shape[0]]
    for before, after in zip(widths, widths[1:]):
        layers += [_halving(nn.ConvTranspose2d, before, after, generator), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1]).to(memory_format=torch.channels_last)


def _halving(
    kind: type[nn.Conv2d] | type[nn.ConvTranspose2d], inputs: int, outputs: int, generator: torch.Generator
) -> nn.Module:
    """A convolution that halves the sides, or a transposed one that doubles them, with torch's default weights."""
    layer = nn.utils.skip_init(kind, inputs, outputs, 4, stride=2, padding=1)
    draw_uniform(layer, generator)
    return layer


def _inner(shape: Sequence[int], channels: Sequence[int]) -> tuple[int, int, int]:
    """The shape between the convolutions and the hidden layer."""
    return channels[-1], shape[1] >> len(channels), shape[2] >> len(channels)
