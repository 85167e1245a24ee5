"""Gaussian pairs."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from infoscope.checks import require_int
from infoscope.errors import OutOfRange
from infoscope.sources import Pairs

# Noise this small beside the signal is lost in the float32 of the pairs.
_LEAST_NOISE = float(torch.finfo(torch.float32).eps)


class GaussianPairs:
    """Pairs of standard normal vectors whose coordinates are correlated one to one.

    y = correlation * x + sqrt(1 - correlation^2) * noise.
    I(X; Y) = -dim / 2 * ln(1 - correlation^2) nats (the benchmark, section 4.1;
    Belghazi et al. 2018).

    Parameters
    ----------
    dim : int
        Columns of x and of y.
    mutual_information : float
        Nats; float32 limits it to 15.9 * dim.

    Raises
    ------
    OutOfRange
        If mutual_information is out of range.

    Examples
    --------
    >>> pairs = GaussianPairs(dim=2, mutual_information=1.0)
    >>> x, y = pairs.sample(5, torch.Generator().manual_seed(0))
    >>> list(x.shape), round(pairs.correlation, 3)
    ([5, 2], 0.795)
    """

    def __init__(self, dim: int, mutual_information: float) -> None:
        self.dim = self.dim_x = self.dim_y = require_int("dim", dim)
        greatest = -self.dim * math.log(_LEAST_NOISE)
        if not 0.0 <= mutual_information <= greatest:
            most = f"{greatest:.4g} nats for dim={dim} (float32)"
            raise OutOfRange(
                f"mutual_information must be from 0 to {most}, got "
                f"{mutual_information!r}."
            )
        self.mutual_information = float(mutual_information)
        nats = self.mutual_information / self.dim
        self.correlation = math.sqrt(-math.expm1(-2.0 * nats))
        self._noise = math.exp(-nats)

    def sample(
        self, n: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> Pairs:
        """Random pairs, from one draw of 2 dim columns: first x, then the noise.

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
            float32 [n, dim].
        """
        shape = (require_int("n", n), 2 * self.dim)
        draw = torch.randn(shape, generator=generator, device=generator.device)
        x, noise = draw.to(device).chunk(2, dim=1)
        y = self.correlation * x + self._noise * noise
        return x.contiguous(), y

    def log_ratio(self, x: Tensor, y: Tensor) -> Tensor:
        """Exact log p(x, y) / (p(x) p(y)) of every x with every y (Poole et al. 2019).

        Computed in float64, as the terms cancel near correlation 1.

        Parameters
        ----------
        x : torch.Tensor
            [..., n, dim].
        y : torch.Tensor
            [..., m, dim].

        Returns
        -------
        torch.Tensor
            Nats [..., n, m], of the type of x.
        """
        a = x.double()
        b = y.double()
        cross = self.correlation * a @ b.mT
        squares_x = a.square().sum(-1)
        squares_y = b.square().sum(-1)
        squares = squares_x[..., :, None] + squares_y[..., None, :]
        difference = cross - 0.5 * self.correlation**2 * squares
        log_ratio = self.mutual_information + difference / self._noise**2
        return log_ratio.to(x.dtype)
