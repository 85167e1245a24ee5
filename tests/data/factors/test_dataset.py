"""Factor data sets: the user's own arrays, thinning and resizing."""

import numpy as np
import pytest
import torch
from pytest import approx
from scipy.stats import chisquare

from infoscope.data import FactorDataset
from tests.data.common import generator, is_grid, places_of

NAMES = ("colour", "size", "side")
VALUES = ("blue", "red"), (0.5, 1.0, 2.5), (-1, 7)
N = 12


# the complete factorial of codes, in an order that is not row-major
ROWS = np.array(list(np.ndindex(2, 3, 2)))
ROWS = np.random.default_rng(3).permutation(ROWS)
IMAGES = torch.rand(N, 1, 4, 6, generator=generator())
DATASET = FactorDataset(IMAGES, ROWS, NAMES, factor_values=VALUES, name="mine")


def values_of(dataset):
    return tuple(tuple(values) for values in dataset.factor_values)


def test_codes_and_their_values():
    assert DATASET.factor_names == NAMES
    assert DATASET.factor_sizes == (2, 3, 2)
    assert DATASET.factors.dtype == np.int64
    assert np.array_equal(DATASET.factors, ROWS)
    assert values_of(DATASET) == VALUES
    assert DATASET.name == "mine"
    assert not DATASET.synthetic
    assert len(DATASET) == N


def test_a_function_renders_only_what_is_asked_for():
    rendered = []

    def render(index: np.ndarray) -> torch.Tensor:
        rendered.extend(index.tolist())
        levels = torch.from_numpy(index).float() / N
        images = levels.view(-1, 1, 1, 1)
        return images.expand(-1, 3, 2, 5)

    dataset = FactorDataset(render, ROWS, NAMES)
    rendered.clear()
    images = dataset.images([7, 2])
    pixels = images[:, 2, 1, 4]
    assert pixels.tolist() == approx([7 / N, 2 / N])
    assert rendered == [7, 2]
    assert dataset.image_shape == (3, 2, 5)


def test_samples_are_uniform_and_repeatable():
    """Chi-squared of 12 cells over 24,000 draws: beyond 42.1 (11 degrees of freedom) in
    1.6e-5 of seeds.
    """
    drawn = DATASET.sample(24_000, generator())
    counts = np.bincount(drawn, minlength=N)
    assert chisquare(counts).statistic < 42.1
    assert np.array_equal(drawn, DATASET.sample(24_000, generator()))


def test_thinning_keeps_every_so_many_values():
    thin = DATASET.thinned({"size": 2, "colour": 2})
    assert thin.factor_sizes == (1, 2, 2)
    assert is_grid(thin)
    assert values_of(thin) == (("blue",), (0.5, 2.5), (-1, 7))
    assert thin.name == "mine colour/2 size/2"
    same = places_of(DATASET, thin.factors * [2, 2, 1])
    assert torch.equal(thin.images(range(4)), IMAGES[same])


def test_resizing_averages_over_areas():
    small = DATASET.resized((2, 3))
    assert small.image_shape == (1, 2, 3)
    expected = torch.nn.functional.avg_pool2d(IMAGES, 2)
    torch.testing.assert_close(small.images(range(N)), expected)
    assert np.array_equal(small.factors, ROWS)
    assert values_of(small) == VALUES


def one_image(pixels):
    return FactorDataset(pixels[None, None], [[0]], ["only"])


@pytest.mark.parametrize("size", range(1, 38))
def test_white_stays_white(size):
    """Weights that add up to one only within rounding must not leave [0, 1], which
    losses of Bernoulli pixels need.
    """
    white = one_image(torch.ones(37, 37))
    images = white.resized(size).images([0])
    assert images.max() <= 1
    assert images.min() > 1 - 1e-6


def test_a_pixel_that_two_share_is_split_between_them():
    """Three pixels to two: each new one is a whole old one and half of the middle."""
    dataset = one_image(torch.tensor([[1.0, 0.5, 0.0]]))
    resized = dataset.resized((1, 2)).images([0])
    assert resized.flatten().tolist() == approx([5 / 6, 1 / 6])
