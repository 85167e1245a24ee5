"""disentangling-vae, released code: MIG mixes the latents.

Samples of the latents, [n, L], are read as [L, n] without a transpose. Each "latent" is
then a mixture of all, and its information is that of none. Users found a MIG near 0 for
models for which other code finds 0.5.
"""

import math

import torch

stream = torch.Generator().manual_seed(0)
factor = torch.arange(600) % 3
means = torch.randn(600, 4, generator=stream)
means[:, 0] = factor - 1.0  # the first latent carries the factor, the others nothing
draws = means + 0.3 * torch.randn(means.shape, generator=stream)


def entropies(reading, rows):
    z = reading(draws[rows])  # [latents, n]
    log_densities = torch.distributions.Normal(means[rows].T[:, None], 0.3).log_prob(
        z[:, :, None]
    )
    return -(log_densities.logsumexp(2) - math.log(int(rows.sum()))).mean(1)


def information_of(reading):
    within = [entropies(reading, factor == value) for value in range(3)]
    return entropies(reading, factor >= 0) - torch.stack(within).mean(0)


right, released = (
    information_of(lambda z: z.T),
    information_of(lambda z: z.reshape(z.shape[1], len(z))),
)
print(
    "of log 3 = 1.10 nats, latent by latent:",
    right.numpy().round(2),
    "as released:",
    released.numpy().round(2),
)
assert right[0] > 0.8 > 0.1 > right[1:].max() and released[0] < 0
