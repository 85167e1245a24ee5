"""Simulated data sets, what draws them, and shares whose information is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators.arrays.protocol import Pairs

Floats, Rows = NDArray[np.float64], NDArray[np.intp]
LARGEST = 0.9995  # a correlation
_SMALLEST_POWER, POWERS = 0.02, 40  # at which information is known


@dataclass(frozen=True, eq=False)
class Twin:
    """One data set of known information.

    truth   nats, with standard error `error` (0: exact)
    likeness  share of the data's own dependence that was kept
    partner   [n] the row whose y a row has; None where rows are new
    """

    pairs: Pairs
    truth: float
    error: float
    family: str
    likeness: float = math.nan
    partner: Rows | None = None


class Family(Protocol):
    """Draws simulated data sets with information between `least` and `reach`, nats."""

    name: str
    least: float
    reach: float

    def draw(self, nats: float, generator: np.random.Generator) -> Twin:
        """A twin of this information, or of the nearest that can be had: its `truth` says which."""


class Powers:
    """Shares and information [nats] by power, interpolated between a `grid` of powers from 0 on."""

    def __init__(self, shares: Callable[[float], Floats], information: Callable[[Floats], float], grid: Floats):
        self._shares, self._information, self._grid = shares, information, grid
        self._nats = np.maximum.accumulate([self._information(shares(power)) for power in self._grid])
        self._known: dict[float, tuple[float, Floats, float]] = {}

    @property
    def reach(self) -> float:
        return float(self._nats[-1])

    def at(self, nats: float) -> tuple[float, Floats, float]:
        """The power whose information is about this, its shares, and what they hold, nats."""
        if nats not in self._known:
            power = float(np.interp(min(max(nats, 0.0), self.reach), self._nats, self._grid))
            shares = self._shares(power)
            self._known[nats] = power, shares, self._information(shares)
        return self._known[nats]


def powers_up_to(largest: float) -> Floats:
    return np.concatenate([[0.0], np.geomspace(_SMALLEST_POWER, largest, POWERS)])


def information(joint: Floats) -> float:
    """I of joint shares [a, b], nats."""
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / product[there])).sum())
