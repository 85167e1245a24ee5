"""Argument checks shared by the modules of this package."""

from __future__ import annotations

from numbers import Integral

import numpy as np


def require_int(name: str, value: int, least: int) -> int:
    """`value` as an int; ValueError unless it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def generator_or_default(generator: np.random.Generator | None) -> np.random.Generator:
    """The generator given; None is a fresh one with seed 0. ValueError for anything else."""
    if generator is None:
        return np.random.default_rng(0)
    if not isinstance(generator, np.random.Generator):
        raise ValueError(f"generator must be a numpy.random.Generator, got {type(generator).__name__}.")
    return generator
