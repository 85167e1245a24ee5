"""Data of known mutual information: the truths against other ways to compute them."""

import numpy as np
from pytest import approx
from scipy import integrate, special, stats

from infoscope.data.tasks.catalogue import case


def test_a_rounded_gaussian_loses_little_of_half_a_nat():
    """Against a sum over cells by scipy's bivariate normal distribution function."""
    correlation = np.sqrt(1 - np.exp(-1.0))
    inner = np.arange(-5.75, 6, 0.5)
    edges = np.r_[-6.0, inner, 6.0]
    covariance = [[1, correlation], [correlation, 1]]
    corners = np.meshgrid(edges, edges, indexing="ij")
    points = np.stack(corners, axis=-1)
    below = stats.multivariate_normal([0, 0], covariance).cdf(points)
    columns = np.diff(below, axis=0)
    cells = np.maximum(np.diff(columns, axis=1), 1e-300)
    product = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0)
    expected = (cells * np.log(cells / product)).sum()
    nats, _ = case("rounded-gaussian").truth()
    assert nats == approx(expected, abs=1e-3)


def test_inflated_zeros_by_adaptive_quadrature():
    y = np.arange(30)
    is_zero = y == 0
    geometric = 2.0 ** -(y + 1)
    marginal = 0.85 * geometric + 0.15 * is_zero

    def terms(x):
        poisson = stats.poisson.pmf(y, x)
        given_x = 0.85 * poisson + 0.15 * is_zero
        return np.exp(-x) * special.xlogy(given_x, given_x / marginal)

    by_count, _ = integrate.quad_vec(terms, 0, 60)
    nats, _ = case("zero-inflated-poisson").truth()
    assert nats == approx(by_count.sum(), abs=1e-5)
