"""Rotated MNIST in its two protocols: which digit is at which angle, and every pixel against Pillow."""

import numpy as np
import pytest
import torch
from PIL import Image

from infoscope.data import ImagePool, mnist, rotated_mnist
from tests.data.common import with_real_data

ANGLES = (0, 15, 30, 45, 60, 75)
NOISE = ImagePool(
    torch.from_numpy(np.random.default_rng(0).integers(0, 256, (400, 28, 28), dtype=np.uint8)),
    torch.arange(400) % 10,
    "noise",
)


@pytest.mark.parametrize(
    ("protocol", "pillows"), [("diva", Image.Resampling.NEAREST), ("domainbed", Image.Resampling.BILINEAR)]
)
def test_every_pixel_is_pillows(protocol, pillows):
    data = rotated_mnist(protocol=protocol, base=NOISE, per_class=5)
    images = (data.images(slice(None)) * 255).round().byte()[:, 0].numpy()
    for image, group, domain in zip(images, data.groups, data.d):
        base = Image.fromarray(NOISE.images[group].numpy())
        assert np.array_equal(image, np.asarray(base.rotate(ANGLES[domain], pillows)))


def test_diva_has_the_same_digits_at_every_angle():
    data = rotated_mnist(base="digits")
    assert len(data) == 6000 and data.domain_names == ("0", "15", "30", "45", "60", "75")
    chosen = data.groups[data.d == 0]
    assert len(set(chosen)) == 1000
    for domain in range(6):
        assert (data.groups[data.d == domain] == chosen).all()
        assert np.bincount(data.y[data.d == domain]).tolist() == [100] * 10


def test_domainbed_has_each_digit_at_one_angle():
    data = rotated_mnist(protocol="domainbed", base="digits")
    assert len(data) == len(set(data.groups)) == 1797
    assert np.ptp(np.bincount(data.d)) <= 1


@with_real_data
def test_domainbed_takes_both_sets_of_mnist():
    data = rotated_mnist(protocol="domainbed")
    assert len(set(data.groups)) == len(data) == 70_000
    item = int(np.flatnonzero((data.groups >= 60_000) & (data.d == 0))[0])
    image = mnist("test").images[data.groups[item] - 60_000]
    assert torch.equal((data.images([item]) * 255).round().byte()[0, 0], image)
