"""Protocols of sources of pairs (x, y): float32 tensors on the given device.

Numbers are drawn on the generator's own device, so a CPU generator gives the same pairs
on every device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:  # torch takes seconds to import
    import torch
    from torch import Tensor

Pairs = tuple["Tensor", "Tensor"]  # x [n, dim_x] and y [n, dim_y], float32
# pairs, and the labels of x and of y, bool [n, sources]
LabelledPairs = tuple["Tensor", "Tensor", "Tensor", "Tensor"]


@runtime_checkable
class PairSource(Protocol):
    """A joint distribution of two vectors; its mutual information may be unknown."""

    @property
    def dim_x(self) -> int: ...

    @property
    def dim_y(self) -> int: ...

    def sample(
        self, n: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> Pairs:
        """Draws n independent pairs: x [n, dim_x], y [n, dim_y]."""
        ...


@runtime_checkable
class KnownPairSource(PairSource, Protocol):
    """A pair source whose mutual information is known."""

    @property
    def mutual_information(self) -> float:
        """The true mutual information of a pair, nats."""
        ...


@runtime_checkable
class ExactPairSource(KnownPairSource, Protocol):
    """A pair source whose density ratio is known in closed form."""

    def log_ratio(self, x: Tensor, y: Tensor) -> Tensor:
        """log p(x_i, y_j) / (p(x_i) p(y_j)), nats: x [..., n, dim_x], y [..., m, dim_y]
        -> [..., n, m].
        """
        ...


@runtime_checkable
class LabelledSource(KnownPairSource, Protocol):
    """A source of pairs with the mutual information of their binary labels, which it
    can return.
    """

    def sample_labelled(
        self, n: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> LabelledPairs:
        """The pairs of `sample` with the same generator, and their labels."""
        ...
