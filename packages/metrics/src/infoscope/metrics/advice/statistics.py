"""What is asked about data and twins alike: quick figures that move with the information, each in its own way.

None needs to be right: twins are asked the same. What tells families of twins apart is that estimators are wrong in
different ways on different laws.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators.arrays.categories import ChaoShen, Grassberger, PlugIn
from infoscope.estimators.arrays.gaussian import Gcmi
from infoscope.estimators.arrays.neighbours import Ksg
from infoscope.estimators.arrays.protocol import Pairs
from infoscope.estimators.variables import Variable
from infoscope.metrics.advice.twins import is_wide, numbers_of

Floats = NDArray[np.float64]
Ask = Callable[[Pairs], float]
_NEIGHBOURS = (2, 5, 20)
_FEW_COLUMNS = 3


@dataclass(frozen=True)
class Statistic:
    """A figure of pairs: its name, and the function that gives it, nats."""

    name: str
    ask: Ask


def observed(pairs: Pairs) -> tuple[tuple[Statistic, ...], Floats]:
    """The statistics that pairs of these types and this width have, and what these give of them [statistics], nats."""
    asked, values = [], []
    for one in _for(pairs):
        with contextlib.suppress(ValueError):  # a label of few rows has no normal law, and the like
            values.append(one.ask(pairs))
            asked.append(one)
    return tuple(asked), np.array(values)


def _for(pairs: Pairs) -> tuple[Statistic, ...]:
    kinds = pairs.x.kind, pairs.y.kind
    if kinds == ("discrete", "discrete"):
        methods = (PlugIn(), Grassberger(), ChaoShen())
        return tuple(Statistic(one.name, _of(one)) for one in methods)
    wide = is_wide(pairs.x) or is_wide(pairs.y)
    margins = "auto" if wide else "rank"  # so that no monotone map of a column changes the answer
    found = [Statistic(f"ksg, k = {k}", _of(Ksg(k=k, margins=margins))) for k in _NEIGHBOURS]
    if "mixed" in kinds:
        return (*found, *_of_parts(pairs))
    if wide:
        found += [Statistic(f"ksg, k = {k}, of components", _of(Ksg(k=k), _narrow)) for k in _NEIGHBOURS]
    found.append(Statistic("gcmi" + ", of components" * wide, _of(Gcmi(), _narrow if wide else None)))
    found.append(Statistic("gcmi of sizes", _of(Gcmi(), _sizes)))
    if "discrete" not in kinds and max(pairs.x.dim, pairs.y.dim) > 1:
        found.append(Statistic("gcmi of lengths", _of(Gcmi(), _lengths)))
    return tuple(found)


def profile(asked: Sequence[Statistic], pairs: Pairs) -> Floats:
    """All figures of pairs [statistics], nats. ValueError where one cannot be had."""
    return np.array([one.ask(pairs) for one in asked])


def _of(method: object, changed: Callable[[Variable], Variable] | None = None) -> Ask:
    def ask(pairs: Pairs) -> float:
        if changed is not None:
            pairs = replace(pairs, x=changed(pairs.x), y=changed(pairs.y))
        return float(method.estimate(pairs, np.random.default_rng(0)))

    return ask


def _of_parts(pairs: Pairs) -> list[Statistic]:
    """Of sides that hold both: their numbers alone, and their categories alone."""
    found = []
    if pairs.x.dim and pairs.y.dim:
        found.append(Statistic("gcmi of the numbers", _of(Gcmi(), lambda side: Variable(side.continuous, None, 1))))

    def categories(side: Variable) -> Variable:
        if side.codes is None:
            return side
        return Variable(np.empty((side.n, 0)), side.codes, side.categories)

    found.append(Statistic("ksg of the categories", _of(Ksg(k=5), categories)))
    return found


def _narrow(side: Variable) -> Variable:
    return Variable(numbers_of(side), None, 1) if side.dim and is_wide(side) else side


def _sizes(side: Variable) -> Variable:
    """How far columns are from their middle, whichever way; labels as they are."""
    return side if not side.dim else Variable(np.abs(numbers_of(side)), None, 1)


def _lengths(side: Variable) -> Variable:
    """How far rows are from the centre."""
    columns = numbers_of(side)
    return Variable((columns**2).sum(axis=1)[:, None], None, 1)
