"""Partitioned latents: the score cannot reach its expected value.

With ten classes and six domains a perfect partition scores less than 0.55; "excellent"
begins at 0.7. The expected values of the terms do not give the expected score of 0.7 to
0.9 either, and some exceed the entropy that bounds them.
"""

import math

perfect = (math.log(10) + math.log(6)) / (3 * 2.5)
# the best end of every expected range
highest = (2.5 + 2.0 + 0.8 - 0.05 - 0.05 - 0.1) / (3 * 2.5)
print(
    f"perfect partition {perfect:.2f}; the best of the expected figures "
    f"{highest:.2f}; expected 0.7 to 0.9"
)
print(f"expected up to 2.5 nats about the class, H(y) = {math.log(10):.2f}")
print(f"expected up to 2.0 nats about the domain, H(d) = {math.log(6):.2f}")
assert perfect < 0.55 and highest < 0.7
