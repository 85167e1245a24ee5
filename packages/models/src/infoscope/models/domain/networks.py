"""Encoders, decoders, heads, priors and the gradient reversal of the domain models.

Parts are built on torch's meta device; `initialise` then draws all weights from one
generator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from infoscope.models.blocks import Block
from infoscope.models.domain.configs import Network
from infoscope.models.initialisation import draw_uniform

SMALLEST_SCALE = 1e-7
BACKBONES = {"densenet121": 1024, "resnet18": 512, "resnet50": 2048}  # kind -> features


def initialise(model: nn.Module, generator: torch.Generator) -> None:
    """Moves a model from the meta device to the CPU and draws its weights: torch's
    defaults, except Kaiming-normal convolutions of a backbone, as in torchvision.
    Channels-last memory is 20 % faster.
    """
    model.to_empty(device="cpu")
    of_backbones = set()
    for module in model.modules():
        if isinstance(module, Backbone):
            of_backbones.update(module.modules())
    for module in model.modules():
        if isinstance(module, nn.Conv2d) and module in of_backbones:
            nn.init.kaiming_normal_(
                module.weight, nonlinearity="relu", generator=generator
            )
        elif isinstance(module, (nn.Linear, nn.Conv2d)):
            draw_uniform(module, generator)
        elif isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            module.reset_parameters()
    model.to(memory_format=torch.channels_last)


def perceptron(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Linear layers with ReLU between them, from [n, inputs] to [n, outputs]."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    layers.append(nn.Linear(inputs, outputs))
    return nn.Sequential(*layers)


def encoder(shape: Sequence[int], network: Network, outputs: int) -> nn.Module:
    """A network from items [n, *shape] to [n, outputs]."""
    if network.kind != "plain":
        features = BACKBONES[network.kind]
        return nn.Sequential(Backbone(network.kind), nn.Linear(features, outputs))
    if len(shape) == 1:
        return perceptron(shape[0], [network.width] * network.depth, outputs)
    layers: list[nn.Module] = []
    sizes, channels = _stages(shape, network.width)
    for before, after in pairwise((shape[0], *channels)):
        convolution = nn.Conv2d(before, after, 5, stride=2, padding=2, bias=False)
        layers += [convolution, nn.BatchNorm2d(after), nn.ReLU()]
    features = channels[-1] * math.prod(sizes[-1])
    layers += [nn.Flatten(), nn.Linear(features, outputs)]
    return nn.Sequential(*layers)


def decoder(
    inputs: int, shape: Sequence[int], network: Network, levels: int = 1
) -> nn.Module:
    """A network from codes [n, inputs] to [n, levels * channels, height, width], or [n,
    levels * features].
    """
    if len(shape) == 1:
        return perceptron(inputs, [network.width] * network.depth, levels * shape[0])
    sizes, channels = _stages(shape, network.width)
    sizes.reverse()
    channels.reverse()
    grid = (channels[0], *sizes[0])
    features = math.prod(grid)
    layers: list[nn.Module] = [
        nn.Linear(inputs, features, bias=False),
        nn.BatchNorm1d(features),
        nn.ReLU(),
        nn.Unflatten(1, grid),
    ]
    for (before, after), size in zip(pairwise(channels), sizes[1:]):
        convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
        layers += [nn.Upsample(size), convolution, nn.BatchNorm2d(after), nn.ReLU()]
    # larger kernels are too slow for 256 levels per value
    kernel = 3 if levels == 1 else 1
    outputs = levels * shape[0]
    convolution = nn.Conv2d(channels[-1], outputs, kernel, padding=kernel // 2)
    layers += [nn.Upsample(sizes[-1]), convolution]
    return nn.Sequential(*layers)


def _stages(
    shape: Sequence[int], width: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """The sizes from the image to a grid of at most 7 x 7, and the channels after each
    halving (at least one).
    """
    _, height, columns = shape
    sizes = [(height, columns)]
    channels: list[int] = []
    while not channels or min(height, columns) > 7:
        height = (height + 1) // 2
        columns = (columns + 1) // 2
        sizes.append((height, columns))
        factor = min(2 ** len(channels), 4)
        channels.append(width * factor)
    return sizes, channels


class Backbone(nn.Module):
    """The features of a torchvision network, averaged over positions: images [n, 3, h,
    w] to [n, BACKBONES[kind]].
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        from torchvision import models  # takes seconds to import

        network = getattr(models, kind)(weights=None)
        if kind == "densenet121":
            self.features = nn.Sequential(network.features, nn.ReLU())
        else:
            self.features = nn.Sequential(*list(network.children())[:-2])

    def forward(self, images: Tensor) -> Tensor:
        """Features [n, features] of images [n, 3, h, w]."""
        return self.features(images).mean((2, 3))


class LabelPrior(nn.Module):
    """p(z | label): one-hot, linear, (batch norm,) ReLU, and two linear heads for mean
    and scale (softplus).

    The input has every label once, so that DIVA's batch norm is over labels (in the
    official code over the batch).
    """

    def __init__(self, labels: Sequence[int], dim: int, norm: bool) -> None:
        super().__init__()
        self.labels = tuple(labels)
        self.hidden = nn.Sequential(nn.Linear(sum(labels), dim, bias=not norm))
        if norm:
            self.hidden.append(nn.BatchNorm1d(dim, track_running_stats=False))
        self.hidden.append(nn.ReLU())
        self.mean = nn.Linear(dim, dim)
        self.scale = nn.Linear(dim, dim)

    def forward(self) -> Block:
        """Mean and scale of every label [labels, dim], or of every pair of labels
        [labels, other labels, dim].
        """
        one_hot = [torch.eye(count).to(self.mean.weight) for count in self.labels]
        if len(one_hot) == 2:
            first, second = one_hot
            one_hot = [
                first.repeat_interleave(len(second), 0),
                second.repeat(len(first), 1),
            ]
        inputs = torch.cat(one_hot, 1)
        hidden = self.hidden(inputs)
        mean = self.mean(hidden)
        scale = softplus(self.scale(hidden)) + SMALLEST_SCALE
        return Block(mean.unflatten(0, self.labels), scale.unflatten(0, self.labels))


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * gradient, None


def reverse_gradient(x: Tensor, strength: float) -> Tensor:
    """x unchanged, with its gradient multiplied by -strength (Ganin et al. 2016)."""
    return _Reversal.apply(x, strength)
