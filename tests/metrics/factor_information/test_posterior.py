"""Densities of subsets of latents against scipy's, draws against the densities, and
priors.
"""

import numpy as np
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx
from scipy.stats import multivariate_normal
from torch.testing import assert_close

from infoscope.metrics.factor_information.posterior import (
    CategoricalPosterior,
    GaussianPosterior,
    ProductPosterior,
)
from tests.metrics.factor_information.full_gaussian import FullGaussian


def full(n):
    rng = default_rng(0)
    root = rng.normal(size=(n, 3, 5))
    return FullGaussian(rng.normal(size=(n, 3)), root @ root.swapaxes(1, 2))


def diagonal(n=4, seed=0):
    rng = default_rng(seed)
    mean, log_scale = rng.normal(size=(2, n, 3))
    return GaussianPosterior(mean, np.exp(log_scale))


def log_density(posterior, row, z, latents):
    """The density of some latents at a row's posterior, by scipy."""
    mean = posterior.mean[row, latents]
    variances = posterior.scale[row, latents] ** 2
    return multivariate_normal(mean, np.diag(variances)).logpdf(z[latents])


def test_gaussian_subsets():
    posterior = diagonal()
    z = posterior.draw(np.arange(4), default_rng(1))
    alone, rest, joint = posterior.log_terms(torch.as_tensor(z)[:, None], slice(None))
    assert alone.shape == rest.shape == (4, 4, 3)
    for m, row in np.ndindex(4, 4):

        def density(*latents, m=m, row=row):
            return approx(log_density(posterior, row, z[m], list(latents)))

        assert joint[m, row] == density(0, 1, 2)
        for latent, others in enumerate(([1, 2], [0, 2], [0, 1])):
            assert alone[m, row, latent] == density(latent)
            assert rest[m, row, latent] == density(*others)


def test_pairs_are_the_diagonal_of_all_pairs():
    """z [m, L] with rows [m] gives each draw's density at its own row."""
    category = CategoricalPosterior(default_rng(0).dirichlet(np.ones(3), 5))
    posterior = ProductPosterior(full(5), category)
    rows = np.array([3, 0, 4])
    z = torch.as_tensor(posterior.draw(rows, default_rng(2)))
    all_pairs = posterior.log_terms(z[:, None], slice(None))
    for pairs, every in zip(posterior.log_terms(z, rows), all_pairs, strict=True):
        assert_close(pairs, every[np.arange(3), rows])


def test_a_product_adds_its_parts():
    gaussian = diagonal()
    category = CategoricalPosterior(
        [[0.5, 0.5, 0], [0.2, 0.3, 0.5], [1, 0, 0], [0, 0, 1.0]]
    )
    product = ProductPosterior(category, gaussian)
    z = torch.tensor([[2.0, 0.3, -0.2, 1.0]], dtype=torch.float64)
    alone, rest, joint = product.log_terms(z[:, None], slice(None))
    of_gaussian = gaussian.log_terms(z[:, None, 1:], slice(None))
    of_category = torch.tensor([0, 0.5, 0, 1.0], dtype=torch.float64).log()
    assert_close(alone[0, :, 0], of_category)
    assert_close(rest[0, :, 0], of_gaussian.joint[0])
    assert_close(joint[0], of_gaussian.joint[0] + of_category)
    assert_close(rest[0, :, 1:], of_gaussian.rest[0] + of_category[:, None])
    assert product.latents == ("category", "z0", "z1", "z2")


def test_draws_have_the_moments():
    """20,000 draws of one row: 5 standard errors for 9 values, wrong about once in 10^5
    times.
    """
    n = 20_000
    posterior = diagonal(2, seed=3)
    z = posterior.draw(np.ones(n, int), default_rng(4))
    normal = (z - posterior.mean[1]) / posterior.scale[1]
    assert np.abs(normal.mean(axis=0)).max() < 5 / np.sqrt(n)
    error = np.sqrt((1 + np.eye(3)) / n)
    assert (np.abs(np.cov(normal.T) - np.eye(3)) < 5 * error).all()


def test_draws_have_the_frequencies():
    n = 20_000
    probability = np.array([0.2, 0.0, 0.5, 0.3])
    category = CategoricalPosterior([probability, [1, 0, 0, 0]], "c")
    codes = category.draw(np.zeros(n, int), default_rng(5))[:, 0].astype(int)
    frequency = np.bincount(codes, minlength=4) / n
    error = np.sqrt(probability * (1 - probability) / n)
    assert (np.abs(frequency - probability) <= 5 * error).all()


def test_priors():
    z = torch.tensor([[0.0, 1.0, 2.0, 1.0]], dtype=torch.float64)
    category = CategoricalPosterior(np.full((4, 5), 0.2))
    prior = ProductPosterior(diagonal(), category).log_prior(z)
    expected = [*multivariate_normal(0, 1).logpdf([0, 1, 2]), np.log(0.2)]
    assert_allclose(prior[0], expected)
