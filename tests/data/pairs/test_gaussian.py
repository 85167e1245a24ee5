"""Gaussian pairs: the formula, the draw, and the exact density ratio."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal, norm

from infoscope.data import GaussianPairs
from tests.data.common import generator


@pytest.mark.parametrize(
    "dim, information", [(1, 0.0), (10, 1e-9), (10, 0.5), (64, 10 * math.log(2))]
)
def test_correlation_of_an_information(dim, information):
    source = GaussianPairs(dim, mutual_information=information)
    assert source.mutual_information == information
    assert source.correlation == pytest.approx(
        math.sqrt(1 - math.exp(-2 * information / dim)), abs=1e-8
    )


def correlated(dim, correlation):
    return GaussianPairs(dim, -dim / 2 * math.log1p(-(correlation**2)))


def test_x_is_the_first_half_of_one_draw():
    x, y = correlated(3, 0.6).sample(5, generator())
    draw = torch.randn(5, 6, generator=generator())
    assert torch.equal(x, draw[:, :3])
    assert torch.allclose(y, 0.6 * draw[:, :3] + 0.8 * draw[:, 3:], atol=1e-6)


def test_log_ratio_is_the_ratio_of_densities():
    source = correlated(2, 0.7)
    x, y = (variable.double() for variable in source.sample(6, generator()))
    covariance = np.kron([[1, 0.7], [0.7, 1]], np.eye(2))
    every = torch.cat([x[:, None].expand(6, 6, 2), y.expand(6, 6, 2)], 2).numpy()
    expected = multivariate_normal(cov=covariance).logpdf(every) - norm.logpdf(
        every
    ).sum(2)
    assert source.log_ratio(x, y).numpy() == pytest.approx(expected, abs=1e-9)
