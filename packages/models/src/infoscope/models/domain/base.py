"""The base of all domain models, and models of one block: risk minimisation, plain, with domain information (DI-ERM),
or with a penalty on differences between domains: of risks (IRM), features (CORAL) or gradients (Fishr).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot, pad

from infoscope.errors import TooFew, WrongShape
from infoscope.models.blocks import Block
from infoscope.models.domain.configs import (
    BalancedERMConfig,
    CORALConfig,
    DomainConfig,
    DomainInformedERMConfig,
    ERMConfig,
    FishrConfig,
    IRMConfig,
    Optimisation,
    PenaltyConfig,
)
from infoscope.models.domain.networks import encoder, initialise, perceptron
from infoscope.models.initialisation import generator_or_default


class Batch(NamedTuple):
    """Items x [n, *shape], their classes y and domains d, int64 [n]; y is -1 where unknown."""

    x: Tensor
    y: Tensor
    d: Tensor


class DomainModel(nn.Module):
    """A classifier with latent blocks for class, domain, both or neither.

    Made from the keyword settings of its `Config`: `NVAE(shape=(3, 28, 28), classes=10, domains=6)`. `config` is plain
    JSON values; `Model(**model.config)` and `load_state_dict` rebuild it, also from older versions. generator None:
    seed 0. ValueError for settings out of range.
    """

    Config: ClassVar[type[DomainConfig]]
    takes_unlabelled: ClassVar[bool] = False

    def __init__(self, *, generator: torch.Generator | None = None, **settings: Any) -> None:
        super().__init__()
        self.settings = self.Config.from_dict(settings)
        self.config = self.settings.to_dict()
        self.blocks_spec = self.settings.blocks
        with torch.device("meta"):
            self._build()
        initialise(self, generator_or_default(generator))

    def _build(self) -> None:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Class probabilities [n, classes] of items x [n, *shape]."""
        return self.class_logits(x).softmax(1)

    def blocks(self, x: Tensor) -> dict[str, Block]:
        """The values of items x [n, *shape] in each block that exists; ValueError for items of another shape."""
        raise NotImplementedError

    def class_logits(self, x: Tensor) -> Tensor:
        """Class logits [n, classes] of items x [n, *shape], from the means of the blocks."""
        raise NotImplementedError

    def domain_logits(self, x: Tensor) -> Tensor | None:
        """Domain logits [n, domains] of items x [n, *shape]; None for a model without them."""
        return None

    def losses(self, batch: Batch, progress: float, generator: torch.Generator, player: str = "model") -> dict:
        """The terms of the loss by name, scalar tensors in nats per item, and the weighted "objective" of `player`.

        progress: the share of the training done, in [0, 1). generator: a CPU generator for draws of latents.
        """
        raise NotImplementedError

    def players(self) -> dict[str, list[nn.Parameter]]:
        """Groups of parameters that are optimised together, by name; each step is for one group (`player`)."""
        return {"model": list(self.parameters())}

    def optimisation(self, player: str) -> Optimisation:
        """The optimiser settings of a player."""
        return self.settings.optimisation

    def player(self, step: int) -> str:
        """The player of a step, counted from 0."""
        return "model"

    def restart(self, steps: int) -> int | None:
        """The step of a training of `steps` before which the optimisers are reset; None for never."""
        return None

    def checked(self, x: Tensor) -> Tensor:
        """x; ValueError unless it is [n, *shape]."""
        if x.shape[1:] != torch.Size(self.settings.shape):
            raise WrongShape(f"x must have shape [n, {', '.join(map(str, self.settings.shape))}], got {list(x.shape)}.")
        return x


