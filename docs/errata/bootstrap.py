"""Partitioned latents and npeet-plus: a bootstrap with replacement for nearest
neighbours.

A row that is drawn twice is its own neighbour at distance 0. Intervals then miss the
true value, and may exclude their own estimate; those of npeet-plus are made in this
way. Half-samples without replacement have no such rows.
"""

import numpy as np

from infoscope.estimators import knn, uncertainty

rng = np.random.default_rng(0)
covered, covered_half_samples = 0, 0
for _ in range(10):  # data sets of independent variables
    x, y = rng.normal(size=(2, 300))
    values = []
    for _ in range(20):
        rows = rng.integers(0, 300, 300)
        jitter = 1e-8 * rng.normal(size=(2, 300))
        values.append(
            float(knn.mutual_information(x[rows] + jitter[0], y[rows] + jitter[1]))
        )
    low, high = np.percentile(values, [2.5, 97.5])
    half = uncertainty.subsample(x, y)
    covered += low <= 0 <= high
    covered_half_samples += half.low <= 0 <= half.high
print(
    f"of 10 intervals contain the true value: with replacement {covered}, "
    f"half-samples {covered_half_samples}"
)
assert covered <= 2 and covered_half_samples >= 7
