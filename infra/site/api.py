"""The page of public names, a line each, as the site has it: `python -m infra.site.api`
prints it.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

PACKAGES = ("data", "estimators", "models", "metrics", "tracking")
BEGINNING = """# Public names

What a later version keeps, or warns of before it changes ([policy](../CONTRIBUTING.md)). Types are checked by pyright;
arguments, shapes, units and errors are in the docstrings, which the site has as its reference.
"""


def public() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every package with the names that it lists."""
    for name in PACKAGES:
        top = importlib.import_module(f"infoscope.{name}")
        modules = pkgutil.walk_packages(top.__path__, f"{top.__name__}.")
        folders = [module.name for module in modules if module.ispkg]
        for path in [top.__name__, *sorted(folders)]:
            package = importlib.import_module(path)
            names = getattr(package, "__all__", ())
            if names:
                yield path, _installed(package, sorted(names, key=str.lower))


def _installed(package: Any, names: list[str]) -> dict[str, Any]:
    """The names of which all libraries are installed."""
    things = {}
    for name in names:
        with contextlib.suppress(ModuleNotFoundError):
            things[name] = getattr(package, name)
    return things


def line(thing: Any) -> str:
    """The first sentence of what documents it; of a constant its type."""
    if not callable(thing) and not inspect.ismodule(thing):
        return f"constant, {type(thing).__name__}"
    documentation = inspect.getdoc(thing) or ""
    paragraph = " ".join(documentation.partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[\w)\]`]\.) (?=[A-Z`])", paragraph)[0]
    return sentence.replace("|", "\\|")


def page() -> str:
    """The whole page."""
    parts = [BEGINNING]
    for package, names in public():
        parts.append(f"## {package}\n\n| | |\n|---|---|")
        parts += [f"| `{name}` | {line(thing)} |" for name, thing in names.items()]
        parts[-1] += "\n"
    return "\n".join(parts)


if __name__ == "__main__":
    print(page())
