"""Unique, redundant and synergistic information of a block and all others about a target: six bounds (`pid.bounds`) and
the decomposition of Williams & Beer 2010, from local values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators.result import Estimate
from infoscope.metrics.factor_information.result import TERMS
from infoscope.metrics.partition.scores import clipped
from infoscope.metrics.pid import BRANCHES, Bounds, crossing_note, either_specific, is_low
from infoscope.metrics.v_information.usable import Local, Term


def sharing(
    alone: Local, rest: Local, joint: Local, values: NDArray[np.int64], groups: NDArray[np.int64]
) -> dict[str, Estimate]:
    """The six bounds by their names in `pid.Bounds`, and unique, redundant and synergistic by Williams & Beer; nats.

    values [n] are codes of the target. Intervals include both branches where they are close; crossing bounds are noted.
    """
    parts = [local.term(groups) for local in (alone, rest, joint)]
    found = {}
    for name in Bounds._fields:
        branches = [_linear(row, parts).estimate for row in getattr(BRANCHES, name) if any(row)]
        if is_low(name):  # the larger of 0 and the second branch
            found[name] = clipped(branches[0])
        else:
            least = min(branches, key=float)
            ends = min(one.low for one in branches), max(0.0, min(one.high for one in branches))  # no term is below 0
            found[name] = replace(least, interval=ends)
    widths = [_linear(row, parts) for name in Bounds._fields if not is_low(name) for row in getattr(BRANCHES, name)]
    width = min(widths, key=lambda term: term.found.value).found
    note = crossing_note(-width.value, width.standard_error, "nats")
    if note:
        found = {name: replace(one, notes=(*one.notes, note)) for name, one in found.items()}
    branches = [
        Local(np.where(rows, rest.found, alone.found), np.where(rows, rest.half, alone.half)).term(groups)
        for rows in either_specific(alone.found, rest.found, values)
    ]
    own = min(branches, key=lambda term: term.found.value)
    possible = [term for term in branches if (term.found - own.found).low <= 0.0]
    concrete = [_concrete(parts, both) for both in (own, *possible)]
    for name, terms in zip(TERMS, zip(*concrete)):
        ends = min(one.low for one in terms), max(one.high for one in terms)
        found[name] = replace(terms[0], interval=ends)
    return found


def _concrete(parts: Sequence[Term], both: Term) -> list[Estimate]:
    """Unique, redundant and synergistic of the terms of a, of the rest and of both, and the redundancy."""
    a, b, t = parts
    terms = a + -1.0 * both, both, t + -1.0 * a + -1.0 * b + both
    return [term.estimate for term in terms]


def _linear(row: Sequence[int], parts: Sequence[Term]) -> Term:
    """The sum of the parts that count, each times its factor."""
    first, *others = [float(factor) * part for factor, part in zip(row, parts) if factor]
    return sum(others, first)
