"""Information of arrays against closed forms, gates, and the estimators it is made of.

Tolerances of 4 standard errors fail for about 6 in 100,000 other seeds.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.metrics.factor_information.arrays import from_arrays, mixed_with_subsets
from tests.metrics.closed_forms import sign_information

LN2 = np.log(2)
METHODS = (
    {"method": "knn", "resamples": None},
    {"method": "classifier", "family": "knn"},
)


def two_bits(n, gate, seed=0):
    rng = default_rng(seed)
    bits = np.arange(4 * (n // 4)) % 4
    rng.shuffle(bits)
    first = bits // 2
    second = bits % 2
    z = np.stack([first, second], axis=1)
    return z.astype(float), gate(first, second).astype(int)


@pytest.mark.parametrize("options", METHODS)
def test_xor_is_synergy(options):
    z, y = two_bits(1000, np.bitwise_xor)
    information = from_arrays(z, y, categorical=(0, 1), **options)
    assert np.abs(information.alone).max() < 0.01
    assert np.abs(information.rest).max() < 0.01
    assert information.joint[0] == approx(LN2, abs=0.01)
    bounds = information.aggregated()
    assert bounds.synergistic_low.value == approx(1.0, abs=0.03)
    assert bounds.unique_low.value == approx(0.0, abs=0.01)


@pytest.mark.parametrize(
    "gate, rest, joint", ((np.bitwise_xor, 0.0, LN2), (np.bitwise_and, 0.2158, 0.5623))
)
def test_a_mixture_with_subsets_has_the_information_of_the_gate(gate, rest, joint):
    """AND: the entropy of a quarter, and less a bit of doubt in a half of the rows."""
    z, y = two_bits(1000, gate)
    information = from_arrays(z, y, "knn", resamples=None, categorical=(0, 1))
    mixed = mixed_with_subsets(information, default_rng(0))
    assert mixed.rest[0] == approx(rest, abs=0.01)
    assert mixed.joint[0] == approx(joint, abs=0.01)


def readable_bit(n, seed):
    """A fair bit with noise, N(+-1, 1), in the first of three latents; the others are
    noise and a constant.
    """
    rng = default_rng(seed)
    y = rng.integers(2, size=n)
    readable = 2 * y - 1 + rng.standard_normal(n)
    noise = rng.standard_normal(n)
    return np.column_stack([readable, noise, np.full(n, 0.1)]), y


@pytest.mark.parametrize(
    "options", ({"method": "knn"}, {"method": "classifier", "family": "logistic"})
)
def test_a_gaussian_reading_of_a_bit(options):
    """The logistic family is well specified; its loss of fitting is about 3 parameters
    / (2 x 1,000) nats.
    """
    z, y = readable_bit(1500, 0)
    information = from_arrays(z, y, **options)
    alone, rest, joint = information.standard_errors()
    truth = sign_information(1.0)
    assert abs(information.alone[0, 0] - truth) < 4 * alone[0, 0] + 0.002
    # neighbours in two dimensions are a little low
    assert abs(information.joint[0] - truth) < 4 * joint[0] + 0.02
    assert abs(information.rest[0, 0]) < 4 * rest[0, 0] + 0.002
    assert abs(information.alone[0, 1]) < 4 * alone[0, 1] + 0.002
    # the constant latent
    assert information.alone[0, 2] == 0.0
    assert information.rest[0, 2] == information.joint[0]
    assert information.n == 1500


def test_errors_of_the_local_values_are_those_of_new_samples():
    """Spread over 40 samples within a factor of 1.6 of the error: chi-square of 39
    degrees, 4 deviations.
    """
    values = []
    for seed in range(40):
        information = from_arrays(*readable_bit(250, seed), "knn", resamples=None)
        values.append(information.alone[0, 0])
    error = information.standard_errors()[0][0, 0]
    assert 1 / 1.6 < error / np.std(values, ddof=1) < 1.6


@pytest.mark.parametrize(
    "options",
    (
        {"method": "knn", "resamples": None},
        {"method": "classifier", "family": "logistic"},
    ),
)
def test_groups_make_errors_robust_to_copies(options):
    """Every row twice, a little moved: grouped, the error is about that of single rows;
    ungrouped, 1 / sqrt 2 of it.
    """
    z, y = readable_bit(300, 3)
    rows = np.repeat(np.arange(300), 2)
    copies = z[rows]
    copies[:, :2] += 1e-3 * default_rng(0).standard_normal((600, 2))
    single = from_arrays(z, y, **options)
    grouped = from_arrays(copies, y[rows], groups=rows, **options)
    error_of_single = single.standard_errors()[2][0]
    assert grouped.standard_errors()[2][0] == approx(error_of_single, rel=0.2)


def test_contradictory_estimates_in_many_dimensions_are_not_clipped():
    """One latent is y with noise of 0.1, eight are noise: I(y; all) comes out far below
    I(y; one).
    """
    rng = default_rng(0)
    y = rng.integers(4, size=800)
    readable = y + 0.1 * rng.standard_normal(800)
    noise = rng.standard_normal((800, 8))
    z = np.column_stack([readable, noise])
    information = from_arrays(z, y, "knn", resamples=None)
    assert information.alone[0, 0] > information.joint[0] + 0.5
