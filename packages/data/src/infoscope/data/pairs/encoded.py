"""Pairs after an encoder."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor

from infoscope.errors import WrongShape
from infoscope.sources import KnownPairSource, Pairs

Encoder = Callable[[Tensor], Tensor]


class EncodedPairs:
    """Pairs of a source after a fixed map of both variables (the benchmark, section
    5.7).

    `mutual_information` is the information of the source: an upper bound of the
    information of the codes, reached by invertible maps.

    Parameters
    ----------
    source : KnownPairSource
        Pairs of known information.
    encoder : torch.nn.Module or callable
        Map of float32 [n, d] to floating [n, e], applied without gradients. A module is
        copied to the device and keeps its mode (in training mode with batch
        normalisation the bound does not hold).

    Raises
    ------
    WrongShape
        If a code is not floating of shape [n, e].

    Examples
    --------
    >>> from infoscope.data.pairs.gaussian import GaussianPairs
    >>> pairs = EncodedPairs(GaussianPairs(4, 1.0), lambda x: x[:, :2])
    >>> pairs.dim_x, pairs.mutual_information
    (2, 1.0)
    """

    def __init__(self, source: KnownPairSource, encoder: Encoder) -> None:
        self.source = source
        self.encoder = encoder
        self.mutual_information = source.mutual_information
        self._copies: dict[torch.device, torch.nn.Module] = {}
        device = _device_of(encoder) or torch.device("cpu")
        x, y = self.sample(2, torch.Generator().manual_seed(0), device)
        self.dim_x = x.shape[1]
        self.dim_y = y.shape[1]

    def sample(
        self, n: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> Pairs:
        """Codes of random pairs.

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
            float32 [n, dim_x] and [n, dim_y].
        """
        x, y = self.source.sample(n, generator, device)
        return self._code(x), self._code(y)

    @torch.no_grad()
    def _code(self, values: Tensor) -> Tensor:
        n = len(values)
        encoder = self._on(values.device)
        code = encoder(values)
        fits = code.ndim == 2 and len(code) == n
        if not fits or not code.is_floating_point():
            got = f"{code.dtype} {list(code.shape)}"
            raise WrongShape(
                f"encoder must map [{n}, d] to floating [{n}, e], got {got}."
            )
        return code.float()

    def _on(self, device: torch.device) -> Encoder:
        if _device_of(self.encoder) in (None, device):
            return self.encoder
        if device not in self._copies:
            self._copies[device] = copy.deepcopy(self.encoder).to(device)
        return self._copies[device]


def _device_of(encoder: Encoder) -> torch.device | None:
    """The device of a module's tensors; None without tensors and for a function."""
    if not isinstance(encoder, torch.nn.Module):
        return None
    for tensor in (*encoder.parameters(), *encoder.buffers()):
        return tensor.device
    return None
