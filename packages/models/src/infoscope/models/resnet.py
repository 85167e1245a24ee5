"""Residual networks that predict the patch labels of benchmark images, and their layers
as encoders (section 5.7).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torchvision.models.resnet import BasicBlock, Bottleneck, conv1x1

from infoscope.checks import one_of, require_int, require_ints
from infoscope.errors import OutOfRange, UnknownName, WrongShape
from infoscope.models.initialisation import draw_uniform, generator_or_default

_STAGES = {
    18: (BasicBlock, (2, 2, 2, 2)),
    34: (BasicBlock, (3, 4, 6, 3)),
    50: (Bottleneck, (3, 4, 6, 3)),
    101: (Bottleneck, (3, 4, 23, 3)),
}
TASKS = ("labels", "combinations")

Sample = Callable[[int, torch.Generator], tuple[Tensor, Tensor]]


class ResNet(nn.Module):
    """A residual network (He et al. 2016, torchvision's form) from images to the logits
    of their binary labels.

    Parameters
    ----------
    shape
        (channels 1 or 3, height, width); a grey image becomes three equal channels.
    labels
        Number of binary labels of an image.
    task
        "labels": a logit for each label; "combinations": a logit for each of the
        2^labels combinations.
    depth
        18, 34, 50 or 101.
    width
        Channels of the stem (64 as published, with torchvision's names).
    generator
        CPU generator of the initial weights; None: seed 0.

    Raises
    ------
    ValueError
        For another depth, task or number of channels, sizes that are not positive whole
        numbers, and more than 16 labels for "combinations".

    Examples
    --------
    >>> model = ResNet((3, 32, 32), labels=4, depth=18, width=4)
    >>> model(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self,
        shape: Sequence[int],
        labels: int = 10,
        task: str = "labels",
        depth: int = 50,
        width: int = 64,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        shape = require_ints("shape", shape, 3)
        if shape[0] not in (1, 3):
            raise WrongShape(f"shape must begin with 1 or 3 channels, got {shape[0]}.")
        if depth not in _STAGES:
            raise UnknownName(
                f"depth must be one of {', '.join(map(str, _STAGES))}, got {depth!r}."
            )
        labels = require_int("labels", labels)
        one_of("task", task, TASKS)
        width = require_int("width", width)
        self.config = {
            "shape": shape,
            "labels": labels,
            "task": task,
            "depth": depth,
            "width": width,
        }
        if task == "combinations" and labels > 16:
            raise OutOfRange(
                "labels must be at most 16 for the task combinations (2^labels "
                f"classes), got {labels}."
            )
        kind, counts = _STAGES[depth]
        # torchvision's blocks would draw weights from the global generator
        with torch.device("meta"):
            self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
            inputs = width
            for stage, count in enumerate(counts):
                planes = width * 2**stage
                blocks = nn.Sequential()
                for position in range(count):
                    stride = 2 if stage > 0 and position == 0 else 1
                    blocks.append(_block(kind, inputs, planes, stride))
                    inputs = planes * kind.expansion
                self.add_module(f"layer{stage + 1}", blocks)
            self.fc = nn.Linear(inputs, labels if task == "labels" else 2**labels)
        self.to_empty(device="cpu")
        self._initialise(generator_or_default(generator))

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, labels] or [n, 2^labels] of images [n, channels, height, width] or
        flat [n, dim].
        """
        return self.until("logits", images)

    def layers(self) -> list[str]:
        """The names of the layers in order: stem, every residual block, pooled
        (averaged features), logits.
        """
        return [name for name, _ in self._steps()]

    def until(self, layer: str, images: Tensor) -> Tensor:
        """The output of one layer: [n, c, h, w], or [n, c] from `pooled` on. Images as
        in `forward`.

        Raises ValueError for an unknown layer or images of another shape.
        """
        one_of("layer", layer, self.layers())
        h = self._images(images)
        for name, step in self._steps():
            h = step(h)
            if name == layer:
                break
        return h

    def predict(self, images: Tensor) -> Tensor:
        """The more probable labels: bool [n, labels]. Images as in `forward`; call it
        in evaluation mode.
        """
        with torch.no_grad():
            logits = self(images)
        if self.config["task"] == "labels":
            return logits > 0
        combination = logits.argmax(1, keepdim=True)
        places = torch.arange(self.config["labels"], device=logits.device)
        return (combination >> places & 1).bool()

    def loss(self, images: Tensor, labels: Tensor) -> Tensor:
        """Mean cross entropy of labels bool [n, labels], in nats: per label, or of the
        combination (2^labels).
        """
        logits = self(images)
        if self.config["task"] == "labels":
            return binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
        places = torch.arange(labels.shape[1], device=labels.device)
        combination = (labels.long() << places).sum(1)
        return cross_entropy(logits, combination)

    def _steps(self) -> Iterator[tuple[str, Callable[[Tensor], Tensor]]]:
        yield "stem", lambda h: self.maxpool(self.relu(self.bn1(self.conv1(h))))
        for stage in ("layer1", "layer2", "layer3", "layer4"):
            for position, block in enumerate(getattr(self, stage)):
                yield f"{stage}.{position}", block
        yield "pooled", lambda h: h.mean((2, 3))
        yield "logits", self.fc

    def _images(self, images: Tensor) -> Tensor:
        shape = self.config["shape"]
        size = math.prod(shape)
        if list(images.shape[1:]) not in (shape, [size]):
            raise WrongShape(
                f"images must have shape [n, {size}] or [n, *{shape}], got "
                f"{list(images.shape)}."
            )
        return images.view(-1, *shape).expand(-1, 3, -1, -1)

    def _initialise(self, generator: torch.Generator) -> None:
        """Torchvision's weights: convolutions of variance 2 / fan-out, batch norm at 1
        and 0, torch's linear one.
        """
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(
                    module.weight,
                    mode="fan_out",
                    nonlinearity="relu",
                    generator=generator,
                )
            elif isinstance(module, nn.BatchNorm2d):
                module.reset_parameters()
        draw_uniform(self.fc, generator)


class LayerEncoder(nn.Module):
    """A layer of a network as a fixed map: flat images [n, dim] to flat features [n,
    features], in evaluation mode.

    Parameters
    ----------
    model
        A ResNet (shared, not copied) or its config.
    layer
        A name of `model.layers()`.

    Raises
    ------
    ValueError
        For another layer.
    """

    def __init__(self, model: ResNet | Mapping[str, Any], layer: str) -> None:
        super().__init__()
        self.model = model if isinstance(model, ResNet) else ResNet(**model)
        self.config = {"model": self.model.config, "layer": layer}
        self.eval()
        parameter = next(self.model.parameters())
        image = parameter.new_zeros(1, *self.model.config["shape"])
        self.features = self(image).shape[1]

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        """Features [n, features] of flat images x [n, dim] (or [n, channels, height,
        width]).
        """
        return self.model.until(self.config["layer"], x).flatten(1)

    def train(self, mode: bool = True) -> LayerEncoder:
        """Always stays in evaluation mode."""
        return super().train(False)


def fit_resnet(
    sample: Sample,
    shape: Sequence[int],
    generator: torch.Generator,
    *,
    steps: int = 2000,
    batch: int = 64,
    learning_rate: float = 1e-3,
    device: torch.device | str = "cpu",
    progress: Callable[[int, float], None] | None = None,
    labels: int = 10,
    task: str = "labels",
    depth: int = 50,
    width: int = 64,
) -> ResNet:
    """A `ResNet` trained on fresh images (AdamW, rate falling linearly to 0), in
    evaluation mode.

    Parameters
    ----------
    sample
        sample(n, generator) draws images, float [n, channels, height, width] or [n,
        dim], and labels bool [n, labels].
    generator
        CPU generator of all draws.
    steps, batch, learning_rate
        Steps of the optimiser, images per step, first rate.
    device
        Device of the training.
    progress
        progress(step, loss) is called after each step, loss in nats.
    shape, labels, task, depth, width
        As in `ResNet`.

    Raises
    ------
    ValueError
        For other shapes and sizes.
    """
    steps = require_int("steps", steps)
    batch = require_int("batch", batch, 2)
    model = ResNet(shape, labels, task, depth, width, generator).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: 1.0 - step / steps
    )
    for step in range(1, steps + 1):
        images, truth = sample(batch, generator)
        if truth.dtype != torch.bool or truth.shape != (batch, labels):
            raise WrongShape(
                f"sample must return labels of torch.bool and shape [{batch}, "
                f"{labels}], got {truth.dtype} and "
                f"{list(truth.shape)}."
            )
        optimiser.zero_grad()
        loss = model.loss(images.to(device), truth.to(device))
        loss.backward()
        optimiser.step()
        schedule.step()
        if progress is not None:
            progress(step, loss.item())
    return model.eval()


def _block(
    block: type[BasicBlock | Bottleneck], inputs: int, planes: int, stride: int
) -> nn.Module:
    outputs = planes * block.expansion
    shortcut = None
    if stride != 1 or inputs != outputs:
        shortcut = nn.Sequential(
            conv1x1(inputs, outputs, stride), nn.BatchNorm2d(outputs)
        )
    return block(inputs, planes, stride, shortcut)
