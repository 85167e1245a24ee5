"""KL divergences of latents from the prior, and their parts estimated on a minibatch,
nats.

The prior is standard normal for real latents and uniform for categorical ones.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from infoscope.errors import OutOfRange


def gaussian_kl(mean: Tensor, scale: Tensor) -> Tensor:
    """KL(N(mean, scale^2) | N(0, 1)), elementwise."""
    second_moment = mean.square() + scale.square()
    return 0.5 * (second_moment - 1.0) - scale.log()


def categorical_kl(log_probabilities: Tensor) -> Tensor:
    """KL(p | uniform) of distributions [n, C]: [n], at most ln C."""
    probabilities = log_probabilities.exp()
    entropy = -(probabilities * log_probabilities).sum(1)
    categories = log_probabilities.shape[1]
    return math.log(categories) - entropy


def log_normal(z: Tensor, mean: Tensor | float, scale: Tensor) -> Tensor:
    """The log density of N(mean, scale^2) at z, elementwise."""
    standardised = (z - mean) / scale
    log_constant = 0.5 * math.log(2.0 * math.pi)
    return -0.5 * standardised.square() - scale.log() - log_constant


def stratified_log_weights(
    batch: int, items: int, like: Tensor | None = None
) -> Tensor:
    """Log weights [batch, batch] of minibatch-stratified sampling (Chen et al. 2018,
    appendix C.2).

    Row i, column j: the weight of q(z_i | x_j) in the unbiased estimate of q(z_i) =
    (1/N) sum of q(z_i | x): 1/N for x_i, and of M = batch - 1 others (N - M)/(N M) for
    one and 1/M for M - 1. ValueError unless 2 <= batch <= items.
    """
    if not 2 <= batch <= items:
        raise OutOfRange(
            f"batch must be from 2 to {items}, the number of items, got {batch}."
        )
    if like is None:
        like = torch.empty(0, dtype=torch.float64)
    others = batch - 1
    log_weights = like.new_full((batch, batch), -math.log(others))
    rows = torch.arange(batch, device=like.device)
    next_rows = (rows + 1) % batch
    log_weights[rows, next_rows] = math.log((items - others) / (items * others))
    log_weights[rows, rows] = -math.log(items)
    return log_weights


def kl_parts(
    z: Tensor, mean: Tensor, scale: Tensor, log_weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Mutual information, total correlation and dimension-wise KL of each draw [n]
    (Chen et al. 2018, equation 2).

    z [n, L], row i from N(mean, scale^2) of its row; mean, scale [m, L], m >= n;
    log_weights [n, m] of the mixture that estimates q(z) and q(z_l). The parts add up
    to log q(z|x) - log p(z).
    """
    n = len(z)
    pairs = log_normal(z[:, None], mean, scale)  # [n, m, L]
    conditional = log_normal(z, mean[:n], scale[:n]).sum(1)
    joint = (log_weights + pairs.sum(2)).logsumexp(1)
    marginals = (log_weights[:, :, None] + pairs).logsumexp(1)
    product = marginals.sum(1)
    prior = log_normal(z, 0.0, torch.ones_like(z)).sum(1)
    return conditional - joint, joint - product, product - prior
