"""Checks of cells."""

from __future__ import annotations

from collections.abc import Mapping

from infoscope.errors import OutOfRange
from infoscope.tracking.sweep import AnyCell, plain


def require_minimum(cell: AnyCell, minimum: Mapping[str, float]) -> None:
    """Raises OutOfRange unless every named field is at least its minimum; missing
    fields and None are skipped.
    """
    values = plain(cell)
    for name, least in minimum.items():
        value = values.get(name)
        if value is not None and not value >= least:
            raise OutOfRange(f"{name} must be at least {least}, got {value}.")
