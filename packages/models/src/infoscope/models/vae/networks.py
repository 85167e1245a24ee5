"""Variational autoencoders of images, with real and categorical latents (Kingma &
Welling 2014; Dupont 2018); the convolutional network of Tokui & Sato 2021, table 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, softplus

from infoscope.checks import require_int, require_ints, require_number
from infoscope.errors import OutOfRange, TooFew, WrongShape
from infoscope.models.blocks import Block
from infoscope.models.initialisation import draw_uniform, generator_or_default, linear
from infoscope.models.vae.images import Images, ImageSource, unit_range


@dataclass(frozen=True)
class LatentSpec:
    """The latents of an autoencoder: real ones, then categorical ones.

    Parameters
    ----------
    real
        Number of real latents.
    categorical
        Number of categories of each categorical latent.
    temperature
        Temperature at which categories are relaxed (Jang et al. 2017; Maddison et al.
        2017); .67 is JointVAE's.

    Raises
    ------
    ValueError
        For no latents, fewer than 2 categories, a temperature that is not positive.

    Examples
    --------
    >>> latents = LatentSpec(real=2, categorical=(3,))
    >>> latents.names, latents.width
    (('z1', 'z2', 'c1'), 5)
    """

    real: int = 6
    categorical: tuple[int, ...] = ()
    temperature: float = 0.67

    def __post_init__(self) -> None:
        categories: list[int] = []
        if self.categorical or not isinstance(self.categorical, Sequence):
            categories = require_ints("categorical", self.categorical)
        object.__setattr__(self, "categorical", tuple(categories))
        if require_int("real", self.real, 0) == 0 and not categories:
            raise OutOfRange(
                "real must be at least 1 without categorical latents, got 0."
            )
        if 1 in categories:
            raise OutOfRange(
                "categorical must list numbers of categories, each at least 2, got "
                f"{categories}."
            )
        require_number("temperature", self.temperature, ends=False)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of entries of each latent in a code: 1 for a real one, else its
        categories.
        """
        return (1,) * self.real + self.categorical

    @property
    def width(self) -> int:
        """The length of a code."""
        return sum(self.sizes)

    @property
    def names(self) -> tuple[str, ...]:
        """z1, z2, ... for real and c1, c2, ... for categorical latents, in the order of
        the code.
        """
        real = [f"z{number}" for number in range(1, self.real + 1)]
        categorical = [f"c{number}" for number in range(1, len(self.categorical) + 1)]
        return (*real, *categorical)


@dataclass(frozen=True)
class Encoding:
    """Codes of n images.

    Attributes
    ----------
    mean, scale
        Means and standard deviations of the R real latents, [n, R]; scale is None for
        deterministic codes.
    log_probabilities
        [n, C_j] for each categorical latent of C_j categories.
    """

    mean: Tensor
    scale: Tensor | None
    log_probabilities: tuple[Tensor, ...] = ()

    @property
    def probabilities(self) -> tuple[Tensor, ...]:
        """[n, C_j] for each categorical latent."""
        return tuple(block.exp() for block in self.log_probabilities)


class _ImageModel(nn.Module):
    """The base of VAE and AutoEncoder: encoder and decoder."""

    def __init__(
        self,
        image_shape: Sequence[int],
        latents: LatentSpec,
        outputs: int,
        settings: Mapping[str, Any],
        channels: Sequence[int],
        hidden: int,
        generator: torch.Generator | None,
    ) -> None:
        super().__init__()
        shape, channels = checked_shape(image_shape, channels)
        hidden = require_int("hidden", hidden)
        self.latents = latents
        self.config = {
            "image_shape": shape,
            **settings,
            "channels": channels,
            "hidden": hidden,
        }
        generator = generator_or_default(generator)
        self.encoder = encoder(shape, outputs, channels, hidden, generator)
        self.decoder = decoder(shape, latents.width, channels, hidden, generator)

    def encode(self, images: Tensor) -> Encoding:
        raise NotImplementedError

    def decode(self, codes: Tensor) -> Tensor:
        """Bernoulli logits [n, C, H, W] of codes [n, latents.width]; their sigmoid is
        the image.
        """
        if codes.dim() != 2 or codes.shape[1] != self.latents.width:
            raise WrongShape(
                f"codes must have shape [n, {self.latents.width}], got "
                f"{list(codes.shape)}."
            )
        return self.decoder(codes)

    def forward(self, images: Tensor) -> Tensor:
        """The means of real latents and the probabilities of categorical ones: [n,
        latents.width].

        images: floats in [0, 1], [n, C, H, W]. Raises ValueError for another shape or
        range.
        """
        return self.blocks(images)["z"].mean

    def blocks(self, images: Tensor) -> dict[str, Block]:
        """All latents as one block z, with standard deviations if all are real and
        random. Arguments as `forward`.
        """
        encoding = self.encode(unit_range(images))
        values = torch.cat([encoding.mean, *encoding.probabilities], 1)
        scale = None if encoding.log_probabilities else encoding.scale
        return {"z": Block(values, scale)}

    def _encoded(self, images: Tensor) -> Tensor:
        shape = self.config["image_shape"]
        if list(images.shape[1:]) != shape:
            sizes = ", ".join(map(str, shape))
            raise WrongShape(
                f"images must have shape [n, {sizes}], got {list(images.shape)}."
            )
        return self.encoder(images)


