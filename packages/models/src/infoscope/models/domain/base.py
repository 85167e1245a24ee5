"""The base of all domain models, and models of one block: empirical and invariant risk
minimisation (ERM, IRM).
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from infoscope.errors import TooFew, WrongShape
from infoscope.models.blocks import Block
from infoscope.models.domain.configs import (
    DomainConfig,
    ERMConfig,
    IRMConfig,
    Optimisation,
)
from infoscope.models.domain.networks import encoder, initialise, perceptron
from infoscope.models.initialisation import generator_or_default


class Batch(NamedTuple):
    """Items x [n, *shape], their classes y and domains d, int64 [n]; y is -1 where
    unknown.
    """

    x: Tensor
    y: Tensor
    d: Tensor


class DomainModel(nn.Module):
    """A classifier with latent blocks for class, domain, both or neither.

    `config` is plain JSON values; `Model(**model.config)` and `load_state_dict` rebuild
    it, also from older versions.

    Parameters
    ----------
    generator
        CPU generator of the initial weights; None: seed 0.
    **settings
        Fields of the class's `Config`.

    Raises
    ------
    ValueError
        For settings out of range.

    Examples
    --------
    >>> from infoscope.models.domain import ERM
    >>> model = ERM(shape=(3,), classes=2, domains=2)
    >>> model(torch.zeros(5, 3)).shape
    torch.Size([5, 2])
    """

    Config: ClassVar[type[DomainConfig]]
    takes_unlabelled: ClassVar[bool] = False

    def __init__(
        self, *, generator: torch.Generator | None = None, **settings: Any
    ) -> None:
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
        """The values of items x [n, *shape] in each block that exists; ValueError for
        items of another shape.
        """
        raise NotImplementedError

    def class_logits(self, x: Tensor) -> Tensor:
        """Class logits [n, classes] of items x [n, *shape], from the means of the
        blocks.
        """
        raise NotImplementedError

    def domain_logits(self, x: Tensor) -> Tensor | None:
        """Domain logits [n, domains] of items x [n, *shape]; None for a model without
        them.
        """
        return None

    def losses(
        self,
        batch: Batch,
        progress: float,
        generator: torch.Generator,
        player: str = "model",
    ) -> dict:
        """The terms of the loss by name, scalar tensors in nats per item, and the
        weighted "objective" of `player`.

        progress: the share of the training done, in [0, 1). generator: a CPU generator
        for draws of latents.
        """
        raise NotImplementedError

    def players(self) -> dict[str, list[nn.Parameter]]:
        """Groups of parameters that are optimised together, by name; each step is for
        one group (`player`).
        """
        return {"model": list(self.parameters())}

    def optimisation(self, player: str) -> Optimisation:
        """The optimiser settings of a player."""
        return self.settings.optimisation

    def player(self, step: int) -> str:
        """The player of a step, counted from 0."""
        return "model"

    def restart(self, steps: int) -> int | None:
        """The step of a training of `steps` before which the optimisers are reset; None
        for never.
        """
        return None

    def checked(self, x: Tensor) -> Tensor:
        """x; ValueError unless it is [n, *shape]."""
        if x.shape[1:] != torch.Size(self.settings.shape):
            sizes = ", ".join(map(str, self.settings.shape))
            raise WrongShape(f"x must have shape [n, {sizes}], got {list(x.shape)}.")
        return x


class ERM(DomainModel):
    """A classifier by empirical risk minimisation: z_y, deterministic, and a class
    head; the domain is not used.

    Parameters
    ----------
    **settings
        Fields of `ERMConfig`; `shape`, `classes` and `domains` have no defaults.
    """

    Config = ERMConfig
    settings: ERMConfig

    def _build(self) -> None:
        settings = self.settings
        self.encoder = encoder(settings.shape, settings.network, settings.blocks.dim)
        self.class_head = perceptron(
            settings.blocks.dim, settings.hidden, settings.classes
        )

    def features(self, x: Tensor) -> Tensor:
        """z_y [n, dim] of items x [n, *shape]."""
        return self.encoder(self.checked(x))

    def blocks(self, x: Tensor) -> dict[str, Block]:
        return {"z_y": Block(self.features(x))}

    def class_logits(self, x: Tensor) -> Tensor:
        return self.class_head(self.features(x))

    def losses(
        self,
        batch: Batch,
        progress: float,
        generator: torch.Generator,
        player: str = "model",
    ) -> dict:
        risk = cross_entropy(self.class_logits(batch.x), batch.y)
        return {"class": risk, "objective": risk}


class IRM(ERM):
    """A classifier by invariant risk minimisation (Arjovsky et al. 2019, IRMv1).

    The risk and the penalty are means over the domains of a step.

    Parameters
    ----------
    **settings
        Fields of `IRMConfig`; `shape`, `classes` and `domains` have no defaults.
    """

    Config = IRMConfig
    settings: IRMConfig

    def losses(
        self,
        batch: Batch,
        progress: float,
        generator: torch.Generator,
        player: str = "model",
    ) -> dict:
        settings = self.settings
        logits = self.class_logits(batch.x)
        risks = []
        penalties = []
        for domain in batch.d.unique().tolist():
            rows = batch.d == domain
            domain_logits = logits[rows]
            y = batch.y[rows]
            risks.append(cross_entropy(domain_logits, y))
            penalties.append(invariance_penalty(domain_logits, y, settings.penalty))
        risk = torch.stack(risks).mean()
        penalty = torch.stack(penalties).mean()
        weight = (
            settings.weight if progress >= settings.switch else settings.weight_before
        )
        return {"class": risk, "penalty": penalty, "objective": risk + weight * penalty}

    def restart(self, steps: int) -> int | None:
        for step in range(steps):
            if step / steps >= self.settings.switch:
                return step
        return None


def invariance_penalty(logits: Tensor, y: Tensor, penalty: str = "unbiased") -> Tensor:
    """The IRMv1 penalty of a domain (Arjovsky et al. 2019, eq. 4), a scalar in nats
    squared.

    It is the squared derivative of the mean cross entropy of w * logits by the scalar w
    at w = 1.

    Parameters
    ----------
    logits
        Class logits [n, classes].
    y
        Classes, int64 [n].
    penalty
        "squared", biased upwards by the variance of the derivative, or "unbiased", the
        product over even and odd items, which may be negative.

    Raises
    ------
    ValueError
        For fewer than two items and "unbiased".

    Examples
    --------
    >>> logits = torch.tensor([[0.0, 2.0], [2.0, 0.0]])
    >>> penalty = invariance_penalty(logits, torch.tensor([0, 0]), "squared")
    >>> round(penalty.item(), 3)
    0.58
    """
    if penalty == "unbiased" and len(y) < 2:
        raise TooFew(
            "a step must have two items or more of each domain for the unbiased "
            f"penalty, got {len(y)}."
        )
    # d/dw cross_entropy(w * logits, y) at w = 1 = expected logit under softmax(logits)
    # - logit of y
    expected = (logits.softmax(1) * logits).sum(1)
    truth = one_hot(y, logits.shape[1])
    slope = expected - (logits * truth).sum(1)
    if penalty == "squared":
        return slope.mean().square()
    return slope[::2].mean() * slope[1::2].mean()
