"""Attacked posteriors against their covariances written out, against drawn arrays, and what attacks must not change."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from infoscope.metrics.factor_information import exact
from infoscope.metrics.factor_information.attacks import redundancy_attack, synergy_attack
from infoscope.metrics.factor_information.posterior import (
    CategoricalPosterior,
    GaussianPosterior,
    ProductPosterior,
)
from tests.metrics.factor_information.full_gaussian import attacked_in_full

generator = np.random.default_rng

ATTACKS = (redundancy_attack, synergy_attack)


def example(n=60, dim=3, values=4, seed=0):
    """A posterior whose latents have information about two factors, and the factors."""
    g = generator(seed)
    y = np.stack([g.integers(0, values, n), g.integers(0, 3, n)], axis=1)
    mean = y @ g.normal(size=(2, dim)) + 0.1 * g.normal(size=(n, dim))
    return GaussianPosterior(mean, np.exp(g.normal(size=(n, dim)) / 3 - 1)), y


@pytest.mark.parametrize("alpha", (0.0, 4.0))
@pytest.mark.parametrize("attack", ATTACKS)
def test_densities_are_those_of_the_full_covariance(attack, alpha):
    posterior, _ = example(8)
    attacked = attack(posterior, alpha)
    z = torch.as_tensor(attacked.draw(np.arange(8), generator(1)))[:, None]
    for ours, theirs in zip(
        attacked.log_terms(z, slice(None)), attacked_in_full(attacked).log_terms(z, slice(None)), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    assert attacked.latents == ("z0", "z1", "z2", "z0 added", "z1 added", "z2 added")


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_covariance_is_the_paper_s(attack):
    """Section 4 and appendix B, with S = diag(scale^2) and the default U."""
    posterior, _ = example(2)
    alpha, u, s = 1.5, np.eye(3) - 2 / 3, np.diag(posterior.scale[1] ** 2)
    if attack is redundancy_attack:
        expected = np.block([[s, alpha * s @ u.T], [alpha * u @ s, np.eye(3) + alpha**2 * u @ s @ u.T]])
        mean = np.concatenate([posterior.mean[1], alpha * u @ posterior.mean[1]])
    else:
        expected = np.block([[s + alpha**2 * np.eye(3), alpha * u], [alpha * u.T, np.eye(3)]])
        mean = np.concatenate([posterior.mean[1], np.zeros(3)])
    full = attacked_in_full(attack(posterior, alpha))
    assert_allclose(full.covariance[1], expected, atol=1e-12)
    assert_allclose(full.mean[1], mean, atol=1e-12)


@pytest.mark.parametrize("attack", ATTACKS)
def test_arrays_are_attacked_as_posteriors_are(attack):
    """Attacking draws of one row gives the moments of the attacked posterior (27 figures, 5 standard errors)."""
    n, (posterior, _) = 20_000, example(2)
    drawn = posterior.draw(np.zeros(n, int), generator(2))
    z, full = attack(drawn, 1.2, generator(3)), attacked_in_full(attack(posterior, 1.2))
    scale = np.sqrt(np.diagonal(full.covariance[0]))
    assert (np.abs(z.mean(axis=0) - full.mean[0]) < 5 * scale / np.sqrt(n)).all()
    error = np.sqrt((np.outer(scale, scale) ** 2 + full.covariance[0] ** 2) / n)
    assert (np.abs(np.cov(z.T) - full.covariance[0]) < 5 * error).all()


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_keeps_the_joint_information(attack):
    """With common draws the same number, whatever alpha; a redundant copy can also be left out."""
    posterior, y = example(300)
    before = exact.factor_information(posterior, y, 200, generator(1))
    for alpha in (0.0, 3.0):
        after = exact.factor_information(attack(posterior, alpha), y, 200, generator(1))
        assert_allclose(after.pointwise[:, :, -1], before.pointwise[:, :, -1], atol=1e-5)
        if attack is redundancy_attack:
            copies = after.rest[:, 3:]
            np.testing.assert_array_equal(copies, np.broadcast_to(after.joint[:, None], copies.shape))
        else:
            assert_allclose(after.alone[:, 3:], 0, atol=1e-12)


def test_categories_pass_through():
    posterior, y = example(300)
    category = CategoricalPosterior(generator(2).dirichlet(np.ones(3), 300))
    for attack in ATTACKS:
        attacked = attack(ProductPosterior(category, posterior), 1.0)
        assert attacked.latents[0] == "category" and len(attacked.latents) == 7
        alone = exact.factor_information(ProductPosterior(category, posterior), y, 100, generator(1)).alone[:, 0]
        assert_allclose(exact.factor_information(attacked, y, 100, generator(1)).alone[:, 0], alone, atol=1e-6)