class VAE(_ImageModel):
    """A convolutional variational autoencoder: Gaussian and relaxed one-hot latents,
    Bernoulli pixels.

    As in Tokui & Sato 2021, table 2: 4 x 4 convolutions of stride 2 with 32, 32, 64 and
    64 channels, a hidden layer of 256, ReLU, linear layers for mean, scale (softplus)
    and logits; the decoder mirrors it.

    Parameters
    ----------
    image_shape
        (channels 1 to 3, height, width), with sides divisible by 2^stages.
    latents
        A LatentSpec or its fields.
    channels
        Channels of each stage.
    hidden
        Units of the hidden layer.
    generator
        CPU generator of the initial weights; None: seed 0.

    Raises
    ------
    ValueError
        For sizes out of range.

    Examples
    --------
    >>> model = VAE((1, 16, 16), LatentSpec(3), channels=(4, 4))
    >>> model(torch.zeros(2, 1, 16, 16)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        image_shape: Sequence[int] = (1, 64, 64),
        latents: LatentSpec | Mapping[str, Any] = LatentSpec(),  # noqa: B008 (frozen)
        channels: Sequence[int] = (32, 32, 64, 64),
        hidden: int = 256,
        generator: torch.Generator | None = None,
    ) -> None:
        if not isinstance(latents, LatentSpec):
            latents = LatentSpec(**latents)
        fields = asdict(latents)
        fields["categorical"] = list(latents.categorical)
        outputs = 2 * latents.real + sum(latents.categorical)
        super().__init__(
            image_shape,
            latents,
            outputs,
            {"latents": fields},
            channels,
            hidden,
            generator,
        )

    def encode(self, images: Tensor) -> Encoding:
        """The posterior of images [n, C, H, W], floats in [0, 1] (not checked). Raises
        ValueError for another shape.
        """
        real = self.latents.real
        outputs = self._encoded(images).split(
            (real, real, *self.latents.categorical), 1
        )
        mean, raw_scale, *logits = outputs
        log_probabilities = tuple(log_softmax(block, 1) for block in logits)
        return Encoding(mean, softplus(raw_scale), log_probabilities)

    def sample(self, encoding: Encoding, generator: torch.Generator) -> Tensor:
        """One code for each image, [n, latents.width]: real latents, then relaxed
        one-hot blocks. CPU generator.
        """
        mean = encoding.mean
        assert encoding.scale is not None
        noise = torch.randn(mean.shape, generator=generator).to(mean)
        blocks = [mean + encoding.scale * noise]
        for log_probabilities in encoding.log_probabilities:
            exponential = torch.empty(log_probabilities.shape).exponential_(
                generator=generator
            )
            gumbel = -exponential.log().to(log_probabilities)
            logits = (log_probabilities + gumbel) / self.latents.temperature
            blocks.append(logits.softmax(1))
        return torch.cat(blocks, 1)


class AutoEncoder(_ImageModel):
    """A plain autoencoder with the network of `VAE`, whose other arguments and errors
    it shares.

    Parameters
    ----------
    real
        Length of the code.
    """

    def __init__(
        self,
        image_shape: Sequence[int] = (1, 64, 64),
        real: int = 6,
        channels: Sequence[int] = (32, 32, 64, 64),
        hidden: int = 256,
        generator: torch.Generator | None = None,
    ) -> None:
        latents = LatentSpec(require_int("real", real))
        super().__init__(
            image_shape, latents, real, {"real": real}, channels, hidden, generator
        )

    def encode(self, images: Tensor) -> Encoding:
        """The codes of images [n, C, H, W] as `mean`, with scale None. Raises
        ValueError for another shape.
        """
        return Encoding(self._encoded(images), None)


@torch.no_grad()
def encode_all(model: VAE | AutoEncoder, images: Images, batch: int = 1024) -> Encoding:
    """The encoding of a whole data set, on the CPU.

    Parameters
    ----------
    model
        An autoencoder, on any device.
    images
        As in `fit_vae`.
    batch
        Images that are encoded together.

    Raises
    ------
    ValueError
        For images of another shape or range.
    """
    source = ImageSource(images, model.config["image_shape"])
    device = next(model.parameters()).device
    parts = []
    for rows in torch.arange(source.count).split(require_int("batch", batch)):
        parts.append(model.encode(source.batch(rows, device)))
    mean = torch.cat([part.mean for part in parts]).cpu()
    scale = None
    if parts[0].scale is not None:
        scale = torch.cat([part.scale for part in parts]).cpu()
    log_probabilities = []
    for blocks in zip(*(part.log_probabilities for part in parts)):
        log_probabilities.append(torch.cat(blocks).cpu())
    return Encoding(mean, scale, tuple(log_probabilities))


@torch.no_grad()
def traverse(
    model: VAE | AutoEncoder,
    start: Tensor,
    values: Sequence[float] = (-2.0, -1.0, 0.0, 1.0, 2.0),
) -> dict[str, Tensor]:
    """Images of latent traversals by latent name, [values or categories, C, H, W].

    Parameters
    ----------
    model
        An autoencoder.
    start
        An image [C, H, W], or a code [latents.width].
    values
        Values of a real latent, in standard deviations of the prior.

    Raises
    ------
    ValueError
        For another shape and no values.
    """
    if len(values) == 0:
        raise TooFew("values must be one or more numbers, got none.")
    parameter = next(model.parameters())
    start = torch.as_tensor(start).to(parameter)
    code = model(start[None])[0] if start.dim() == 3 else start
    if code.shape != (model.latents.width,):
        raise WrongShape(
            f"start must be an image or a code of length {model.latents.width}, got "
            f"{list(start.shape)}."
        )
    images = {}
    column = 0
    for name, size in zip(model.latents.names, model.latents.sizes):
        settings = torch.eye(size) if size > 1 else torch.as_tensor(values)[:, None]
        codes = code.repeat(len(settings), 1)
        codes[:, column : column + size] = settings.to(parameter)
        images[name] = model.decode(codes).sigmoid()
        column += size
    return images


def checked_shape(
    image_shape: Sequence[int], channels: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Both as lists; ValueError unless the image has 1 to 3 channels and sides that the
    stages can halve.
    """
    shape = require_ints("image_shape", image_shape, 3)
    channels = require_ints("channels", channels)
    if shape[0] > 3:
        raise WrongShape(
            f"image_shape must begin with 1 to 3 channels, got {shape[0]}."
        )
    factor = 2 ** len(channels)
    if shape[1] % factor or shape[2] % factor:
        raise WrongShape(
            f"image_shape must have a height and width divisible by {factor} for "
            f"{len(channels)} stages "
            f"of convolution, got {shape}."
        )
    return shape, channels


