"""Variational autoencoders with latent blocks for labels: NVAE (one encoder, z_dy) and DIVA (an encoder per block)."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, softplus

from infoscope.errors import OutOfRange
from infoscope.models.blocks import Block
from infoscope.models.domain.base import Batch, DomainModel
from infoscope.models.domain.configs import DIVAConfig, NVAEConfig, VariationalConfig
from infoscope.models.domain.networks import SMALLEST_SCALE, LabelPrior, decoder, encoder, perceptron

LEVELS = 256  # of a pixel value


class PartitionedVAE(DomainModel):
    """p(x | z) p(z_y | y) p(z_x) p(z_dy | y, d) p(z_d | d); NVAE and DIVA have different posteriors.

    Loss: reconstruction + sum_b beta_b KL_b (of one draw) + alpha_y CE_y + alpha_d CE_d + L1, nats, mean over the
    batch. Where y = -1, KL(q(y | z) || uniform) replaces alpha_y CE_y, and the KL of blocks with y is averaged over q(y
    | z) (Ilse et al. 2020).
    """

    takes_unlabelled = True
    settings: VariationalConfig

    def _build(self) -> None:
        settings, blocks = self.settings, self.settings.blocks
        levels = LEVELS if settings.reconstruction == "categorical" else 1
        self.decoder = decoder(blocks.dim, settings.shape, settings.network, levels)
        self.class_head = self._head(("z_y", "z_dy"), settings.classes)
        self.domain_head = self._head(("z_d", "z_dy"), settings.domains)
        labels = {"z_y": (settings.classes,), "z_dy": (settings.classes, settings.domains), "z_d": (settings.domains,)}
        self.priors = nn.ModuleDict(
            {name: self._prior(labels[name], getattr(blocks, name)) for name in blocks.names if name in labels}
        )

    def _head(self, names: tuple[str, ...], outputs: int) -> nn.Module:
        return perceptron(self.settings.blocks.width(names), self.settings.hidden, outputs)

    def _prior(self, labels: tuple[int, ...], dim: int) -> LabelPrior:
        return LabelPrior(labels, dim, norm=False)

    def class_logits(self, x: Tensor) -> Tensor:
        return self._predict(self.class_head, ("z_y", "z_dy"), _means(self.blocks(x)))

    def domain_logits(self, x: Tensor) -> Tensor:
        """Domain logits [n, domains] of items x [n, *shape], from the means of the blocks."""
        return self._predict(self.domain_head, ("z_d", "z_dy"), _means(self.blocks(x)))

    def prior(self, name: str, y: Tensor, d: Tensor) -> Block:
        """Mean and scale [n, dim] of a block's prior for classes y and domains d, int64 [n]. KeyError for an absent
        block.
        """
        dim = self.blocks_spec.slices[name].stop - self.blocks_spec.slices[name].start
        if name == "z_x":
            shape = (len(y), dim)
            return Block(torch.zeros(shape, device=y.device), torch.ones(shape, device=y.device))
        table = self.priors[name]()
        index = {"z_y": (y,), "z_dy": (y, d), "z_d": (d,)}[name]
        return Block(table.mean[index], table.scale[index])

    def decode(self, z: Mapping[str, Tensor]) -> Tensor:
        """The expected item [n, *shape] for codes by block name, each [n, dim]."""
        raw = self._raw(z)
        if self.settings.reconstruction == "squared":
            return raw
        if self.settings.reconstruction == "bernoulli":
            return raw.sigmoid()
        values = torch.linspace(0, 1, LEVELS, device=raw.device)
        return torch.einsum("nl...,l->n...", raw.softmax(1), values)

    def losses(self, batch: Batch, progress: float, generator: torch.Generator, player: str = "model") -> dict:
        settings, posterior = self.settings, self.blocks(batch.x)
        z = {name: block.draw(generator) for name, block in posterior.items()}
        class_logits = self._predict(self.class_head, ("z_y", "z_dy"), z)
        known = batch.y >= 0
        terms = {"reconstruction": self.reconstruction(batch.x, z).mean()}
        ramp = min(1.0, progress / settings.beta_warmup) if settings.beta_warmup else 1.0
        objective = terms["reconstruction"]
        for name, kl in self.divergences(batch, posterior, z, class_logits).items():
            terms[f"kl/{name}"] = kl.mean()
            objective = objective + ramp * settings.beta.get(name, 1.0) * terms[f"kl/{name}"]
        if known.any():
            terms["class"] = cross_entropy(class_logits[known], batch.y[known])
            objective = objective + settings.alpha_y * terms["class"] * known.float().mean()
        if not known.all():
            log_q = class_logits[~known].log_softmax(1)
            terms["class_prior"] = (log_q.exp() * log_q).sum(1).mean() + torch.tensor(settings.classes).log()
            objective = objective + terms["class_prior"] * (~known).float().mean()
        terms["domain"] = cross_entropy(self._predict(self.domain_head, ("z_d", "z_dy"), z), batch.d)
        objective = objective + settings.alpha_d * terms["domain"]
        for name, weight in settings.l1.items():
            terms[f"l1/{name}"] = absolute_values(z[name], settings.l1_form)
            objective = objective + weight * terms[f"l1/{name}"]
        return terms | {"objective": objective}

    def divergences(
        self, batch: Batch, posterior: Mapping[str, Block], z: Mapping[str, Tensor], class_logits: Tensor
    ) -> dict[str, Tensor]:
        """log q(z | x) - log p(z | labels) of each block at draws z, nats [n]; averaged over q(y | z) for unknown y."""
        unknown = batch.y < 0
        kl = {}
        for name, values in z.items():
            prior = self.prior(name, batch.y.clamp_min(0), batch.d).log_density(values)
            if unknown.any() and name in ("z_y", "z_dy"):
                averaged = self._marginal(name, values[unknown], batch.d[unknown], class_logits[unknown])
                prior = prior.masked_scatter(unknown, averaged)
            kl[name] = posterior[name].log_density(values) - prior
        return kl

    def _marginal(self, name: str, z: Tensor, d: Tensor, class_logits: Tensor) -> Tensor:
        """sum_y q(y | z) log p(z | y[, d]), nats [n]."""
        table = self.priors[name]()
        mean, scale = table.mean, table.scale
        if name == "z_dy":
            mean, scale = mean[:, d].transpose(0, 1), scale[:, d].transpose(0, 1)
        return (class_logits.softmax(1) * Block(mean, scale).log_density(z[:, None])).sum(1)

    def reconstruction(self, x: Tensor, z: Mapping[str, Tensor]) -> Tensor:
        """-log p(x | z), nats [n], without the constant of a Normal for "squared".

        Raises ValueError for x outside [0, 1] unless the error is squared.
        """
        raw = self._raw(z)
        if self.settings.reconstruction == "squared":
            return (x - raw).square().flatten(1).sum(1)
        if not ((x >= 0) & (x <= 1)).all():
            least, most = x.min().item(), x.max().item()
            kind = self.settings.reconstruction
            raise OutOfRange(f"x must be in [0, 1] for a {kind} reconstruction, got values in [{least:g}, {most:g}].")
        if self.settings.reconstruction == "bernoulli":
            return binary_cross_entropy_with_logits(raw, x, reduction="none").flatten(1).sum(1)
        return cross_entropy(raw, (x * (LEVELS - 1)).round().long(), reduction="none").flatten(1).sum(1)

    def _raw(self, z: Mapping[str, Tensor]) -> Tensor:
        """The decoder's output [n, *shape], or logits [n, 256, *shape]."""
        raw = self.decoder(torch.cat([z[name] for name in self.blocks_spec.names], 1))
        return raw.unflatten(1, (LEVELS, -1)) if self.settings.reconstruction == "categorical" else raw

    def _predict(self, head: nn.Module, names: tuple[str, ...], z: Mapping[str, Tensor]) -> Tensor:
        return head(torch.cat([z[name] for name in names if name in z], 1))


