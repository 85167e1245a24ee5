"""Lee & Rhee 2024: the tables compare batch noise more than critics.

The exact critic cannot be improved. Its estimate from 64 pairs still has a large part
of the printed squared error (table 3 at 2 bits: SMILE-inf 0.117 bits²).
"""

import math

import torch

from infoscope.data import GaussianPairs
from infoscope.estimators import oracle_errors

pairs = GaussianPairs(10, mutual_information=2 * math.log(2))
oracle = oracle_errors(pairs, "smile-inf", 64, 400, torch.Generator().manual_seed(0))
bits2 = oracle.mse / math.log(2) ** 2
error = oracle.mse_standard_error / math.log(2) ** 2
print(f"exact critic: {bits2:.3f} ± {error:.3f} bits², {bits2 / 0.117:.0%} of 0.117")
assert 0.6 < bits2 / 0.117 < 0.9
