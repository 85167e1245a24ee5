"""Sweeps and analyses by their names: found by looking at their files, so that nothing of them is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SWEEPS, ANALYSES = "sweeps", "analysis"  # packages, in the folder where the command is given
DECLARES = {SWEEPS: r"^SWEEP = ", ANALYSES: r"^if __name__ == "}  # what a module has that can be asked for


def names(package: str) -> list[str]:
    """Names of what can be asked for, folder by folder."""
    return [name_of(path) for path in _files(package) if re.search(DECLARES[package], _text(path), re.MULTILINE)]


def sweeps_in_order() -> list[str]:
    """Names of all sweeps; those that load logged models, which other sweeps must have logged before, come last."""
    loads = {name_of(path): bool(re.search(r"\bload_model\b", _text(path))) for path in _files(SWEEPS)}
    return sorted(names(SWEEPS), key=loads.__getitem__)


def module_of(name: str, package: str = SWEEPS) -> str | None:
    """The module of a sweep, or of another package's analysis, by its name, in whatever folder of the package it is."""
    for path in _files(package):
        if name_of(path) == name.replace("_", "-"):
            return ".".join(path.with_suffix("").parts)
    return None


def source_of(module: str) -> Path:
    """The file that `python -m MODULE` executes."""
    path = Path(*module.split("."))
    return path / "__main__.py" if path.is_dir() else path.with_suffix(".py")


def options_of(module: str) -> list[str] | None:
    """Options of a module's command line, read from its source; None where they cannot be determined."""
    tree = ast.parse(_text(source_of(module)))
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: list[str | None] = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called = ast.unparse(call.func)
        if called == "Analysis":
            found += ["--profile", *_keys(call, constants)]
        elif any(isinstance(value, ast.Name) and value.id == "parser" for value in call.args):
            found.append(None)  # given away: another module adds to it
        elif called.rpartition(".")[2] == "add_argument":
            found += [value.value if isinstance(value, ast.Constant) else None for value in call.args]
    return None if None in found or not found else ["--help", *found]


def _keys(call: ast.Call, constants: dict[str, ast.expr]) -> Iterator[str | None]:
    """The options that an `Analysis` declares, as its third argument."""
    if len(call.args) < 3 and not call.keywords:
        return
    declared = call.args[2] if len(call.args) == 3 else None
    if isinstance(declared, ast.Name):
        declared = constants.get(declared.id)
    if not isinstance(declared, ast.Dict):
        yield None
        return
    for key in declared.keys:
        yield f"--{key.value}" if isinstance(key, ast.Constant) else None


def name_of(path: Path) -> str:
    """The name by which a person calls a module."""
    return path.stem.replace("_", "-")


def _files(package: str) -> list[Path]:
    return sorted(Path(package).glob("*/[!_]*.py"))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
