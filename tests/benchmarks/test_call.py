"""What `estimate(x, y, method=...)` costs beside the method itself, in processor time
of one run: 10,000 rows.

The rest is typing, checking and, of nearest neighbours, half-samples for the error.
"""

import numpy as np
import pytest

from infoscope.estimators import estimate, knn
from infoscope.estimators.arrays import METHODS, as_pairs
from tests.benchmarks.timing import median, ratios

pytestmark = pytest.mark.bench

ROWS = 10_000
MOST = 2.0
TRIES = 7


@pytest.mark.parametrize("columns", [1, 5])
def test_a_call_against_the_method_itself(columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, columns))
    y = 0.8 * x + 0.6 * rng.normal(size=x.shape)
    pairs = as_pairs(x, y)
    themselves = {
        "ksg": lambda: knn.mutual_information(pairs.x, pairs.y),
        "gcmi": lambda: METHODS["gcmi"].estimate(pairs, rng),
    }
    for name, method in themselves.items():
        times = ratios(lambda name=name: estimate(x, y, name), method, TRIES)
        assert median(f"{name}, {columns} + {columns} columns", times) < MOST
