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
    corners = np.meshgrid(edges, edges, indexing="ij")
    below = both.cdf(np.stack(corners, axis=-1))
    columns = np.diff(below, axis=0)
    cells = np.maximum(np.diff(columns, axis=1), 1e-300)
    product = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0)
    information = (cells * np.log(cells / product)).sum()
    nats, _ = case("rounded-gaussian").truth()
    assert nats == pytest.approx(information, abs=1e-3)


def test_inflated_zeros_by_adaptive_quadrature():
    y = np.arange(30)
    marginal = 0.85 * 2.0 ** -(y + 1) + 0.15 * (y == 0)

    def terms(x):
        of_y_given_x = 0.85 * stats.poisson.pmf(y, x) + 0.15 * (y == 0)
        return np.exp(-x) * special.xlogy(of_y_given_x, of_y_given_x / marginal)

    by_count, _ = integrate.quad_vec(terms, 0, 60)
    nats, _ = case("zero-inflated-poisson").truth()
    assert nats == pytest.approx(by_count.sum(), abs=1e-5)
