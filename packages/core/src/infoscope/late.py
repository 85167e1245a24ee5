"""Names of a package that are imported when they are first asked for: torch, scikit-learn and MLflow take seconds, and
not everybody has installed them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

EXTRAS = {  # of the package infoscope, by the library that one brings
    **dict.fromkeys(("PIL", "torch", "torchvision", "tokenizers", "transformers"), "torch"),
    **dict.fromkeys(("click", "mlflow", "optuna", "ray", "rich"), "sweeps"),
    **dict.fromkeys(("causallearn", "tigramite"), "causal"),
    "matplotlib": "plots",
}


def names_of(modules: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """name -> module, from module -> its names."""
    return {name: module for module, names in modules.items() for name in names}


def late(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: name -> its module in there.

    ModuleNotFoundError says which extra of infoscope brings a library that is not installed.
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise ModuleNotFoundError(f"{package}.{name} {needs(error.name)}", name=error.name) from None

    return find


def needs(library: str) -> str:
    """The end of a sentence: what has to be installed for a library of `EXTRAS`."""
    return f"needs {library}, which is not installed: pip install 'infoscope[{EXTRAS[library]}]'"
