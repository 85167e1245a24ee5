"""Simulated trees and videos: the distributions that they say they have."""

import math

import numpy as np
from numpy.random import default_rng
from pytest import approx
from scipy import special

from infoscope.data.tasks.simulators import (
    discretised_logistic,
    gaussian_hub,
    moving_digits,
)


def test_the_gaussian_hub_has_the_stated_distributions():
    """Variances 1/8 and (0.1 j)^2, to 5 % (5 standard deviations at 20,000 draws,
    6e-7).
    """
    tree = gaussian_hub(20_000, 5, default_rng(4))
    hub = tree.variables[:, 0]
    assert hub.var() == approx(1 / 8, rel=0.05)
    noise = tree.variables[:, 1:] - hub[:, None]
    stated = 0.1 * np.arange(1, 5)
    assert noise.std(axis=0) == approx(stated, rel=0.05)
    assert tree.parents.tolist() == [-1, 0, 0, 0, 0]


def test_the_discretised_logistic_has_the_stated_distributions():
    """X_j given X_0: cell probabilities of a logistic of scale 0.5 about (x_0 + j) mod
    7; 5 sd (6e-7).
    """
    generator = default_rng(5)
    tree = discretised_logistic(40_000, 3, 7, 0.5, generator)
    hub, _, second = tree.variables.T
    values = second[hub == 6]
    shares = np.bincount(values, minlength=7) / len(values)
    inner = np.arange(6) + 0.5
    edges = np.r_[-np.inf, inner, np.inf]
    stated = np.diff(special.expit((edges - 1) / 0.5))
    error = 0.5 / math.sqrt(len(values))
    assert np.abs(shares - stated).max() < 5 * error


def test_images_as_large_as_the_picture_do_not_move():
    generator = default_rng(9)
    image = generator.random((1, 6, 8)).astype(np.float32)
    videos = moving_digits(image, 2, 5, generator, size=8, digits=1)
    movement = np.ptp(videos, axis=1)
    assert (movement.max(axis=(1, 2)) > 0).all()  # it moves up and down
    sums = videos.sum(axis=(2, 3))
    np.testing.assert_allclose(sums, image.sum(), rtol=1e-5)
    whole = np.ones((1, 8, 8), dtype=np.float32)
    videos = moving_digits(whole, 1, 5, generator, size=8)
    assert (videos == 1.0).all()
