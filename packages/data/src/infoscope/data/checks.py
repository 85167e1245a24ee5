"""Checks of arguments that several sources share."""

from __future__ import annotations

from numbers import Integral, Real


def check_count(name: str, value: int, least: int = 1) -> int:
    """Returns `value` as an int; ValueError unless it is a whole number of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def check_crossover(value: float) -> float:
    """Returns `value` as a float; ValueError unless it is a probability in [0, 1/2]."""
    if not isinstance(value, Real) or not 0.0 <= value <= 0.5:
        raise ValueError(f"crossover must be a probability in [0, 0.5], not {value!r}.")
    return float(value)
