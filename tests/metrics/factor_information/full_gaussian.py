"""A plain reference: Gaussian latents with any covariance, and the covariance of an
attacked posterior.
"""

from __future__ import annotations

import numpy as np
import torch

from infoscope.metrics.factor_information.attacks import RedundantGaussian
from infoscope.metrics.factor_information.posterior import LogTerms


class FullGaussian:
    """Gaussian latents that depend on one another given x: mean [n, L], covariance [n,
    L, L].
    """

    def __init__(self, mean, covariance):
        self.mean, self.covariance = np.asarray(mean), np.asarray(covariance)
        self.latents = tuple(f"full {place}" for place in range(self.mean.shape[1]))

    @property
    def n(self):
        return len(self.mean)

    def draw(self, rows, generator=None):
        noise = generator.standard_normal((len(rows), self.mean.shape[1]))
        return self.mean[rows] + np.einsum(
            "mij,mj->mi", np.linalg.cholesky(self.covariance)[rows], noise
        )

    def log_terms(self, z, rows):
        everything = range(len(self.latents))
        alone = [self.density(z, rows, [place]) for place in everything]
        rest = [
            self.density(z, rows, [other for other in everything if other != place])
            for place in everything
        ]
        return LogTerms(
            torch.stack(alone, -1),
            torch.stack(rest, -1),
            self.density(z, rows, list(everything)),
        )

    def density(self, z, rows, places):
        """The log density of some latents."""
        mean = torch.as_tensor(self.mean[rows][..., places])
        covariance = torch.as_tensor(self.covariance[rows][..., places, :][..., places])
        return torch.distributions.MultivariateNormal(mean, covariance).log_prob(
            z[..., places]
        )

    def log_prior(self, z):
        return torch.distributions.Normal(0.0, 1.0).log_prob(z)


def attacked_in_full(attacked):
    """The attacked posterior of independent latents, by the covariance of its linear
    map.
    """
    base, dim, unit = (
        attacked.base,
        len(attacked.base.latents),
        np.eye(2 * len(attacked.base.latents)),
    )
    redundant = isinstance(attacked, RedundantGaussian)
    mixing = attacked.alpha * (np.eye(dim) - 2 / dim)
    linear = unit + np.block([[0 * mixing, 0 * mixing], [mixing, 0 * mixing]] if redundant else
                             [[0 * mixing, mixing], [0 * mixing, 0 * mixing]])  # fmt: skip
    variances = np.hstack([base.scale**2, np.ones_like(base.scale)])
    covariance = np.einsum("ij,nj,kj->nik", linear, variances, linear)
    return FullGaussian(base.mean @ linear[:, :dim].T, covariance)
