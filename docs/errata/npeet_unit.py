"""NPEET: the estimate depends on the unit.

Noise of 1e-10 is added at every scale, and radii are made strict by subtracting 1e-15,
which has no effect on radii above 16. Information is the same in every unit.
"""

import math

import numpy as np

from infoscope.estimators import knn, npeet

draw = np.random.default_rng(6)
x = draw.normal(size=(2000, 1))
y = 0.93 * x + math.sqrt(1 - 0.93**2) * draw.normal(size=(2000, 1))
by_unit = {
    unit: float(npeet.mi(unit * x, unit * y, k=5, base=math.e))
    for unit in (1, 1e3, 1e-10, 1e-12)
}
print(
    {unit: round(value, 3) for unit, value in by_unit.items()},
    f"truth {-0.5 * math.log(1 - 0.93**2):.3f} nats",
)
ours = [
    float(knn.mutual_information(unit * x, unit * y)) for unit in (1, 1e3, 1e-10, 1e-12)
]
assert by_unit[1e3] < by_unit[1] - 0.01 and by_unit[1e-12] < 0.1 and np.ptp(ours) < 1e-6
