"""Rotated MNIST in its two protocols: which digit is at which angle, and every pixel against Pillow."""

import numpy as np
import pytest
import torch
from PIL import Image

from infoscope.data import ImagePool, mnist, rotated_mnist
from tests.data.common import generator, with_real_data

ANGLES = (0, 15, 30, 45, 60, 75)
NOISE = ImagePool(
    torch.from_numpy(np.random.default_rng(0).integers(0, 256, (400, 28, 28), dtype=np.uint8)),
    torch.arange(400) % 10,
    "noise",
)


@pytest.mark.parametrize(
    ("protocol", "interpolation", "pillows"),
    [
        ("diva", None, Image.Resampling.NEAREST),
        ("domainbed", None, Image.Resampling.BILINEAR),
        ("domainbed", "bicubic", Image.Resampling.BICUBIC),
    ],
)
def test_every_pixel_is_pillows(protocol, interpolation, pillows):
    data = rotated_mnist(protocol=protocol, base=NOISE, per_class=5, interpolation=interpolation)
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


def test_the_published_split_tests_known_digits_and_the_default_does_not():
    data = rotated_mnist(base="digits")
    published = data.split("75", None, generator(), disjoint=False)
    assert len(published.train) == 5000 and len(published.test) == published.shared_groups == 1000
    ours = data.split("75", 0.2, generator())
    assert ours.shared_groups == 0 and len(ours.test) == 200 and len(ours.train) + len(ours.validation) == 4000


def test_domainbed_has_each_digit_at_one_angle():
    data = rotated_mnist(protocol="domainbed", base="digits")
    assert len(data) == len(set(data.groups)) == 1797
    assert np.ptp(np.bincount(data.d)) <= 1
    split = data.split("75", 0.2, generator())
    assert split.shared_groups == 0 and len(split.test) == (data.d == 5).sum()
    assert len(split.train) + len(split.validation) + len(split.test) == 1797


def test_index_sets_can_be_given():
    given = rotated_mnist(base=NOISE, indices=[7, 3, 250])
    assert given.groups[given.d == 4].tolist() == [7, 3, 250] and given.y[:3].tolist() == [7, 3, 0]


def test_other_angles_and_sizes(monkeypatch):
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    data = rotated_mnist(angles=(0, 90), per_class=2, size=16)
    assert data.image_shape == (1, 16, 16) and "digits" in data.name
    upright, turned = data.images(data.d == 0), data.images(data.d == 1)
    assert torch.equal(torch.rot90(upright, 1, (2, 3)), turned)


@with_real_data
def test_real_digits():
    data = rotated_mnist()
    assert "mnist-train" in data.name and len(data) == 6000
    pool = mnist("train")
    assert torch.equal((data.images([5]) * 255).round().byte()[0, 0], pool.images[data.groups[5]])
    assert (pool.labels.numpy()[data.groups] == data.y).all()


@with_real_data
def test_domainbed_takes_both_sets_of_mnist():
    data = rotated_mnist(protocol="domainbed", angles=(0,))
    assert len(set(data.groups)) == len(data) == 70_000
    test_item = int(np.flatnonzero(data.groups == 60_000)[0])
    assert torch.equal((data.images([test_item]) * 255).round().byte()[0, 0], mnist("test").images[0])
