"""Generated sprites: the exact grid, its outlines, symmetries and positions, and how
they compare to dSprites.
"""

import numpy as np
import pytest
import torch
from matplotlib.path import Path
from numpy.random import default_rng
from numpy.testing import assert_allclose

from infoscope.data import FactorDataset, dsprites, sprites
from tests.data.common import places_of, with_real_data


def test_the_grid_is_complete_and_in_order():
    dataset = sprites(3, 2, 4, 3, resolution=16)
    sizes = (3, 2, 4, 3, 3)
    assert dataset.factor_names == ("shape", "scale", "orientation", "posX", "posY")
    assert dataset.factor_sizes == sizes
    assert np.array_equal(dataset.factors, list(np.ndindex(sizes)))
    assert dataset.synthetic


def test_the_default_has_the_published_values():
    """Every 4th of 40 orientations in [0, 2 pi] and every 2nd of 32 positions in [0,
    1], ends included.
    """
    dataset = sprites()
    assert len(dataset) == 46_080
    assert dataset.image_shape == (1, 64, 64)
    shapes, scales, orientations, x, y = dataset.factor_values
    assert shapes.tolist() == ["square", "ellipse", "heart"]
    positions = np.linspace(0, 1, 32)[::2]
    assert_allclose(scales, np.linspace(0.5, 1, 6))
    turns = np.linspace(0, 2 * np.pi, 40)
    assert_allclose(orientations, turns[::4])
    assert_allclose(x, positions)
    assert_allclose(y, positions)


def test_images_depend_on_their_index_only():
    """The same alone, in another order, in a batch of more than are rendered at once,
    and from another data set.
    """
    dataset = sprites(resolution=32)
    places = default_rng(1).choice(len(dataset), 2000)
    images = dataset.images(places)
    same = sprites(resolution=32)
    backwards = same.images(places[::-1].copy())
    assert torch.equal(images, backwards.flip(0))
    for place, image in zip(places[:20], images):
        assert torch.equal(dataset.images([place])[0], image)


def plain(codes: np.ndarray, dataset: FactorDataset) -> np.ndarray:
    """The image of these codes, bool [H, W], pixel by pixel in float64, the heart as a
    polygon of its curve.

    In sides of the image. The heart's curve has the area 180 pi and the width 32, in
    units of 0.3 / 29.
    """
    values = [values[code] for values, code in zip(dataset.factor_values, codes)]
    scale, turn, x, y = map(float, values[1:])
    side = dataset.image_shape[1]
    centres = (np.arange(side) + 0.5) / side - 0.25
    rightwards = centres - 0.5 * x
    downwards = centres[:, None] - 0.5 * y
    offset = rightwards + 1j * downwards
    # y points down, so this takes a counter-clockwise turn back
    frame = offset / scale * np.exp(1j * turn)
    across = frame.real
    down = frame.imag
    if codes[0] == 0:
        return np.maximum(abs(across), abs(down)) <= 0.15
    if codes[0] == 1:
        return (across / 0.1994) ** 2 + (down / 0.1128) ** 2 <= 1
    t = np.linspace(0, 2 * np.pi, 721)
    up = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    curve_x = 0.15 * np.sin(t) ** 3
    curve_y = 0.3 / 29 * up + 0.0225
    outline = Path(np.column_stack([curve_x, curve_y]))
    points = np.column_stack([across.ravel(), -down.ravel()])
    return outline.contains_points(points).reshape(side, side)


def test_images_are_those_of_a_plain_rendering():
    """All but pixels whose centre is within rounding, or the polygon's arc, of the
    outline.
    """
    dataset = sprites(3, 6, 40, 32, 48)
    places = default_rng(4).choice(len(dataset), 100, replace=False)
    images = dataset.images(places)[:, 0].numpy() > 0
    differing = 0
    for image, codes in zip(images, dataset.factors[places]):
        differing += (image != plain(codes, dataset)).sum()
    assert differing <= 10


@with_real_data
@pytest.mark.parametrize(
    ("part", "turns", "positions"), [("grid", 10, 16), ("subset", 40, 32)]
)
def test_the_grid_is_that_of_dsprites(part, turns, positions):
    """Same factors, order and orientation sense, and the same pixels but for a few on
    the outline.

    The worst overlap is a square at orientation 0 whose edge lies on pixel centres.
    """
    real = dsprites(part=part)
    rendered = sprites(3, 6, turns, positions)
    assert rendered.factor_names == real.factor_names
    assert rendered.factor_sizes == real.factor_sizes
    for values, expected in zip(rendered.factor_values[1:], real.factor_values[1:]):
        assert_allclose(values, expected, atol=1e-9)
    rows = default_rng(5).choice(len(real), 500, replace=False)
    places = places_of(rendered, real.factors[rows])
    is_white = real.images(rows).flatten(1) > 0
    is_rendered = rendered.images(places).flatten(1) > 0
    shared = (is_white & is_rendered).sum(1)
    overlap = shared / (is_white | is_rendered).sum(1)
    assert overlap.mean() > 0.998
    assert overlap.min() > 0.8
