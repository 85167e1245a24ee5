"""Exceptions for invalid input, with a sentence, the argument and a short code, and for
missing resources.

A sentence begins with the argument: "k must be below the number of rows, 100, got 200."
"""

from __future__ import annotations

import re
from typing import ClassVar

_ARGUMENT = re.compile(
    r"(.+?):? (?:must|may|is|are|has|have|takes|needs|lists|holds|names) ", re.DOTALL
)


class InfoscopeError(ValueError):
    """Invalid input, described in one sentence. Every kind of error is a subclass with
    its own `code`.
    """

    code: ClassVar[str]

    def __init_subclass__(cls, code: str = "") -> None:
        cls.code = code or cls.code

    @property
    def argument(self) -> str:
        """The invalid argument, setting, column or file, with which the sentence
        begins.
        """
        match = _ARGUMENT.match(str(self))
        return match[1] if match else ""


class InvalidInput(InfoscopeError, code="invalid"):
    """Other invalid input."""


class WrongType(InfoscopeError, code="type"):
    """A value of an unsupported type."""


class WrongShape(InfoscopeError, code="shape"):
    """An array with wrong dimensions or columns."""


class WrongLength(InfoscopeError, code="length"):
    """Two arguments with different lengths that should be equal."""


class WrongOrder(InfoscopeError, code="order"):
    """The same rows in different orders."""


class MissingValues(InfoscopeError, code="missing"):
    """Missing, masked, NaN or infinite values."""


class NoVariation(InfoscopeError, code="constant"):
    """A constant variable, a single class, or categories that never repeat."""


class TooFew(InfoscopeError, code="few"):
    """Too few rows, groups or items."""


class OutOfRange(InfoscopeError, code="range"):
    """A number outside of its valid range."""


class UnknownName(InfoscopeError, code="name"):
    """An unknown name."""


class Conflict(InfoscopeError, code="conflict"):
    """Contradictory or repeated arguments."""


class UnreadableFile(InfoscopeError, code="file"):
    """A missing, damaged or unsuitable file."""


class Unavailable(RuntimeError):
    """A store, cluster or folder that is missing or in use; the message is one
    sentence.
    """


class StoreUnreachable(Unavailable):
    """The tracking store does not answer."""
