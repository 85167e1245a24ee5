"""Processor time of calls, interleaved where two are compared, and a line of what was measured."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Call = Callable[[], object]


def seconds(call: Call, repeat: int = 1) -> float:
    """Processor seconds of a call, the mean of `repeat`."""
    began = time.process_time()
    for _ in range(repeat):
        call()
    return (time.process_time() - began) / repeat


def ratios(above: Call, below: Call, rounds: int, repeat: int = 1) -> NDArray[np.float64]:
    """Processor time of one call over that of another, round by round after one of each, the one below `repeat` times
    a round.
    """
    above(), below()
    return np.array([seconds(above) / seconds(below, repeat) for _ in range(rounds)])


def show(what: str, **measured: object) -> None:
    """Prints a line; numbers with three digits."""
    told = (
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in measured.items()
    )
    print(f"\n{what:24} {', '.join(told)}", end="")


def median(what: str, of: NDArray[np.float64]) -> float:
    """The median of some ratios, printed with the least and the greatest."""
    found = float(np.median(of))
    show(what, ratio=found, least=float(of.min()), most=float(of.max()))
    return found
