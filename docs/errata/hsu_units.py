"""Hsu et al. 2023 (InfoMEC), released code: the score depends on units.

Latents whose range is below a twentieth of the largest range are left out, so one latent measured in hundredths
removes all others. Explicitness is computed on the items that the model was fitted to, and is above 0 for latents
without information.
"""

import numpy as np

from infoscope.metrics import disentanglement

draw = np.random.default_rng(1)
factors = draw.integers(0, 4, size=(600, 3))
codes = np.hstack([factors + 0.3 * draw.normal(size=(600, 3)), draw.normal(size=(600, 5))])
units = np.array([1, 1, 1, 1, 1, 1, 1, 100])
shares = [disentanglement.published_infomec(z, factors).shares for z in (codes, codes * units)]
kept = [int(np.isfinite(row[0]).sum()) for row in shares]
nothing = disentanglement.published_infomec(codes[:, 3:], factors).explicitness
print(f"latents that are kept: {kept[0]} of 8, with the last in another unit {kept[1]}")
print(f"InfoE of five latents without information: {nothing.value:.3f}")
assert kept == [8, 1] and nothing.value > 0
