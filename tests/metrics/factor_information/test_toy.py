"""The toy model: closed forms against determinants, against draws, and against figures."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.metrics.factor_information import toy

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
    latents = list(range(factors, len(covariance)))

    def volume(rows):
        return np.linalg.slogdet(covariance[np.ix_(rows, rows)])[1]

    def information(k, rows):
        return (volume(rows) + volume([k]) - volume([k, *rows])) / 2

    alone = [[latent] for latent in latents]
    rest = [[other for other in latents if other != latent] for latent in latents]
    subsets = [*alone, *rest, latents]
    return [[information(k, rows) for rows in subsets] for k in range(factors)]


@pytest.mark.parametrize("kind", KINDS)
def test_closed_forms_are_the_determinants(kind):
    settings = itertools.product((2, 3, 5), (0.1, 1.0), (0.0, 0.5, 3.0, 200.0))
    for setting in settings:
        parts = toy.exact(kind, *setting).parts
        assert_allclose(parts, determinants(kind, *setting), atol=1e-7)


@pytest.mark.parametrize("kind, alpha", VALUES)
def test_figures_of_five_factors(kind, alpha):
    exact = toy.exact(kind, 5, 0.1, alpha)
    gap, low, high, redundant, synergistic = VALUES[kind, alpha]
    unibound = exact.unibound(normalised=False)
    assert exact.mig(normalised=False).value == approx(gap, abs=1e-6)
    assert unibound.value == approx(low, abs=1e-6)
    assert unibound.standard_error == 0
    if kind != "synergy" or alpha < 4:  # beyond, single latents are all but equal
        bounds = exact.aggregated("alone", normalised=False)
        values = [low, high, redundant, redundant, synergistic, synergistic]
        assert_allclose([bound.value for bound in bounds], values, atol=1e-6)


def test_two_corrections_of_the_published_table():
    """MIG under redundancy for K = 2 and 3 (the printed formula has 2.3076 and 2.2554),
    and the upper bound of the unique information under synergy, which vanishes; t - b
    is another quantity.
    """
    for factors, gap in ((3, 2.0551), (2, 1.1949)):
        exact = toy.exact("redundancy", factors, 0.1, 3.0)
        assert exact.mig(normalised=False).value == approx(gap, abs=5e-5)
    exact = toy.exact("synergy", 5, 0.1, 20.0)
    high = exact.bounds().unique_high.value[0, 0]
    assert high == approx(0.5 * np.log(1 + 1 / 400.01))
    assert exact.joint[0] - exact.rest[0, 0] > 2.3


@pytest.mark.parametrize("factors", (2, 4, 7))
def test_draws_agree_with_closed_forms(factors):
    """Every I(y_k; .) of the three kinds within 5.2 standard errors: about 2,500
    figures over all K, so that a right program fails about once in 2,000 times.
    """
    for kind in KINDS:
        setting = (kind, factors, 0.5, 0.0 if kind == "none" else 1.5)
        truth = toy.exact(*setting)
        sampled = toy.sampled(*setting, 3000, np.random.default_rng(factors))
        errors = np.sqrt(np.square(sampled.deviations).sum(axis=0))
        difference = np.abs(sampled.parts - truth.parts)
        assert (difference <= 5.2 * errors + 1e-9).all(), kind
        assert sampled.latents == truth.latents
        assert sampled.n == 3000
