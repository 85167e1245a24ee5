"""Rotated MNIST in its two protocols: which digit is at which angle, and every pixel against Pillow."""

import sys

import numpy as np
import pytest
import torch
from PIL import Image

from infoscope.data import ImagePool, rotated_mnist

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


def test_domainbed_takes_both_sets_of_mnist(monkeypatch, tmp_path):
    sets = {"train": NOISE, "test": ImagePool(255 - NOISE.images[:100], NOISE.labels[:100], "inverse")}
    monkeypatch.setattr(sys.modules["infoscope.data.domains.digits"], "mnist", lambda split, root: sets[split])
    data = rotated_mnist(tmp_path, "domainbed")
    assert sorted(data.groups) == list(range(500))
    upright = np.flatnonzero(data.d == 0)
    both = torch.cat([sets["train"].images, sets["test"].images])
    assert torch.equal((data.images(upright)[:, 0] * 255).round().byte(), both[data.groups[upright]])
