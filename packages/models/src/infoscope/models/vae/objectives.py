"""Objectives of variational autoencoders: `OBJECTIVES`, by name. Add a class here and a
line in OBJECTIVES.

Losses are means over the images of a batch, in nats per image; "loss" is minimised,
"reconstruction" is the negative log-likelihood of the pixels at one drawn code.
Defaults are the published values for dSprites.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from infoscope.checks import one_of, require_int, require_number
from infoscope.errors import InvalidInput, WrongType
from infoscope.models.initialisation import linear
from infoscope.models.vae.densities import (
    categorical_kl,
    gaussian_kl,
    kl_parts,
    stratified_log_weights,
)
from infoscope.models.vae.networks import VAE, AutoEncoder, Encoding, LatentSpec

PRESETS = ("published", "quick")
Losses = dict[str, Tensor]


class Objective:
    """An objective. Its fields are weights; call `prepare` before the first `losses`.

    batches      batches of images per step
    spelt        setting -> field; "weight" is the one for disentanglement
    presets      name of PRESETS -> settings; "share": of the usual number of steps; "quick": for 32 x 32 pixels
    categories   numbers of categories of the published categorical latents
    has_density  whether codes are random
    cost         time of a step relative to a VAE
    """

    batch: ClassVar[int] = 64
    learning_rate: ClassVar[float] = 5e-4
    betas: ClassVar[tuple[float, float]] = (0.9, 0.999)
    batches: ClassVar[int] = 1
    spelt: ClassVar[Mapping[str, str]] = {}
    presets: ClassVar[Mapping[str, dict[str, Any]]] = {}
    categories: ClassVar[tuple[int, ...]] = ()
    has_density: ClassVar[bool] = True
    cost: ClassVar[float] = 1.0
    __dataclass_fields__: ClassVar[dict[str, Any]]  # subclasses are dataclasses

    @classmethod
    def settings(cls, preset: str = "published") -> dict[str, Any]:
        """Plain values of batch, learning_rate and the settings in `spelt`, of a
        preset. ValueError for others.
        """
        one_of("preset", preset, PRESETS)
        settings = {"batch": cls.batch, "learning_rate": cls.learning_rate}
        for name, field in cls.spelt.items():
            settings[name] = getattr(cls, field)
        return settings | cls.presets.get(preset, {})

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], steps: int) -> Self:
        """The objective for a training of `steps` steps, from `settings`."""
        weights = {field: settings[name] for name, field in cls.spelt.items()}
        return cls(**weights)

    @classmethod
    def network(
        cls, image_shape: Sequence[int], latents: int, **size: Any
    ) -> VAE | AutoEncoder:
        """A suitable network with this number of latents; size: channels, hidden and
        generator, as in `VAE`.
        """
        real = latents - len(cls.categories)
        return VAE(image_shape, LatentSpec(real, cls.categories), **size)

    def __post_init__(self) -> None:
        for field in fields(self):
            require_number(field.name, getattr(self, field.name))

    def prepare(self, model: VAE | AutoEncoder, generator: torch.Generator) -> None:
        """Creates further networks of the objective. Raises ValueError for an
        unsuitable model.
        """
        if not isinstance(model, VAE):
            raise WrongType(
                f"model must be a VAE for the objective {type(self).__name__}, got "
                f"{type(model).__name__}."
            )

    def losses(
        self,
        model: Any,
        images: Tensor,
        generator: torch.Generator,
        items: int,
        step: int,
    ) -> Losses:
        """All losses of images [n, C, H, W] drawn from `items`, at a step counted from
        1; "loss" is minimised.
        """
        raise NotImplementedError

    def after(self, model: Any, images: Tensor, generator: torch.Generator) -> Losses:
        """Ends a step, with the last of its batches; further losses."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """The state of further networks."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores `state_dict`."""


@dataclass
class Reconstruction(Objective):
    """Reconstruction alone, for an AutoEncoder."""

    presets: ClassVar = {"quick": {"batch": 32, "learning_rate": 2e-3}}
    has_density: ClassVar[bool] = False

    @classmethod
    def network(
        cls, image_shape: Sequence[int], latents: int, **size: Any
    ) -> AutoEncoder:
        return AutoEncoder(image_shape, latents, **size)

    def prepare(self, model: VAE | AutoEncoder, generator: torch.Generator) -> None:
        if not isinstance(model, AutoEncoder):
            raise WrongType(
                "model must be an AutoEncoder for the objective ae, got "
                f"{type(model).__name__}."
            )

    def losses(
        self,
        model: Any,
        images: Tensor,
        generator: torch.Generator,
        items: int,
        step: int,
    ) -> Losses:
        codes = model.encode(images).mean
        nll = negative_log_likelihood(model.decode(codes), images)
        return {"loss": nll, "reconstruction": nll}


