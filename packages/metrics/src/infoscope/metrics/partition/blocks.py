"""What the blocks of a partition are meant for, and terms I(blocks; labels | labels)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Aspect = tuple[str, str]
"""A target and a condition, strings of "y" and "d": ("y", "d") is Y given D."""

NOTHING = ("", "")
Y = ("y", "")
D = ("d", "")
Y_GIVEN_D = ("y", "d")
D_GIVEN_Y = ("d", "y")
BOTH = ("yd", "")


@dataclass(frozen=True)
class Term:
    """I(blocks; target | given), or H(target | given) without blocks. target and given
    are strings of "y" and "d".
    """

    blocks: tuple[str, ...]
    target: str
    given: str = ""

    @property
    def name(self) -> str:
        labels = ",".join(self.target.upper())
        if self.given:
            labels += "|" + ",".join(self.given.upper())
        if not self.blocks:
            return f"H({labels})"
        return f"I({','.join(self.blocks)};{labels})"


@dataclass(frozen=True)
class Block:
    """What one block of a partition is meant for.

    wanted  the aspect of the labels that belongs in this block alone
    seed    aspect -> factor of the information that raises the seed score
    leak    the aspect that does not belong in this block
    parts   the aspects that add up to the leak by the chain rule, and are tested
    shown   the aspects in figures
    """

    name: str
    wanted: Aspect = NOTHING
    seed: Mapping[Aspect, float] = field(default_factory=dict)
    leak: Aspect = NOTHING
    parts: tuple[Aspect, ...] = ()
    shown: tuple[Aspect, ...] = (BOTH,)

    def term(self, aspect: Aspect) -> Term:
        """The information of the block alone."""
        return Term((self.name,), *aspect)


# in the order of the permutation tests
PARTITION = (
    Block(
        "z_y",
        wanted=Y_GIVEN_D,
        seed={Y_GIVEN_D: 1.0},
        leak=D_GIVEN_Y,
        parts=(D_GIVEN_Y,),
        shown=(Y_GIVEN_D, D_GIVEN_Y),
    ),
    Block(
        "z_d",
        wanted=D_GIVEN_Y,
        seed={D_GIVEN_Y: 1.0},
        leak=Y_GIVEN_D,
        parts=(Y_GIVEN_D,),
        shown=(D_GIVEN_Y, Y_GIVEN_D),
    ),
    Block("z_x", leak=BOTH, parts=(Y, D_GIVEN_Y)),
    # half the sum of both formulas of the co-information
    Block("z_dy", seed={Y: 0.5, D: 0.5, Y_GIVEN_D: -0.5, D_GIVEN_Y: -0.5}),
)
BLOCKS = ("z_y", "z_x", "z_dy", "z_d")  # in the order of tables
OWNERS = [block for block in PARTITION if block.wanted != NOTHING]
LEAKY = [block for block in PARTITION if block.leak != NOTHING]
