"""A random i-RevNet (the benchmark, section 5.7; Jacobsen et al., i-RevNet, 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from infoscope.checks import require_int, require_ints
from infoscope.errors import OutOfRange, WrongShape
from infoscope.models.initialisation import convolution, generator_or_default
from infoscope.models.invertible.flows import InvertibleEncoder, Normalisation

# blocks per stage: of the published network (301 layers), and of a small one for a CPU
IREVNET_BLOCKS = {"published": (6, 16, 72, 6), "small": (1, 2, 4, 1)}


class IRevNet(InvertibleEncoder):
    """A random i-RevNet: space-to-depth, then stages of invertible blocks.

    Each stage halves height and width. Published: 3 x 64 x 64 images; 24, 96, 384 and 1536 channels per half, codes of
    12288. A block maps (a, b) to (b, a + F(b)), F three 3 x 3 convolutions through
    channels / `bottleneck`; |det| = 1 given the statistics. float32 inverts to about
    1e-3, float64 to rounding.

    Parameters
    ----------
    features
        Length of a flat sample. A sample shorter than the image of `shape` is repeated
        until the image is full.
    shape
        (channels, height, width) of the image; codes have the length of all its
        entries.
    blocks
        Blocks of each stage (IREVNET_BLOCKS has two choices).
    bottleneck
        Channels of a block's output for each channel inside.
    statistics
        "batch" or "fixed", as in `InvertibleEncoder`.
    generator
        CPU generator of the weights; None: seed 0.

    Raises
    ------
    ValueError
        For sizes that are not positive whole numbers, height or width not divisible by
        2^(stages + 1), more features than the image holds, fewer first-stage channels
        than bottleneck, or other statistics.

    Examples
    --------
    >>> network = IRevNet(features=48, shape=(3, 8, 8), blocks=(1, 1))
    >>> network(torch.randn(10, 48)).shape
    torch.Size([10, 192])
    """

    def __init__(
        self,
        features: int = 12288,
        shape: Sequence[int] = (3, 64, 64),
        blocks: Sequence[int] = IREVNET_BLOCKS["published"],
        bottleneck: int = 4,
        statistics: str = "batch",
        generator: torch.Generator | None = None,
    ) -> None:
        shape = require_ints("shape", shape, 3)
        blocks = require_ints("blocks", blocks)
        channels, height, width = shape
        size = channels * height * width
        factor = 2 ** (len(blocks) + 1)
        if height % factor or width % factor:
            raise WrongShape(
                f"shape must have a height and width divisible by {factor} for "
                f"{len(blocks)} stages, got {shape}."
            )
        if require_int("features", features) > size:
            raise OutOfRange(
                f"features must be at most {size}, the entries of {shape}, got "
                f"{features}."
            )
        if require_int("bottleneck", bottleneck) > channels * 8:
            raise OutOfRange(
                f"bottleneck must be at most the first stage's {channels * 8} "
                f"channels, got {bottleneck}."
            )
        super().__init__(
            statistics,
            features=features,
            shape=shape,
            blocks=blocks,
            bottleneck=bottleneck,
        )
        self.features = features
        self.code_features = size
        generator = generator_or_default(generator)
        self.blocks = nn.ModuleList()
        half = channels * 2
        for depth in blocks:
            for position in range(depth):
                stride = 2 if position == 0 else 1
                first = not self.blocks
                block = Block(half, stride, bottleneck, first, statistics, generator)
                self.blocks.append(block)
                half *= stride**2
        self._code_shape = (2 * half, height // factor, width // factor)
        self.requires_grad_(False)

    def _encode(self, x: Tensor) -> Tensor:
        copies = math.ceil(self.code_features / self.features)
        repeated = x.repeat(1, copies)[:, : self.code_features]
        image = repeated.view(-1, *self.config["shape"])
        a, b = space_to_depth(image).chunk(2, 1)
        for block in self.blocks:
            a, b = block(a, b)
        return torch.cat([a, b], 1).flatten(1)

    def _decode(self, code: Tensor) -> Tensor:
        a, b = code.view(-1, *self._code_shape).chunk(2, 1)
        for block in reversed(self.blocks):
            assert isinstance(block, Block)
            a, b = block.inverse(a, b)
        image = depth_to_space(torch.cat([a, b], 1))
        return image.flatten(1)[:, : self.features]


class Block(nn.Module):
    """(a, b) -> (b, a + F(b)); with stride 2, both halves are space-to-depth first."""

    def __init__(
        self,
        inputs: int,
        stride: int,
        bottleneck: int,
        first: bool,
        statistics: str,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.stride = stride
        outputs = inputs * stride**2
        inner = outputs // bottleneck
        layers: list[nn.Module] = [
            Normalisation(inputs, statistics),
            nn.ReLU(),
            convolution(inputs, inner, stride, generator),
            Normalisation(inner, statistics),
            nn.ReLU(),
            convolution(inner, inner, 1, generator),
            Normalisation(inner, statistics),
            nn.ReLU(),
            convolution(inner, outputs, 1, generator),
        ]
        self.residual = nn.Sequential(*layers[2:] if first else layers)

    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        change = self.residual(b)
        if self.stride == 2:
            a = space_to_depth(a)
            b = space_to_depth(b)
        return b, a + change

    def inverse(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        if self.stride == 1:
            return b - self.residual(a), a
        before = depth_to_space(a)
        change = self.residual(before)
        return depth_to_space(b - change), before


def space_to_depth(image: Tensor) -> Tensor:
    """[n, c, h, w] -> [n, 4 c, h / 2, w / 2]; channels by place in the cell, then c."""
    n, c, h, w = image.shape
    cells = image.view(n, c, h // 2, 2, w // 2, 2)
    return cells.permute(0, 3, 5, 1, 2, 4).reshape(n, 4 * c, h // 2, w // 2)


def depth_to_space(image: Tensor) -> Tensor:
    """The inverse of `space_to_depth`."""
    n, c, h, w = image.shape
    cells = image.view(n, 2, 2, c // 4, h, w)
    return cells.permute(0, 3, 4, 1, 5, 2).reshape(n, c // 4, 2 * h, 2 * w)
