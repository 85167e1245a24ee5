"""Latent blocks of a partitioned representation: which exist, and how wide they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from infoscope.checks import one_of, require_int
from infoscope.errors import TooFew, WrongShape

BLOCK_NAMES = ("z_y", "z_x", "z_dy", "z_d")


@dataclass(frozen=True)
class BlockSpec:
    """Dimensions of the latent blocks, side by side: z_y (class), z_x (neither), z_dy (both), z_d (domain).

    None or 0 dimensions: the block is absent. ValueError for other dimensions and when no block is left.
    """

    z_y: int | None = 8
    z_x: int | None = 8
    z_dy: int | None = 8
    z_d: int | None = 8

    def __post_init__(self) -> None:
        for name in BLOCK_NAMES:
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None or value == 0 else require_int(name, value))
        if not self.names:
            raise TooFew("blocks must have at least one block of one dimension or more, got none.")

    @property
    def names(self) -> tuple[str, ...]:
        """The blocks that exist, in order."""
        return tuple(name for name in BLOCK_NAMES if getattr(self, name) is not None)

    @property
    def dim(self) -> int:
        """Dimensions of all blocks together."""
        return sum(getattr(self, name) for name in self.names)

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of each block that exists."""
        slices, start = {}, 0
        for name in self.names:
            slices[name] = slice(start, start + getattr(self, name))
            start = slices[name].stop
        return slices

    def width(self, names: tuple[str, ...]) -> int:
        """Dimensions of those of the named blocks that exist."""
        return sum(getattr(self, name) or 0 for name in names)

    def without(self, name: str) -> BlockSpec:
        """The same number of dimensions without one block: its own are spread over the others as evenly as possible,
        the first blocks taking what is left over. Raises ValueError when the block is absent or the only one."""
        one_of("name", name, self.names)
        rest = [other for other in self.names if other != name]
        if not rest:
            raise WrongShape(f"name must leave a block to take its dimensions, and {name} is the only one.")
        share, extra = divmod(getattr(self, name), len(rest))
        wider = {other: getattr(self, other) + share + (place < extra) for place, other in enumerate(rest)}
        return replace(self, **{name: None}, **wider)

    def to_dict(self) -> dict[str, int | None]:
        """Plain values of all four names; None is absent. `from_dict` reads them back."""
        return {name: getattr(self, name) for name in BLOCK_NAMES}

    @classmethod
    def from_dict(cls, values: Mapping[str, int | None]) -> BlockSpec:
        """The blocks of a mapping; a name it does not have is an absent block. ValueError for an unknown name."""
        for name in values:
            one_of("block", name, BLOCK_NAMES)
        return cls(**{name: values.get(name) for name in BLOCK_NAMES})
