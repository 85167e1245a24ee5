"""Partitioned latents: bits where the text says nats.

NPEET returns bits by default. Thresholds, entropies and text are in nats, so every
estimate is 1.44 times what it is compared with.
"""

import math

import numpy as np

from infoscope.estimators import npeet

draw = np.random.default_rng(2)
left = draw.normal(size=(2000, 1))
right_side = 0.9 * left + math.sqrt(0.19) * draw.normal(size=(2000, 1))
as_called = float(npeet.mi(left, right_side, k=5))
print(
    f"as called {as_called:.2f}; truth {-0.5 * math.log(0.19):.2f} nats, "
    f"{-0.5 * math.log2(0.19):.2f} bits"
)
assert abs(as_called + 0.5 * math.log2(0.19)) < 0.1
