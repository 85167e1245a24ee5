"""Names of a package that are imported when they are first asked for: torch, scikit-learn and MLflow take seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def names_of(modules: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """name -> module, from module -> its names."""
    return {name: module for module, names in modules.items() for name in names}


def late(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: name -> its module in there."""

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return find
