"""Checks of cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infoscope.errors import OutOfRange


def require_minimum(cell: Mapping[str, Any], minimum: Mapping[str, float]) -> None:
    """Raises OutOfRange unless every named field is at least its minimum; missing fields and None are skipped."""
    for name, least in minimum.items():
        if cell.get(name) is not None and not cell[name] >= least:
            raise OutOfRange(f"{name} must be at least {least}, got {cell[name]}.")
