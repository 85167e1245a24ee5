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
        self.mean = np.asarray(mean)
        self.covariance = np.asarray(covariance)
        self.places = list(range(self.mean.shape[1]))
        self.latents = tuple(f"full {place}" for place in self.places)

    @property
    def n(self):
        return len(self.mean)

    def draw(self, rows, generator=None):
        noise = generator.standard_normal((len(rows), len(self.places)))
        root = np.linalg.cholesky(self.covariance)[rows]
        return self.mean[rows] + np.einsum("mij,mj->mi", root, noise)

    def log_terms(self, z, rows):
        alone = []
        rest = []
        for place in self.places:
            others = [other for other in self.places if other != place]
            alone.append(self.density(z, rows, [place]))
            rest.append(self.density(z, rows, others))
        joint = self.density(z, rows, self.places)
        return LogTerms(torch.stack(alone, -1), torch.stack(rest, -1), joint)

    def density(self, z, rows, places):
        """The log density of some latents."""
        mean = torch.as_tensor(self.mean[rows][..., places])
        covariance = self.covariance[rows][..., places, :][..., places]
        normal = torch.distributions.MultivariateNormal(
            mean, torch.as_tensor(covariance)
        )
        return normal.log_prob(z[..., places])

    def log_prior(self, z):
        return torch.distributions.Normal(0.0, 1.0).log_prob(z)


def attacked_in_full(attacked):
    """The attacked posterior of independent latents, by the covariance of its linear
    map.
    """
    base = attacked.base
    dim = len(base.latents)
    linear = np.eye(2 * dim)
    mixing = attacked.alpha * (np.eye(dim) - 2 / dim)
    if isinstance(attacked, RedundantGaussian):
        linear[dim:, :dim] = mixing
    else:
        linear[:dim, dim:] = mixing
    variances = np.hstack([base.scale**2, np.ones_like(base.scale)])
    covariance = np.einsum("ij,nj,kj->nik", linear, variances, linear)
    return FullGaussian(base.mean @ linear[:, :dim].T, covariance)
