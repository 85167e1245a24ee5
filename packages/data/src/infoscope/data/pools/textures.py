"""Generated colour textures: backgrounds that need no download."""

from __future__ import annotations

import math

import torch

from infoscope.checks import require_int
from infoscope.data.pools.pools import ImagePool

# In photographs the amplitude falls as a power of the frequency. The exponent differs
# between scenes (Field 1987; van der Schaaf and van Hateren 1996). All ranges are those
# that the training images of CIFAR-10 show at 32 x 32 pixels.
_COLOUR = 0.3  # weight of the channels' own patterns beside the common one


def textures(n: int = 1000, size: int = 32, *, generator: torch.Generator) -> ImagePool:
    """Pool of synthetic RGB images: periodic coloured noise with a power-law spectrum.

    All labels are 0.

    Parameters
    ----------
    n : int
        Number of images.
    size : int
        Side in pixels, at least 2.
    generator : torch.Generator
        Random numbers.

    Returns
    -------
    ImagePool
        Images uint8 [n, size, size, 3].

    Raises
    ------
    OutOfRange
        If n or size is too small or not a whole number.

    Examples
    --------
    >>> list(textures(4, size=8, generator=torch.Generator().manual_seed(0)).images.shape)
    [4, 8, 8, 3]
    """
    n = require_int("n", n)
    size = require_int("size", size, least=2)
    device = generator.device

    def uniform(low, high):
        share = torch.rand(n, 1, 1, 1, generator=generator, device=device)
        return share * (high - low) + low

    def normal(*shape: int):
        return torch.randn(shape, generator=generator, device=device)

    steepness = uniform(1.0, 2.1)
    stretch = uniform(1.0, 3.0)
    direction = uniform(0.0, math.pi)
    cosine = direction.cos()
    sine = direction.sin()
    down = torch.fft.fftfreq(size, device=device)[:, None] * size
    across = torch.fft.rfftfreq(size, device=device) * size
    along = across * cosine + down * sine
    beside = down * cosine - across * sine
    root = stretch.sqrt()
    frequency = torch.hypot(along * root, beside / root)
    frequency[frequency == 0] = torch.inf
    amplitude = frequency**-steepness
    noise = normal(n, 4, size, size)
    spectrum = torch.fft.rfft2(noise) * amplitude
    patterns = torch.fft.irfft2(spectrum, s=(size, size))
    patterns /= patterns.std((-2, -1), keepdim=True)
    common = patterns[:, :1]
    colours = common + _COLOUR * patterns[:, 1:]
    colours /= math.sqrt(1.0 + _COLOUR**2)
    brightness = uniform(70.0, 175.0)  # grey levels
    tint = 20.0 * normal(n, 3, 1, 1)
    contrast = uniform(25.0, 80.0)
    images = brightness + tint + contrast * colours
    levels = images.round_().clamp_(0, 255).byte()
    pixels = levels.movedim(1, 3).contiguous().cpu()
    labels = torch.zeros(n, dtype=torch.int64)
    return ImagePool(pixels, labels, "generated-textures", synthetic=True)
