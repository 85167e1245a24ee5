"""Argument checks shared by the modules of this package."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
import torch


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


def generator_per_member(
    generator: torch.Generator | Sequence[torch.Generator] | None, members: int
) -> list[torch.Generator]:
    """One generator per member: None is a fresh one with seed 0, and a single one is shared by all members."""
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    if isinstance(generator, torch.Generator):
        return [generator] * members
    generators = list(generator)
    if len(generators) != members or not all(isinstance(g, torch.Generator) for g in generators):
        kinds = [type(g).__name__ for g in generators]
        raise ValueError(f"generator must be one torch.Generator or one for each of {members} members, got {kinds}.")
    return generators
