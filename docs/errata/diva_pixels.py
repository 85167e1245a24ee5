"""Ilse et al. 2020 (DIVA), released code: the pixel loss reads logits across pixels.

The decoder returns [n, 256, 28, 28], 256 levels for each pixel. The loss reshapes this
to rows of 256 levels without moving the axis, so a row holds one level of 256
neighbouring pixels. A decoder that is certain of every pixel, and right, is penalised.
"""

import math

import torch
from torch.nn.functional import cross_entropy, one_hot

levels = torch.randint(0, 256, (4, 28, 28), generator=torch.Generator().manual_seed(0))
certain = 50.0 * one_hot(levels, 256).permute(0, 3, 1, 2)
right, released = (
    cross_entropy(certain, levels),
    cross_entropy(certain.reshape(-1, 256), levels.flatten()),
)
print(
    f"sure and right: {right:.2f} nats per pixel; as released {released:.2f}, knowing "
    f"nothing {math.log(256):.2f}"
)
assert right < 1e-6 and released > math.log(256)
