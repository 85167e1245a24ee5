"""KL divergences of latents from the prior in nats, and their parts on a minibatch.

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
    excess = 0.5 * (second_moment - 1.0)
    return excess - scale.log()


def categorical_kl(log_probabilities: Tensor) -> Tensor:
    """KL(p | uniform) of distributions [n, C]: [n], at most ln C."""
    weighted = log_probabilities.exp() * log_probabilities
    entropy = -weighted.sum(1)
    categories = log_probabilities.shape[1]
    return math.log(categories) - entropy


def log_normal(z: Tensor, mean: Tensor | float, scale: Tensor) -> Tensor:
    """The log density of N(mean, scale^2) at z, elementwise."""
    standardised = (z - mean) / scale
    exponent = -0.5 * standardised.square()
    log_constant = 0.5 * math.log(2.0 * math.pi)
    return exponent - scale.log() - log_constant


def stratified_log_weights(
    batch: int, items: int, like: Tensor | None = None
) -> Tensor:
    """Log weights [batch, batch] of stratified sampling (Chen et al. 2018, C.2).

    Row i, column j: the weight of q(z_i | x_j) in the unbiased estimate of q(z_i) =
    (1/N) sum of q(z_i | x) over all N items. The weight is 1/N for x_i; among the M =
    batch - 1 others it is (N - M)/(N M) for one and 1/M for the rest. like: a tensor
    with the dtype and device (None: float64 on the CPU). ValueError unless 2 <= batch
    <= items.
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
    next_weight = (items - others) / (items * others)
    log_weights[rows, next_rows] = math.log(next_weight)
    log_weights[rows, rows] = -math.log(items)
    return log_weights


def kl_parts(
    z: Tensor, mean: Tensor, scale: Tensor, log_weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Mutual information, total correlation and dimension-wise KL of each draw [n].

    z [n, L]: row i is drawn from N(mean, scale^2) of row i; mean, scale [m, L], m >= n.
    log_weights [n, m]: of the mixture that estimates q(z) and q(z_l). The parts add up
    to log q(z|x) - log p(z) (Chen et al. 2018, equation 2).
    """
    n = len(z)
    pairs = log_normal(z[:, None], mean, scale)  # [n, m, L]
    posterior = log_normal(z, mean[:n], scale[:n]).sum(1)
    log_joint = log_weights + pairs.sum(2)
    joint = log_joint.logsumexp(1)
    log_marginals = log_weights[:, :, None] + pairs
    product = log_marginals.logsumexp(1).sum(1)
    prior = log_normal(z, 0.0, torch.ones_like(z)).sum(1)
    return posterior - joint, joint - product, product - prior
