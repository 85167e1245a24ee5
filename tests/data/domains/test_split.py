"""Drawing evenly over strata: how many are drawn is fixed to within one, which ones is random."""

import numpy as np
import pytest
import torch
from scipy.stats import binom

from infoscope.data.domains.split import draw_evenly

STRATA = np.random.default_rng(0).permutation(np.repeat([0, 1, 2, 3], [50, 30, 17, 1]))


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_the_number_drawn_is_within_one_of_its_expectation(fraction, seed):
    drawn = draw_evenly(STRATA, fraction, torch.Generator().manual_seed(seed))
    assert abs(drawn.sum() - fraction * len(STRATA)) < 1
    for stratum in range(4):
        inside = drawn[stratum == STRATA]
        assert abs(inside.sum() - fraction * len(inside)) < 1 + 1e-9


def test_each_is_drawn_with_the_probability_asked_for():
    """Counts over 2,000 draws are binomial; all 98 within the two-sided 1e-8 bounds: a false alarm once in 1e6."""
    generator = torch.Generator().manual_seed(0)
    counts = sum(draw_evenly(STRATA, 0.3, generator).astype(int) for _ in range(2000))
    low, high = binom.interval(1 - 1e-8, 2000, 0.3)
    assert (low <= counts).all() and (counts <= high).all()
