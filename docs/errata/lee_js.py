"""Lee & Rhee 2024: JS is 1/e nats too low for every critic.

The estimate is the formula of NWJ at the optimum of another objective, which lies 1
below that of NWJ. The paper finds JS about half a bit too low: 0.531 bits of this are
arithmetic, not a property of training.
"""

import math

import torch

from infoscope.data import GaussianPairs
from infoscope.estimators import oracle_errors

pairs = GaussianPairs(10, mutual_information=math.log(2))  # 1 bit
exact = {
    name: oracle_errors(pairs, name, 64, 400, torch.Generator().manual_seed(0))
    for name in ("js", "nwj")
}
for name, errors in exact.items():
    print(
        f"{name:4} with the exact critic: bias {errors.bias / math.log(2):+.3f} bits "
        "of 1"
    )
error = math.sqrt(exact["js"].variance / exact["js"].batches)
assert (
    abs(exact["js"].bias + 1 / math.e) < 5 * error
    and abs(exact["nwj"].bias) < 5 * error
)
