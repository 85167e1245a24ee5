"""Argument checks shared by the modules of this package."""

from __future__ import annotations

import posixpath
import re

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
METRIC = re.compile(r"[\w./ :-]{1,250}")


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


def metric_name(name: str) -> str:
    """`name`, of a metric; ValueError for one that MLflow would refuse when it is sent, too late for the cell."""
    plain = isinstance(name, str) and METRIC.fullmatch(name) and posixpath.normpath(name) == name
    if not plain or name == "." or name.startswith(("/", "..")):
        raise ValueError(
            f"the name of a metric is {name!r}; it must be up to 250 letters, digits, spaces and signs of '._-:/', and "
            "as a path neither begin at a root nor hold empty parts or dots alone"
        )
    return name
