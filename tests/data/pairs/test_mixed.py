"""Pairs of an image and a text: x and y, and the joint distribution of the items."""

import pytest
import torch
from scipy.stats import chisquare

from infoscope.data import EmbeddingPool, ImagePairs, ImagePool, MixedPairs
from tests.data.common import generator

FALSE_ALARM = 1e-6
IMAGE_LABELS = torch.tensor([3, 8, 8, 3, 8])
TEXT_LABELS = torch.tensor([1, 0, 1, 1, 0, 1, 0])


def images(labels: torch.Tensor) -> ImagePool:
    shape = (len(labels), 6, 5)
    pixels = torch.randint(256, shape, dtype=torch.uint8, generator=generator(1))
    return ImagePool(pixels, labels, "noise", synthetic=True)


@pytest.mark.parametrize(("length", "size"), [(768, (80, 96)), (1, (2, 5))])
def test_the_image_has_as_many_pixels_as_the_text_has_values(length, size):
    """80 x 96 in the published setting."""
    texts = EmbeddingPool(torch.zeros(7, length), TEXT_LABELS, "blank", synthetic=True)
    source = MixedPairs(images(IMAGE_LABELS), texts)
    assert source.size == size
    assert source.dim_x == source.dim_y == 10 * length


def numbers(n: int) -> torch.Tensor:
    return torch.arange(n).view(-1, 1)


def test_joint_distribution_of_the_items():
    """Chi-square over all pairs of items of a source: uniform in their classes, which
    are equal or flipped; false-alarm rate 1e-6.
    """
    pixels = numbers(5).byte()[:, None]
    pool = ImagePool(pixels, IMAGE_LABELS, "numbers")
    texts = EmbeddingPool(numbers(7).float(), TEXT_LABELS, "numbers")
    source = MixedPairs(pool, texts, (1, 2, 3), crossover=0.2, size=(2, 3))
    x, y = source.sample(4000, generator(3))
    pairs = 7 * (255 * x).round() + y
    counts = pairs.long().flatten().bincount(minlength=35)
    class_x = (IMAGE_LABELS == 8).long()[:, None]
    of_class = 2 * class_x.flatten().bincount()[class_x]
    members_y = TEXT_LABELS.bincount()[TEXT_LABELS]
    share = torch.where(class_x == TEXT_LABELS, 0.8, 0.2).double()
    expected = 24_000 * share / (of_class * members_y)
    assert chisquare(counts, expected.flatten()).pvalue > FALSE_ALARM


@pytest.mark.parametrize("size", [30, (7, 11)])
def test_the_image_is_composed_like_that_of_image_pairs(size):
    """Blank vectors leave only the image; with one image per class, but for its copy,
    the labels determine it.
    """
    two = images(torch.tensor([0, 1]))
    labels = two.labels.repeat(2)
    pool = ImagePool(two.images.repeat(2, 1, 1), labels, "doubled")
    vectors = EmbeddingPool(torch.zeros(4, 2), labels, "blank")
    grid = (1, 2, 3)
    mixed = MixedPairs(pool, vectors, grid, size=size)
    x, _ = mixed.sample(10, generator())
    image_pairs = ImagePairs(pool, grid, size=size)
    expected, _ = image_pairs.sample(10, generator())
    assert torch.equal(x, expected)
