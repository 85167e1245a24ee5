"""Runs the code of pages of docs/, which draws their figures."""

from __future__ import annotations

from typing import Any


def run_code(
    code: str, name: str, names: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The names that the code of a page defines, after those given; `name`: the page,
    shown in tracebacks.
    """
    names = {} if names is None else names
    exec(compile(code, name, "exec"), names)
    return names
