"""Intervals of the terms of samples, near the kinks that every minimum has.

Of 40 data sets, 32 intervals must cover the truth. 95 % intervals fail that once in
3,000 times; the intervals of the jackknife alone covered it in 55 to 83 %, which fails
nearly always in some term.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.metrics import pid

SETS, LEAST = 40, 32


def held(decompose, truth):
    """In how many data sets each term's interval holds the truth [4], to rounding."""
    hits = np.zeros(4, int)
    for seed in range(SETS):
        found = decompose(default_rng(seed))
        hits += [
            term.low <= true + 1e-6 and term.high >= true - 1e-6
            for term, true in zip(found[:4], truth[:4])
        ]
        assert all(term.low <= term.value <= term.high for term in found[:4])
    return hits


@pytest.mark.parametrize(
    ("of_a", "of_b"),
    [([1.02], [1.0]), ([2.0, 1.0, 0.3], [0.5, 1.0, 1.0])],
)
def test_two_normal_channels_of_nearly_equal_information(of_a, of_b):
    h = np.vstack([np.diag(of_a), np.diag(of_b)])
    size = len(of_a)
    covariance = np.block([[np.eye(size), h.T], [h, h @ h.T + np.eye(2 * size)]])
    root, (target, a, b) = (
        np.linalg.cholesky(covariance),
        np.split(np.arange(3 * size), 3),
    )

    def decompose(generator):
        rows = generator.standard_normal((400, 3 * size)) @ root.T
        return pid.gaussian_from_arrays(
            rows[:, a], rows[:, b], rows[:, target], blocks=30, generator=generator
        )

    assert (held(decompose, pid.gaussian(covariance, a, b, target)) >= LEAST).all()


def test_far_from_a_kink_the_interval_is_that_of_the_jackknife():
    generator = default_rng(0)
    rows = generator.normal(size=(3, 500)) + np.outer(
        [3, 0, 3], generator.normal(size=500)
    )
    found = pid.gaussian_from_arrays(*rows)
    margin = found.unique_a.high - found.unique_a.value
    assert margin == approx(found.unique_a.value - found.unique_a.low)
    assert margin / found.unique_a.standard_error == approx(2.0, abs=0.1)
    assert found.unique_b.high < 0.05