class ERM(DomainModel):
    """Empirical risk minimisation: z_y, deterministic, and a class head; the domain is not used."""

    Config = ERMConfig
    settings: ERMConfig

    def _build(self) -> None:
        settings = self.settings
        self.encoder = encoder(settings.shape, settings.network, settings.blocks.dim)
        self.class_head = perceptron(settings.blocks.dim, settings.hidden, settings.classes)

    def features(self, x: Tensor) -> Tensor:
        """z_y [n, dim] of items x [n, *shape]."""
        return self.encoder(self.checked(x))

    def blocks(self, x: Tensor) -> dict[str, Block]:
        return {"z_y": Block(self.features(x))}

    def class_logits(self, x: Tensor) -> Tensor:
        return self.class_head(self.features(x))

    def losses(self, batch: Batch, progress: float, generator: torch.Generator, player: str = "model") -> dict:
        risk = cross_entropy(self.class_logits(batch.x), batch.y)
        return {"class": risk, "objective": risk}


class BalancedERM(ERM):
    """The control of IRM, CORAL and Fishr: plain risk minimisation on the same batches."""

    Config = BalancedERMConfig


class UninformedERM(ERM):
    """The control of `DomainInformedERM`: plain risk minimisation with the same batches and head widths."""

    Config = DomainInformedERMConfig


class DomainInformedERM(ERM):
    """Risk minimisation over f(x, m), m a summary of the domain (Zhu et al. 2025, arXiv 2510.04441, DI-ERM).

    m is the mean of the features over the domain's items in the batch, as in marginal transfer (Blanchard et al. 2011);
    it helps under posterior drift. `class_logits` takes items of ONE domain; each result depends on the other items.
    """

    Config = DomainInformedERMConfig
    settings: DomainInformedERMConfig

    def _build(self) -> None:
        super()._build()
        settings = self.settings
        self.class_head = perceptron(2 * settings.blocks.dim, settings.hidden, settings.classes)

    def class_logits(self, x: Tensor) -> Tensor:
        """Class logits [n, classes] of items x [n, *shape] of one domain."""
        return self._informed(self.features(x), torch.ones(len(x), 1, device=x.device, dtype=x.dtype))

    def losses(self, batch: Batch, progress: float, generator: torch.Generator, player: str = "model") -> dict:
        z = self.features(batch.x)
        risk = cross_entropy(self._informed(z, one_hot(batch.d.unique(return_inverse=True)[1]).to(z.dtype)), batch.y)
        return {"class": risk, "objective": risk}

    def _informed(self, z: Tensor, members: Tensor) -> Tensor:
        """Logits from features [n, dim] and the means of their domains; members [n, domains]: indicators."""
        means = members.T @ z / members.sum(0)[:, None]
        return self.class_head(torch.cat([z, members @ means], 1))


class OfDomain(NamedTuple):
    """The items of one domain in a step: its code, features z [n, dim], class logits [n, classes], classes y [n]."""

    domain: int
    z: Tensor
    logits: Tensor
    y: Tensor


class Penalised(ERM):
    """ERM with a penalty on differences between domains; the risk is the mean over the domains of a step (see
    `PenaltyConfig`)."""

    settings: PenaltyConfig

    def penalty(self, parts: list[OfDomain]) -> Tensor:
        """The penalty of a step, a scalar, from the items of each domain."""
        raise NotImplementedError

    def losses(self, batch: Batch, progress: float, generator: torch.Generator, player: str = "model") -> dict:
        z = self.features(batch.x)
        logits, rows = self.class_head(z), {domain: batch.d == domain for domain in batch.d.unique().tolist()}
        parts = [OfDomain(domain, z[own], logits[own], batch.y[own]) for domain, own in rows.items()]
        risk = torch.stack([cross_entropy(part.logits, part.y) for part in parts]).mean()
        penalty = self.penalty(parts)
        weight = self.settings.weight if progress >= self.settings.switch else self.settings.weight_before
        return {"class": risk, "penalty": penalty, "objective": risk + weight * penalty}

    def restart(self, steps: int) -> int | None:
        return next((step for step in range(steps) if step / steps >= self.settings.switch), None)


class IRM(Penalised):
    """Invariant risk minimisation (Arjovsky et al. 2019, IRMv1): the penalty is the mean over domains (see
    `IRMConfig`)."""

    Config = IRMConfig
    settings: IRMConfig

    def penalty(self, parts: list[OfDomain]) -> Tensor:
        return torch.stack([invariance_penalty(part.logits, part.y, self.settings.penalty) for part in parts]).mean()


