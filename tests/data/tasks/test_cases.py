"""Data of known mutual information: the truths against other ways to compute them."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from infoscope.data.tasks.catalogue import case


def test_a_rounded_gaussian_loses_little_of_half_a_nat():
    """Against a sum over cells by scipy's bivariate normal distribution function."""
    correlation = np.sqrt(1 - np.exp(-1.0))
    edges = np.r_[-6.0, np.arange(-5.75, 6, 0.5), 6.0]
    both = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    grid = both.cdf(np.stack(np.meshgrid(edges, edges, indexing="ij"), axis=-1))
    cells = np.maximum(np.diff(np.diff(grid, axis=0), axis=1), 1e-300)
    product = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0)
    assert case("rounded-gaussian").truth()[0] == pytest.approx((cells * np.log(cells / product)).sum(), abs=1e-3)


def test_inflated_zeros_by_adaptive_quadrature():
    y = np.arange(30)
    marginal = 0.85 * 2.0 ** -(y + 1) + 0.15 * (y == 0)

    def terms(x):
        given = 0.85 * stats.poisson.pmf(y, x) + 0.15 * (y == 0)
        return np.exp(-x) * special.xlogy(given, given / marginal)

    total = integrate.quad_vec(terms, 0, 60)[0].sum()
    assert case("zero-inflated-poisson").truth()[0] == pytest.approx(total, abs=1e-5)
