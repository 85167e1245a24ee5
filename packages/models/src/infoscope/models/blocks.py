"""The values of items in a block of a representation. `model.blocks(x)` returns block
name -> `Block`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributions import Normal

from infoscope.errors import WrongType


@dataclass(frozen=True)
class Block:
    """The values of n items in one latent block: independent Normals of `mean` and
    `scale` (standard deviations), each [n, dim]; scale None when the block is a
    deterministic function of the item.
    """

    mean: Tensor
    scale: Tensor | None = None

    def draw(self, generator: torch.Generator) -> Tensor:
        """One draw per item [n, dim] by a CPU generator, differentiable in mean and
        scale; the mean without scale.
        """
        if self.scale is None:
            return self.mean
        noise = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype)
        return self.mean + self.scale * noise.to(self.mean.device)

    def log_density(self, z: Tensor) -> Tensor:
        """Log density of z, nats, summed over the last axis. ValueError for a
        deterministic block.
        """
        if self.scale is None:
            raise WrongType(
                "scale must be given for a density, got None (a deterministic block)."
            )
        return Normal(self.mean, self.scale, validate_args=False).log_prob(z).sum(-1)