def invariance_penalty(logits: Tensor, y: Tensor, penalty: str = "unbiased") -> Tensor:
    """The IRMv1 penalty of one domain: the squared derivative of the mean cross entropy of w * logits by the SCALAR w
    at w = 1 (Arjovsky et al. 2019, eq. 4), nats squared.

    penalty: "squared", biased upwards by the variance of the derivative; "unbiased", the product over even and odd
    items, which may be negative (ValueError for fewer than two items).
    """
    if penalty == "unbiased" and len(y) < 2:
        raise TooFew(f"a step must have two items or more of each domain for the unbiased penalty, got {len(y)}.")
    # d/dw cross_entropy(w * logits, y) at w = 1 = expected logit under softmax(logits) - logit of y
    slope = (logits.softmax(1) * logits).sum(1) - (logits * one_hot(y, logits.shape[1])).sum(1)
    if penalty == "squared":
        return slope.mean().square()
    return slope[::2].mean() * slope[1::2].mean()


class CORAL(Penalised):
    """Correlation alignment (Sun & Saenko 2016, as in DomainBed): the penalty is the mean over pairs of domains of
    `moment_distance` between their features."""

    Config = CORALConfig
    settings: CORALConfig

    def penalty(self, parts: list[OfDomain]) -> Tensor:
        pairs = combinations([part.z for part in _comparable(parts)], 2)
        return torch.stack([moment_distance(a, b, self.settings.means) for a, b in pairs]).mean()


class Fishr(Penalised):
    """Invariant gradient variances (Rame et al. 2022): the mean squared distance of `gradient_variances` from their
    mean over domains.

    Moving averages over steps are compared, divided by the step's share 1 - ema, as in the official code.
    """

    Config = FishrConfig
    settings: FishrConfig

    def __init__(self, *, generator: torch.Generator | None = None, **settings: Any) -> None:
        super().__init__(generator=generator, **settings)
        own = self.settings
        self.register_buffer("variances", torch.zeros(own.domains, own.classes, own.blocks.dim + 1))

    def penalty(self, parts: list[OfDomain]) -> Tensor:
        domains, ema = [part.domain for part in parts], self.settings.ema
        now = torch.stack([gradient_variances(part.z, part.logits, part.y) for part in _comparable(parts)])
        average = ema * self.variances[domains] + (1 - ema) * now
        self.variances[domains] = average.detach()
        return (average / (1 - ema)).sub(average.mean(0) / (1 - ema)).square().mean()


def moment_distance(a: Tensor, b: Tensor, means: bool = True) -> Tensor:
    """Mean squared difference of two samples' covariances, with means also of their means; a: [n, dim], b: [m, dim].

    Without means 4 times the loss of Sun & Saenko 2016 (eq. 1).
    """
    distance = (a.T.cov() - b.T.cov()).square().mean()
    return distance + (a.mean(0) - b.mean(0)).square().mean() if means else distance


def gradient_variances(z: Tensor, logits: Tensor, y: Tensor) -> Tensor:
    """The variance over items of the gradients of the cross entropy by weights and biases of a linear head, [classes,
    dim + 1] (Rame et al. 2022, eq. 3), in closed form.

    z [n, dim] is the head's input; logits [n, classes]; y int64 [n].
    """
    # the gradient of an item is the outer product of slope and input, and so are the sums of its moments
    slope, inputs = logits.softmax(1) - one_hot(y, logits.shape[1]), pad(z, (0, 1), value=1.0)
    return (slope.square().T @ inputs.square()) / len(y) - ((slope.T @ inputs) / len(y)).square()


def _comparable(parts: list[OfDomain]) -> list[OfDomain]:
    """The parts; ValueError unless there are several domains with several items each."""
    least = min(len(part.y) for part in parts)
    if len(parts) < 2 or least < 2:
        raise TooFew(
            f"a step must have two items or more from each of two domains or more, got {len(parts)} domains and as "
            f"few as {least} items; set optimisation.balanced for equal numbers."
        )
    return parts