@dataclass
class BetaVAE(Objective):
    """reconstruction + beta KL (Higgins et al. 2017); beta 1 is the evidence bound.
    3dshapes: learning rate 1e-4.
    """

    spelt: ClassVar = {"weight": "beta"}
    presets: ClassVar = {"quick": {"weight": 2.0, "batch": 32, "learning_rate": 1e-3}}

    beta: float = 4.0

    def losses(
        self,
        model: Any,
        images: Tensor,
        generator: torch.Generator,
        items: int,
        step: int,
    ) -> Losses:
        encoding, _, nll = _sampled(model, images, generator)
        real, categorical = _divergences(encoding)
        kl = real + categorical
        return {"loss": nll + self.beta * kl, "reconstruction": nll, "kl": kl}


@dataclass
class PlainVAE(BetaVAE):
    """The evidence bound (Kingma & Welling 2014)."""

    beta: float = 1.0


@dataclass
class FactorVAE(Objective):
    """reconstruction + KL + gamma TC (Kim & Mnih 2018, algorithm 2). 3dshapes: gamma
    20, discriminator rate 1e-5.

    A discriminator (`depth` hidden layers of `width`, leaky ReLU, Adam with betas (.5,
    .9)) separates codes from codes permuted by latent; its logit D(z) estimates log
    q(z) - sum_l log q(z_l). `total_correlation` is the mean of D; `discriminator` its
    cross entropy, ln 2 for chance.
    """

    batches: ClassVar[int] = 2
    learning_rate: ClassVar[float] = 1e-4
    spelt: ClassVar = {
        "weight": "gamma",
        "discriminator_width": "width",
        "discriminator_depth": "depth",
        "discriminator_learning_rate": "discriminator_learning_rate",
    }
    presets: ClassVar = {
        "quick": {
            "weight": 10.0,
            "batch": 32,
            "learning_rate": 2e-3,
            "discriminator_width": 128,
            "discriminator_depth": 4,
            "discriminator_learning_rate": 5e-4,
        }
    }
    cost: ClassVar[float] = 1.3  # it trains a second network

    gamma: float = 35.0
    width: int = 1000
    depth: int = 6
    discriminator_learning_rate: float = 1e-4

    def prepare(self, model: VAE | AutoEncoder, generator: torch.Generator) -> None:
        super().prepare(model, generator)
        depth = require_int("depth", self.depth)
        width = require_int("width", self.width)
        layers: list[nn.Module] = []
        inputs = model.latents.width
        for _ in range(depth):
            layers += [
                linear(inputs, width, generator),
                nn.LeakyReLU(0.2, inplace=True),
            ]
            inputs = width
        layers.append(linear(inputs, 1, generator))
        device = next(model.parameters()).device
        self.discriminator = nn.Sequential(*layers).to(device)
        rate = self.discriminator_learning_rate
        self._optimiser = torch.optim.Adam(
            self.discriminator.parameters(), rate, betas=(0.5, 0.9), fused=True
        )

    def losses(
        self,
        model: Any,
        images: Tensor,
        generator: torch.Generator,
        items: int,
        step: int,
    ) -> Losses:
        encoding, codes, nll = _sampled(model, images, generator)
        real, categorical = _divergences(encoding)
        kl = real + categorical
        self.discriminator.requires_grad_(False)  # fixed here
        correlation = self.discriminator(codes).mean()
        self.discriminator.requires_grad_(True)
        self._codes = codes.detach()
        loss = nll + kl + self.gamma * correlation
        return {
            "loss": loss,
            "reconstruction": nll,
            "kl": kl,
            "total_correlation": correlation,
        }

    def after(self, model: Any, images: Tensor, generator: torch.Generator) -> Losses:
        with torch.no_grad():
            codes = model.sample(model.encode(images), generator)
            blocks = []
            for block in codes.split(model.latents.sizes, 1):
                order = torch.randperm(len(codes), generator=generator).to(codes.device)
                blocks.append(block[order])
            permuted = torch.cat(blocks, 1)
        both = torch.cat([self._codes, permuted])
        logits = self.discriminator(both).squeeze(1)
        joint = logits[: len(self._codes)]
        product = logits[len(self._codes) :]
        loss = 0.5 * (softplus(-joint).mean() + softplus(product).mean())
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        return {"discriminator": loss.detach()}

    def state_dict(self) -> dict[str, Any]:
        return {
            "discriminator": self.discriminator.state_dict(),
            "optimiser": self._optimiser.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.discriminator.load_state_dict(state["discriminator"])
        self._optimiser.load_state_dict(state["optimiser"])


@dataclass
class BetaTCVAE(Objective):
    """reconstruction + alpha MI + beta TC + gamma dimension-wise KL (Chen et al. 2018).
    3dshapes: beta 4.

    Parts by `stratified_log_weights`: mutual information is biased upwards, at most ln
    N; their sum `kl` is unbiased. Real latents only.
    """

    batch: ClassVar[int] = 2048
    learning_rate: ClassVar[float] = 1e-3
    spelt: ClassVar = {"weight": "beta"}
    presets: ClassVar = {
        "published": {"share": 0.1},
        "quick": {"weight": 4.0, "batch": 32, "learning_rate": 2e-3},
    }

    alpha: float = 1.0
    beta: float = 6.0
    gamma: float = 1.0

    def prepare(self, model: VAE | AutoEncoder, generator: torch.Generator) -> None:
        super().prepare(model, generator)
        if model.latents.categorical:
            raise InvalidInput(
                "model must have real latents only for beta-tcvae, got "
                f"{model.latents}."
            )

    def losses(
        self,
        model: Any,
        images: Tensor,
        generator: torch.Generator,
        items: int,
        step: int,
    ) -> Losses:
        encoding, codes, nll = _sampled(model, images, generator)
        log_weights = stratified_log_weights(len(images), items, like=codes.detach())
        assert encoding.scale is not None
        parts = kl_parts(codes, encoding.mean, encoding.scale, log_weights)
        information, correlation, dimensions = (part.mean() for part in parts)
        loss = (
            nll
            + self.alpha * information
            + self.beta * correlation
            + self.gamma * dimensions
        )
        return {
            "loss": loss,
            "reconstruction": nll,
            "kl": information + correlation + dimensions,
            "mutual_information": information,
            "total_correlation": correlation,
            "dimension_wise_kl": dimensions,
        }


@dataclass
class JointVAE(Objective):
    """reconstruction + gamma |KL_real - C_real| + gamma |KL_categorical -
    C_categorical| (Dupont 2018, equation 7).

    Capacities (nats) rise linearly over `capacity_steps`; the capacity of categories is
    at most the sum of ln C. Published with 5 real latents and one of 3 categories;
    3dshapes: 4 categories, learning rate 1e-4. capacity_share: share of the training
    over which they rise; 0 for "quick".
    """

    spelt: ClassVar = {
        "weight": "gamma",
        "capacity_real": "capacity_real",
        "capacity_categorical": "capacity_categorical",
    }
    presets: ClassVar = {
        "published": {"capacity_share": 1.0},
        "quick": {
            "weight": 2.0,
            "batch": 32,
            "learning_rate": 2e-3,
            "capacity_real": 7.0,
            "capacity_share": 0.0,
        },
    }
    categories: ClassVar[tuple[int, ...]] = (3,)

    gamma: float = 150.0
    capacity_real: float = 40.0
    capacity_categorical: float = 1.1
    capacity_steps: int = 300_000

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], steps: int) -> Self:
        rising = max(1, round(settings["capacity_share"] * steps))
        return replace(super().from_settings(settings, steps), capacity_steps=rising)

    def prepare(self, model: VAE | AutoEncoder, generator: torch.Generator) -> None:
        super().prepare(model, generator)
        require_int("capacity_steps", self.capacity_steps)
        if not model.latents.categorical:
            raise InvalidInput(
                "model must have categorical latents for joint-vae, got "
                f"{model.latents}."
            )

    def losses(
        self,
        model: Any,
        images: Tensor,
        generator: torch.Generator,
        items: int,
        step: int,
    ) -> Losses:
        encoding, _, nll = _sampled(model, images, generator)
        real, categorical = _divergences(encoding)
        share = min(1.0, step / self.capacity_steps)
        largest = sum(math.log(size) for size in model.latents.categorical)
        capacity_real = share * self.capacity_real
        capacity_categorical = min(share * self.capacity_categorical, largest)
        excess = (real - capacity_real).abs() + (
            categorical - capacity_categorical
        ).abs()
        return {
            "loss": nll + self.gamma * excess,
            "reconstruction": nll,
            "kl": real + categorical,
            "kl_real": real,
            "kl_categorical": categorical,
            "capacity_real": nll.new_tensor(capacity_real),
            "capacity_categorical": nll.new_tensor(capacity_categorical),
        }


