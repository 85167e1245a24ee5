"""Penalties on moments that differ between domains: of features (CORAL), of gradients (Fishr)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from infoscope.errors import TooFew
from infoscope.models.domain.base import OfDomain, Penalised
from infoscope.models.domain.configs import CORALConfig, FishrConfig


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
    # the gradient of an item is slope x input, an outer product: so are its moments' sums
    slope, inputs = logits.softmax(1) - one_hot(y, logits.shape[1]), pad(z, (0, 1), value=1.0)
    return (slope.square().T @ inputs.square()) / len(y) - ((slope.T @ inputs) / len(y)).square()


def _comparable(parts: list[OfDomain]) -> list[OfDomain]:
    """The parts; ValueError unless there are several domains with several items each."""
    least = min(len(part.y) for part in parts)
    if len(parts) < 2 or least < 2:
        raise TooFew(
            f"a step must have two items or more of two domains or more to compare them, got {len(parts)} domains, of "
            f"which one has {least}; optimisation.balanced gives every step as many of each."
        )
    return parts
