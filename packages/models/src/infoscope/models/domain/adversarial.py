"""Domain-adversarial training: DANN, and AugmentedDANN with blocks for both labels."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from infoscope.models.blocks import Block
from infoscope.models.domain.base import ERM, Batch, DomainModel
from infoscope.models.domain.configs import (
    AugmentedDANNConfig,
    DANNConfig,
    Optimisation,
)
from infoscope.models.domain.networks import encoder, perceptron, reverse_gradient


class DANN(ERM):
    """A classifier with block z_y whose encoder hides the domain from an adversary.

    The objective is the sum of both cross entropies, weighted by the gradient reversal
    (Ganin et al. 2016). With `adversary.method` "alternating" (DomainBed), steps of the
    adversary (cross entropy and gradient penalty) and of the other parts alternate.

    Parameters
    ----------
    **settings
        Fields of `DANNConfig`; `shape`, `classes` and `domains` have no defaults.
    """

    Config = DANNConfig
    settings: DANNConfig

    def _build(self) -> None:
        super()._build()
        settings = self.settings
        hidden = settings.adversary.hidden
        self.adversary = perceptron(settings.blocks.dim, hidden, settings.domains)

    def domain_logits(self, x: Tensor) -> Tensor:
        """The adversary's domain logits [n, domains] from z_y."""
        return self.adversary(self.features(x))

    def losses(
        self,
        batch: Batch,
        progress: float,
        generator: torch.Generator,
        player: str = "model",
    ) -> dict:
        z = self.features(batch.x)
        if player == "adversary":
            return self._adversary_losses(z.detach(), batch.d)
        adversary = self.settings.adversary
        weight = adversary.weight * adversary.ramp(progress)
        risk = cross_entropy(self.class_head(z), batch.y)
        if player == "model":
            reversed_z = reverse_gradient(z, weight)
            loss = cross_entropy(self.adversary(reversed_z), batch.d)
            return {"class": risk, "adversary": loss, "objective": risk + loss}
        terms = self._adversary_losses(z, batch.d)
        terms["class"] = risk
        terms["objective"] = risk - weight * terms["objective"]
        return terms

    def _adversary_losses(self, z: Tensor, d: Tensor) -> dict[str, Tensor]:
        """The adversary's cross entropy, and the mean squared norm of its gradient by
        z.
        """
        weight = self.settings.adversary.gradient_penalty
        if weight and not z.requires_grad:
            z.requires_grad_()
        loss = cross_entropy(self.adversary(z), d)
        terms = {"adversary": loss}
        objective = loss
        if weight:
            total = loss * len(d)
            (gradients,) = torch.autograd.grad(total, z, create_graph=True)
            penalty = gradients.square().sum(1).mean()
            terms["gradient_penalty"] = penalty
            objective = loss + weight * penalty
        terms["objective"] = objective
        return terms

    def players(self) -> dict[str, list[nn.Parameter]]:
        if self.settings.adversary.method == "reversal":
            return super().players()
        classifier = [*self.encoder.parameters(), *self.class_head.parameters()]
        return {"adversary": list(self.adversary.parameters()), "rest": classifier}

    def optimisation(self, player: str) -> Optimisation:
        optimisation = self.settings.optimisation
        if player != "adversary":
            return optimisation
        adversary = self.settings.adversary
        if adversary.learning_rate is not None:
            optimisation = replace(optimisation, learning_rate=adversary.learning_rate)
        if adversary.weight_decay is not None:
            optimisation = replace(optimisation, weight_decay=adversary.weight_decay)
        return optimisation

    def player(self, step: int) -> str:
        adversary = self.settings.adversary
        if adversary.method == "reversal":
            return "model"
        place = step % (adversary.steps + 1)
        return "adversary" if place < adversary.steps else "rest"


