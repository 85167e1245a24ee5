"""Pairs of an image and a text: x and y, and the joint distribution of the items."""

import pytest
import torch
from scipy.stats import chisquare

from infoscope.data import EmbeddingPool, ImagePairs, ImagePool, MixedPairs
from tests.data.common import generator

FALSE_ALARM = 1e-6
IMAGE_LABELS = torch.tensor([3, 8, 8, 3, 8])
TEXT_LABELS = torch.tensor([1, 0, 1, 1, 0, 1, 0])


def images(height: int = 6, width: int = 5) -> ImagePool:
    pixels = torch.randint(256, (5, height, width), dtype=torch.uint8, generator=generator(1))
    return ImagePool(pixels, IMAGE_LABELS, "noise", synthetic=True)


def texts(length: int = 8) -> EmbeddingPool:
    return EmbeddingPool(torch.randn(7, length, generator=generator(2)), TEXT_LABELS, "noise", synthetic=True)


@pytest.mark.parametrize(("length", "size"), [(768, (80, 96)), (1, (2, 5))])
def test_the_image_has_as_many_pixels_as_the_text_has_values(length, size):
    """80 x 96 in the published setting."""
    source = MixedPairs(images(), texts(length))
    assert source.size == size
    assert source.dim_x == source.dim_y == 10 * length


def test_joint_distribution_of_the_items():
    """Chi-square over all pairs of items of a source: uniform in their classes, which are equal or flipped; family-wise
    false-alarm rate 1e-6."""
    crossover = 0.2
    numbers = ImagePool(torch.arange(5, dtype=torch.uint8).view(-1, 1, 1), IMAGE_LABELS, "numbers")
    rows = EmbeddingPool(torch.arange(7.0).view(-1, 1), TEXT_LABELS, "numbers")
    x, y = MixedPairs(numbers, rows, (1, 2, 3), crossover, size=(2, 3)).sample(4000, generator(3))
    counts = (7 * (255 * x).round() + y).long().flatten().bincount(minlength=35).double()
    same = (IMAGE_LABELS == 8)[:, None] == (TEXT_LABELS == 1)
    members = (IMAGE_LABELS == 8) * 3 + (IMAGE_LABELS == 3) * 2, (TEXT_LABELS == 1) * 4 + (TEXT_LABELS == 0) * 3
    flipped = torch.tensor(crossover, dtype=torch.float64)
    probabilities = torch.where(same, 1 - flipped, flipped) / 2 / (members[0][:, None] * members[1])
    expected = probabilities.flatten() * counts.sum()
    possible = expected > 0
    assert expected.sum().item() == pytest.approx(24_000)
    assert counts[~possible].sum() == 0
    assert chisquare(counts[possible], expected[possible]).pvalue > FALSE_ALARM / 2


def test_the_image_is_composed_like_that_of_image_pairs():
    """Blank vectors leave only the image; with one image per class, but for its copy, the labels determine it."""
    pixels = images().images[[0, 0, 1, 1]]
    pool = ImagePool(pixels, torch.tensor([0, 0, 1, 1]), "doubled")
    vectors = EmbeddingPool(torch.zeros(4, 2), torch.tensor([0, 0, 1, 1]), "blank")
    for size in (30, (7, 11)):
        x, _ = MixedPairs(pool, vectors, (1, 2, 3), size=size).sample(10, generator())
        expected, _ = ImagePairs(pool, (1, 2, 3), size=size).sample(10, generator())
        assert torch.equal(x, expected)