class NVAE(PartitionedVAE):
    """One encoder, whose output is sliced into [z_y | z_x | z_dy | z_d], each Normal(mean, softplus scale)."""

    Config = NVAEConfig
    settings: NVAEConfig

    def _build(self) -> None:
        super()._build()
        self.encoder = encoder(self.settings.shape, self.settings.network, 2 * self.settings.blocks.dim)

    def blocks(self, x: Tensor) -> dict[str, Block]:
        mean, raw = self.encoder(self.checked(x)).chunk(2, 1)
        scale = softplus(raw) + SMALLEST_SCALE
        return {name: Block(mean[:, cut], scale[:, cut]) for name, cut in self.blocks_spec.slices.items()}


class DIVA(PartitionedVAE):
    """An encoder for each of z_y, z_x and z_d, batch norm in the priors, and heads that begin with a ReLU (Ilse et al.
    2020)."""

    Config = DIVAConfig
    settings: DIVAConfig

    def _build(self) -> None:
        super()._build()
        settings, blocks = self.settings, self.settings.blocks
        self.encoders = nn.ModuleDict(
            {name: encoder(settings.shape, settings.network, 2 * getattr(blocks, name)) for name in blocks.names}
        )

    def _head(self, names: tuple[str, ...], outputs: int) -> nn.Module:
        return nn.Sequential(nn.ReLU(), super()._head(names, outputs))

    def _prior(self, labels: tuple[int, ...], dim: int) -> LabelPrior:
        return LabelPrior(labels, dim, norm=True)

    def blocks(self, x: Tensor) -> dict[str, Block]:
        self.checked(x)
        blocks = {}
        for name in self.blocks_spec.names:
            mean, raw = self.encoders[name](x).chunk(2, 1)
            blocks[name] = Block(mean, softplus(raw) + SMALLEST_SCALE)
        return blocks


def absolute_values(z: Tensor, form: str) -> Tensor:
    """The penalty on the absolute values of a block z [n, dim], scalar.

    form: "batch-mean", the mean over items and dimensions divided by n; "item-sum", n * dim times as much.
    """
    return z.abs().mean() / len(z) if form == "batch-mean" else z.abs().sum(1).mean()


def _means(blocks: Mapping[str, Block]) -> dict[str, Tensor]:
    return {name: block.mean for name, block in blocks.items()}
