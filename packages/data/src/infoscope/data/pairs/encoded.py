"""Pairs after an encoder."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch

from infoscope.errors import WrongShape
from infoscope.sources import KnownPairSource, Pairs

Encoder = Callable[[torch.Tensor], torch.Tensor]


class EncodedPairs:
    """The pairs of a source after a fixed map of both variables (the benchmark, section 5.7).

    `mutual_information` is the source's: an upper bound of the codes' information, reached by invertible maps. Maps
    take float32 [n, d] to [n, e] without gradients; a module is copied to the device and its mode kept (in training
    mode with batch normalisation the bound does not hold).

    ValueError when a code is not floating of shape [n, e].
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

    def sample(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> Pairs:
        """Draws n pairs of the source and encodes them: x [n, dim_x] and y [n, dim_y], float32."""
        x, y = self.source.sample(n, generator, device)
        return self._code(x), self._code(y)

    @torch.no_grad()
    def _code(self, values: torch.Tensor) -> torch.Tensor:
        code = self._on(values.device)(values)
        if code.ndim != 2 or len(code) != len(values) or not code.is_floating_point():
            n = len(values)
            got = f"{code.dtype} {list(code.shape)}"
            raise WrongShape(f"encoder must map [{n}, d] to floating [{n}, e], got {got}.")
        return code.float()

    def _on(self, device: torch.device) -> Encoder:
        if _device_of(self.encoder) in (None, device):
            return self.encoder
        if device not in self._copies:
            self._copies[device] = copy.deepcopy(self.encoder).to(device)
        return self._copies[device]


def _device_of(encoder: Encoder) -> torch.device | None:
    """The device of a module's tensors; None for a module without tensors, and for a plain function."""
    if not isinstance(encoder, torch.nn.Module):
        return None
    for tensor in (*encoder.parameters(), *encoder.buffers()):
        return tensor.device
    return None
