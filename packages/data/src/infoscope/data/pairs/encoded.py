"""Pairs seen through an encoder."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch

from infoscope.checks import require_int
from infoscope.data.pairs.protocol import KnownPairSource, LabelledPairs, LabelledSource, Pairs
from infoscope.errors import WrongShape, WrongType

Encoder = Callable[[torch.Tensor], torch.Tensor]


class EncodedPairs:
    """The pairs of a source after a fixed map of each variable (the benchmark, section 5.7).

    `mutual_information` is that of the source, an upper bound of what the codes share, reached by invertible maps. Maps
    take float32 [n, d] to [n, e] without gradients; a module is copied to the device and its mode kept (in training
    mode with batch normalisation the bound does not hold).

    Arguments: source; encoder of x, and of y unless encoder_y is given; dim_x and dim_y, the lengths e (None: found
    from a batch). ValueError when a length is not a positive whole number or a code is not floating of shape [n, e].
    """

    def __init__(
        self,
        source: KnownPairSource,
        encoder: Encoder,
        encoder_y: Encoder | None = None,
        dim_x: int | None = None,
        dim_y: int | None = None,
    ) -> None:
        self.source = source
        self.encoder_x = encoder
        self.encoder_y = encoder if encoder_y is None else encoder_y
        self.mutual_information = source.mutual_information
        self._copies: dict[tuple[int, torch.device], torch.nn.Module] = {}
        self.dim_x = self._probed(self.encoder_x, 0) if dim_x is None else require_int("dim_x", dim_x)
        self.dim_y = self._probed(self.encoder_y, 1) if dim_y is None else require_int("dim_y", dim_y)

    def sample(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> Pairs:
        """Draws n pairs of the source and encodes them: x [n, dim_x] and y [n, dim_y], float32."""
        x, y = self.source.sample(n, generator, device)
        return self._encoded(x, y)

    def sample_labelled(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> LabelledPairs:
        """The pairs of `sample`, then the source's labels. ValueError when the source has none."""
        if not isinstance(self.source, LabelledSource):
            raise WrongType(f"source must be one that tells its labels, got {type(self.source).__name__}.")
        x, y, x_labels, y_labels = self.source.sample_labelled(n, generator, device)
        return *self._encoded(x, y), x_labels, y_labels

    def _encoded(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        codes = []
        for side, encoder, values, dim in (("x", self.encoder_x, x, self.dim_x), ("y", self.encoder_y, y, self.dim_y)):
            code = self._call(encoder, values)
            if code.shape != (len(values), dim) or not code.is_floating_point():
                raise WrongShape(
                    f"the code of {side} must be floating of shape {[len(values), dim]}, "
                    f"got {code.dtype} of shape {list(code.shape)}."
                )
            codes.append(code.float())
        return tuple(codes)

    @torch.no_grad()
    def _call(self, encoder: Encoder, values: torch.Tensor) -> torch.Tensor:
        return self._on(encoder, values.device)(values)

    def _on(self, encoder: Encoder, device: torch.device) -> Encoder:
        here = _device_of(encoder)
        if here is None or here == device:
            return encoder
        key = id(encoder), device
        if key not in self._copies:
            self._copies[key] = copy.deepcopy(encoder).to(device)
        return self._copies[key]

    def _probed(self, encoder: Encoder, side: int) -> int:
        device = _device_of(encoder) or torch.device("cpu")
        pair = self.source.sample(2, torch.Generator().manual_seed(0), device)
        code = self._call(encoder, pair[side])
        if code.ndim != 2 or len(code) != 2:
            raise WrongShape(f"encoder must map [2, d] to [2, e], got shape {list(code.shape)}.")
        return code.shape[1]


def _device_of(encoder: Encoder) -> torch.device | None:
    """The device of a module's tensors; None for one without any, and for what is no module."""
    if not isinstance(encoder, torch.nn.Module):
        return None
    tensors = (*encoder.parameters(), *encoder.buffers())
    return tensors[0].device if tensors else None
