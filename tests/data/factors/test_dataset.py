"""Factor data sets: the user's own arrays, grids, subsets, thinning and resizing."""

import itertools

import numpy as np
import pytest
import torch

from infoscope.data import FactorDataset
from tests.data.common import generator

NAMES = ("colour", "size", "side")
LABELS = {"colour": ["red", "blue"], "size": [2.5, 0.5, 1.0], "side": [7, -1]}
N = 12


def rows() -> np.ndarray:
    """The complete factorial of LABELS, in an order that is neither sorted nor row-major."""
    grid = list(itertools.product(*LABELS.values()))
    order = np.random.default_rng(3).permutation(len(grid))
    return np.array([grid[place] for place in order], dtype=object)


def grey(n: int = N, height: int = 4, width: int = 6) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, height, width), dtype=np.uint8)


@pytest.fixture
def dataset() -> FactorDataset:
    return FactorDataset(grey(), rows(), NAMES, name="mine")


def test_labels_of_any_kind_become_codes(dataset):
    assert dataset.factor_names == NAMES
    assert dataset.factor_sizes == (2, 3, 2)
    assert dataset.factors.dtype == np.int64 and dataset.factors.shape == (N, 3)
    for k, name in enumerate(NAMES):
        assert list(dataset.factor_values[k]) == sorted(LABELS[name])
        assert list(dataset.factor_values[k][dataset.factors[:, k]]) == list(rows()[:, k])
    assert (dataset.name, dataset.synthetic, len(dataset)) == ("mine", False, N)


@pytest.mark.parametrize("channels", [(), (1,), (3,)])
def test_grey_values_become_fractions(channels):
    stored = np.random.default_rng(1).integers(0, 256, (N, *channels, 4, 6), dtype=np.uint8)
    dataset = FactorDataset(stored, rows(), NAMES)
    assert dataset.image_shape == (*(channels or (1,)), 4, 6)
    images = dataset.images([3, 0, 3])
    assert images.dtype == torch.float32 and images.shape == (3, *dataset.image_shape)
    assert torch.equal(images[0], images[2])
    assert np.array_equal(np.rint(images.numpy() * 255), stored[[3, 0, 3]].reshape(images.shape))


@pytest.mark.parametrize("kind", [np.uint8, np.bool_, np.float32, np.float64])
def test_zeros_and_ones_stay_what_they_are(kind):
    stored = np.random.default_rng(2).integers(0, 2, (N, 3, 3)).astype(kind)
    dataset, before = FactorDataset(stored, rows(), NAMES), stored.astype(np.float32)
    assert np.array_equal(dataset.images(np.arange(N))[:, 0].numpy(), before)
    dataset.images(np.arange(N)).mul_(0)  # which changes nothing of the array
    assert np.array_equal(stored, before)


def test_tensors_are_taken_as_arrays_are():
    images, codes = torch.from_numpy(grey()), torch.arange(N)[:, None] % 4
    dataset = FactorDataset(images, codes, ["phase"])
    assert torch.allclose(dataset.images(torch.tensor([5]))[0, 0], images[5] / 255)
    assert dataset.subset("phase", 1).tolist() == [1, 5, 9]


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


def test_subsets_of_a_factor_are_a_partition(dataset):
    for k, name in enumerate(NAMES):
        parts = [dataset.subset(name, value) for value in range(dataset.factor_sizes[k])]
        assert sorted(np.concatenate(parts).tolist()) == list(range(N))
        for value, part in enumerate(parts):
            assert (dataset.factors[part, k] == value).all() and (np.diff(part) > 0).all()
            assert np.array_equal(part, dataset.subset(k, value))


def test_a_grid_is_one_in_any_order(dataset):
    assert dataset.is_grid
    assert dataset.index_of(dataset.factors).tolist() == list(range(N))
    wanted = np.array([[1, 2, 0], [0, 0, 1], [1, 2, 0]])
    assert np.array_equal(dataset.factors[dataset.index_of(wanted)], wanted)


def test_what_is_no_grid():
    """One image short of a grid, one too many, and as many images with one combination twice and one never."""
    whole = rows()
    for some in (whole[:-1], np.vstack([whole, whole[:1]]), np.vstack([whole[:-1], whole[:1]])):
        dataset = FactorDataset(grey(len(some)), some, NAMES, name="holey")
        assert dataset.factor_sizes == (2, 3, 2)
        assert not dataset.is_grid


def test_many_factors_of_many_values_are_no_grid():
    """The number of their combinations, 50^12, is beyond 64 bits."""
    factors = np.stack([np.random.default_rng(k).permutation(50) for k in range(12)], 1)
    assert not FactorDataset(grey(50), factors, [f"f{k}" for k in range(12)]).is_grid


def test_samples_are_uniform_and_repeatable(dataset):
    """Chi-squared of 12 cells over 24,000 draws: beyond 42.1 (11 degrees of freedom) in 1.6e-5 of seeds."""
    drawn = dataset.sample(24_000, generator())
    assert drawn.dtype == np.int64
    counts = np.bincount(drawn, minlength=N)
    assert len(counts) == N and ((counts - 2000) ** 2 / 2000).sum() < 42.1
    assert np.array_equal(drawn, dataset.sample(24_000, generator()))
    assert not np.array_equal(drawn, dataset.sample(24_000, generator(1)))


def test_thinning_keeps_every_so_many_values(dataset):
    thin = dataset.thinned({"size": 2, 0: 2})
    assert thin.factor_sizes == (1, 2, 2) and thin.is_grid and len(thin) == 4
    assert [list(values) for values in thin.factor_values] == [["blue"], [0.5, 2.5], [-1, 7]]
    assert thin.name == "mine colour/2 size/2"
    same = dataset.index_of(thin.factors * [2, 2, 1])
    assert torch.equal(thin.images(np.arange(4)), dataset.images(same))


def test_resizing_averages_over_areas(dataset):
    small = dataset.resized((2, 3))
    images = dataset.images(np.arange(N))
    assert small.image_shape == (1, 2, 3)
    assert torch.allclose(small.images(np.arange(N)), torch.nn.functional.avg_pool2d(images, 2), atol=1e-6)
    assert np.array_equal(small.factors, dataset.factors) and small.factor_values == dataset.factor_values


def test_a_pixel_that_two_share_is_split_between_them():
    """Three pixels to two: each new one is a whole old one and half of the middle."""
    dataset = FactorDataset(np.array([[[1.0, 0.5, 0.0]]]), [[0]], ["only"])
    assert dataset.resized((1, 2)).images([0]).flatten().tolist() == pytest.approx([5 / 6, 1 / 6])


def test_white_stays_white():
    """Weights that add up to one only within rounding must not leave [0, 1], which losses of Bernoulli pixels need."""
    white = FactorDataset(np.ones((1, 37, 37)), [[0]], ["only"])
    for size in range(1, 38):
        images = white.resized(size).images([0])
        assert images.max() <= 1 and images.min() > 1 - 1e-6
