"""Argument checks shared by the modules of this package."""

from __future__ import annotations

import re

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def plain_name(what: str, name: str) -> str:
    """`name`, which becomes part of a path or of a query; ValueError unless it is at most 100 letters, digits and
    signs of "._-", the first a letter or digit.
    """
    if not (isinstance(name, str) and PLAIN.fullmatch(name)):
        raise ValueError(
            f"{what} is {name!r}; it must be up to 100 letters, digits, dots, dashes and underscores, beginning with a "
            "letter or digit"
        )
    return name
