"""Sufficiency: by hand, and of factors that depend on one another."""

import numpy as np
import pytest

from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.result import FactorInformation


@pytest.mark.parametrize("agree", [0.5, 0.8])
def test_a_latent_for_each_factor_is_sufficient_though_factors_agree(agree):
    """Within 4 standard errors, which about 6 in 100,000 other seeds would fail by
    chance.
    """
    rng = np.random.default_rng(0)
    first = rng.integers(2, size=2000)
    second = np.where(rng.random(2000) < agree, first, 1 - first)
    factors = np.column_stack([first, second])
    codes = 2.0 * factors - 1 + 0.2 * rng.standard_normal(factors.shape)
    of = from_arrays(codes, factors, "knn", resamples=None)
    assert abs(of.sufficiency() - 1) < 4 * of.sufficiency().standard_error + 0.01
    # what one factor tells of the other is held against the latent there
    if agree > 0.5:
        assert of.modularity() < 0.8


def test_sufficiency_by_hand():
    of = FactorInformation(
        factors=("a", "b"), latents=("z", "w"), entropy=np.array([1.0, 2.0]), alone=np.array([[0.5, 0.2], [0.1, 1.6]]),
        rest=np.zeros((2, 2)), joint=np.ones(2), n=None, method="made",
    )  # fmt: skip
    assert of.sufficiency() == pytest.approx((0.5 + 0.8) / 2)
    assert of.sufficiency().unit == "share of H(y)"
