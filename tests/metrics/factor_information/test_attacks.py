"""Attacked posteriors against their covariances written out, against drawn arrays, and
what attacks must not change.
"""

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal

from infoscope.metrics.factor_information import exact
from infoscope.metrics.factor_information.attacks import (
    redundancy_attack,
    synergy_attack,
)
from infoscope.metrics.factor_information.posterior import (
    CategoricalPosterior,
    GaussianPosterior,
    ProductPosterior,
)
from tests.metrics.factor_information.full_gaussian import attacked_in_full

pytestmark = pytest.mark.parametrize("attack", (redundancy_attack, synergy_attack))


def example(n):
    """A posterior whose three latents have information about two factors, and the
    factors.
    """
    rng = default_rng(0)
    y = np.stack([rng.integers(0, 4, n), rng.integers(0, 3, n)], axis=1)
    mean = y @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(n, 3))
    scale = np.exp(rng.normal(size=(n, 3)) / 3 - 1)
    return GaussianPosterior(mean, scale), y


@pytest.mark.parametrize("alpha", (0.0, 4.0))
def test_densities_are_those_of_the_full_covariance(attack, alpha):
    posterior, _ = example(8)
    attacked = attack(posterior, alpha)
    z = torch.as_tensor(attacked.draw(np.arange(8), default_rng(1)))[:, None]
    expected = attacked_in_full(attacked).log_terms(z, slice(None))
    for term, expected_term in zip(
        attacked.log_terms(z, slice(None)), expected, strict=True
    ):
        torch.testing.assert_close(term, expected_term, rtol=1e-9, atol=1e-9)
    assert attacked.latents == ("z0", "z1", "z2", "z0 added", "z1 added", "z2 added")


def test_the_covariance_is_the_paper_s(attack):
    """Section 4 and appendix B, with S = diag(scale^2) and the default U."""
    posterior, _ = example(2)
    alpha = 1.5
    one = np.eye(3)
    u = one - 2 / 3
    s = np.diag(posterior.scale[1] ** 2)
    mean = posterior.mean[1]
    if attack is redundancy_attack:
        added = one + alpha**2 * u @ s @ u.T
        expected = np.block([[s, alpha * s @ u.T], [alpha * u @ s, added]])
        added_mean = alpha * u @ mean
    else:
        masked = s + alpha**2 * one
        expected = np.block([[masked, alpha * u], [alpha * u.T, one]])
        added_mean = np.zeros(3)
    full = attacked_in_full(attack(posterior, alpha))
    assert_allclose(full.covariance[1], expected, atol=1e-12)
    assert_allclose(full.mean[1], np.concatenate([mean, added_mean]), atol=1e-12)


def test_arrays_are_attacked_as_posteriors_are(attack):
    """Attacking draws of one row gives the moments of the attacked posterior (27
    values, 5 standard errors).
    """
    n = 20_000
    posterior, _ = example(2)
    draws = posterior.draw(np.zeros(n, int), default_rng(2))
    z = attack(draws, 1.2, default_rng(3))
    full = attacked_in_full(attack(posterior, 1.2))
    covariance = full.covariance[0]
    variances = np.diagonal(covariance)
    error = np.sqrt(variances / n)
    assert (np.abs(z.mean(axis=0) - full.mean[0]) < 5 * error).all()
    products = np.outer(variances, variances)
    error = np.sqrt((products + covariance**2) / n)
    assert (np.abs(np.cov(z.T) - covariance) < 5 * error).all()


@pytest.mark.parametrize("alpha", (0.0, 3.0))
def test_an_attack_does_not_change_the_joint_information(attack, alpha):
    """With common draws the same number, whatever alpha; a redundant copy can also be
    left out.
    """
    posterior, y = example(300)
    before = exact.factor_information(posterior, y, 200, default_rng(1))
    after = exact.factor_information(attack(posterior, alpha), y, 200, default_rng(1))
    assert_allclose(after.pointwise[:, :, -1], before.pointwise[:, :, -1], atol=1e-5)
    if attack is redundancy_attack:
        for latent in (3, 4, 5):
            assert_array_equal(after.rest[:, latent], after.joint)
    else:
        assert_allclose(after.alone[:, 3:], 0, atol=1e-12)


def test_categories_pass_through(attack):
    gaussian, y = example(300)
    category = CategoricalPosterior(default_rng(2).dirichlet(np.ones(3), 300))
    posterior = ProductPosterior(category, gaussian)
    attacked = attack(posterior, 1.0)
    assert attacked.latents[0] == "category"
    assert len(attacked.latents) == 7
    before = exact.factor_information(posterior, y, 100, default_rng(1))
    after = exact.factor_information(attacked, y, 100, default_rng(1))
    assert_allclose(after.alone[:, 0], before.alone[:, 0], atol=1e-6)
