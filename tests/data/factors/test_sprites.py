"""Generated sprites: the exact grid, its outlines, symmetries and positions, and how they compare to dSprites."""

import itertools

import numpy as np
import pytest
import torch
from matplotlib.path import Path

from infoscope.data import FactorDataset, dsprites, sprites
from tests.data.common import is_grid, places_of, with_real_data

# In sides of the image. The heart's curve has the area 180 pi and the width 32, in units of 0.3 / 29.


def test_the_grid_is_complete_and_in_order():
    dataset = sprites(3, 2, 4, 3, resolution=16)
    assert dataset.factor_names == ("shape", "scale", "orientation", "posX", "posY")
    assert dataset.factor_sizes == (3, 2, 4, 3, 3)
    assert dataset.factors.tolist() == [list(row) for row in itertools.product(*map(range, dataset.factor_sizes))]
    assert is_grid(dataset) and dataset.synthetic
    assert dataset.name == "generated-sprites 3x2x4x3x3 at 16 x 16"


def test_the_default_has_the_published_values():
    """Every 4th of 40 orientations in [0, 2 pi] and every 2nd of 32 positions in [0, 1], ends included."""
    dataset = sprites()
    assert len(dataset) == 46_080 and dataset.image_shape == (1, 64, 64)
    shape, scale, orientation, x, y = dataset.factor_values
    assert shape.tolist() == ["square", "ellipse", "heart"]
    assert np.allclose(scale, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert np.allclose(orientation, np.linspace(0, 2 * np.pi, 40)[::4])
    assert np.allclose(x, np.linspace(0, 1, 32)[::2]) and np.array_equal(x, y)


def test_images_depend_on_their_index_only():
    """The same alone, in another order, in a batch of more than are rendered at once, and from another data set."""
    dataset = sprites(resolution=32)
    some = np.random.default_rng(1).choice(len(dataset), 2000)
    images = dataset.images(some)
    assert torch.equal(images, sprites(resolution=32).images(some[::-1].copy()).flip(0))
    assert torch.equal(images[:20], torch.cat([dataset.images([place]) for place in some[:20]]))


def plain(codes: np.ndarray, dataset: FactorDataset) -> np.ndarray:
    """The image of these codes, bool [H, W], pixel by pixel in float64, the heart as a polygon of its curve."""
    scale, turn, x, y = (float(values[code]) for values, code in zip(dataset.factor_values[1:], codes[1:]))
    centres = (np.arange(dataset.image_shape[1]) + 0.5) / dataset.image_shape[1]
    offset = (centres[None, :] - 0.25 - 0.5 * x + 1j * (centres[:, None] - 0.25 - 0.5 * y)) / scale
    frame = offset * np.exp(1j * turn)  # y points down, so this takes a counter-clockwise turn back
    if codes[0] == 0:
        return np.maximum(abs(frame.real), abs(frame.imag)) <= 0.15
    if codes[0] == 1:
        return (frame.real / 0.1994) ** 2 + (frame.imag / 0.1128) ** 2 <= 1
    t = np.linspace(0, 2 * np.pi, 721)
    across = 0.15 * np.sin(t) ** 3
    up = 0.3 / 29 * (13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) + 0.0225
    points = np.stack([frame.real, -frame.imag], -1).reshape(-1, 2)
    return Path(np.stack([across, up], 1)).contains_points(points).reshape(frame.shape)


def test_images_are_those_of_a_plain_rendering():
    """All but pixels whose centre is within rounding, or the polygon's arc, of the outline."""
    dataset = sprites(3, 6, 40, 32, 48)
    differing = 0
    for place in np.random.default_rng(4).choice(len(dataset), 150, replace=False):
        image = dataset.images([place])[0, 0].numpy() > 0
        differing += (image != plain(dataset.factors[place], dataset)).sum()
    assert differing <= 15


@with_real_data
@pytest.mark.parametrize("part", ["grid", "subset"])
def test_the_grid_is_that_of_dsprites(part):
    """Same factors, order and orientation sense, and the same pixels but for a few on the outline.

    The worst overlap is a square at orientation 0 whose edge lies on pixel centres.
    """
    real = dsprites(part=part)
    ours = sprites(3, 6, *((10, 16) if part == "grid" else (40, 32)))
    assert ours.factor_names == real.factor_names and ours.factor_sizes == real.factor_sizes
    for a, b in zip(ours.factor_values[1:], real.factor_values[1:]):
        assert np.allclose(a, b, atol=1e-9)
    some = np.random.default_rng(5).choice(len(real), 1000, replace=False)
    a, b = ours.images(places_of(ours, real.factors[some])) > 0, real.images(some) > 0
    overlap = (a & b).sum((1, 2, 3)) / (a | b).sum((1, 2, 3))
    assert overlap.mean() > 0.998
    assert overlap.min() > 0.8
