"""Checks of single arguments that every package shares."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

from infoscope.errors import OutOfRange, UnknownName


def require_int(name: str, value: int, least: int = 1) -> int:
    """`value` as an int; OutOfRange unless it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise OutOfRange(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def one_of(name: str, value: str, names: Iterable[str]) -> str:
    """`value`; UnknownName unless it is one of `names`."""
    if value not in (known := list(names)):
        raise UnknownName(f"{name} must be one of {', '.join(known)}, got {value!r}.")
    return value
