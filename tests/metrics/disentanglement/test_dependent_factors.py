"""Minimality and sufficiency: closed forms with dependent factors, and invariances.

Where a tolerance is 4 standard errors, about 6 in 100,000 other seeds would fail by chance.
"""

import numpy as np
import pytest

from infoscope.metrics.disentanglement import minimality
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.result import FactorInformation
from tests.refusals import refused


def signs(n, seed, agree):
    """Two factors of values 0 and 1 that agree with this probability, and their signs."""
    rng = np.random.default_rng(seed)
    one = rng.integers(2, size=n)
    factors = np.column_stack([one, np.where(rng.random(n) < agree, one, 1 - one)])
    return factors, 2.0 * factors - 1, rng


@pytest.mark.parametrize("agree", [0.5, 0.8])
def test_a_latent_for_each_factor_is_minimal_and_sufficient_though_factors_agree(agree):
    factors, sign, rng = signs(2000, 0, agree)
    codes = sign + 0.2 * rng.standard_normal(sign.shape)
    found = minimality(codes, factors)
    assert abs(found - 1) < 4 * found.standard_error + 0.002
    of = from_arrays(codes, factors, "knn", resamples=None)
    assert abs(of.sufficiency() - 1) < 4 * of.sufficiency().standard_error + 0.01
    if agree > 0.5:  # what one factor tells of the other is held against the latent there
        assert of.modularity() < 0.8


@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_a_mixture_has_its_closed_form(weight):
    """z = s_1 + w s_2 and z' = s_2, correlation c: the shares of (1 + wc)^2 in 1 + w^2 + 2wc, and of 1 in 1."""
    factors, sign, rng = signs(6000, 1, 0.7)
    c = 0.4
    mixed = sign[:, 0] + weight * sign[:, 1]
    whole = 1 + weight**2 + 2 * weight * c
    noise = 0.5
    codes = np.column_stack([mixed + noise * rng.standard_normal(6000), sign[:, 1]])
    variance = whole + noise**2
    truth = (max((1 + weight * c) ** 2, (weight + c) ** 2) / variance + 1) / (whole / variance + 1)
    found = minimality(codes, factors)
    assert abs(found - truth) < 4 * found.standard_error and found.standard_error < 0.02


def test_noise_and_units_do_not_change_scores():
    factors, sign, rng = signs(1500, 2, 0.7)
    codes = sign @ [[1.0, 0.3], [0.5, 1.0]] + 0.2 * rng.standard_normal(sign.shape)
    plain = minimality(codes, factors)
    assert minimality(100 * codes + 3, factors).value == pytest.approx(plain.value)
    more = np.hstack([codes, np.full((1500, 1), 0.1), rng.standard_normal((1500, 4))])
    assert minimality(more, factors).value == pytest.approx(plain.value, abs=0.01)
    assert minimality(factors, factors, categorical=[0, 1]) == pytest.approx(1.0, abs=0.01)


def test_errors_are_those_of_new_samples():
    """60 samples: the mean error is within a third of the spread, whose own error is a tenth of it."""
    found = []
    for seed in range(60):
        factors, sign, rng = signs(300, seed, 0.7)
        found.append(minimality(sign @ [[1.0, 0.3], [0.5, 1.0]] + rng.standard_normal(sign.shape), factors))
    assert np.mean([one.standard_error for one in found]) == pytest.approx(np.std(found, ddof=1), rel=1 / 3)


def test_no_shared_information_has_a_note():
    factors, _, rng = signs(400, 3, 0.5)
    found = minimality(rng.standard_normal((400, 3)), factors)
    assert np.isnan(found) and "undefined" in found.notes[0]
    with refused("factors", "shape"):
        minimality(rng.standard_normal((400, 3)), factors[:, 0])


def test_sufficiency_by_hand():
    of = FactorInformation(
        factors=("a", "b"), latents=("z", "w"), entropy=np.array([1.0, 2.0]), alone=np.array([[0.5, 0.2], [0.1, 1.6]]),
        rest=np.zeros((2, 2)), joint=np.ones(2), n=None, method="made",
    )  # fmt: skip
    assert of.sufficiency() == pytest.approx((0.5 + 0.8) / 2) and of.sufficiency().unit == "share of H(y)"
