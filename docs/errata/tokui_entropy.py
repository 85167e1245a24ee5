"""Tokui & Sato 2021, appendix B: entropy of n normal variables.

Printed is ½ log(2πe |Σ|), which is right for n = 1 only: 2πe needs the power n. The
information values that follow are right, because the same power is missing on both
sides of every difference.
"""

import math

import numpy as np
from scipy.stats import multivariate_normal

exact_entropy = multivariate_normal(cov=np.eye(3)).entropy()
printed = 0.5 * math.log(2 * math.pi * math.e)
print(
    f"three standard normal variables: printed {printed:.2f} nats, entropy "
    f"{exact_entropy:.2f}"
)
assert math.isclose(exact_entropy, 1.5 * math.log(2 * math.pi * math.e))