def encoder(
    shape: Sequence[int],
    outputs: int,
    channels: Sequence[int],
    hidden: int,
    generator: torch.Generator,
) -> nn.Sequential:
    """Images [n, *shape] to [n, outputs]: 4 x 4 convolutions of stride 2, a hidden
    layer, a linear layer.
    """
    layers: list[nn.Module] = []
    for before, after in pairwise([shape[0], *channels]):
        layers += [_halving(nn.Conv2d, before, after, generator), nn.ReLU(inplace=True)]
    features = prod(_inner(shape, channels))
    layers += [nn.Flatten(), linear(features, hidden, generator), nn.ReLU(inplace=True)]
    layers.append(linear(hidden, outputs, generator))
    # the faster memory layout for convolutions on CPUs
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)


def decoder(
    shape: Sequence[int],
    inputs: int,
    channels: Sequence[int],
    hidden: int,
    generator: torch.Generator,
) -> nn.Sequential:
    """Codes [n, inputs] to logits [n, *shape]: the encoder mirrored, with transposed
    convolutions.
    """
    inner = _inner(shape, channels)
    layers: list[nn.Module] = [linear(inputs, hidden, generator), nn.ReLU(inplace=True)]
    layers += [
        linear(hidden, prod(inner), generator),
        nn.ReLU(inplace=True),
        nn.Unflatten(1, inner),
    ]
    for before, after in pairwise([*reversed(channels), shape[0]]):
        layers += [
            _halving(nn.ConvTranspose2d, before, after, generator),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*layers[:-1]).to(memory_format=torch.channels_last)


def _halving(
    kind: type[nn.Conv2d] | type[nn.ConvTranspose2d],
    inputs: int,
    outputs: int,
    generator: torch.Generator,
) -> nn.Module:
    """A convolution that halves the sides, or a transposed one that doubles them, with
    torch's default weights.
    """
    layer = nn.utils.skip_init(kind, inputs, outputs, 4, stride=2, padding=1)
    assert isinstance(layer, nn.Conv2d | nn.ConvTranspose2d)
    draw_uniform(layer, generator)
    return layer


def _inner(shape: Sequence[int], channels: Sequence[int]) -> tuple[int, int, int]:
    """The shape between the convolutions and the hidden layer."""
    factor = 2 ** len(channels)
    return channels[-1], shape[1] // factor, shape[2] // factor
