"""Lazy imports of a package's names, because torch, scikit-learn and MLflow take
seconds and may not be installed.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

EXTRAS = {  # library -> extra of the package infoscope that installs it
    **dict.fromkeys(
        ("PIL", "torch", "torchvision", "tokenizers", "transformers"), "torch"
    ),
    **dict.fromkeys(("click", "mlflow", "optuna", "ray", "rich"), "sweeps"),
    **dict.fromkeys(("causallearn", "tigramite"), "causal"),
    "cleanlab": "labels",
    "matplotlib": "plots",
}


def exports(
    package: str,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package for the names that its
    `__init__.pyi` imports.

    Type checkers and editors read the same file (SPEC 1 of Scientific Python).
    ModuleNotFoundError for a library that is not installed names the extra that
    installs it.
    """
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    modules = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                modules[alias.name] = str(node.module)

    def find(name):
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(modules[name])
            if hasattr(module, name):
                return getattr(module, name)
            return import_module(f"{modules[name]}.{name}")
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise ModuleNotFoundError(
                f"{package}.{name} {needs(error.name)}", name=error.name
            ) from None

    return find, lambda: sorted(modules), list(modules)


def needs(library: str) -> str:
    """The end of a message: how to install a library of `EXTRAS`."""
    return (
        f"needs {library}, which is not installed: pip install "
        f"'infoscope[{EXTRAS[library]}]'"
    )
