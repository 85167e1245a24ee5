"""What the blocks of a partition are meant for, and terms I(blocks; labels | labels)."""

from __future__ import annotations

from dataclasses import dataclass

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
    leak    the aspect that does not belong in this block
    parts   the aspects that add up to the leak by the chain rule, and are tested
    """

    name: str
    wanted: Aspect = NOTHING
    leak: Aspect = NOTHING
    parts: tuple[Aspect, ...] = ()

    def term(self, aspect: Aspect) -> Term:
        """The information of the block alone."""
        return Term((self.name,), *aspect)


# in the order of the permutation tests
OWNERS = (
    Block("z_y", Y_GIVEN_D, D_GIVEN_Y, (D_GIVEN_Y,)),
    Block("z_d", D_GIVEN_Y, Y_GIVEN_D, (Y_GIVEN_D,)),
)
REST = Block("z_x", leak=BOTH, parts=(Y, D_GIVEN_Y))
LEAKY = (*OWNERS, REST)
SHARED = Block("z_dy")
BLOCKS = ("z_y", "z_x", "z_dy", "z_d")  # in the order of tables
