"""Generated textures: deterministic, various, and as steep, bright and colourful as photographs."""

import torch

from infoscope.data import cifar10
from infoscope.data.pools import textures
from tests.data.common import generator, with_real_data


def looks(images: torch.Tensor) -> dict[str, torch.Tensor]:
    """Of each image uint8 [n, 32, 32, 3]: mean and deviation of the brightness, tint, and the slope of log amplitude
    against log frequency from 2 to 14 cycles per image."""
    pixels = images.double()
    light = pixels.mean(3)
    window = torch.hann_window(32, dtype=torch.float64)
    centred = light - light.mean((1, 2), keepdim=True)
    amplitude = torch.fft.rfft2(centred * window * window[:, None]).abs()
    frequency = torch.hypot(torch.fft.fftfreq(32)[:, None] * 32, torch.fft.rfftfreq(32) * 32).double()
    inside = (frequency >= 2) & (frequency <= 14)
    design = torch.stack([torch.ones(int(inside.sum())), frequency[inside].log()], 1).double()
    slope = torch.linalg.lstsq(design, (amplitude[:, inside] + 1e-3).log().T).solution[1]
    tint = (pixels.mean((1, 2)) - light.mean((1, 2))[:, None]).std(1)
    return {"brightness": light.mean((1, 2)), "contrast": light.std((1, 2)), "tint": tint, "slope": slope}


def test_what_is_drawn():
    pool = textures(50, 24, generator=generator())
    assert pool.images.shape == (50, 24, 24, 3)
    assert pool.synthetic
    assert pool.classes == (0,)
    assert pool.name == "generated-textures"
    assert len(pool.images.flatten(1).unique(dim=0)) == 50


def test_same_seed_same_textures():
    first, again, other = (textures(5, 16, generator=generator(seed)).images for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_amplitudes_fall_with_the_frequency():
    """The median exponent of photographs lies between -1 and -2 at this size; that of white noise is 0."""
    slope = looks(textures(500, generator=generator()).images)["slope"]
    assert -2.0 < slope.median() < -1.0
    assert slope.quantile(0.95) < -0.5


@with_real_data
def test_textures_are_spread_like_photographs():
    """The middle and the width of each property's distribution, within a quarter of CIFAR-10's."""
    ours, theirs = looks(textures(1000, generator=generator()).images), looks(cifar10().images[:2000])
    ends = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    for name in theirs:
        low, middle, high = theirs[name].quantile(ends)
        assert (ours[name].quantile(ends) - torch.stack([low, middle, high])).abs().max() < 0.25 * (high - low), name
