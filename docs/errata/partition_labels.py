"""Partitioned latents: labels used as numbers.

With class codes as numbers, a k-nearest-neighbour estimate changes with the unit of the
codes and with the order of the classes. The information of a label depends on neither.
"""

import math

import numpy as np

from infoscope.estimators import Discrete, knn, npeet

rng = np.random.default_rng(0)
labels = rng.integers(0, 10, 1500)
z = 2.0 * rng.normal(size=(10, 4))[labels] + rng.normal(size=(1500, 4))
as_numbers = [
    float(npeet.mi(z, scale * labels[:, None].astype(float), k=5, base=math.e))
    for scale in (0.01, 1, 100)
]
as_labels = [
    knn.mutual_information(z, Discrete(codes))
    for codes in (labels, 100 * labels, (7 * labels) % 10)
]
print("codes times 0.01, 1, 100 as numbers:", np.round(as_numbers, 2), "nats")
print("as labels:", np.round([float(found) for found in as_labels], 2))
assert np.ptp(as_numbers) > 0.3 and np.ptp([float(found) for found in as_labels]) < 1e-9
