"""What every sweep checks of its cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infoscope.errors import OutOfRange


def require_minimum(cell: Mapping[str, Any], minimum: Mapping[str, float]) -> None:
    """OutOfRange unless every field named is at least its minimum; one that is missing or None is not asked for."""
    for name, least in minimum.items():
        if cell.get(name) is not None and not cell[name] >= least:
            raise OutOfRange(f"{name} must be at least {least}, got {cell[name]}.")
