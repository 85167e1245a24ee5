"""Images over backgrounds: the sum, what is drawn, and what stays as it is at every
strength.
"""

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import chi2_contingency, chisquare, contingency
from torch.testing import assert_close

from infoscope.data import ImagePairs, ImagePool, textures
from tests.data.common import generator

FALSE_ALARM = 1e-6
LABELS = torch.arange(40) % 2
GRID, SIZE = (1, 2, 3), (20, 26)


def pixels(*shape):
    return torch.zeros(shape, dtype=torch.uint8)


def patches() -> ImagePool:
    noise = torch.randint(256, (40, 9, 7), dtype=torch.uint8, generator=generator(1))
    return ImagePool(noise, LABELS, "noise", synthetic=True)


BLACK = ImagePool(pixels(40, 9, 7), LABELS, "black")
SCENES = textures(30, 16, generator=generator(2))


def pairs(pool, nuisance, channels=3, scenes=SCENES):
    """Two batches of pairs in a row from the same generator: [4, 25, channels, height,
    width].
    """
    source = ImagePairs(pool, GRID, SIZE, 0.1, nuisance, scenes, channels)
    shared = generator()
    first = source.sample(25, shared)
    second = source.sample(25, shared)
    batches = torch.stack([*first, *second])
    return batches.view(4, 25, source.channels, *SIZE)


@pytest.mark.parametrize("channels", [3, 1])
def test_an_image_is_the_clipped_sum_of_the_patches_and_eta_times_a_scene(channels):
    """Black patches show the scenes alone, and both come from the same draws."""
    eta = 0.4
    total = pairs(patches(), 0.0) + eta * pairs(BLACK, 1.0)
    expected = total.clamp(max=1.0)
    if channels == 1:
        expected = expected.mean(2, keepdim=True)
    assert_close(pairs(patches(), eta, channels), expected)


def test_scenes_are_resized_as_pillow_does():
    """At most one grey level, on fewer than one pixel in a thousand; every image shows
    one of the scenes.
    """
    resized = []
    for image in SCENES.images.numpy():
        pillow = Image.fromarray(image)
        resized.append(pillow.resize(SIZE[::-1], Image.Resampling.BICUBIC))
    expected = np.stack(resized).astype(float)
    scenes = SCENES.resized(*SIZE)
    difference = np.abs(scenes.movedim(1, 3).numpy() - expected)
    assert difference.max() <= 1
    assert difference.mean() < 1e-3
    levels = (255 * pairs(BLACK, 1.0)).round().byte()
    shown = levels.reshape(100, 1, -1)
    is_scene = (shown == scenes.flatten(1)).all(2)
    assert is_scene.any(1).all()


@pytest.mark.parametrize("channels", [None, 1])
def test_without_nuisance_nothing_changes(channels):
    """Backgrounds that are given but not asked for, or black, leave the same numbers as
    none.
    """
    plain = pairs(patches(), 0.0, channels, None)
    night = ImagePool(pixels(4, 5, 5, 3), torch.zeros(4).long(), "black")
    assert torch.equal(plain, pairs(patches(), 0.0, channels))
    assert_close(plain, pairs(patches(), 0.7, channels, night))
    coloured = pairs(patches(), 0.0, 3, None)
    grey = plain.expand(-1, -1, 3, -1, -1)
    assert torch.equal(grey, coloured)


def test_the_generator_advances_alike_at_every_strength():
    states = []
    for eta in (0.0, 1.0):
        source = ImagePairs(patches(), GRID, SIZE, nuisance=eta, backgrounds=SCENES)
        shared = generator()
        source.sample(3, shared)
        states.append(shared.get_state())
    assert torch.equal(*states)


def test_scenes_are_drawn_uniformly_and_apart():
    """Chi-square of the scenes of x and y together, of a batch and the next, and beside
    a label, over 60 batches whose streams branch off one generator; family-wise
    false-alarm rate 1e-6.
    """
    numbers = torch.arange(10, dtype=torch.uint8)
    grey = numbers.view(-1, 1, 1, 1)
    grey = grey.expand(-1, 1, 1, 3)
    scenes = ImagePool(grey, torch.zeros(10).long(), "numbers")
    source = ImagePairs(BLACK, (1, 1, 1), 1, 0.1, 1.0, scenes)
    shared = generator()
    batches = []
    for _ in range(60):
        x, y, label, _ = source.sample_labelled(100, shared)
        batches.append(torch.cat([255 * x, 255 * y, label], 1))
    columns = torch.cat(batches).round().long()
    x, y, label = columns.T.numpy()
    assert chisquare(np.bincount(x)).pvalue > FALSE_ALARM / 4
    for other in (y, np.roll(x, 100), label):
        counts = contingency.crosstab(x, other).count
        assert chi2_contingency(counts).pvalue > FALSE_ALARM / 4


def test_stacked_channels_lie_over_the_three_of_the_scene():
    """Images x, then y, of three sources as three channels."""

    def stacked(pool, eta):
        source = ImagePairs(pool, (3, 1, 1), 12, 0.1, eta, SCENES)
        return torch.cat(source.sample(30, generator()))

    expected = stacked(patches(), 0.0) + 0.5 * stacked(BLACK, 1.0)
    torch.testing.assert_close(stacked(patches(), 0.5), expected.clamp(max=1.0))
