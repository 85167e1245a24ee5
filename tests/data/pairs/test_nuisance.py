"""Images over backgrounds: the sum, what is drawn, and what stays as it is at every
strength.
"""

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import chi2_contingency, chisquare, contingency

from infoscope.data import ImagePairs, ImagePool, textures
from tests.data.common import generator

FALSE_ALARM = 1e-6
LABELS = torch.arange(40) % 2
GRID, SIZE = (1, 2, 3), (20, 26)


def patches(height: int = 9, width: int = 7) -> ImagePool:
    pixels = torch.randint(
        256, (40, height, width), dtype=torch.uint8, generator=generator(1)
    )
    return ImagePool(pixels, LABELS, "noise", synthetic=True)


BLACK = ImagePool(torch.zeros(40, 9, 7, dtype=torch.uint8), LABELS, "black")
SCENES = textures(30, 16, generator=generator(2))


def pairs(
    pool: ImagePool,
    nuisance: float,
    channels: int | None = 3,
    scenes: ImagePool | None = SCENES,
):
    """Two batches of pairs in a row from the same generator: [4, 25, channels, height,
    width].
    """
    source = ImagePairs(pool, GRID, SIZE, 0.1, nuisance, scenes, channels)
    shared = generator()
    batches = torch.stack([*source.sample(25, shared), *source.sample(25, shared)])
    return batches.view(4, 25, source.channels, *SIZE)


@pytest.mark.parametrize("channels", [3, 1])
def test_an_image_is_the_clipped_sum_of_the_patches_and_eta_times_a_scene(channels):
    """Black patches show the scenes alone, and both come from the same draws."""
    eta = 0.4
    expected = (pairs(patches(), 0.0) + eta * pairs(BLACK, 1.0)).clamp(max=1.0)
    if channels == 1:
        expected = expected.mean(2, keepdim=True)
    torch.testing.assert_close(pairs(patches(), eta, channels), expected)


def test_scenes_are_resized_as_pillow_does():
    """At most one grey level, on fewer than one pixel in a thousand; every image shows
    one of the scenes.
    """
    ours = SCENES.resized(*SIZE)
    resized = []
    for image in SCENES.images.numpy():
        resized.append(
            Image.fromarray(image).resize(SIZE[::-1], Image.Resampling.BICUBIC)
        )
    difference = np.abs(ours.movedim(1, 3).numpy() - np.stack(resized).astype(float))
    assert difference.max() <= 1
    assert difference.mean() < 1e-3
    shown = (255 * pairs(BLACK, 1.0)).round().byte().reshape(100, -1)
    is_scene = (shown[:, None] == ours.flatten(1)).all(2)
    assert is_scene.any(1).all()


@pytest.mark.parametrize("channels", [None, 1])
def test_without_nuisance_nothing_changes(channels):
    """Backgrounds that are given but not asked for, or black, leave the same numbers as
    none.
    """
    plain = pairs(patches(), 0.0, channels, scenes=None)
    black = ImagePool(
        torch.zeros(4, 5, 5, 3, dtype=torch.uint8),
        torch.zeros(4, dtype=torch.int64),
        "black",
    )
    assert torch.equal(plain, pairs(patches(), 0.0, channels))
    torch.testing.assert_close(plain, pairs(patches(), 0.7, channels, scenes=black))
    assert torch.equal(plain.expand(-1, -1, 3, -1, -1), pairs(patches(), 0.0, 3, None))


def test_the_generator_advances_alike_at_every_strength():
    states = []
    for eta in (0.0, 1.0):
        shared = generator()
        ImagePairs(patches(), GRID, SIZE, nuisance=eta, backgrounds=SCENES).sample(
            3, shared
        )
        states.append(shared.get_state())
    assert torch.equal(*states)


def test_scenes_are_drawn_uniformly_and_apart():
    """Chi-square of the scenes of x and y together, of a batch and the next, and beside
    a label, over 60 batches whose streams branch off one generator; family-wise
    false-alarm rate 1e-6.
    """
    numbers = torch.arange(10, dtype=torch.uint8)
    grey = numbers.view(-1, 1, 1, 1).expand(-1, 1, 1, 3)
    scenes = ImagePool(grey, torch.zeros(10, dtype=torch.int64), "numbers")
    source = ImagePairs(BLACK, (1, 1, 1), 1, 0.1, 1.0, scenes)
    shared = generator()
    batches = []
    for _ in range(60):
        x, y, label, _ = source.sample_labelled(100, shared)
        batches.append(torch.cat([(255 * x).round(), (255 * y).round(), label], 1))
    x, y, label = torch.cat(batches).long().T.numpy()
    assert chisquare(np.bincount(x)).pvalue > FALSE_ALARM / 4
    for other in (y, np.roll(x, 100), label):
        counts = contingency.crosstab(x, other).count
        assert chi2_contingency(counts).pvalue > FALSE_ALARM / 4
