"""Independent fair bits through a binary symmetric channel.

I(X; Y) = sources * (ln 2 - H(crossover)) nats (the benchmark, section 4.5 and theorem
4.4; Cover 1999).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from infoscope.checks import require_int, require_number
from infoscope.errors import OutOfRange
from infoscope.sources import Pairs

_LN2 = math.log(2.0)
# Requests this close (relative) to sources * ln 2 are the maximum: the product itself
# carries such a rounding error.
_AT_MAXIMUM = 1e-15


def channel_information(crossover: float, sources: int) -> float:
    """Mutual information of fair bits and their copies after a noisy channel.

    The channel is binary and symmetric.

    Parameters
    ----------
    crossover : float
        Probability that a bit is flipped, 0 to 1/2.
    sources : int
        Number of bits.

    Returns
    -------
    float
        sources * (ln 2 - H(crossover)), nats.

    Raises
    ------
    OutOfRange
        If an argument is out of range.

    Examples
    --------
    >>> round(channel_information(0.1, sources=10), 3)
    3.681
    """
    sources = require_int("sources", sources)
    crossover = require_number("crossover", crossover, most=0.5)
    return sources * _information_of_bit(crossover)


def crossover_for(mutual_information: float, sources: int) -> float:
    """Crossover probability at which bits and their copies have some information.

    It is accurate to machine precision.

    Parameters
    ----------
    mutual_information : float
        Nats, 0 to sources * ln 2.
    sources : int
        Number of bits.

    Returns
    -------
    float
        Probability that a bit is flipped, 0 to 1/2.

    Raises
    ------
    OutOfRange
        If an argument is out of range.

    Examples
    --------
    >>> round(crossover_for(3.681, sources=10), 3)
    0.1
    """
    sources = require_int("sources", sources)
    per_source = mutual_information / sources
    if not 0.0 <= per_source <= _LN2 * (1.0 + _AT_MAXIMUM):
        most = f"{sources * _LN2:.6g} nats ({sources} bits)"
        raise OutOfRange(
            f"mutual_information must be from 0 to {most}, got {mutual_information!r}."
        )
    if per_source == 0.0:
        return 0.5
    if per_source >= _LN2 * (1.0 - _AT_MAXIMUM):
        return 0.0
    if per_source < _information_of_bit(0.25):
        return 0.5 * (1.0 - _contrast_of(per_source))
    return _small_crossover_of(_LN2 - per_source)


class ChannelPairs:
    """Fair bits x and their copies y after a binary symmetric channel (values 0 and 1).

    Parameters
    ----------
    sources : int
        Number of bits.
    crossover : float
        Probability that a bit is flipped, 0 to 1/2.

    Raises
    ------
    OutOfRange
        If an argument is out of range.

    Examples
    --------
    >>> pairs = ChannelPairs(10, crossover=0.1)
    >>> x, y = pairs.sample(4, torch.Generator().manual_seed(0))
    >>> list(x.shape), round(pairs.mutual_information, 3)
    ([4, 10], 3.681)
    """

    def __init__(self, sources: int, crossover: float = 0.0) -> None:
        self.sources = self.dim_x = self.dim_y = require_int("sources", sources)
        self.crossover = require_number("crossover", crossover, most=0.5)
        self.mutual_information = channel_information(crossover, sources)

    def sample(
        self, n: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> Pairs:
        """Random pairs.

        Parameters
        ----------
        n : int
            Number of pairs.
        generator : torch.Generator
            Random numbers.
        device : torch.device or str
            Where the tensors are put.

        Returns
        -------
        x, y : torch.Tensor
            float32 [n, sources].
        """
        x, y = draw_labels(n, self.sources, self.crossover, generator)
        return x.to(device, torch.float32), y.to(device, torch.float32)

    def log_ratio(self, x: Tensor, y: Tensor) -> Tensor:
        """Exact log p(x, y) / (p(x) p(y)) of every x with every y.

        Parameters
        ----------
        x : torch.Tensor
            [..., n, sources].
        y : torch.Tensor
            [..., m, sources].

        Returns
        -------
        torch.Tensor
            Nats [..., n, m]; -inf where the pair is impossible (crossover 0 and a bit
            that differs).
        """
        ones_x = x.sum(-1)[..., :, None]
        ones_y = y.sum(-1)[..., None, :]
        differing = ones_x + ones_y - 2.0 * x @ y.mT
        log_equal = math.log(2.0 * (1.0 - self.crossover))
        of_equal_bits = (self.sources - differing) * log_equal
        if self.crossover == 0.0:
            return of_equal_bits.masked_fill(differing > 0, -math.inf)
        return of_equal_bits + differing * math.log(2.0 * self.crossover)


def draw_labels(
    n: int, sources: int, crossover: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Labels of x and y, bool [n, sources] each, on the generator's device."""
    shape = (require_int("n", n), sources)
    device = generator.device
    x = torch.randint(2, shape, generator=generator, device=device).bool()
    # float64 keeps P(flip) within 2^-53 of the crossover; rand is in [0, 1), so
    # crossover 0 never flips.
    double = torch.float64
    u = torch.rand(shape, generator=generator, device=device, dtype=double)
    return x, x ^ (u < crossover)


def _binary_entropy(p: float) -> float:
    """Entropy of a bit that is 1 with probability p, nats."""
    if p == 0.0:
        return 0.0
    return -p * math.log(p) - (1.0 - p) * math.log1p(-p)


def _information_of_contrast(d: float) -> float:
    """ln 2 - H((1 - d) / 2), nats, for d in [0, 1); accurate near d = 0."""
    return d * math.atanh(d) + 0.5 * math.log1p(-d * d)


def _information_of_bit(crossover: float) -> float:
    """Information of a fair bit and its copy, nats."""
    if crossover < 0.25:
        return _LN2 - _binary_entropy(crossover)
    return _information_of_contrast(1.0 - 2.0 * crossover)


def _contrast_of(information: float) -> float:
    """Contrast d = 1 - 2 crossover of this information: Newton's steps from above."""
    d = math.inf
    lower = math.sqrt(2.0 * information)
    while lower < d:
        d = lower
        excess = _information_of_contrast(d) - information
        lower = d - excess / math.atanh(d)
    return d


def _small_crossover_of(entropy: float) -> float:
    """Crossover below 1/2 of this binary entropy, by Newton's steps from below."""
    p = 0.0
    higher = (entropy / (2.0 * _LN2)) ** 2
    while higher > p:
        p = higher
        lacking = entropy - _binary_entropy(p)
        higher = p + lacking / (math.log1p(-p) - math.log(p))
    return p
