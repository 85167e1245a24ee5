"""Random parameters and means."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Generator = np.random.Generator
Array = NDArray[np.float64]
Map = Callable[[Array], Array]
MAX_COMBINED = 64  # columns of x or y that are informative together


def mean_and_error(values: Array) -> tuple[float, float]:
    """The mean and its standard error."""
    error = values.std() / np.sqrt(len(values))
    return float(values.mean()), float(error)


def log_uniform(g: Generator, low: float, high: float) -> float:
    """A number between `low` and `high` whose logarithm is uniform."""
    logarithm = g.uniform(np.log(low), np.log(high))
    return float(np.exp(logarithm))


def log_uniform_int(g: Generator, low: int, high: int) -> int:
    """A whole number from `low` to `high` whose logarithm is about uniform."""
    end = max(low, high) + 1
    return min(high, int(log_uniform(g, low, end)))


def pick(g: Generator, options: Sequence[str]) -> str:
    """One of the options, each equally likely."""
    place = int(g.integers(len(options)))
    return options[place]
