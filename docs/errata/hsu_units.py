"""Hsu et al. 2023 (InfoMEC), released code: the score depends on units.

Latents whose range is below a twentieth of the largest range are left out, so one
latent measured in hundredths removes all others. Explicitness is computed on the items
that the model was fitted to, and is above 0 for latents without information.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

draw = np.random.default_rng(1)
factors = draw.integers(0, 4, size=(600, 3))
codes = np.hstack(
    [factors + 0.3 * draw.normal(size=(600, 3)), draw.normal(size=(600, 5))]
)
units = np.array([1, 1, 1, 1, 1, 1, 1, 100])
ranges = [np.ptp(z, axis=0) for z in (codes, codes * units)]
kept = [int((each > each.max() / 20).sum()) for each in ranges]

warnings.simplefilter("ignore", ConvergenceWarning)
noise = codes[:, 3:] / codes[:, 3:].std(axis=0)
explained = []
for factor in factors.T:
    losses = []
    for z in (noise, np.zeros_like(noise)):
        model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100).fit(
            z, factor
        )
        losses.append(log_loss(factor, model.predict_proba(z)))
    explained.append(1 - losses[0] / losses[1])
nothing = float(np.mean(explained))

print(f"latents that are kept: {kept[0]} of 8, with the last in another unit {kept[1]}")
print(f"InfoE of five latents without information: {nothing:.3f}")
assert kept == [8, 1] and nothing > 0
