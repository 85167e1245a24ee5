"""The protocol of every source of pairs with known mutual information."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch

Pairs = tuple[torch.Tensor, torch.Tensor]
"""x [n, dim_x] and y [n, dim_y], float32."""

LabelledPairs = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
"""Pairs, and the labels of x and of y, bool [n, sources]."""


@runtime_checkable
class KnownPairSource(Protocol):
    """Draws independent pairs (x, y) from one joint distribution whose mutual information is known in closed form."""

    @property
    def mutual_information(self) -> float:
        """I(X; Y) in nats."""

    @property
    def dim_x(self) -> int:
        """Length of a flattened x."""

    @property
    def dim_y(self) -> int:
        """Length of a flattened y."""

    def sample(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> Pairs:
        """Draws n pairs: x [n, dim_x] and y [n, dim_y], float32, on `device`.

        Numbers are drawn on the generator's own device: a CPU generator gives the same pairs on every device.
        """


@runtime_checkable
class LabelledSource(KnownPairSource, Protocol):
    """A source of pairs whose information is that of binary labels, and which returns the labels."""

    def sample_labelled(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> LabelledPairs:
        """Draws n pairs with their labels: x and y as `sample` draws them from the same generator, then the labels of
        x and the labels of y, bool [n, sources], on `device`.
        """
