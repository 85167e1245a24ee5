"""Lee & Rhee 2024, released code: the schedule never leaves its first step.

Images and texts are meant to go through 2, 4, 6, 8 and 10 bits. The list of crossover
probabilities repeats each of 20,000 steps 4,000 times and takes nats for bits: every
step has 1.39 bits, while the log prints 2 to 10. The published results were not made
with this schedule.
"""

import math

import numpy as np

from infoscope.data import channel_information, crossover_for

steps = np.repeat([2, 4, 6, 8, 10], 4_000) * math.log(2)  # nats, one per step
released = np.repeat(steps[:5], 4_000)  # the 20,000 of 80 million values that are used
crossover = crossover_for(released[0] * math.log(2), sources=10)  # nats, read as bits
print(
    f"different steps: {len(set(released))}; each "
    f"{channel_information(crossover, 10) / math.log(2):.2f} bits"
)
assert len(set(released)) == 1
