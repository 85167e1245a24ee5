"""How the time of estimates grows with rows, in one run on one thread: about fourfold
with four times the rows.
"""

import numpy as np
import pytest

from infoscope.estimators import estimate
from tests.benchmarks.timing import median, ratios

pytestmark = pytest.mark.bench

ROWS, COLUMNS = 8_000, 5
# times as long with four times the rows
LIMITS = {"ksg": 7.0, "gcmi": 6.0, "classifier": 6.0}


@pytest.mark.parametrize("method", LIMITS)
def test_growth_with_rows(method):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(4 * ROWS, COLUMNS))
    y = x + generator.normal(size=x.shape)
    if method == "classifier":
        y = y[:, 0] > 0

    def all_rows():
        return estimate(x, y, method)

    def a_quarter():
        return estimate(x[:ROWS], y[:ROWS], method)

    assert (
        median(f"{method}, 4 x the rows", ratios(all_rows, a_quarter, 3))
        < LIMITS[method]
    )
