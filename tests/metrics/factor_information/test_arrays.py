"""Information of arrays against closed forms, gates, and the estimators it is made of.

Tolerances of 4 standard errors fail for about 6 in 100,000 other seeds.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx
from scipy import integrate, stats

from infoscope.metrics.factor_information.arrays import from_arrays, mixed_with_subsets

LN2 = np.log(2)
METHODS = (
    {"method": "knn", "resamples": None},
    {"method": "classifier", "family": "knn"},
)


def two_bits(n, gate, seed=0):
    rng = default_rng(seed)
    bits = np.arange(4 * (n // 4)) % 4
    rng.shuffle(bits)
    z = np.stack([bits // 2, bits % 2], axis=1)
    return z.astype(float), gate(z[:, 0], z[:, 1]).astype(int)


@pytest.mark.parametrize("options", METHODS)
def test_xor_is_synergy(options):
    z, y = two_bits(1000, np.bitwise_xor)
    found = from_arrays(z, y, categorical=(0, 1), **options)
    assert np.abs(found.alone).max() < 0.01 and np.abs(found.rest).max() < 0.01
    assert found.joint[0] == approx(LN2, abs=0.01)
    bounds = found.aggregated()
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
    return np.column_stack(
        [2 * y - 1 + rng.standard_normal(n), rng.standard_normal(n), np.full(n, 0.1)]
    ), y


def truth_of_readable_bit():
    """ln 2 minus the mean entropy of the posterior 1 / (1 + exp(-2 z))."""

    def lost(z):
        density = (stats.norm.pdf(z, 1) + stats.norm.pdf(z, -1)) / 2
        p = 1 / (1 + np.exp(-2 * z))
        return density * stats.entropy([p, 1 - p])

    return LN2 - integrate.quad(lost, -12, 12)[0]


@pytest.mark.parametrize(
    "options", ({"method": "knn"}, {"method": "classifier", "family": "logistic"})
)
def test_a_gaussian_reading_of_a_bit(options):
    """The logistic family is well specified; its loss of fitting is about 3 parameters
    / (2 x 1,000) nats.
    """
    z, y = readable_bit(1500, 0)
    found = from_arrays(z, y, **options)
    alone, rest, joint = found.standard_errors()
    truth = truth_of_readable_bit()
    assert abs(found.alone[0, 0] - truth) < 4 * alone[0, 0] + 0.002
    # neighbours in two dimensions are a little low
    assert abs(found.joint[0] - truth) < 4 * joint[0] + 0.02
    assert (
        abs(found.rest[0, 0]) < 4 * rest[0, 0] + 0.002
        and abs(found.alone[0, 1]) < 4 * alone[0, 1] + 0.002
    )
    # the constant latent
    assert found.alone[0, 2] == 0.0 and found.rest[0, 2] == found.joint[0]
    assert found.n == 1500 and f"{found.n} items" in found.method


def test_errors_of_the_local_values_are_those_of_new_samples():
    """Spread over 40 samples within a factor of 1.6 of the error: chi-square of 39
    degrees, 4 deviations.
    """
    found = [
        from_arrays(*readable_bit(250, seed), "knn", resamples=None)
        for seed in range(40)
    ]
    spread = np.std([one.alone[0, 0] for one in found], ddof=1)
    assert 1 / 1.6 < found[0].standard_errors()[0][0, 0] / spread < 1.6


def test_groups_make_errors_robust_to_copies():
    """Every row twice, a little moved: grouped, the error is about that of single rows;
    ungrouped, 1 / sqrt 2 of it.
    """
    z, y = readable_bit(300, 3)
    twice, labels, groups = (
        np.repeat(z, 2, axis=0),
        np.repeat(y, 2),
        np.repeat(np.arange(300), 2),
    )
    twice[:, :2] += 1e-3 * default_rng(0).standard_normal((600, 2))
    for options in (
        {"method": "knn", "resamples": None},
        {"method": "classifier", "family": "logistic"},
    ):
        one = from_arrays(z, y, **options).standard_errors()[2][0]
        grouped = from_arrays(
            twice, labels, groups=groups, **options
        ).standard_errors()[2][0]
        assert grouped == approx(one, rel=0.2)


def test_contradictory_estimates_in_many_dimensions_are_not_clipped():
    """One latent is y with noise of 0.1, eight are noise: I(y; all) comes out far below
    I(y; one).
    """
    rng = default_rng(0)
    y = rng.integers(4, size=800)
    z = np.column_stack(
        [y + 0.1 * rng.standard_normal(800), rng.standard_normal((800, 8))]
    )
    found = from_arrays(z, y, "knn", resamples=None)
    assert found.alone[0, 0] > found.joint[0] + 0.5
