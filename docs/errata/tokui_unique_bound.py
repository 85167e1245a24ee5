"""Tokui & Sato 2021, table 1: upper bound of the unique information under the synergy
attack.

Printed is the whole information T, which the attack cannot change; the paper concludes
that the attack fools the upper bound. The bound of Eq. 7 is the smaller of two terms,
and the other term goes to 0.
"""

import math

from infoscope.metrics import toy

found = toy.exact("synergy", 5, 0.1, 20.0)
high = found.bounds().unique_high.value[0, 0]
print(f"printed {0.5 * math.log(1 + 0.1**-2):.3f} nats, by Eq. 7 {high:.5f}")
assert math.isclose(high, 0.5 * math.log(1 + 1 / (0.1**2 + 20.0**2)))
