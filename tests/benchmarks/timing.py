"""Processor time of calls, interleaved where two are compared, and a line of what was
measured.
"""

import time

import numpy as np


def seconds(call, repeat=1):
    """Processor seconds of a call, the mean of `repeat`."""
    began = time.process_time()
    for _ in range(repeat):
        call()
    return (time.process_time() - began) / repeat


def ratios(above, below, rounds, repeat=1):
    """Processor time of one call over that of another, round by round after one of
    each, the one below `repeat` times a round.
    """
    above(), below()
    return np.array([seconds(above) / seconds(below, repeat) for _ in range(rounds)])


def show(what, **measured):
    """Prints a line; numbers with three digits."""
    parts = []
    for name, value in measured.items():
        parts.append(
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        )
    print(f"\n{what:24} {', '.join(parts)}", end="")


def median(what, values):
    """The median of some ratios, printed with the least and the greatest."""
    middle = float(np.median(values))
    show(what, ratio=middle, least=float(values.min()), most=float(values.max()))
    return middle
