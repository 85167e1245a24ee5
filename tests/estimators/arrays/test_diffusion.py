"""Diffusion: the integral over noise levels of exact denoisers, and where a denoiser begins."""

import numpy as np
import pytest
import torch

from infoscope.estimators.arrays import estimate
from infoscope.estimators.arrays.diffusion import Denoiser, Minde
from infoscope.estimators.arrays.fitting import Schedule
from tests.estimators.samples import draws, normal_information
from tests.refusals import refused


def test_the_exact_denoisers_give_the_information():
    """y given x is normal of mean rho x and variance 1 - rho²: both integrands are known at every level."""
    rho, (low, high) = 0.6, Minde().span
    levels = np.linspace(low, high, 4001)
    signal, noise = 1 / (1 + np.exp(-levels)), 1 / (1 + np.exp(levels))
    # mean squared errors of the noise: of noise e from a y + s e, the share of the signal in what is seen
    alone, given = signal, signal * (1 - rho**2) / (signal * (1 - rho**2) + noise)
    gap = 0.5 * np.trapezoid(alone - given, levels)
    assert gap == pytest.approx(normal_information(rho), abs=1e-3)


def test_the_denoiser_begins_right_for_normal_columns_and_context_adds_nothing():
    generator = torch.Generator().manual_seed(0)
    network = Denoiser(2, 3, 16, generator)
    noised, levels = torch.randn(5, 2, generator=generator), torch.zeros(5, 1)
    torch.testing.assert_close(network(noised, levels, None), noised * 0.5**0.5)
    torch.testing.assert_close(network(noised, levels, torch.ones(5, 3)), network(noised, levels, None))


def test_of_a_number_and_a_label_the_number_is_noised():
    """Of two normal distributions two deviations apart: .337 nats."""
    g = draws(5)
    label = g.integers(0, 2, 500)
    small = {"width": 32, "draws": 8, "schedule": Schedule(learning_rate=5e-3, epochs=15, patience=4)}
    found = estimate(2.0 * label + g.normal(size=500), np.array(["a", "b"])[label], "minde", **small)
    assert found == pytest.approx(0.337, abs=0.15) and "x noised" in found.settings


def test_categories_alone_have_no_scores():
    labels = np.array(["a", "b"])[draws().integers(0, 2, (2, 100))]
    with refused("method", "type"):
        estimate(*labels, "minde")
