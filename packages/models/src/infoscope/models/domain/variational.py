"""Variational autoencoders with latent blocks for labels: NVAE (one encoder, z_dy) and
DIVA (an encoder per block).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    softplus,
)

from infoscope.errors import OutOfRange
from infoscope.models.blocks import Block
from infoscope.models.domain.base import Batch, DomainModel
from infoscope.models.domain.configs import DIVAConfig, NVAEConfig, VariationalConfig
from infoscope.models.domain.networks import (
    SMALLEST_SCALE,
    LabelPrior,
    decoder,
    encoder,
    perceptron,
)

LEVELS = 256  # of a pixel value
# inputs of the class head; their priors depend on the class
CLASS_BLOCKS = ("z_y", "z_dy")
# inputs of the domain head; their priors depend on the domain
DOMAIN_BLOCKS = ("z_d", "z_dy")


class PartitionedVAE(DomainModel):
    """The base of NVAE and DIVA: p(x | z) p(z_y | y) p(z_x) p(z_dy | y, d) p(z_d | d).

    Loss: reconstruction + sum_b beta_b KL_b (of one draw) + alpha_y CE_y + alpha_d CE_d
    + L1, nats, mean over the batch. Where y = -1, KL(q(y | z) || uniform) replaces
    alpha_y CE_y, and the KL of blocks with y is averaged over q(y | z) (Ilse et al.
    2020).
    """

    takes_unlabelled = True
    norm_in_priors = False
    settings: VariationalConfig

    def _build(self) -> None:
        settings = self.settings
        blocks = settings.blocks
        levels = LEVELS if settings.reconstruction == "categorical" else 1
        self.decoder = decoder(blocks.dim, settings.shape, settings.network, levels)
        self.class_head = self._head(CLASS_BLOCKS, settings.classes)
        self.domain_head = self._head(DOMAIN_BLOCKS, settings.domains)
        self.priors = nn.ModuleDict()
        for name in blocks.names:
            labels = []
            if name in CLASS_BLOCKS:
                labels.append(settings.classes)
            if name in DOMAIN_BLOCKS:
                labels.append(settings.domains)
            if labels:
                dim = blocks.width((name,))
                self.priors[name] = LabelPrior(labels, dim, self.norm_in_priors)

    def _head(self, names: tuple[str, ...], outputs: int) -> nn.Module:
        settings = self.settings
        inputs = settings.blocks.width(names)
        return perceptron(inputs, settings.hidden, outputs)

    def class_logits(self, x: Tensor) -> Tensor:
        means = self._means(x)
        return _predict(self.class_head, CLASS_BLOCKS, means)

    def domain_logits(self, x: Tensor) -> Tensor:
        """Domain logits [n, domains] of items x [n, *shape], from the blocks' means."""
        means = self._means(x)
        return _predict(self.domain_head, DOMAIN_BLOCKS, means)

    def _means(self, x: Tensor) -> dict[str, Tensor]:
        return {name: block.mean for name, block in self.blocks(x).items()}

    def prior(self, name: str, y: Tensor, d: Tensor) -> Block:
        """The prior of a block for classes y and domains d, int64 [n]: Normals [n, dim].

        KeyError for an absent block.
        """
        columns = self.blocks_spec.slices[name]
        if name == "z_x":
            dim = columns.stop - columns.start
            mean = torch.zeros((len(y), dim), device=y.device)
            return Block(mean, torch.ones_like(mean))
        table = self.priors[name]()
        index = {"z_y": (y,), "z_dy": (y, d), "z_d": (d,)}[name]
        return Block(table.mean[index], table.scale[index])

    def decode(self, z: Mapping[str, Tensor]) -> Tensor:
        """The expected item [n, *shape] for codes by block name, each [n, dim]."""
        output = self._decoder_output(z)
        if self.settings.reconstruction == "squared":
            return output
        if self.settings.reconstruction == "bernoulli":
            return output.sigmoid()
        values = torch.linspace(0, 1, LEVELS, device=output.device)
        return torch.einsum("nl...,l->n...", output.softmax(1), values)

    def losses(
        self,
        batch: Batch,
        progress: float,
        generator: torch.Generator,
        player: str = "model",
    ) -> dict:
        settings = self.settings
        posterior = self.blocks(batch.x)
        z = {name: block.draw(generator) for name, block in posterior.items()}
        class_logits = _predict(self.class_head, CLASS_BLOCKS, z)
        objective = self.reconstruction(batch.x, z).mean()
        terms = {"reconstruction": objective}
        warmup = 1.0
        if settings.beta_warmup:
            warmup = min(1.0, progress / settings.beta_warmup)
        divergences = self.divergences(batch, posterior, z, class_logits)
        for name, divergence in divergences.items():
            kl = divergence.mean()
            terms[f"kl/{name}"] = kl
            weight = warmup * settings.beta.get(name, 1.0)
            objective = objective + weight * kl
        labelled = batch.y >= 0
        if labelled.any():
            loss = cross_entropy(class_logits[labelled], batch.y[labelled])
            terms["class"] = loss
            share = labelled.float().mean()
            objective = objective + settings.alpha_y * loss * share
        unlabelled = ~labelled
        if unlabelled.any():
            log_q = class_logits[unlabelled].log_softmax(1)
            negative_entropy = (log_q.exp() * log_q).sum(1).mean()
            kl = negative_entropy + torch.tensor(settings.classes).log()
            terms["class_prior"] = kl
            share = unlabelled.float().mean()
            objective = objective + kl * share
        domain_logits = _predict(self.domain_head, DOMAIN_BLOCKS, z)
        loss = cross_entropy(domain_logits, batch.d)
        terms["domain"] = loss
        objective = objective + settings.alpha_d * loss
        for name, weight in settings.l1.items():
            penalty = absolute_values(z[name], settings.l1_form)
            terms[f"l1/{name}"] = penalty
            objective = objective + weight * penalty
        terms["objective"] = objective
        return terms

    def divergences(
        self,
        batch: Batch,
        posterior: Mapping[str, Block],
        z: Mapping[str, Tensor],
        class_logits: Tensor,
    ) -> dict[str, Tensor]:
        """log q(z | x) - log p(z | labels) of each block at draws z, nats [n].

        Where y is unknown, log p is averaged over q(y | z).
        """
        unlabelled = batch.y < 0
        any_class = batch.y.clamp_min(0)
        divergences = {}
        for name, values in z.items():
            prior = self.prior(name, any_class, batch.d)
            log_prior = prior.log_density(values)
            if name in CLASS_BLOCKS and unlabelled.any():
                averaged = self._average_log_prior(
                    name,
                    values[unlabelled],
                    batch.d[unlabelled],
                    class_logits[unlabelled],
                )
                log_prior = log_prior.masked_scatter(unlabelled, averaged)
            log_posterior = posterior[name].log_density(values)
            divergences[name] = log_posterior - log_prior
        return divergences

    def _average_log_prior(
        self, name: str, z: Tensor, d: Tensor, class_logits: Tensor
    ) -> Tensor:
        """sum_y q(y | z) log p(z | y[, d]), nats [n]."""
        prior = self.priors[name]()
        if name == "z_dy":
            mean = prior.mean[:, d].transpose(0, 1)
            scale = prior.scale[:, d].transpose(0, 1)
            prior = Block(mean, scale)
        log_prior = prior.log_density(z[:, None])
        q = class_logits.softmax(1)
        return (q * log_prior).sum(1)

    def reconstruction(self, x: Tensor, z: Mapping[str, Tensor]) -> Tensor:
        """-log p(x | z), nats [n], without the constant of a Normal for "squared".

        Raises ValueError for x outside [0, 1] unless the error is squared.
        """
        output = self._decoder_output(z)
        kind = self.settings.reconstruction
        if kind == "squared":
            errors = (x - output).square()
            return errors.flatten(1).sum(1)
        is_valid = (x >= 0) & (x <= 1)
        if not is_valid.all():
            least = x.min().item()
            most = x.max().item()
            raise OutOfRange(
                f"x must be in [0, 1] for a {kind} reconstruction, got values in "
                f"[{least:g}, {most:g}]."
            )
        if kind == "bernoulli":
            nll = binary_cross_entropy_with_logits(output, x, reduction="none")
        else:
            level = (x * (LEVELS - 1)).round().long()
            nll = cross_entropy(output, level, reduction="none")
        return nll.flatten(1).sum(1)

    def _decoder_output(self, z: Mapping[str, Tensor]) -> Tensor:
        """The decoder's output [n, *shape], or logits [n, 256, *shape]."""
        codes = torch.cat([z[name] for name in self.blocks_spec.names], 1)
        output = self.decoder(codes)
        if self.settings.reconstruction == "categorical":
            return output.unflatten(1, (LEVELS, -1))
        return output


