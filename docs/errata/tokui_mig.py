"""Tokui & Sato 2021, table 1: MIG under the redundancy attack.

The printed formula takes an added latent of the same factor as the second best. With
two or three factors, a latent of another factor is better, and MIG is smaller than
printed. From four factors on the formula is right.
"""

import math

from infoscope.metrics import toy


def printed_mig(factors, noise, alpha):
    kept = noise**2 + 1 - (1 - 2 / factors) ** 2
    return 0.5 * math.log(
        (1 + noise**-2) * (1 + alpha**2 * kept) / (1 + alpha**2 * (1 + noise**2))
    )


for factors in (2, 3, 4, 5):
    right = toy.exact("redundancy", factors, 0.1, 3.0).mig(normalised=False).value
    print(
        f"{factors} factors: printed {printed_mig(factors, 0.1, 3.0):.4f} nats, exact "
        f"{right:.4f}"
    )
    assert (abs(right - printed_mig(factors, 0.1, 3.0)) < 1e-9) == (factors >= 4)
