"""Chen et al. 2018 (beta-TCVAE) and disentangling-vae, released code: weights of
stratified minibatches.

The weight of the sample itself, 1/N, belongs on the diagonal. In both codes it is in
the first column, because the stride is too short by one. In disentangling-vae every
weight is also counted once per latent in the joint density. The information between
images and latents, at most log N, is then reported above log N, and total correlation
below
0. Many copies of the code have this error.
"""

import math

import torch

from infoscope.models.vae.densities import kl_parts, stratified_log_weights

batch, items, latents = 64, 10_000, 10
stream = torch.Generator().manual_seed(0)
mean = torch.randn(batch, latents, generator=stream, dtype=torch.float64)
scale = torch.full_like(mean, 0.01)
z = mean + scale * torch.randn(batch, latents, generator=stream, dtype=torch.float64)
released = torch.full((batch, batch), 1 / (batch - 1), dtype=torch.float64)
released[:, 0] = 1 / items
released[:, 1] = released[batch - 2, 0] = (items - batch + 1) / (items * (batch - 1))
pairs = (
    torch.distributions.Normal(mean, scale).log_prob(z[:, None])
    + released.log()[:, :, None]
)
conditional = torch.distributions.Normal(mean, scale).log_prob(z).sum(1)
joint, product = pairs.sum(2).logsumexp(1), pairs.logsumexp(1).sum(1)
right = kl_parts(z, mean, scale, stratified_log_weights(batch, items))
first_column = kl_parts(z, mean, scale, released.log())
information, correlation = (
    float((conditional - joint).mean()),
    float((joint - product).mean()),
)
print(
    f"information: at most log N = {math.log(items):.2f}; right {right[0].mean():.2f} "
    f"nats, released {information:.2f}"
)
print(f"(the first column alone: {first_column[0].mean():.2f}, far too low)")
print(
    f"total correlation: right {right[1].mean():.1f} nats, released {correlation:.1f}"
)
assert (
    right[0].mean() <= math.log(items) + 1e-9
    and information > math.log(items)
    and correlation < 0
)