class NVAE(PartitionedVAE):
    """A variational autoencoder with one encoder to [z_y | z_x | z_dy | z_d], Normals.

    Parameters
    ----------
    **settings
        Fields of `NVAEConfig`; `shape`, `classes` and `domains` have no defaults.
    """

    Config = NVAEConfig
    settings: NVAEConfig

    def _build(self) -> None:
        super()._build()
        settings = self.settings
        outputs = 2 * settings.blocks.dim
        self.encoder = encoder(settings.shape, settings.network, outputs)

    def blocks(self, x: Tensor) -> dict[str, Block]:
        mean, scale = _posterior(self.encoder, self.checked(x))
        blocks = {}
        for name, columns in self.blocks_spec.slices.items():
            blocks[name] = Block(mean[:, columns], scale[:, columns])
        return blocks


class DIVA(PartitionedVAE):
    """A variational autoencoder with an encoder for each of z_y, z_x and z_d.

    The priors have batch norm, and the heads begin with a ReLU (Ilse et al. 2020).

    Parameters
    ----------
    **settings
        Fields of `DIVAConfig`; `shape`, `classes` and `domains` have no defaults.
    """

    Config = DIVAConfig
    norm_in_priors = True
    settings: DIVAConfig

    def _build(self) -> None:
        super()._build()
        settings = self.settings
        self.encoders = nn.ModuleDict()
        for name in settings.blocks.names:
            outputs = 2 * settings.blocks.width((name,))
            self.encoders[name] = encoder(settings.shape, settings.network, outputs)

    def _head(self, names: tuple[str, ...], outputs: int) -> nn.Module:
        return nn.Sequential(nn.ReLU(), super()._head(names, outputs))

    def blocks(self, x: Tensor) -> dict[str, Block]:
        self.checked(x)
        blocks = {}
        for name, block_encoder in self.encoders.items():
            mean, scale = _posterior(block_encoder, x)
            blocks[name] = Block(mean, scale)
        return blocks


def absolute_values(z: Tensor, form: str) -> Tensor:
    """The penalty on the absolute values of a block z [n, dim], scalar.

    form: "batch-mean", the mean over items and dimensions divided by n; "item-sum", n *
    dim times as much.
    """
    if form == "batch-mean":
        return z.abs().mean() / len(z)
    return z.abs().sum(1).mean()


def _posterior(network: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """Means and scales [n, dim] of items x. The network's output is [means | scales
    before softplus].
    """
    mean, raw_scale = network(x).chunk(2, 1)
    return mean, softplus(raw_scale) + SMALLEST_SCALE


def _predict(
    head: nn.Module, names: tuple[str, ...], z: Mapping[str, Tensor]
) -> Tensor:
    """Logits [n, labels] of a head, from the present blocks among `names`."""
    codes = [z[name] for name in names if name in z]
    return head(torch.cat(codes, 1))
