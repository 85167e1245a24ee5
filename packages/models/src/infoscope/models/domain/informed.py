"""Risk minimisation with information about an item's domain."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from infoscope.models.domain.base import ERM, Batch
from infoscope.models.domain.configs import DomainInformedERMConfig
from infoscope.models.domain.networks import perceptron


class UninformedERM(ERM):
    """The control of `DomainInformedERM`: plain risk minimisation with its batches and its head's widths."""

    Config = DomainInformedERMConfig


class DomainInformedERM(ERM):
    """Risk minimisation over f(x, m), with m what is known of the domain (Zhu et al. 2025, arXiv 2510.04441, DI-ERM).

    m is the mean of the features over the domain's items at hand, as in marginal transfer (Blanchard et al. 2011); it
    helps under posterior drift. `class_logits` takes the items of ONE domain, and each result depends on the others.
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
        """Logits of features [n, dim] and the means of the domains that items are members of [n, domains]."""
        means = members.T @ z / members.sum(0)[:, None]
        return self.class_head(torch.cat([z, members @ means], 1))
