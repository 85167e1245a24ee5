"""Densities of subsets of latents against scipy's, draws against the densities, and what is refused."""

import numpy as np
import torch
from pytest import approx
from scipy.stats import multivariate_normal
from torch.testing import assert_close

from infoscope.metrics.factor_information.posterior import (
    CategoricalPosterior,
    GaussianPosterior,
    ProductPosterior,
)
from tests.metrics.factor_information.full_gaussian import FullGaussian

generator = np.random.default_rng


def full(n=4, dim=3, seed=0):
    g = generator(seed)
    root = g.normal(size=(n, dim, dim + 2))
    return FullGaussian(g.normal(size=(n, dim)), root @ root.swapaxes(1, 2))


def diagonal(n=4, dim=3, seed=0):
    g = generator(seed)
    return GaussianPosterior(g.normal(size=(n, dim)), np.exp(g.normal(size=(n, dim))))


def test_gaussian_subsets():
    posterior, dim = diagonal(), 3
    z = posterior.draw(np.arange(4), generator(1))
    alone, rest, joint = posterior.log_terms(torch.as_tensor(z)[:, None], slice(None))
    assert alone.shape == rest.shape == (4, 4, 3) and joint.shape == (4, 4)
    for row, scale in enumerate(posterior.scale):
        mean, covariance = posterior.mean[row], np.diag(scale**2)
        for m in range(4):
            assert joint[m, row] == approx(multivariate_normal(mean, covariance).logpdf(z[m]))
            for i in range(dim):
                others = [j for j in range(dim) if j != i]
                density = multivariate_normal(mean[others], covariance[np.ix_(others, others)])
                assert rest[m, row, i] == approx(density.logpdf(z[m, others]))
                one = multivariate_normal(mean[i], covariance[i, i])
                assert alone[m, row, i] == approx(one.logpdf(z[m, i]))


def test_pairs_are_the_diagonal_of_all_pairs():
    """z [m, L] with rows [m] gives each draw's density at its own row."""
    posterior = ProductPosterior(full(5), CategoricalPosterior(generator(0).dirichlet(np.ones(3), 5)))
    rows = np.array([3, 0, 4])
    z = torch.as_tensor(posterior.draw(rows, generator(2)))
    every = posterior.log_terms(z[:, None], slice(None))
    for own, of_all in zip(posterior.log_terms(z, rows), every, strict=True):
        assert_close(own, of_all[np.arange(3), rows])


def test_a_product_adds_its_parts():
    gauss, category = diagonal(), CategoricalPosterior([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [1, 0, 0], [0, 0, 1.0]])
    both = ProductPosterior(category, gauss)
    z = torch.tensor([[2.0, 0.3, -0.2, 1.0]], dtype=torch.float64)
    alone, rest, joint = both.log_terms(z[:, None], slice(None))
    of_gauss = gauss.log_terms(z[:, None, 1:], slice(None))
    expected = torch.tensor([0, 0.5, 0, 1.0], dtype=torch.float64).log()
    assert_close(alone[0, :, 0], expected)
    assert_close(rest[0, :, 0], of_gauss.joint[0])
    assert_close(joint[0], of_gauss.joint[0] + expected)
    assert_close(rest[0, :, 1:], of_gauss.rest[0] + expected[:, None])
    assert both.latents == ("category", "z0", "z1", "z2") and both.n == 4


def test_draws_have_the_moments_and_frequencies():
    """20,000 draws of one row: 5 standard errors for 12 figures, wrong about once in 10^5 times."""
    n, posterior = 20_000, diagonal(2, seed=3)
    z = posterior.draw(np.ones(n, int), generator(4))
    scale = posterior.scale[1]
    assert (np.abs(z.mean(axis=0) - posterior.mean[1]) < 5 * scale / np.sqrt(n)).all()
    covariance = np.diag(scale**2)
    error = np.sqrt((np.outer(scale, scale) ** 2 + covariance**2) / n)
    assert (np.abs(np.cov(z.T) - covariance) < 5 * error).all()
    probability = np.array([0.2, 0.0, 0.5, 0.3])
    category = CategoricalPosterior([probability, [1, 0, 0, 0]], "c").draw(np.zeros(n, int), generator(5))
    frequency = np.bincount(category[:, 0].astype(int), minlength=4) / n
    assert (np.abs(frequency - probability) <= 5 * np.sqrt(probability * (1 - probability) / n)).all()


def test_priors():
    z = torch.tensor([[0.0, 1.0, 2.0, 1.0]], dtype=torch.float64)
    prior = ProductPosterior(diagonal(), CategoricalPosterior(np.full((4, 5), 0.2))).log_prior(z)
    expected = [*multivariate_normal(0, 1).logpdf([0, 1, 2]), np.log(0.2)]
    np.testing.assert_allclose(prior[0], expected)
