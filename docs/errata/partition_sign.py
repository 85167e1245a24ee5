"""Partitioned latents: the sign of I(z; y; d).

Positive values are called synergy and rewarded. The opposite is true: co-information is
+1 bit for copies and -1 bit for XOR. The code's own test of XOR expects a positive
value, and passes for every result.
"""

import math

import numpy as np

from infoscope.metrics import pid


def co_information(table: np.ndarray) -> float:
    """I(z; y) + I(z; d) - I(z; y, d) of a table [z, y, d], bits."""
    of_y, of_d, of_both = pid.discrete_information(table)
    return float(of_y + of_d - of_both) / math.log(2)


copies, xor = np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
for a in (0, 1):
    copies[a, a, a] = 0.5
    for b in (0, 1):
        xor[a ^ b, a, b] = 0.25
signs = [co_information(table) for table in (copies, xor)]
print(f"copies {signs[0]:+.3f} bits, XOR {signs[1]:+.3f} bits")
assert np.allclose(signs, [1, -1])
