"""What is raised for input that cannot be used (a sentence, the argument at fault, a short code) or is not there.

A sentence begins with the argument: "k must be below the number of rows, 100, got 200."
"""

from __future__ import annotations

import re
from typing import ClassVar

_ARGUMENT = re.compile(r"(.+?):? (?:must|may|is|are|has|have|takes|needs|lists|holds|names) ", re.DOTALL)


class InfoscopeError(ValueError):
    """Input that cannot be used, in one sentence. `code` names the kind of fault; every kind is a subclass."""

    code: ClassVar[str]

    def __init_subclass__(cls, code: str = "") -> None:
        cls.code = code or cls.code

    @property
    def argument(self) -> str:
        """The argument, setting, column or file at fault: what the sentence begins with."""
        found = _ARGUMENT.match(str(self))
        return found.group(1) if found else ""


class InvalidInput(InfoscopeError, code="invalid"):
    """What fits none of the other kinds."""


class WrongType(InfoscopeError, code="type"):
    """A value of a type that is not taken here."""


class WrongShape(InfoscopeError, code="shape"):
    """An array of other axes or columns."""


class WrongLength(InfoscopeError, code="length"):
    """As many values as something else should have, and has not."""


class WrongOrder(InfoscopeError, code="order"):
    """The same rows in another order."""


class MissingValues(InfoscopeError, code="missing"):
    """Values that are missing, masked, NaN or infinite."""


class NoVariation(InfoscopeError, code="constant"):
    """One value or one class where several are needed, or categories of which none repeats."""


class TooFew(InfoscopeError, code="few"):
    """Fewer rows, groups or items than are needed."""


class OutOfRange(InfoscopeError, code="range"):
    """A number outside of its range."""


class UnknownName(InfoscopeError, code="name"):
    """A name that is none of those that are known."""


class Conflict(InfoscopeError, code="conflict"):
    """Arguments that contradict one another, or one that is given twice."""


class UnreadableFile(InfoscopeError, code="file"):
    """A file that is not there, damaged, or not what it should be."""


class Unavailable(RuntimeError):
    """What is needed is not there, or in use: a store, a cluster, a folder. One sentence, as of input."""


class StoreUnreachable(Unavailable):
    """The tracking store does not answer."""
