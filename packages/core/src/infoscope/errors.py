"""What is raised for input that cannot be used: one sentence, the argument that is at fault, and a short code; and for
what is not there.

A sentence begins with the argument: "k must be below the number of rows, 100, got 200."
"""

from __future__ import annotations

import re
from typing import ClassVar

_ARGUMENT = re.compile(r"(.+?):? (?:must|may|is|are|has|have|takes|needs|lists|holds|names) ", re.DOTALL)


class InfoscopeError(ValueError):
    """Input that cannot be used, in one sentence. `code` names the kind of fault; every kind is a subclass."""

    code: ClassVar[str]

    @property
    def argument(self) -> str:
        """The argument, setting, column or file at fault: what the sentence begins with."""
        found = _ARGUMENT.match(str(self))
        return found.group(1) if found else ""


class InvalidInput(InfoscopeError):
    """What fits none of the other kinds."""

    code = "invalid"


class WrongType(InfoscopeError):
    """A value of a type that is not taken here."""

    code = "type"


class WrongShape(InfoscopeError):
    """An array of other axes or columns."""

    code = "shape"


class WrongLength(InfoscopeError):
    """As many values as something else should have, and has not."""

    code = "length"


class WrongOrder(InfoscopeError):
    """The same rows in another order."""

    code = "order"


class MissingValues(InfoscopeError):
    """Values that are missing, masked, NaN or infinite."""

    code = "missing"


class NoVariation(InfoscopeError):
    """One value or one class where several are needed, or categories of which none repeats."""

    code = "constant"


class TooFew(InfoscopeError):
    """Fewer rows, groups or items than are needed."""

    code = "few"


class OutOfRange(InfoscopeError):
    """A number outside of its range."""

    code = "range"


class UnknownName(InfoscopeError):
    """A name that is none of those that are known."""

    code = "name"


class Conflict(InfoscopeError):
    """Arguments that contradict one another, or one that is given twice."""

    code = "conflict"


class UnreadableFile(InfoscopeError):
    """A file that is not there, damaged, or not what it should be."""

    code = "file"


class Unavailable(RuntimeError):
    """What is needed is not there, or in use: a store, a cluster, a folder. One sentence, as of input."""


class StoreUnreachable(Unavailable):
    """The tracking store does not answer."""
