"""Factor data sets: the user's own arrays, thinning and resizing."""

import itertools

import numpy as np
import pytest
import torch

from infoscope.data import FactorDataset
from tests.data.common import generator, is_grid, places_of

NAMES = ("colour", "size", "side")
VALUES = (("blue", "red"), (0.5, 1.0, 2.5), (-1, 7))
N = 12


def rows() -> np.ndarray:
    """The complete factorial of codes, in an order that is not row-major."""
    grid = np.array(list(itertools.product(range(2), range(3), range(2))))
    return np.random.default_rng(3).permutation(grid)


@pytest.fixture
def dataset() -> FactorDataset:
    images = torch.rand(N, 1, 4, 6, generator=generator())
    return FactorDataset(images, rows(), NAMES, factor_values=VALUES, name="mine")


def test_codes_and_their_values(dataset):
    assert dataset.factor_names == NAMES
    assert dataset.factor_sizes == (2, 3, 2)
    assert dataset.factors.dtype == np.int64 and np.array_equal(dataset.factors, rows())
    assert [values.tolist() for values in dataset.factor_values] == [list(values) for values in VALUES]
    assert (dataset.name, dataset.synthetic, len(dataset)) == ("mine", False, N)


def test_a_function_renders_only_what_is_asked_for():
    asked = []

    def render(index: np.ndarray) -> torch.Tensor:
        asked.extend(index.tolist())
        return torch.from_numpy(index).float().view(-1, 1, 1, 1).expand(-1, 3, 2, 5) / N

    dataset = FactorDataset(render, rows(), NAMES)
    del asked[:]
    assert torch.allclose(dataset.images([7, 2])[:, 2, 1, 4], torch.tensor([7 / N, 2 / N]))
    assert asked == [7, 2]
    assert dataset.image_shape == (3, 2, 5)


def test_samples_are_uniform_and_repeatable(dataset):
    """Chi-squared of 12 cells over 24,000 draws: beyond 42.1 (11 degrees of freedom) in 1.6e-5 of seeds."""
    drawn = dataset.sample(24_000, generator())
    assert drawn.dtype == np.int64
    counts = np.bincount(drawn, minlength=N)
    assert len(counts) == N and ((counts - 2000) ** 2 / 2000).sum() < 42.1
    assert np.array_equal(drawn, dataset.sample(24_000, generator()))
    assert not np.array_equal(drawn, dataset.sample(24_000, generator(1)))


def test_thinning_keeps_every_so_many_values(dataset):
    thin = dataset.thinned({"size": 2, NAMES[0]: 2})
    assert thin.factor_sizes == (1, 2, 2) and is_grid(thin) and len(thin) == 4
    assert [list(values) for values in thin.factor_values] == [["blue"], [0.5, 2.5], [-1, 7]]
    assert thin.name == "mine colour/2 size/2"
    same = places_of(dataset, thin.factors * [2, 2, 1])
    assert torch.equal(thin.images(np.arange(4)), dataset.images(same))


def test_resizing_averages_over_areas(dataset):
    small = dataset.resized((2, 3))
    images = dataset.images(np.arange(N))
    assert small.image_shape == (1, 2, 3)
    assert torch.allclose(small.images(np.arange(N)), torch.nn.functional.avg_pool2d(images, 2), atol=1e-6)
    assert np.array_equal(small.factors, dataset.factors) and small.factor_values == dataset.factor_values


def test_a_pixel_that_two_share_is_split_between_them():
    """Three pixels to two: each new one is a whole old one and half of the middle."""
    dataset = FactorDataset(torch.tensor([[[[1.0, 0.5, 0.0]]]]), [[0]], ["only"])
    assert dataset.resized((1, 2)).images([0]).flatten().tolist() == pytest.approx([5 / 6, 1 / 6])


def test_white_stays_white():
    """Weights that add up to one only within rounding must not leave [0, 1], which losses of Bernoulli pixels need."""
    white = FactorDataset(torch.ones(1, 1, 37, 37), [[0]], ["only"])
    for size in range(1, 38):
        images = white.resized(size).images([0])
        assert images.max() <= 1 and images.min() > 1 - 1e-6
