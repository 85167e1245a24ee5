"""The protocols of the pairs that an estimator measures."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor


@runtime_checkable
class PairSource(Protocol):
    """A joint distribution of two vectors; what it shares need not be known."""

    @property
    def dim_x(self) -> int: ...

    @property
    def dim_y(self) -> int: ...

    def sample(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
        """Draws n independent pairs: x [n, dim_x], y [n, dim_y]."""
        ...


@runtime_checkable
class KnownPairSource(PairSource, Protocol):
    """A pair source whose mutual information is known."""

    @property
    def mutual_information(self) -> float:
        """True mutual information of a pair, in nats."""
        ...


@runtime_checkable
class ExactPairSource(KnownPairSource, Protocol):
    """A pair source whose density ratio is known in closed form."""

    def log_ratio(self, x: Tensor, y: Tensor) -> Tensor:
        """log p(x_i, y_j) / (p(x_i) p(y_j)), nats: x [..., n, dim_x], y [..., m, dim_y] -> [..., n, m]."""
        ...
