"""Images over backgrounds: the sum, what is drawn, and what stays as it is at every strength."""

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import chi2_contingency, chisquare

from infoscope.data import ImagePairs, ImagePool, textures
from tests.data.common import generator

FALSE_ALARM = 1e-6
LABELS = torch.arange(40) % 2
GRID, SIZE = (1, 2, 3), (20, 26)


def patches(height: int = 9, width: int = 7) -> ImagePool:
    pixels = torch.randint(256, (40, height, width), dtype=torch.uint8, generator=generator(1))
    return ImagePool(pixels, LABELS, "noise", synthetic=True)


BLACK = ImagePool(torch.zeros(40, 9, 7, dtype=torch.uint8), LABELS, "black")
SCENES = textures(30, 16, generator=generator(2))


def pairs(
    pool: ImagePool, nuisance: float, channels: int | None = 3, scenes: ImagePool | None = SCENES
) -> torch.Tensor:
    """Two batches of pairs in a row from the same generator: [2, 2, 25, ...]."""
    source = ImagePairs(pool, GRID, SIZE, 0.1, nuisance, scenes, channels)
    shared = generator()
    batches = torch.stack([torch.stack(source.sample(25, shared)) for _ in range(2)])
    return batches.view(2, 2, 25, source.channels, *SIZE)


def test_an_image_is_the_clipped_sum_of_the_patches_and_eta_times_a_scene():
    """Black patches show the scenes alone, and both come from the same draws."""
    eta = 0.4
    scenes = pairs(BLACK, 1.0)
    expected = (pairs(patches(), 0.0) + eta * scenes).clamp(max=1.0)
    ours = pairs(patches(), eta)
    assert torch.allclose(ours, expected, atol=1e-6)
    assert ours.min() >= 0.0
    assert torch.allclose(pairs(patches(), eta, channels=1), expected.mean(3, keepdim=True), atol=1e-6)


def test_scenes_are_resized_as_pillow_does():
    """At most one grey level, on fewer than one pixel in a thousand."""
    pixels = SCENES.images.numpy()
    resized = np.stack(
        [np.asarray(Image.fromarray(image).resize(SIZE[::-1], Image.Resampling.BICUBIC)) for image in pixels]
    )
    ours = SCENES.resized(*SIZE)
    assert ours.dtype == torch.uint8
    off = np.abs(ours.movedim(1, 3).numpy().astype(int) - resized)
    assert off.max() <= 1
    assert off.mean() < 1e-3
    shown = (255 * pairs(BLACK, 1.0)).round().byte().reshape(-1, ours[0].numel())
    assert (shown[:, None] == ours.flatten(1)).all(2).any(1).all()  # every image shows one of the scenes


@pytest.mark.parametrize("channels", [None, 1])
def test_without_nuisance_nothing_changes(channels):
    """Backgrounds that are given but not asked for, or black, leave the same numbers as none."""
    plain = pairs(patches(), 0.0, channels, scenes=None)
    black = ImagePool(torch.zeros(4, 5, 5, 3, dtype=torch.uint8), torch.zeros(4, dtype=torch.int64), "black")
    assert torch.equal(plain, pairs(patches(), 0.0, channels))
    assert torch.allclose(plain, pairs(patches(), 0.7, channels, scenes=black), atol=1e-6)


def test_three_channels_repeat_one():
    one, three = pairs(patches(), 0.0, None, None), pairs(patches(), 0.0, 3, None)
    assert one.shape[3] == 1
    assert torch.equal(three, one.expand_as(three))


def test_stacked_channels_lie_over_the_three_of_the_scene():
    def stacked(pool: ImagePool, eta: float) -> torch.Tensor:
        return torch.cat(ImagePairs(pool, (3, 1, 1), 12, 0.1, eta, SCENES).sample(30, generator()))

    expected = (stacked(patches(), 0.0) + 0.5 * stacked(BLACK, 1.0)).clamp(max=1.0)
    assert expected.shape == (60, 3 * 144)
    assert torch.allclose(stacked(patches(), 0.5), expected, atol=1e-6)


def test_the_generator_advances_alike_at_every_strength():
    plain, strong = generator(), generator()
    ImagePairs(patches(), GRID, SIZE).sample(3, plain)
    ImagePairs(patches(), GRID, SIZE, nuisance=1.0, backgrounds=SCENES).sample(3, strong)
    assert torch.equal(plain.get_state(), strong.get_state())


def test_scenes_are_drawn_uniformly_and_apart():
    """Chi-square of the scenes of x and y together, of a batch and the next, and beside a label, over 60 batches whose
    streams branch off one generator; family-wise false-alarm rate 1e-6."""
    grey = torch.arange(10, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, 1, 1, 3)
    numbers = ImagePool(grey, torch.zeros(10, dtype=torch.int64), "numbers")
    source = ImagePairs(BLACK, (1, 1, 1), 1, 0.1, 1.0, numbers)
    shared, drawn = generator(), []
    for _ in range(60):
        x, y, label, _ = source.sample_labelled(100, shared)
        drawn.append(torch.cat([(255 * x).round(), (255 * y).round(), label], 1))
    x, y, label = torch.cat(drawn).long().T
    later = torch.cat([x[100:], x[:100]])
    tables = [(10 * x + other).bincount(minlength=100).view(10, 10).numpy() for other in (y, later)]
    tables.append((10 * label + x).bincount(minlength=20).view(2, 10).numpy())
    p_values = [chi2_contingency(table).pvalue for table in tables] + [chisquare(x.bincount(minlength=10)).pvalue]
    assert min(p_values) > FALSE_ALARM / len(p_values)
