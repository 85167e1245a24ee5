"""What a block and all other blocks tell about a target: alone, together, and what no three informations can settle.

Six bounds hold for every decomposition (`pid.bounds`). The concrete one is that of Williams & Beer 2010: of every value
of the target both sources know what the one knows that knows less of it. That needs no more than local values, whatever
the blocks are: the specific information of a value is their mean over its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators.result import Estimate
from infoscope.metrics.partition.scores import clipped
from infoscope.metrics.pid import BRANCHES, Bounds, crossing_note, either_specific, is_low
from infoscope.metrics.v_information.usable import Local, Term

TERMS = ("unique", "redundant", "synergistic")


def sharing(
    alone: Local, rest: Local, joint: Local, values: NDArray[np.int64], groups: NDArray[np.int64]
) -> dict[str, Estimate]:
    """The six bounds by their names in `pid.Bounds`, and unique, redundant and synergistic by Williams & Beer; nats.

    values  [n], codes of the target's values. An interval is that of the branch of a bound which is active, or of both:
            the larger or the smaller ends of their intervals. Where bounds cross, the notes of each say so. Of a
            concrete term it reaches over what the term would be where either source told less of the values of which
            both tell about as much.
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