OBJECTIVES: dict[str, type[Objective]] = {
    "vae": PlainVAE,
    "beta-vae": BetaVAE,
    "factor-vae": FactorVAE,
    "beta-tcvae": BetaTCVAE,
    "joint-vae": JointVAE,
    "ae": Reconstruction,
}


def negative_log_likelihood(logits: Tensor, images: Tensor) -> Tensor:
    """Mean over images of the Bernoulli negative log-likelihood of their pixels, summed
    over the pixels, in nats.
    """
    return binary_cross_entropy_with_logits(logits, images, reduction="sum") / len(
        images
    )


def _sampled(
    model: VAE, images: Tensor, generator: torch.Generator
) -> tuple[Encoding, Tensor, Tensor]:
    """The encoding, a code drawn for each image, and its reconstruction loss."""
    encoding = model.encode(images)
    codes = model.sample(encoding, generator)
    return encoding, codes, negative_log_likelihood(model.decode(codes), images)


def _divergences(encoding: Encoding) -> tuple[Tensor, Tensor]:
    """KL divergences from the prior of real and of categorical latents, means over
    images.
    """
    assert encoding.scale is not None
    real = gaussian_kl(encoding.mean, encoding.scale).sum(1).mean()
    categorical = real.new_zeros(())
    for log_probabilities in encoding.log_probabilities:
        categorical = categorical + categorical_kl(log_probabilities).mean()
    return real, categorical
