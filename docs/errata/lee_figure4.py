"""Lee & Rhee 2024: figure 4 compares three different tasks.

The published settings give Gaussian pairs 1 nat per source, texts 1 bit per source, and
images 1 bit in total. "Reliable up to 4, 36 and 64 sources" is therefore not a
statement about the domains.
"""

import math

limits = {"gaussian": (4, 4 / math.log(2)), "images": (36, 1.0), "text": (64, 64.0)}
for domain, (sources, bits) in limits.items():
    print(
        f"{domain:9} {sources:2} sources: {bits:.2f} bits, where InfoNCE on a batch "
        "of 64 can reach log2 64 = 6"
    )
assert limits["images"][1] < limits["gaussian"][1] < 6 < limits["text"][1]
