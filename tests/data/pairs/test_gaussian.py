"""Gaussian pairs: the formula, the draw, and the exact density ratio."""

import math

import pytest
import torch
from scipy.stats import multivariate_normal, norm

from infoscope.data import GaussianPairs
from tests.data.common import generator

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("dim", [1, 10, 64])
@pytest.mark.parametrize("information", [0.0, 1e-9, 0.5, 2 * math.log(2), 10 * math.log(2)])
def test_correlation_of_an_information(dim, information):
    source = GaussianPairs(dim, mutual_information=information)
    assert source.mutual_information == information
    assert source.correlation == pytest.approx(math.sqrt(1 - math.exp(-2 * information / dim)), abs=1e-8)


def correlated(dim, correlation):
    return GaussianPairs(dim, -dim / 2 * math.log1p(-(correlation**2)))


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.999])
def test_information_of_a_correlation(correlation):
    assert correlated(5, correlation).correlation == pytest.approx(correlation, rel=1e-12)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_moments_of_the_sample(correlation):
    """Fisher's z of each of 4 coordinates and of 12 pairs of different ones; family-wise false-alarm rate 1e-6."""
    n, dim = 40_000, 4
    x, y = correlated(dim, correlation).sample(n, generator())
    sample = torch.cat([x, y], dim=1).double()
    cross = torch.corrcoef(sample.T)[:dim, dim:]
    expected = torch.eye(dim, dtype=torch.float64) * correlation
    limit = norm.isf(FALSE_ALARM / 2 / (dim * dim)) / math.sqrt(n - 3)
    assert ((cross.atanh() - expected.atanh()).abs() < limit).all()


def test_x_is_the_first_half_of_one_draw():
    x, y = correlated(3, 0.6).sample(5, generator())
    draw = torch.randn(5, 6, generator=generator())
    assert torch.equal(x, draw[:, :3])
    assert torch.allclose(y, 0.6 * draw[:, :3] + 0.8 * draw[:, 3:], atol=1e-6)


@pytest.mark.parametrize("bits", [2, 10])
def test_mean_log_ratio_is_the_information(bits):
    """The log ratio of a pair has variance dim * correlation^2; two-sided false-alarm rate 1e-6."""
    n, source = 20_000, GaussianPairs(10, mutual_information=bits * math.log(2))
    x, y = (variable.view(-1, 50, 10) for variable in source.sample(n, generator()))
    density = source.log_ratio(x, y).diagonal(dim1=1, dim2=2).double()
    limit = norm.isf(FALSE_ALARM / 2) * math.sqrt(10 * source.correlation**2 / n)
    assert abs(density.mean().item() - source.mutual_information) < limit


def test_log_ratio_is_the_ratio_of_densities():
    source = correlated(2, 0.7)
    x, y = (variable.double() for variable in source.sample(6, generator()))
    covariance = [[1, 0, 0.7, 0], [0, 1, 0, 0.7], [0.7, 0, 1, 0], [0, 0.7, 0, 1]]
    for i in range(6):
        for j in range(6):
            joint = multivariate_normal(cov=covariance).logpdf(torch.cat([x[i], y[j]]))
            marginals = norm.logpdf(x[i]).sum() + norm.logpdf(y[j]).sum()
            assert source.log_ratio(x, y)[i, j].item() == pytest.approx(joint - marginals, abs=1e-9)
