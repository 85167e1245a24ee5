"""Tokui & Sato 2021, appendix B, Eq. 14: information of all but one added latent about
another factor.

The formula has (1 - 2/K)² in both cases. In the second case it must be 4/K².
"""

import math

from infoscope.metrics import toy


def printed_rest(share, noise, alpha):
    spread = 1 + noise**2 + alpha**2
    return 0.5 * math.log(
        (1 + noise**2) * spread / (noise**2 * spread + alpha**2 * share)
    )


rest = toy.exact("synergy", 5, 0.1, 3.0).rest[
    0
]  # factor 1: without one of the 5 latents, then without one of the 5 added ones
print(
    f"factor 1, without the first added latent {rest[5]:.3f}, without another "
    f"{rest[6]:.3f} nats"
)
for_both, corrected = (
    printed_rest((1 - 2 / 5) ** 2, 0.1, 3.0),
    printed_rest(4 / 25, 0.1, 3.0),
)
print(f"printed {for_both:.3f} for both; with 4/K² {corrected:.3f}")
assert math.isclose(rest[5], for_both) and math.isclose(rest[6], corrected)
