"""Writes docs/api.md, the public names: `python -m infra.site.api`. A test compares the page with what this returns."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
PACKAGES = ("data", "estimators", "models", "metrics", "tracking")
BEGINNING = """# Public names

<!-- written by `python -m infra.site.api`: not to be edited -->

What a later version keeps, or warns of before it changes ([policy](../CONTRIBUTING.md)). Types are checked by pyright;
arguments, shapes, units and errors are in the docstrings, which the site has as its reference.
"""


def public() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every package with the names that it lists."""
    for name in PACKAGES:
        top = importlib.import_module(f"infoscope.{name}")
        folders = [one.name for one in pkgutil.walk_packages(top.__path__, f"{top.__name__}.") if one.ispkg]
        for package in map(importlib.import_module, [top.__name__, *sorted(folders)]):
            if names := getattr(package, "__all__", ()):
                yield package.__name__, {one: getattr(package, one) for one in sorted(names, key=str.lower)}


def line(thing: Any) -> str:
    """The first sentence of what documents it; of a constant its type."""
    if not (callable(thing) or inspect.ismodule(thing)):
        return f"constant, {type(thing).__name__}"
    first = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[\w)\]`]\.) (?=[A-Z`])", first)[0].replace("|", "\\|")


def page() -> str:
    """The whole page."""
    parts = [BEGINNING]
    for package, names in public():
        parts.append(f"## {package}\n\n| | |\n|---|---|")
        parts += [f"| `{name}` | {line(thing)} |" for name, thing in names.items()]
        parts[-1] += "\n"
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