class AugmentedDANN(DomainModel):
    """A classifier with blocks z_y, z_d and z_dy, trained against two adversaries.

    One encoder, with a ReLU at its end, gives all blocks.     Heads predict the class from
    (z_y, z_dy) and the domain from (z_d, z_dy); adversaries predict the domain from z_y
    and the class from z_d.

    Parameters
    ----------
    **settings
        Fields of `AugmentedDANNConfig`; `shape`, `classes` and `domains` have no
        defaults.
    """

    Config = AugmentedDANNConfig
    settings: AugmentedDANNConfig

    def _build(self) -> None:
        settings = self.settings
        blocks = settings.blocks
        classes = settings.classes
        domains = settings.domains
        linear = encoder(settings.shape, settings.network, blocks.dim)
        self.encoder = nn.Sequential(linear, nn.ReLU())
        class_inputs = blocks.width(("z_y", "z_dy"))
        self.class_head = perceptron(class_inputs, settings.hidden, classes)
        domain_inputs = blocks.width(("z_d", "z_dy"))
        self.domain_head = perceptron(domain_inputs, settings.hidden, domains)
        inputs_y = blocks.width(("z_y",))
        inputs_d = blocks.width(("z_d",))
        if settings.conditional:
            inputs_y += classes
            inputs_d += domains
        hidden = settings.adversary.hidden
        self.domain_adversary = perceptron(inputs_y, hidden, domains)
        self.class_adversary = perceptron(inputs_d, hidden, classes)

    def blocks(self, x: Tensor) -> dict[str, Block]:
        return {name: Block(values) for name, values in self._values(x).items()}

    def class_logits(self, x: Tensor) -> Tensor:
        return self._class_logits(self._values(x))

    def domain_logits(self, x: Tensor) -> Tensor:
        """Domain logits [n, domains] from (z_d, z_dy)."""
        return self._domain_logits(self._values(x))

    def losses(
        self,
        batch: Batch,
        progress: float,
        generator: torch.Generator,
        player: str = "model",
    ) -> dict:
        settings = self.settings
        z = self._values(batch.x)
        ramp = settings.adversary.ramp(progress)
        terms = {
            "class": cross_entropy(self._class_logits(z), batch.y),
            "domain": cross_entropy(self._domain_logits(z), batch.d),
        }
        terms |= self._adversary_losses(z, batch, ramp)
        heads = settings.alpha_y * terms["class"] + settings.alpha_d * terms["domain"]
        adversaries = terms["adversary/domain"] + terms["adversary/class"]
        objective = heads + settings.adversary.weight * adversaries
        for name, weight in settings.l1.items():
            penalty = z[name].abs().mean()
            terms[f"l1/{name}"] = penalty
            objective = objective + ramp * weight * penalty
        if settings.decorrelation:
            if settings.decorrelation_form == "covariance":
                penalty = covariance_norms(z)
            else:
                penalty = mean_squared_correlation(z)
            terms["decorrelation"] = penalty
            objective = objective + settings.decorrelation * penalty
        terms["objective"] = objective
        return terms

    def _adversary_losses(
        self, z: dict[str, Tensor], batch: Batch, ramp: float
    ) -> dict[str, Tensor]:
        """Cross entropies of the domain given z_y, and of the class given z_d, with
        reversed gradients.
        """
        settings = self.settings
        z_y = reverse_gradient(z["z_y"], ramp)
        z_d = reverse_gradient(z["z_d"], ramp)
        if settings.conditional:
            y = one_hot(batch.y, settings.classes)
            d = one_hot(batch.d, settings.domains)
            z_y = torch.cat([z_y, y], 1)
            z_d = torch.cat([z_d, d], 1)
        domain_logits = self.domain_adversary(z_y)
        class_logits = self.class_adversary(z_d)
        return {
            "adversary/domain": cross_entropy(domain_logits, batch.d),
            "adversary/class": cross_entropy(class_logits, batch.y),
        }

    def _values(self, x: Tensor) -> dict[str, Tensor]:
        h = self.encoder(self.checked(x))
        slices = self.blocks_spec.slices
        return {name: h[:, columns] for name, columns in slices.items()}

    def _class_logits(self, z: dict[str, Tensor]) -> Tensor:
        return self.class_head(_with_shared(z, "z_y"))

    def _domain_logits(self, z: dict[str, Tensor]) -> Tensor:
        return self.domain_head(_with_shared(z, "z_d"))


def _with_shared(z: dict[str, Tensor], name: str) -> Tensor:
    """A block, concatenated with z_dy if present: [n, dims]."""
    if "z_dy" not in z:
        return z[name]
    return torch.cat([z[name], z["z_dy"]], 1)


def covariance_norms(z: dict[str, Tensor]) -> Tensor:
    """The sum of the Frobenius norms of the covariances (1 / n) of z_dy with each block.

    z: block name -> [n, dim], with z_dy and at least one more.
    """
    centred = {name: values - values.mean(0) for name, values in z.items()}
    shared = centred.pop("z_dy")
    norms = []
    for values in centred.values():
        covariance = shared.T @ values / len(values)
        norms.append(torch.linalg.matrix_norm(covariance))
    return torch.stack(norms).sum()


def mean_squared_correlation(z: dict[str, Tensor]) -> Tensor:
    """The mean squared correlation of coordinates of different blocks [n, dim].

    A constant coordinate has the correlation 0.
    """
    standardised = []
    for values in z.values():
        centred = values - values.mean(0)
        smallest = torch.finfo(values.dtype).tiny
        norm = centred.square().sum(0).clamp_min(smallest).sqrt()
        standardised.append(centred / norm)
    squares = []
    for first, second in combinations(standardised, 2):
        correlations = first.T @ second
        squares.append(correlations.square().flatten())
    return torch.cat(squares).mean()
