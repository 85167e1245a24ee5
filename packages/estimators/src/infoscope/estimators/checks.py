"""Argument checks shared by the modules of this package."""

from __future__ import annotations

import numpy as np

from infoscope.errors import WrongType


def generator_or_default(generator: np.random.Generator | None) -> np.random.Generator:
    """The generator; None is a new generator with seed 0. ValueError for other values."""
    if generator is None:
        return np.random.default_rng(0)
    if not isinstance(generator, np.random.Generator):
        raise WrongType(
            "generator must be a numpy.random.Generator, got "
            f"{type(generator).__name__}."
        )
    return generator
