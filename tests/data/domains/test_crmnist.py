"""CRMNIST: every pixel against Pillow, the distribution of colours, and what makes
class and domain independent.
"""

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import binom

from infoscope.data import ImagePool, crmnist, digits

# Digits of a class that each domain colours, and the factors of red, green and blue, as
# the published code has them.
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
    """One digit uint8 [h, w], coloured by factors and then turned by Pillow: uint8 [3,
    h, w].
    """
    factors = np.array(FACTORS[colour])
    coloured = np.minimum(pixels[:, :, None] * factors, 255.0)
    levels = np.floor(coloured + 1e-9).astype(np.uint8)
    image = Image.fromarray(levels)
    turned = image.rotate(degrees, Image.Resampling.NEAREST)
    return np.asarray(turned).transpose(2, 0, 1)


@pytest.mark.parametrize("size", [(28, 28), (9, 14)])
def test_every_pixel_is_pillows(size):
    """Noise over all grey levels, so that any wrong factor, rounding, centre or
    direction shows.
    """
    pixels = np.random.default_rng(0).integers(0, 256, (60, *size), dtype=np.uint8)
    labels = torch.arange(60) % 10
    pool = ImagePool(torch.from_numpy(pixels), labels, "noise", synthetic=True)
    data = crmnist(base=pool, size=size)
    assert data.synthetic
    assert data.image_shape == (3, *size)
    names = data.extra_names["colour"]
    colours = [names[code] for code in data.extra["colour"]]
    assert set(colours) == set(FACTORS)
    levels = 255 * data.images(slice(None))
    images = levels.round().byte().numpy()
    for image, group, colour, domain in zip(images, data.groups, colours, data.d):
        expected = plainly(pixels[group], colour, 15 * domain)
        assert np.array_equal(image, expected)


def test_the_embedded_default(monkeypatch):
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    data = crmnist()
    assert data.name == "crmnist of digits"
    assert len(data) == 6 * 1797
    assert data.domain_names[:2] == ("0 blue", "15 green")


def test_the_frame_keeps_the_bundled_digits_from_being_cut():
    """The share of the ink of upright digits that lies outside the circle which every
    rotation keeps.
    """
    places = torch.arange(28) - 13.5
    squared = places[:, None] ** 2 + places**2
    outside = squared.sqrt() > 14
    shares = []
    for base in ("digits", digits()):
        plain = crmnist(base=base, p=0.0)
        upright = plain.images(plain.d == 0).mean((0, 1))
        ink_outside = upright[outside].sum()
        shares.append(ink_outside / upright.sum())
    assert shares[0] < 1e-3
    assert shares[1] > 1e-2


def test_class_and_domain_share_no_information():
    """p(y, d) = p(y) / 6, hence I(Y;D) = 0, as every digit is in every domain."""
    data = crmnist(base="digits", count=333)
    assert np.bincount(data.d).tolist() == [333] * 6
    for group in np.unique(data.groups):
        domains = data.d[data.groups == group]
        assert sorted(domains) == list(range(6))


def colours_of_cells(p):
    """The codes of the colours of each class in each domain, and the one that it may
    have besides 0.
    """
    data = crmnist(base="digits", p=p)
    colours = data.extra["colour"]
    cells = []
    for domain, classes in enumerate(COLOURED):
        for y in range(10):
            colour = 7 if y == 7 else 0
            if str(y) in classes:
                colour = domain + 1
            inside = (data.d == domain) & (data.y == y)
            cells.append((colours[inside], colour))
    return cells


def test_the_probability_of_a_colour():
    """34 cells (y, d) may be coloured: each count within the two-sided 1e-8 bounds, a
    false alarm once in 3e6.
    """
    coloured = [codes for codes, colour in colours_of_cells(0.3) if colour]
    assert len(coloured) == 34
    for codes in coloured:
        low, high = binom.interval(1 - 1e-8, len(codes), 0.3)
        assert low <= np.count_nonzero(codes) <= high


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certain_colours_are_a_function_of_class_and_domain(p):
    for codes, colour in colours_of_cells(p):
        assert (codes == p * colour).all()
