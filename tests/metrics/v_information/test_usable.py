"""Intervals of held-out information that allow for more rows."""

import numpy as np
import pytest

from infoscope.metrics.v_information.usable import Local


@pytest.mark.parametrize("power", [0.5, 0.7, 1.0])
def test_an_interval_covers_the_limit_of_the_learning_curve(power):
    """With n rows an information of 1 is underestimated by a multiple of n^-power; 400
    and 200 rows, without noise.
    """
    noise = np.random.default_rng(0).normal(size=500)
    noise = 0.01 * (noise - noise.mean())
    of_all = 1 - 20 * 400**-power + noise
    of_half = 1 - 20 * 200**-power + noise
    mean = Local(of_all, of_half).mean(np.arange(500))
    assert mean.estimate.low <= 1.0 <= mean.estimate.high + 1e-9
    if power == 0.5:
        assert float(mean.further) == pytest.approx(1.0)
