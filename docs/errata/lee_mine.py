"""Lee & Rhee 2024, released code: MINE has no moving average.

The code mixes the current batch with the previous one only, starting at 1. Everything
earlier is forgotten at the next step.
"""

import math

import numpy as np

rng = np.random.default_rng(0)
batch = rng.lognormal(sigma=1.0, size=4000)
average, rule, previous = 1.0, [], 1.0
for value in batch:
    # as released: the previous batch, not the previous average
    rule.append(0.9 * previous + 0.1 * value)
    previous = value
    average = 0.9 * average + 0.1 * value
spread = np.std(rule[100:]) / np.std(batch)
print(
    f"spread relative to one batch: {spread:.2f}; of a moving average: "
    f"{math.sqrt(0.1 / 1.9):.2f}"
)
assert spread > 0.8
