"""CRMNIST: every pixel against Pillow, the distribution of colours, and what makes class and domain independent."""

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import binom

from infoscope.data import ImagePool, crmnist, digits

# Digits of a class that each domain colours, and the factors of red, green and blue, as the published code has them.
COLOURED = ("01234", "23456", "45678", "67890", "89012", "02468")
FACTORS = {
    "grey": (1, 1, 1),
    "blue": (0.5, 0.5, 1.5),
    "green": (0.5, 1.5, 0.5),
    "yellow": (1.5, 1.5, 0.5),
    "cyan": (0.5, 1.5, 1.5),
    "magenta": (1.5, 0.5, 1.5),
    "orange": (1.5, 0.9, 0.15),
    "red": (1.5, 0.5, 0.5),
}


def plainly(pixels: np.ndarray, colour: str, degrees: float) -> np.ndarray:
    """One digit uint8 [h, w], coloured by factors and then turned by Pillow: uint8 [3, h, w]."""
    levels = np.floor(np.minimum(pixels[:, :, None] * np.array(FACTORS[colour]), 255.0) + 1e-9).astype(np.uint8)
    return np.asarray(Image.fromarray(levels).rotate(degrees, Image.Resampling.NEAREST)).transpose(2, 0, 1)


def check_pixels(data, pool: ImagePool) -> None:
    degrees = (0, 15, 30, 45, 60, 75)
    images = (data.images(slice(None)) * 255).round().byte().numpy()
    for item, image in enumerate(images):
        colour = data.extra_names["colour"][data.extra["colour"][item]]
        expected = plainly(pool.images[data.groups[item]].numpy(), colour, degrees[data.d[item]])
        assert np.array_equal(image, expected), (item, colour)


@pytest.mark.parametrize("size", [(28, 28), (9, 14)])
def test_every_pixel_is_pillows(size):
    """Noise over all grey levels, so that any wrong factor, rounding, centre or direction shows."""
    pixels = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (60, *size), dtype=np.uint8))
    pool = ImagePool(pixels, torch.arange(60) % 10, "noise", synthetic=True)
    data = crmnist(base=pool, size=size)
    assert data.synthetic and data.image_shape == (3, *size) and len(data) == 360
    assert len(set(data.extra["colour"].tolist())) == 8  # every colour is tried
    check_pixels(data, pool)


def test_the_embedded_default(monkeypatch):
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    data = crmnist()
    assert data.name == "crmnist of digits" and data.image_shape == (3, 28, 28) and len(data) == 6 * 1797
    assert data.domain_names == ("0 blue", "15 green", "30 yellow", "45 cyan", "60 magenta", "75 orange")
    assert data.class_names == tuple("0123456789")


def test_the_frame_keeps_the_bundled_digits_from_being_cut():
    """The share of the ink of upright digits that lies outside the circle which every rotation keeps."""
    places = torch.arange(28) - 13.5
    outside = (places[:, None] ** 2 + places**2).sqrt() > 14
    for base, within in (("digits", (0, 1e-3)), (digits(), (1e-2, 1))):
        plain = crmnist(base=base, p=0.0)
        upright = plain.images(plain.d == 0).mean((0, 1))
        assert within[0] <= (upright[outside].sum() / upright.sum()).item() < within[1]


def test_class_and_domain_share_no_information():
    data = crmnist(base="digits", count=333)
    table = np.zeros((10, 6), int)
    np.add.at(table, (data.y, data.d), 1)
    assert (table == table[:, :1]).all()  # p(y, d) = p(y) / 6, hence I(Y;D) = 0
    for group in (data.groups[0], data.groups[100]):
        assert sorted(data.d[data.groups == group]) == [0, 1, 2, 3, 4, 5]


def test_the_probability_of_a_colour():
    """34 cells (y, d) may be coloured: each count within the two-sided 1e-8 bounds, a false alarm once in 3e6."""
    data = crmnist(base="digits", p=0.3)
    cells = 0
    for domain, classes in enumerate(COLOURED):
        for y in {int(one) for one in classes} | {7}:
            coloured = data.extra["colour"][(data.d == domain) & (data.y == y)] > 0
            low, high = binom.interval(1 - 1e-8, len(coloured), 0.3)
            assert low <= coloured.sum() <= high
            cells += 1
    assert cells == 34


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certain_colours_are_a_function_of_class_and_domain(p):
    data = crmnist(base="digits", p=p)
    for domain, classes in enumerate(COLOURED):
        for y in range(10):
            found = set(data.extra["colour"][(data.d == domain) & (data.y == y)].tolist())
            expected = (domain + 1 if str(y) in classes else 7 if y == 7 else 0) if p else 0
            assert found == {expected}
