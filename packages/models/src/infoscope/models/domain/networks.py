"""Encoders, decoders, heads, priors and the gradient reversal of the domain models.

Parts are built on torch's meta device; `initialise` then draws all weights from one
generator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    """Moves a model from the meta device to the CPU and draws its weights.

    Weights are torch's defaults, except Kaiming-normal convolutions of a backbone, as
    in torchvision. Channels-last memory is 20 % faster.
    """
    model.to_empty(device="cpu")
    of_backbones = set()
    for module in model.modules():
        if isinstance(module, Backbone):
            of_backbones.update(module.modules())
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            module.reset_parameters()
        elif isinstance(module, nn.Conv2d) and module in of_backbones:
            weight = module.weight
            nn.init.kaiming_normal_(weight, nonlinearity="relu", generator=generator)
        elif isinstance(module, nn.Linear | nn.Conv2d):
            draw_uniform(module, generator)
    model.to(memory_format=torch.channels_last)


def perceptron(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Linear layers with ReLU between them, from [n, inputs] to [n, outputs]."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers.append(nn.Linear(inputs, width))
        layers.append(nn.ReLU())
        inputs = width
    layers.append(nn.Linear(inputs, outputs))
    return nn.Sequential(*layers)


def encoder(shape: Sequence[int], network: Network, outputs: int) -> nn.Module:
    """A network from items [n, *shape] to [n, outputs]."""
    kind = network.kind
    if kind != "plain":
        head = nn.Linear(BACKBONES[kind], outputs)
        return nn.Sequential(Backbone(kind), head)
    before = shape[0]
    if len(shape) == 1:
        hidden = [network.width] * network.depth
        return perceptron(before, hidden, outputs)
    layers: list[nn.Module] = []
    stages = _stages(shape, network.width)
    for after, _, _ in stages[1:]:
        layers += _convolution(before, after, 5, stride=2)
        before = after
    layers.append(nn.Flatten())
    features = math.prod(stages[-1])
    layers.append(nn.Linear(features, outputs))
    return nn.Sequential(*layers)


def decoder(
    inputs: int, shape: Sequence[int], network: Network, levels: int = 1
) -> nn.Module:
    """A network from codes [n, inputs] to [n, levels * channels, height, width].

    For items that are features: to [n, levels * features].
    """
    outputs = levels * shape[0]
    if len(shape) == 1:
        hidden = [network.width] * network.depth
        return perceptron(inputs, hidden, outputs)
    stages = _stages(shape, network.width)
    stages.reverse()
    smallest = stages[0]
    features = math.prod(smallest)
    layers: list[nn.Module] = [
        nn.Linear(inputs, features, bias=False),
        nn.BatchNorm1d(features),
        nn.ReLU(),
        nn.Unflatten(1, smallest),
    ]
    before = smallest[0]
    for after, height, width in stages[1:-1]:
        layers.append(nn.Upsample((height, width)))
        layers += _convolution(before, after, 3)
        before = after
    _, height, width = shape
    layers.append(nn.Upsample((height, width)))
    # larger kernels are too slow for 256 levels per value
    kernel = 3 if levels == 1 else 1
    half = kernel // 2
    layers.append(nn.Conv2d(before, outputs, kernel, padding=half))
    return nn.Sequential(*layers)


def _convolution(
    inputs: int, outputs: int, kernel: int, stride: int = 1
) -> list[nn.Module]:
    """A convolution that keeps the size up to its stride, batch norm and ReLU."""
    half = kernel // 2
    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding=half, bias=False)
    return [layer, nn.BatchNorm2d(outputs), nn.ReLU()]


def _stages(shape: Sequence[int], width: int) -> list[tuple[int, ...]]:
    """The shapes (channels, height, width) from an image to a grid of at most 7 x 7, in
    at least one step of half the size.
    """
    _, height, columns = shape
    stages = [tuple(shape)]
    channels = width
    while len(stages) == 1 or min(height, columns) > 7:
        height = (height + 1) // 2
        columns = (columns + 1) // 2
        stages.append((channels, height, columns))
        channels = min(2 * channels, 4 * width)
    return stages


class Backbone(nn.Module):
    """The features of a torchvision network, averaged over the positions of images."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        from torchvision import models  # takes seconds to import

        network = getattr(models, kind)(weights=None)
        if kind == "densenet121":
            layers = [network.features, nn.ReLU()]
        else:
            layers = list(network.children())[:-2]
        self.features = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        """Features [n, BACKBONES[kind]] of images [n, 3, height, width]."""
        features = self.features(images)
        return features.mean((2, 3))


class LabelPrior(nn.Module):
    """p(z | label), Normals whose mean and scale (softplus) are linear in a hidden layer.

    The hidden layer: one-hot labels, linear, batch norm (with `norm`), ReLU. The input
    has every label once: batch norm is over labels (over the batch in DIVA's code).
    """

    def __init__(self, labels: Sequence[int], dim: int, norm: bool) -> None:
        super().__init__()
        self.labels = tuple(labels)
        linear = nn.Linear(sum(labels), dim, bias=not norm)
        self.hidden = nn.Sequential(linear)
        if norm:
            self.hidden.append(nn.BatchNorm1d(dim, track_running_stats=False))
        self.hidden.append(nn.ReLU())
        self.mean = nn.Linear(dim, dim)
        self.scale = nn.Linear(dim, dim)

    def forward(self) -> Block:
        """Means and scales [*labels, dim], of every label or every pair of labels."""
        count, *others = self.labels
        inputs = torch.eye(count)
        for other in others:
            first = inputs.repeat_interleave(other, 0)
            second = torch.eye(other).repeat(count, 1)
            inputs = torch.cat([first, second], 1)
        hidden = self.hidden(inputs.to(self.mean.weight))
        mean = self.mean(hidden).unflatten(0, self.labels)
        scale = softplus(self.scale(hidden)) + SMALLEST_SCALE
        return Block(mean, scale.unflatten(0, self.labels))


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
