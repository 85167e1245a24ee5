"""Argument checks shared by the modules of this package: what MLflow would refuse is refused before it is recorded."""

from __future__ import annotations

import contextlib
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
_LAST_STEP = 2**53  # beyond it a browser does not tell one step from the next, and far beyond no database holds it
PARAM_LENGTH, TAG_LENGTH, NAME_LENGTH = 6000, 8000, 250  # what MLflow stores of a value, of a run's name
COLUMNS = ("run_id", "key", "profile", "version", "outcome", "status", "start", "seconds", "tags")  # of every run


def plain_name(what: str, name: str) -> str:
    """`name`; ValueError unless it is at most 100 letters, digits and "._-", the first a letter or digit."""
    if not (isinstance(name, str) and PLAIN.fullmatch(name)):
        raise InvalidInput(
            f"{what} must be up to 100 letters, digits, dots, dashes and underscores, beginning with a letter or "
            f"digit, got {shown(name)}"
        )
    return name


def entity_name(what: str, name: str) -> str:
    """`name` of a metric, field or tag; ValueError for one that MLflow would refuse."""
    plain = isinstance(name, str) and _ENTITY.fullmatch(name) and posixpath.normpath(name) == name
    if not plain or name == "." or name.startswith(("/", "..")):
        raise InvalidInput(
            f"{what} must be up to 250 letters, digits, spaces and signs of '._-:/', and as a path neither begin at a "
            f"root nor hold empty parts or dots alone, got {shown(name)}"
        )
    return name


def metric_name(name: str) -> str:
    """`name`, of a metric. Raises ValueError like `entity_name`."""
    return entity_name("the name of a metric", name)


def metric_step(step: Any) -> int:
    """The step of a metric as a plain integer; ValueError for what is none, or is beyond 2**53 on either side."""
    try:
        whole = operator.index(step) if not isinstance(step, bool) else None
    except TypeError:
        whole = None
    if whole is None or abs(whole) > _LAST_STEP:
        raise OutOfRange(f"the step of a metric must be a whole number from -2**53 to 2**53, got {shown(step)}")
    return whole


def metric_value(name: str, value: Any) -> float:
    """The value of a metric as a float; ValueError for what is no number or exceeds a 64-bit float."""
    try:
        number = None if isinstance(value, str | bytes | bytearray) else float(value)
        exact = number is not None and bool(math.isnan(number) or number == value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # torch's, of a tensor of several values
        exact = False
    if not exact:
        raise WrongType(f"metric {name!r} must be a single number that a 64-bit float holds, got {shown(value)}")
    return number


def stored_text(what: str, value: Any, length: int) -> str:
    """`value`; ValueError for no text, one longer than `length`, or one with surrogates or zero characters."""
    if not isinstance(value, str):
        raise WrongType(f"{what} must be a text, got {shown(value)}")
    if len(value) > length:
        raise OutOfRange(f"{what} must be at most {length} characters long, got {len(value)}: {shown(value)}")
    if value != storable_text(value):
        raise WrongType(f"{what} must be text without surrogates and zero characters, got {shown(value)}")
    return value


def storable_text(text: str) -> str:
    r"""`text` with what no database takes written out: "\udc80" for half of a surrogate pair, "\x00" for zero."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def clipped(text: str, length: int) -> str:
    """`text`, or its beginning with "..." where it is longer than `length`."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def stored_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """`tags` of a run. Raises ValueError for one that MLflow would refuse or cut short."""
    return {
        entity_name("the name of a tag", name): stored_text(f"tag {name}", value, TAG_LENGTH)
        for name, value in tags.items()
    }


def shown(value: Any) -> str:
    """A value in an error's sentence: in ASCII, and not longer than a line."""
    try:
        text = ascii(value)
    except Exception:  # of a value's own `repr`, or an integer of more digits than Python writes
        text = f"of type {type(value).__name__}"
    return clipped(text, 100)


def free_name(what: str, name: str, taken: Iterable[str] = ()) -> str:
    """`name` for a column of runs; ValueError for one that every run has or that is in `taken`."""
    if name in COLUMNS:
        raise Conflict(
            f"{what} is {name!r}, which every run has with another meaning; it must be none of {', '.join(COLUMNS)}"
        )
    if name in taken:
        raise InvalidInput(f"{what} is {name!r}, which is a field of the cell; give it another name")
    return name


@contextlib.contextmanager
def undamaged(path: Path, what: str) -> Iterator[None]:
    """Turns errors on a damaged JSON or safetensors file into a ValueError that names it."""
    try:
        yield
    except (TypeError, ImportError, OSError):  # not an Infoscope class, or a missing file
        raise
    except Exception as error:  # readers of tokenizers and tensors raise many types
        told = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InvalidInput(f"{path} must be {what}, but: {told}") from error
