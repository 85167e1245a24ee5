"""Checks of arguments that several sources share."""

from __future__ import annotations

from collections.abc import Sequence

from infoscope.checks import require_int, require_ints


def check_size(size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width), equal for one number; OutOfRange unless positive whole numbers."""
    if isinstance(size, Sequence):
        height, width = require_ints("size", size, 2)
        return height, width
    side = require_int("size", size)
    return side, side
