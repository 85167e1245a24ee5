"""Domain-adversarial training: DANN, and AugmentedDANN with blocks for class, domain and both."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from infoscope.models.blocks import Block
from infoscope.models.domain.base import ERM, Batch, DomainModel
from infoscope.models.domain.configs import AugmentedDANNConfig, DANNConfig, Optimisation
from infoscope.models.domain.networks import encoder, perceptron, reverse_gradient


class DANN(ERM):
    """Domain-adversarial training (Ganin et al. 2016): the encoder hides the domain from an adversary with input z_y.

    The objective is the sum of both cross entropies, weighted by the gradient reversal. With `adversary.method`
    "alternating" (DomainBed), steps of the adversary (loss and gradient penalty of every item) and of the other parts
    alternate.
    """

    Config = DANNConfig
    settings: DANNConfig

    def _build(self) -> None:
        super()._build()
        settings = self.settings
        self.adversary = perceptron(settings.blocks.dim, settings.adversary.hidden, settings.domains)

    def domain_logits(self, x: Tensor) -> Tensor:
        """The adversary's domain logits [n, domains] from z_y."""
        return self.adversary(self.features(x))

    def losses(self, batch: Batch, progress: float, generator: torch.Generator, player: str = "model") -> dict:
        z = self.features(batch.x)
        weight = self.settings.adversary.weight * self.settings.adversary.ramp(progress)
        if player == "adversary":
            return self._adversary_losses(z.detach(), batch.d)
        risk = cross_entropy(self.class_head(z), batch.y)
        if player == "model":
            loss = cross_entropy(self.adversary(reverse_gradient(z, weight)), batch.d)
            return {"class": risk, "adversary": loss, "objective": risk + loss}
        terms = self._adversary_losses(z, batch.d)
        return terms | {"class": risk, "objective": risk - weight * terms["objective"]}

    def _adversary_losses(self, z: Tensor, d: Tensor) -> dict[str, Tensor]:
        """The adversary's cross entropy and the mean over items of the squared norm of its gradient by z."""
        penalty = self.settings.adversary.gradient_penalty
        if penalty:
            z = z if z.requires_grad else z.requires_grad_()
        loss = cross_entropy(self.adversary(z), d)
        if not penalty:
            return {"adversary": loss, "objective": loss}
        slope = torch.autograd.grad(loss * len(d), z, create_graph=True)[0]
        squared = slope.square().sum(1).mean()
        return {"adversary": loss, "gradient_penalty": squared, "objective": loss + penalty * squared}

    def players(self) -> dict[str, list[nn.Parameter]]:
        if self.settings.adversary.method == "reversal":
            return super().players()
        rest = [*self.encoder.parameters(), *self.class_head.parameters()]
        return {"adversary": list(self.adversary.parameters()), "rest": rest}

    def optimisation(self, player: str) -> Optimisation:
        if player != "adversary":
            return super().optimisation(player)
        adversary = self.settings.adversary
        own = {"learning_rate": adversary.learning_rate, "weight_decay": adversary.weight_decay}
        return replace(self.settings.optimisation, **{name: value for name, value in own.items() if value is not None})

    def player(self, step: int) -> str:
        if self.settings.adversary.method == "reversal":
            return "model"
        steps = self.settings.adversary.steps
        return "adversary" if step % (steps + 1) < steps else "rest"


