"""Partitioned latents: entropies of domains and of the score.

Six domains have log 6 nats, not log 2. With a fixed "typical entropy" of 2.5 nats, a
perfect partition of two classes and three domains scores less than a quarter.
"""

import math

perfect = (math.log(2) + math.log(3)) / (3 * 2.5)
print(
    f"log 6 = {math.log(6):.2f} nats, log 2 = {math.log(2):.2f}; perfect partition: "
    f"{perfect:.2f} of 1"
)
assert perfect < 0.25
