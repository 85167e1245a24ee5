"""The toy model: closed forms against determinants, against draws, and against figures."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.metrics.factor_information import toy
from infoscope.metrics.pid import Bounds

KINDS = ("none", "redundancy", "synergy")

# K = 5, noise 0.1, nats: MIG, unique low, unique high, redundant, synergistic, by
# attack and alpha.
VALUES = {
    ("redundancy", 1.0): (2.208881, 1.963468, 1.963468, 0.344092, 0.0),
    ("redundancy", np.inf): (2.087194, 0.0, 0.0, 2.30756, 0.0),
    ("synergy", 1.0): (0.344092, 0.344092, 0.344092, 0.0, 1.963468),
    ("synergy", 4.0): (0.030294, 0.030294, 0.030294, 0.0, 2.277266),
} | {(kind, 0.0): (2.30756, 2.30756, 2.30756, 0.0, 0.0) for kind in KINDS}


def determinants(kind, factors, noise, alpha):
    """alone, rest and joint by log-determinants of the covariance of (y, z')."""
    covariance = toy.covariance(kind, factors, noise, alpha)
    latents = range(factors, len(covariance))

    def volume(rows):
        return np.linalg.slogdet(covariance[np.ix_(rows, rows)])[1]

    def information(k, rows):
        return (volume(rows) + volume([k]) - volume([k, *rows])) / 2

    sets = (
        [[i] for i in latents]
        + [[j for j in latents if j != i] for i in latents]
        + [list(latents)]
    )
    return np.array([[information(k, rows) for rows in sets] for k in range(factors)])


@pytest.mark.parametrize("kind", KINDS)
def test_closed_forms_are_the_determinants(kind):
    for asked in itertools.product((2, 3, 5), (0.1, 1.0), (0.0, 0.5, 3.0, 200.0)):
        assert_allclose(
            toy.exact(kind, *asked).parts, determinants(kind, *asked), atol=1e-7
        )


@pytest.mark.parametrize("kind, alpha", VALUES)
def test_figures_of_five_factors(kind, alpha):
    found = toy.exact(kind, 5, 0.1, alpha)
    gap, low, high, redundant, synergistic = VALUES[kind, alpha]
    bounds = found.aggregated("alone", normalised=False)
    assert found.mig(normalised=False).value == approx(gap, abs=1e-6)
    assert found.unibound(normalised=False).value == approx(low, abs=1e-6)
    if kind != "synergy" or alpha < 4:  # beyond, single latents are all but equal
        values = Bounds(low, high, redundant, redundant, synergistic, synergistic)
        assert_allclose([bound.value for bound in bounds], values, atol=1e-6)
    assert found.unibound(normalised=False).standard_error == 0


def test_two_corrections_of_the_published_table():
    """MIG under redundancy for K = 2 and 3 (the printed formula has 2.3076 and 2.2554),
    and the upper bound of the unique information under synergy, which vanishes; t - b
    is another quantity.
    """
    assert toy.exact("redundancy", 3, 0.1, 3.0).mig(normalised=False).value == approx(
        2.0551, abs=5e-5
    )
    assert toy.exact("redundancy", 2, 0.1, 3.0).mig(normalised=False).value == approx(
        1.1949, abs=5e-5
    )
    found = toy.exact("synergy", 5, 0.1, 20.0)
    high = found.bounds().unique_high.value[0, 0]
    assert (
        high == approx(0.5 * np.log(1 + 1 / 400.01))
        and found.joint[0] - found.rest[0, 0] > 2.3
    )


@pytest.mark.parametrize("factors", (2, 4, 7))
def test_draws_agree_with_closed_forms(factors):
    """Every I(y_k; .) of the three kinds within 5.2 standard errors: about 2,500
    figures over all K, so that a right program fails about once in 2,000 times.
    """
    for kind in KINDS:
        alpha = 0.0 if kind == "none" else 1.5
        truth = toy.exact(kind, factors, 0.5, alpha)
        found = toy.sampled(
            kind, factors, 0.5, alpha, 3000, np.random.default_rng(factors)
        )
        errors = np.sqrt(np.square(found.deviations).sum(axis=0))
        assert (np.abs(found.parts - truth.parts) <= 5.2 * errors + 1e-9).all(), kind
        assert found.latents == truth.latents and found.n == 3000