class AugmentedDANN(DomainModel):
    """z_y, z_d and z_dy from one encoder (ReLU); heads predict the class from (z_y, z_dy) and the domain from (z_d,
    z_dy); adversaries predict the domain from z_y and the class from z_d (see `AugmentedDANNConfig`).
    """

    Config = AugmentedDANNConfig
    settings: AugmentedDANNConfig

    def _build(self) -> None:
        settings, blocks = self.settings, self.settings.blocks
        self.encoder = nn.Sequential(encoder(settings.shape, settings.network, blocks.dim), nn.ReLU())
        self.class_head = perceptron(blocks.width(("z_y", "z_dy")), settings.hidden, settings.classes)
        self.domain_head = perceptron(blocks.width(("z_d", "z_dy")), settings.hidden, settings.domains)
        given = (settings.classes, settings.domains) if settings.conditional else (0, 0)
        hidden = settings.adversary.hidden
        self.domain_adversary = perceptron(blocks.z_y + given[0], hidden, settings.domains)
        self.class_adversary = perceptron(blocks.z_d + given[1], hidden, settings.classes)

    def blocks(self, x: Tensor) -> dict[str, Block]:
        return {name: Block(values) for name, values in self._values(x).items()}

    def class_logits(self, x: Tensor) -> Tensor:
        return self.class_head(_with_shared(self._values(x), "z_y"))

    def domain_logits(self, x: Tensor) -> Tensor:
        """Domain logits [n, domains] from (z_d, z_dy)."""
        return self.domain_head(_with_shared(self._values(x), "z_d"))

    def losses(self, batch: Batch, progress: float, generator: torch.Generator, player: str = "model") -> dict:
        settings, z = self.settings, self._values(batch.x)
        terms = {
            "class": cross_entropy(self.class_head(_with_shared(z, "z_y")), batch.y),
            "domain": cross_entropy(self.domain_head(_with_shared(z, "z_d")), batch.d),
        }
        ramp = settings.adversary.ramp(progress)
        for_domain, for_class = reverse_gradient(z["z_y"], ramp), reverse_gradient(z["z_d"], ramp)
        if settings.conditional:
            for_domain = torch.cat([for_domain, one_hot(batch.y, settings.classes)], 1)
            for_class = torch.cat([for_class, one_hot(batch.d, settings.domains)], 1)
        terms["adversary/domain"] = cross_entropy(self.domain_adversary(for_domain), batch.d)
        terms["adversary/class"] = cross_entropy(self.class_adversary(for_class), batch.y)
        objective = settings.alpha_y * terms["class"] + settings.alpha_d * terms["domain"]
        objective = objective + settings.adversary.weight * (terms["adversary/domain"] + terms["adversary/class"])
        for name, weight in settings.l1.items():
            terms[f"l1/{name}"] = z[name].abs().mean()
            objective = objective + ramp * weight * terms[f"l1/{name}"]
        if settings.decorrelation:
            between = covariance_norms if settings.decorrelation_form == "covariance" else mean_squared_correlation
            terms["decorrelation"] = between(z)
            objective = objective + settings.decorrelation * terms["decorrelation"]
        return terms | {"objective": objective}

    def _values(self, x: Tensor) -> dict[str, Tensor]:
        h = self.encoder(self.checked(x))
        return {name: h[:, columns] for name, columns in self.blocks_spec.slices.items()}


def _with_shared(z: dict[str, Tensor], name: str) -> Tensor:
    """A block, concatenated with z_dy if present: [n, dims]."""
    return torch.cat([z[name], z["z_dy"]], 1) if "z_dy" in z else z[name]


def covariance_norms(z: dict[str, Tensor]) -> Tensor:
    """Sum over the other blocks of the Frobenius norm of their covariance (1 / n) with z_dy in the batch.

    z: block name -> [n, dim], with z_dy and at least one more.
    """
    centred = {name: values - values.mean(0) for name, values in z.items()}
    shared = centred.pop("z_dy")
    return torch.stack([torch.linalg.matrix_norm(shared.T @ other / len(other)) for other in centred.values()]).sum()


def mean_squared_correlation(z: dict[str, Tensor]) -> Tensor:
    """Mean squared correlation in the batch over pairs of coordinates of different blocks [n, dim]; constants: 0."""
    smallest = torch.finfo(next(iter(z.values())).dtype).tiny
    scaled = {}
    for name, values in z.items():
        centred = values - values.mean(0)
        scaled[name] = centred / centred.square().sum(0).clamp_min(smallest).sqrt()
    return torch.cat([(scaled[a].T @ scaled[b]).square().flatten() for a, b in combinations(scaled, 2)]).mean()
