"""Rotated MNIST in its two protocols: which digit is at which angle, and every pixel
against Pillow.
"""

import sys

import numpy as np
import pytest
import torch
from PIL import Image

from infoscope.data import ImagePool, rotated_mnist

ANGLES = (0, 15, 30, 45, 60, 75)
PIXELS = np.random.default_rng(0).integers(0, 256, (400, 28, 28), dtype=np.uint8)


NOISE = ImagePool(torch.from_numpy(PIXELS), torch.arange(400) % 10, "noise")


def grey_levels(images):
    """Levels uint8 [n, h, w] of images of one channel."""
    return (255 * images[:, 0]).round().byte()


@pytest.mark.parametrize(
    ("protocol", "pillows"),
    [("diva", Image.Resampling.NEAREST), ("domainbed", Image.Resampling.BILINEAR)],
)
def test_every_pixel_is_pillows(protocol, pillows):
    data = rotated_mnist(protocol=protocol, base=NOISE, per_class=5)
    images = grey_levels(data.images(slice(None)))
    for image, group, domain in zip(images, data.groups, data.d):
        upright = Image.fromarray(PIXELS[group])
        turned = upright.rotate(ANGLES[domain], pillows)
        assert np.array_equal(image, turned)


def test_diva_has_the_same_digits_at_every_angle():
    data = rotated_mnist(base="digits")
    assert len(data) == 6000
    upright = data.groups[data.d == 0]
    assert len(set(upright)) == 1000
    for domain in range(6):
        inside = data.d == domain
        np.testing.assert_array_equal(data.groups[inside], upright)
        counts = np.bincount(data.y[inside])
        assert (counts == 100).all()


def test_domainbed_has_each_digit_at_one_angle():
    data = rotated_mnist(protocol="domainbed", base="digits")
    assert len(data) == 1797
    assert len(set(data.groups)) == 1797
    assert np.ptp(np.bincount(data.d)) <= 1


def test_domainbed_takes_both_sets_of_mnist(monkeypatch, tmp_path):
    inverse = ImagePool(255 - NOISE.images[:100], NOISE.labels[:100], "inverse")
    sets = {"train": NOISE, "test": inverse}
    digits = sys.modules["infoscope.data.domains.digits"]
    monkeypatch.setattr(digits, "mnist", lambda split, root: sets[split])
    data = rotated_mnist(tmp_path, "domainbed")
    assert sorted(data.groups) == list(range(500))
    upright = np.flatnonzero(data.d == 0)
    both = torch.cat([NOISE.images, inverse.images])
    levels = grey_levels(data.images(upright))
    expected = both[data.groups[upright]]
    assert torch.equal(levels, expected)
