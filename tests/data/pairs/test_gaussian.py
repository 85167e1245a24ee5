"""Gaussian pairs: the formula, the draw, and the exact density ratio."""

import math

import numpy as np
import pytest
import torch
from pytest import approx
from scipy.stats import multivariate_normal, norm

from infoscope.data import GaussianPairs
from tests.data.common import generator


@pytest.mark.parametrize(
    "dim, information", [(1, 0.0), (10, 1e-9), (10, 0.5), (64, 10 * math.log(2))]
)
def test_correlation_of_an_information(dim, information):
    source = GaussianPairs(dim, mutual_information=information)
    assert source.mutual_information == information
    squared = 1 - math.exp(-2 * information / dim)
    assert source.correlation == approx(math.sqrt(squared), abs=1e-8)


def correlated(dim, correlation):
    nats = -0.5 * math.log1p(-(correlation**2))
    return GaussianPairs(dim, dim * nats)


def test_x_is_the_first_half_of_one_draw():
    x, y = correlated(3, 0.6).sample(5, generator())
    draw = torch.randn(5, 6, generator=generator())
    first, second = draw.split(3, 1)
    assert torch.equal(x, first)
    assert torch.allclose(y, 0.6 * first + 0.8 * second, atol=1e-6)


def test_log_ratio_is_the_ratio_of_densities():
    source = correlated(2, 0.7)
    pairs = torch.stack(source.sample(6, generator()))
    x, y = pairs.double()
    every_x = x[:, None].expand(6, 6, 2)
    every_y = y.expand(6, 6, 2)
    pairs = torch.cat([every_x, every_y], 2).numpy()
    covariance = np.kron([[1, 0.7], [0.7, 1]], np.eye(2))
    joint = multivariate_normal(cov=covariance).logpdf(pairs)
    product = norm.logpdf(pairs).sum(2)
    ratio = source.log_ratio(x, y).numpy()
    assert ratio == approx(joint - product, abs=1e-9)
