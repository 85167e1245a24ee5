"""Checks of arguments that several sources share."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

from infoscope.checks import require_int
from infoscope.errors import OutOfRange, WrongShape, WrongType


def check_crossover(value: float) -> float:
    """Returns `value` as a float; ValueError unless it is a probability in [0, 1/2]."""
    if not isinstance(value, Real) or not 0.0 <= value <= 0.5:
        raise OutOfRange(f"crossover must be a probability in [0, 0.5], got {value!r}.")
    return float(value)


def check_grid(grid: Sequence[int]) -> tuple[int, int, int]:
    """Returns (channels, rows, columns); ValueError unless they are three positive whole numbers."""
    if len(grid) != 3:
        raise WrongShape(f"grid must be (channels, rows, columns), got {tuple(grid)}.")
    return tuple(require_int(f"grid[{axis}]", length) for axis, length in enumerate(grid))


def check_size(size: int | Sequence[int]) -> tuple[int, int]:
    """Returns (height, width), equal for a single number; ValueError unless they are positive whole numbers."""
    if not isinstance(size, Sequence):
        side = require_int("size", size)
        return side, side
    if len(size) != 2:
        raise WrongType(f"size must be a side or (height, width), got {tuple(size)}.")
    height, width = (require_int(f"size[{axis}]", length) for axis, length in enumerate(size))
    return height, width
