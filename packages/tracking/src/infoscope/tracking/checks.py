"""Checks of names and values: what MLflow would reject is rejected before it is
recorded.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import operator
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from infoscope.errors import Conflict, InvalidInput, OutOfRange, WrongType

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ENTITY = re.compile(r"[\w./ :-]{1,250}")
_REFUSED = re.compile(r"[^\w. :-]")  # signs that a part of a metric's name may not have
_MAX_STEP = 2**53  # larger integers are not exact in a browser
PARAM_LENGTH = 6000  # characters that MLflow stores of a parameter
TAG_LENGTH = 8000  # of a tag
NAME_LENGTH = 250  # of a name
ERROR_LENGTH = 4000  # characters of an error that are recorded
# of every run
COLUMNS = (
    "run_id",
    "key",
    "profile",
    "version",
    "outcome",
    "status",
    "start",
    "seconds",
    "tags",
)


def plain_name(what: str, name: str) -> str:
    """`name`; ValueError unless it has at most 100 letters, digits and "._-", the first
    a letter or digit.
    """
    if not isinstance(name, str) or not PLAIN.fullmatch(name):
        raise InvalidInput(
            f"{what} must have at most 100 letters, digits, dots, dashes and "
            "underscores and begin with a letter or "
            f"digit, got {shown(name)}"
        )
    return name


def entity_name(what: str, name: str) -> str:
    """`name` of a metric, field or tag; ValueError if MLflow would reject it."""
    plain = (
        isinstance(name, str)
        and _ENTITY.fullmatch(name)
        and posixpath.normpath(name) == name
    )
    if not plain or name == "." or name.startswith(("/", "..")):
        raise InvalidInput(
            f"{what} must have at most 250 letters, digits, spaces and characters of "
            "'._-:/', and be a relative path "
            f"without empty parts, '.' and '..', got {shown(name)}"
        )
    return name


def metric_name(name: str) -> str:
    """`name` of a metric. Raises ValueError like `entity_name`."""
    return entity_name("the name of a metric", name)


def safe_metric_names(names: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """A name that MLflow accepts for each tuple of parts, such as ("dose", "bits"):
    "dose/bits"; no two are alike.

    Signs that MLflow refuses become "_"; a name that is too long, or that another one
    has, ends in a hash of its parts.
    """
    safe: dict[tuple[str, ...], str] = {}
    for parts in names:
        words = [_REFUSED.sub("_", part).strip() for part in parts]
        name = "/".join("_" if word in ("", ".", "..") else word for word in words)
        if len(name) > NAME_LENGTH or name in safe.values():
            digest = hashlib.sha256(
                "\0".join(parts).encode("utf-8", "backslashreplace")
            ).hexdigest()[:8]
            name = f"{name[: NAME_LENGTH - 9]}-{digest}"
        safe[parts] = name
    return safe


def metric_step(step: Any) -> int:
    """The step of a metric as an int; ValueError unless it is a whole number from
    -2**53 to 2**53.
    """
    try:
        whole = operator.index(step) if not isinstance(step, bool) else None
    except TypeError:
        whole = None
    if whole is None or abs(whole) > _MAX_STEP:
        raise OutOfRange(
            "the step of a metric must be a whole number from -2**53 to 2**53, got "
            f"{shown(step)}"
        )
    return whole


def metric_value(name: str, value: Any) -> float:
    """The value of a metric as a float; ValueError if it is no number or not exact in
    64 bits.
    """
    number = None
    try:
        number = None if isinstance(value, str | bytes | bytearray) else float(value)
        exact = number is not None and bool(math.isnan(number) or number == value)
    except (
        TypeError,
        ValueError,
        OverflowError,
        RuntimeError,
    ):  # RuntimeError: of torch for several values
        exact = False
    if not exact or number is None:
        advice = "; leave a metric out where a cell has none" if value is None else ""
        raise WrongType(
            f"metric {name!r} must be a single number that fits in a 64-bit float, "
            f"got {shown(value)}{advice}"
        )
    return number


def require_text(what: str, value: Any, length: int) -> str:
    """`value`; ValueError unless it is a string of at most `length` characters without
    surrogates and zeros.
    """
    if not isinstance(value, str):
        raise WrongType(f"{what} must be a string, got {shown(value)}")
    if len(value) > length:
        raise OutOfRange(
            f"{what} must have at most {length} characters, got {len(value)}: "
            f"{shown(value)}"
        )
    if value != storable_text(value):
        raise WrongType(
            f"{what} must have no surrogates and zero characters, got {shown(value)}"
        )
    return value


def storable_text(text: str) -> str:
    r"""`text` with characters that databases reject written as escapes: "\udc80" for
    surrogates, "\x00" for zero.
    """
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def clipped(text: str, length: int) -> str:
    """`text`, or its beginning and "..." if it is longer than `length`."""
    if len(text) <= length:
        return text
    return f"{text[: length - 3]}..."


def require_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """`tags` of a run. Raises ValueError if MLflow would reject or shorten one."""
    return {
        entity_name("the name of a tag", name): require_text(
            f"tag {name}", value, TAG_LENGTH
        )
        for name, value in tags.items()
    }


def without_password(text: str) -> str:
    """A text whose addresses are without users and passwords."""
    return re.sub(r"//[^/?#\s]*@", "//", text)


def first_line(error: BaseException) -> str:
    """The first line of an exception's message, without the passwords of addresses."""
    lines = (str(error).strip() or repr(error)).splitlines()
    return without_password(lines[0])[:300]


def shown(value: Any) -> str:
    """A value in an error message: ASCII, at most 100 characters."""
    try:
        text = ascii(value)
    except Exception:  # from the value's `repr`, or for an integer with too many digits
        text = f"of type {type(value).__name__}"
    return clipped(text, 100)


def require_free_name(what: str, name: str, taken: Iterable[str] = ()) -> str:
    """`name` for a column of runs; ValueError if it is a column of every run or in
    `taken`.
    """
    if name in COLUMNS:
        raise Conflict(
            f"{what} must be none of {', '.join(COLUMNS)}, which every run has with "
            f"another meaning, got {name!r}"
        )
    if name in taken:
        raise InvalidInput(
            f"{what} must not be the name of a field of the cell, got {name!r}"
        )
    return name


@contextlib.contextmanager
def undamaged(path: Path, what: str) -> Iterator[None]:
    """Converts errors of a damaged JSON or safetensors file into a ValueError with its
    path.
    """
    try:
        yield
    except (
        TypeError,
        ImportError,
        OSError,
    ):  # not an Infoscope class, or a missing file
        raise
    except Exception as error:  # readers of tokenizers and tensors raise many types
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InvalidInput(f"{path} must be {what}, but: {reason}") from error
