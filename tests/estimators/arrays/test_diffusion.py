"""Diffusion: closed forms of integrals over noise levels, and of the exact denoiser."""

import numpy as np
import pytest
import torch

from infoscope.estimators.arrays import as_pairs, estimate
from infoscope.estimators.arrays.diffusion import Denoiser, Minde
from infoscope.estimators.arrays.fitting import Schedule
from tests.refusals import refused

SMALL = {"width": 32, "draws": 8, "schedule": Schedule(learning_rate=5e-3, epochs=15, patience=4)}


def normal(rho, n, columns=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=(n, columns)), -0.5 * columns * np.log(1 - rho**2)


def test_the_exact_denoisers_give_the_information():
    """y given x is normal of mean rho x and variance 1 - rho²: both integrands are known at every level."""
    rho, (low, high) = 0.6, Minde().span
    levels = np.linspace(low, high, 4001)
    signal, noise = 1 / (1 + np.exp(-levels)), 1 / (1 + np.exp(levels))
    alone, given = signal, signal * (1 - rho**2) / (signal * (1 - rho**2) + noise)  # mean squared errors of the noise
    # of noise e from a y + s e: the error is the share of the signal in what is seen
    gap = (
        0.5 * np.trapezoid(alone - given, levels) if hasattr(np, "trapezoid") else 0.5 * np.trapz(alone - given, levels)
    )
    assert gap == pytest.approx(-0.5 * np.log(1 - rho**2), abs=1e-3)


def test_the_denoiser_begins_right_for_normal_columns_and_context_adds_nothing():
    generator = torch.Generator().manual_seed(0)
    network = Denoiser(2, 3, 16, generator)
    noised, levels = torch.randn(5, 2, generator=generator), torch.zeros(5, 1)
    torch.testing.assert_close(network(noised, levels, None), noised * 0.5**0.5)
    torch.testing.assert_close(network(noised, levels, torch.ones(5, 3)), network(noised, levels, None))


@pytest.mark.parametrize("name", ["minde", "mmg"])
def test_two_normal_columns(name):
    x, y, truth = normal(0.6, 800)
    found = estimate(x, y, name, **SMALL)
    assert found == pytest.approx(truth, abs=0.09)
    assert 0.002 < found.standard_error < 0.06


def test_nothing_shared_is_about_nothing_and_a_label_counts():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 2))
    assert 0 <= estimate(x, rng.normal(size=(400, 2)), "minde", **SMALL) < 0.06
    label = rng.integers(0, 2, 600)
    found = estimate(2.0 * label + rng.normal(size=600), np.array(["a", "b"])[label], "minde", **SMALL)
    assert found == pytest.approx(0.337, abs=0.15)  # of two normal laws two deviations apart
    assert "x noised" in found.settings


def test_held_out_rows_change_no_fit_and_a_generator_repeats():
    x, y, _ = normal(0.6, 120)
    before, again = (estimate(x, y, "mmg", **SMALL) for _ in range(2))
    assert before.local.tolist() == again.local.tolist()
    fold = as_pairs(x, y).folds(2, np.random.default_rng(0))
    changed = np.flatnonzero(fold == 0)[0]
    y[changed] = 40.0
    after = estimate(x, y, "mmg", **SMALL)
    same = (fold == 0) & (np.arange(120) != changed)
    assert (before.local[same] == after.local[same]).all()


def test_categories_alone_have_no_scores():
    labels = np.array(["a", "b"])[np.random.default_rng(0).integers(0, 2, (2, 100))]
    with refused("method", "type"):
        estimate(*labels, "minde")
    with refused("method", "type"):
        estimate(labels[0], np.arange(100.0) ** 0.5, "minde", predict="x")


def test_bad_settings_are_said():
    for settings, said in (({"span": (3.0, 1.0)}, "span must be a lower and a higher level, got"),
                           ({"predict": "z"}, "predict must be one of auto, x, y, got 'z'."),
                           ({"draws": 0}, "draws must be a whole number of at least 1, got 0.")):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            Minde(**settings)
