"""Checks of single arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

from infoscope.errors import OutOfRange, UnknownName


def require_int(name: str, value: int, least: int = 1) -> int:
    """`value` as an int; OutOfRange unless it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise OutOfRange(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def require_ints(name: str, values: Sequence[int], length: int | None = None) -> list[int]:
    """`values` as a list of positive ints; OutOfRange for other values, none, or another number than `length`."""
    if not isinstance(values, Sequence) or not values or (length is not None and len(values) != length):
        raise OutOfRange(f"{name} must be {length or 'one or more'} positive whole numbers, got {values!r}.")
    return [require_int(f"{name}[{position}]", value) for position, value in enumerate(values)]


def require_number(name: str, value: float, least: float = 0.0, most: float = math.inf, *, ends: bool = True) -> float:
    """`value` as a float; OutOfRange unless it is finite and from `least` to `most`, or between them if not `ends`."""
    number = isinstance(value, Real) and not isinstance(value, bool) and abs(value) < math.inf
    if not number or not (least <= value <= most if ends else least < value < most):
        lower, upper = ("of at least", "at most") if ends else ("above", "below")
        limits = f"{lower} {least:g}" + (f" and {upper} {most:g}" if most < math.inf else "")
        raise OutOfRange(f"{name} must be a number {limits}, got {value!r}.")
    return float(value)


def one_of(name: str, value: str, names: Iterable[str]) -> str:
    """`value`; UnknownName unless it is one of `names`."""
    known = list(names)
    if value not in known:
        raise UnknownName(f"{name} must be one of {', '.join(known)}, got {value!r}{nearest(value, known)}")
    return value


def nearest(name: object, valid: Iterable[str]) -> str:
    """The end of a message: the most similar valid name, or a full stop if none is similar.

    >>> nearest("ksgg", ["gcmi", "ksg"]), nearest("mine", ["gcmi", "ksg"])
    ('; did you mean ksg?', '.')
    """
    import difflib

    like = difflib.get_close_matches(str(name), list(valid), n=1, cutoff=0.7)
    return f"; did you mean {like[0]}?" if like else "."
