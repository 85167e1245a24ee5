"""Partitioned latents: the mean of two equal formulas.

I(z; y) + I(z; d | y) and I(z; d) + I(z; y | d) are the same quantity. Where an
estimator returns two values, it has an error, and the mean, taken "for robustness",
hides it. Here both are far below the true value.
"""

import math

import numpy as np

from infoscope.estimators import knn, npeet

draw = np.random.default_rng(3)
y, d = draw.integers(0, 10, 3000), draw.integers(0, 6, 3000)
# carries the domain, nearly log 6 nats
z = 1.5 * draw.normal(size=(6, 8))[d] + draw.normal(size=(3000, 8))
as_number = {"y": y[:, None].astype(float), "d": d[:, None].astype(float)}


def by_chain(first, second):
    marginal = npeet.mi(z, as_number[first], k=7, base=math.e)
    return float(
        marginal + npeet.mi(z, as_number[second], as_number[first], k=7, base=math.e)
    )


by_labels = knn.mutual_information(z, d)
one, other = by_chain("y", "d"), by_chain("d", "y")
print(
    f"{one:.2f} and {other:.2f} nats; by labels {by_labels.value:.2f}; at most log 6 "
    f"= {math.log(6):.2f}"
)
assert abs(one - other) > 0.05 and by_labels.value > max(one, other) + 0.5
