"""Sweeps and tables by name, as listed in `sweeps/__init__.py` and
`analysis/__init__.py` of the working folder.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from infoscope.checks import nearest
from infoscope.errors import InvalidInput, UnknownName

# the list, and the package that has it
KINDS = {"SWEEPS": "sweeps", "TABLES": "analysis"}


def registered(kind: str) -> Mapping[str, str]:
    """The module of every sweep ("SWEEPS") or table ("TABLES") by its name; empty in a
    folder without them.
    """
    package = KINDS[kind]
    if not Path(package).is_dir():
        return {}
    return getattr(importlib.import_module(package), kind)


def module_of(name: str, kind: str = "SWEEPS") -> str | None:
    """The module of a sweep or table by its name, in which _ is the same as -; None:
    not registered.
    """
    return registered(kind).get(name.replace("_", "-"))


def require_module(name: str, kind: str = "SWEEPS") -> str:
    """The module of a sweep or table. UnknownName: not registered; InvalidInput: a
    folder without any.
    """
    names = registered(kind)
    what = kind.lower()
    if not names:
        raise InvalidInput(
            f"there are no {what} in {Path.cwd()}; run this command in the folder "
            "with the Makefile"
        )
    module = module_of(name, kind)
    if module is None:
        valid = ", ".join(names)
        raise UnknownName(
            f"{what[:-1]} must be one of {valid}, got {name!r}{nearest(name, names)}"
        )
    return module
