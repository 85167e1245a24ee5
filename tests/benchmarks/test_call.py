"""What `estimate(x, y, method=...)` costs beside the method itself, in processor time of one run: 10,000 rows.

The rest is typing, checking and, of nearest neighbours, half-samples for the error.
"""

import time

import numpy as np
import pytest

from infoscope.estimators import estimate, knn
from infoscope.estimators.arrays import METHODS, as_pairs

pytestmark = pytest.mark.bench

ROWS = 10_000
MOST = 2.0
TRIES = 7


def seconds(call):
    """The least of some tries, after one that compiles."""
    call()
    tries = []
    for _ in range(TRIES):
        began = time.process_time()
        call()
        tries.append(time.process_time() - began)
    return min(tries)


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
        alone = seconds(method)
        called = seconds(lambda name=name: estimate(x, y, name))
        print(f"\n{name}, {columns} + {columns} columns: {1e3 * called:.1f} ms, itself {1e3 * alone:.1f} ms: "
              f"{called / alone:.2f} (at most {MOST:g})")  # fmt: skip
        assert called < MOST * alone
