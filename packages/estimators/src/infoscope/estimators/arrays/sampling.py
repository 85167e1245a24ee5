"""Sampling error of an estimate by half-samples of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt

import numpy as np

from infoscope.estimators import uncertainty
from infoscope.estimators.arrays.protocol import Pairs
from infoscope.estimators.result import Estimate
from infoscope.estimators.variables import factorise

_TOO_FEW = (
    "Too few rows, groups, or rows of a class for half-samples: the standard error leaves out that neighbours would be "
    "others, and may be a quarter too small."
)


def with_half_samples(
    found: Estimate, pairs: Pairs, generator: np.random.Generator, k: int, margins: str = "auto",
    measure: Callable[[Pairs], Estimate] | None = None, count: int = 40, most: int = 1_000,
) -> Estimate:  # fmt: skip
    """The estimate with the larger of its standard error and that of `count` half-samples of `most` rows or fewer.

    Groups stay whole. Half-samples are measured by `measure`; None: by KSG with k and margins, all at once.
    Categories alone have none.
    """
    if not (pairs.x.dim or pairs.y.dim):
        return found
    some = pairs
    if pairs.n > most:
        order = generator.permutation(int(pairs.units.max()) + 1)[pairs.units]
        some = _rows(pairs, np.sort(np.argsort(order, kind="stable")[:most]))
    try:
        if measure is None:
            drawn = uncertainty.subsample(some.x, some.y, None, k, count, some.groups, generator, margins)
            error, degrees = drawn.standard_error, drawn.degrees
        else:
            plan = uncertainty.halves(some.n, count, generator, some.groups)
            values = [measure(_rows(some, np.flatnonzero(half))).value for half in plan.weights.T]
            half = plan.units // 2
            error, degrees = np.std(values, ddof=1) * sqrt(half / (plan.units - half)), min(plan.count, plan.units) - 1
    except ValueError:
        return replace(found, notes=(*found.notes, _TOO_FEW))
    own = found.standard_error * sqrt(pairs.n / some.n)  # of so many rows
    if not own > 0:
        return found
    ratio = max(1.0, float(error) / own)
    influence = None if found.influence is None else ratio * found.influence
    degrees = min(found.degrees, degrees)
    return replace(found, standard_error=ratio * found.standard_error, degrees=degrees, influence=influence)


def _rows(pairs: Pairs, rows: np.ndarray) -> Pairs:
    """Some of the rows (indices)."""
    groups = None if pairs.groups is None else factorise(pairs.groups[rows])[0]
    return Pairs(pairs.x.take(rows), pairs.y.take(rows), groups)
