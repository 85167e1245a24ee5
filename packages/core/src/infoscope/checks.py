"""Checks of single arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

from infoscope.errors import OutOfRange, UnknownName


def require_int(name: str, value: int, least: int = 1) -> int:
    """`value` as an int; OutOfRange unless it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise OutOfRange(
            f"{name} must be a whole number of at least {least}, got {value!r}."
        )
    return int(value)


def require_ints(
    name: str, values: Sequence[int], length: int | None = None
) -> list[int]:
    """`values` as a list of positive ints; OutOfRange for other values, none, or
    another number than `length`.
    """
    if (
        not isinstance(values, Sequence)
        or not values
        or (length is not None and len(values) != length)
    ):
        raise OutOfRange(
            f"{name} must be {length or 'one or more'} positive whole numbers, got "
            f"{values!r}."
        )
    return [
        require_int(f"{name}[{position}]", value)
        for position, value in enumerate(values)
    ]


def require_number(
    name: str,
    value: float,
    least: float = 0.0,
    most: float = math.inf,
    *,
    ends: bool = True,
) -> float:
    """`value` as a float; OutOfRange unless it is finite and from `least` to `most`, or
    between them if not `ends`.
    """
    is_inside = (
        isinstance(value, Real)
        and not isinstance(value, bool)
        and abs(value) < math.inf
    )
    if is_inside:
        is_inside = least <= value <= most if ends else least < value < most
    if is_inside:
        return float(value)
    limits = f"of at least {least:g}" if ends else f"above {least:g}"
    if most < math.inf:
        limits += f" and at most {most:g}" if ends else f" and below {most:g}"
    raise OutOfRange(f"{name} must be a number {limits}, got {value!r}.")


def one_of(name: str, value: str, names: Iterable[str]) -> str:
    """`value`; UnknownName unless it is one of `names`."""
    valid = list(names)
    if value not in valid:
        raise UnknownName(
            f"{name} must be one of {', '.join(valid)}, got "
            f"{value!r}{nearest(value, valid)}"
        )
    return value


def nearest(name: object, valid: Iterable[str]) -> str:
    """The end of a message: the most similar valid name, or a full stop if none is
    similar.

    >>> nearest("ksgg", ["gcmi", "ksg"]), nearest("mine", ["gcmi", "ksg"])
    ('; did you mean ksg?', '.')
    """
    import difflib

    similar = difflib.get_close_matches(str(name), list(valid), n=1, cutoff=0.7)
    if not similar:
        return "."
    return f"; did you mean {similar[0]}?"
