"""The coupling of two series, and a pair of series with its truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from infoscope.data.prior.draws import Array, Generator, log_uniform
from infoscope.data.prior.windows import Truth

COUPLING_SHARES = {
    "none": 0.2,
    "backward": 0.1,
    "forward": 0.4,
    "both": 0.15,
    "driver": 0.15,
}
NUMBERS = ("numbers", "numbers")  # kinds of x and y
STRENGTHS = (0.12, 2.5)  # least and greatest, in standard deviations of noise

Draw = Callable[[int, Generator], tuple[Array, Array]]


@dataclass(frozen=True)
class Coupling:
    """How two series are coupled, and how strongly.

    kind       none; forward (x drives y); backward (y drives x); both; driver (a hidden series drives x and y)
    strength   response to a change by one standard deviation, in standard deviations of the noise
    """

    kind: str
    strength: float

    @property
    def onto_y(self) -> float:
        """The strength with which x drives y."""
        return self.strength if self.kind in ("forward", "both") else 0.0

    @property
    def onto_x(self) -> float:
        """The strength with which y drives x."""
        return self.strength if self.kind in ("backward", "both") else 0.0

    @property
    def driven(self) -> bool:
        """Whether a hidden series drives x and y."""
        return self.kind == "driver"


def draw_coupling(g: Generator) -> Coupling:
    """A random coupling: none in a fifth; the logarithm of the strength is uniform."""
    kind = g.choice(list(COUPLING_SHARES), p=list(COUPLING_SHARES.values()))
    return Coupling(str(kind), log_uniform(g, *STRENGTHS))


def draw_persistence(g: Generator) -> float:
    """A first-order autocorrelation: 0, negative, up to .8, or up to .97."""
    chance = g.random()
    if chance < 0.12:
        return 0.0
    if chance < 0.2:
        return float(g.uniform(-0.8, 0.0))
    if chance < 0.6:
        return float(g.uniform(0.0, 0.8))
    return float(g.uniform(0.8, 0.97))


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Two series before maps of their values.

    kinds     of x and of y: numbers, counts or labels
    history   past values of x and of y that the truth refers to
    memory    modulus of the largest root, or of the second eigenvalue of a chain; nan: not defined
    truth     a function of a generator for Monte Carlo means
    draw      n, generator -> x [n, p], y [n, q] from stationarity; labels are whole numbers from 0
    """

    description: str
    kinds: tuple[str, str]
    history: int
    memory: float
    truth: Callable[[Generator], Truth]
    draw: Draw


def column(values: Array) -> Array:
    """A series [n] as a table [n, 1]."""
    return np.asarray(values, dtype=float)[:, None]
