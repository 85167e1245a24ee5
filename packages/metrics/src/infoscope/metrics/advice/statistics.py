"""Statistics computed on data and simulations alike: fast estimates that differ in how they are biased."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators.arrays.categories import ChaoShen, Grassberger, PlugIn
from infoscope.estimators.arrays.gaussian import Gcmi
from infoscope.estimators.arrays.protocol import Method, Pairs
from infoscope.estimators.knn import mutual_information
from infoscope.estimators.knn.search import nearest
from infoscope.estimators.variables import Variable, l_ratios
from infoscope.metrics.advice.twins.sides import has_ties, is_wide, narrowed

Floats = NDArray[np.float64]
Ask = Callable[[Pairs], float]
Numbers = Callable[[Variable], Floats]
_NEIGHBOURS = (2, 5, 20)
_ABOUT = 10  # neighbours on the other side, beside which a value is seen
_LARGEST = 0.9999  # a canonical correlation


@dataclass(frozen=True)
class Statistics:
    """Statistics of pairs by name, nats but for shapes: `asked` by name, after `prepared` has been applied once."""

    asked: Mapping[str, Ask]
    prepared: Callable[[Pairs], Pairs]

    def of(self, pairs: Pairs) -> Floats:
        """All figures [statistics]. ValueError where one cannot be had."""
        pairs = self.prepared(pairs)
        return np.array([ask(pairs) for ask in self.asked.values()])


def observed(pairs: Pairs) -> tuple[Statistics, Floats]:
    """The statistics that pairs of these types and this width have, and what these give of them [statistics], nats."""
    found, values = _for(pairs), {}
    prepared = found.prepared(pairs)
    for name, ask in found.asked.items():
        with contextlib.suppress(ValueError):  # a label of few rows has no normal law, and the like
            values[name] = ask(prepared)
    return replace(found, asked={name: found.asked[name] for name in values}), np.array(list(values.values()))


def _for(pairs: Pairs) -> Statistics:
    kinds = pairs.x.kind, pairs.y.kind
    if kinds == ("discrete", "discrete"):
        return Statistics({one.name: _of(one) for one in (PlugIn(), Grassberger(), ChaoShen())}, lambda same: same)
    maps = [_in_place(side) for side in (pairs.x, pairs.y)]
    asked = {f"ksg, k = {k}": _neighbours(k) for k in _NEIGHBOURS}
    if "mixed" in kinds:
        if pairs.x.dim and pairs.y.dim:
            asked["gcmi of the numbers"] = _on(_numbers_alone, _of(Gcmi()))
        asked["ksg of the categories"] = _on(_categories_alone, _neighbours(5))
    else:
        asked |= {"gcmi": _of(Gcmi()), "gcmi of sizes": _on(_changed(np.abs), _of(Gcmi()))}
        if "discrete" in kinds:
            asked["canonical correlations with labels"] = _canonical
        elif max(pairs.x.dim, pairs.y.dim) > 1:
            lengths = _changed(lambda columns: (columns**2).sum(axis=1)[:, None])
            asked["gcmi of lengths"] = _on(lengths, _of(Gcmi()))
        if "discrete" not in kinds and not any(is_wide(side) or has_ties(side) for side in (pairs.x, pairs.y)):
            asked |= {"skewness about neighbours": _shape(lambda columns: np.abs(l_ratios(columns)[0])),
                      "kurtosis about neighbours": _shape(lambda columns: l_ratios(columns)[1])}  # fmt: skip
    if is_wide(pairs.x) or is_wide(pairs.y):
        asked = {f"{name}, of components": ask for name, ask in asked.items()}
    return Statistics(asked, lambda both: replace(both, x=maps[0](both.x), y=maps[1](both.y)))


def _in_place(side: Variable) -> Callable[[Variable], Variable]:
    """(variable of these columns) -> the same with normal scores, or components, in the place of numbers: no monotone
    map of a column changes the answer."""
    if not side.dim:
        return lambda other: other
    numbers = narrowed(side)
    return lambda other: replace(other, continuous=numbers(other))


def _of(method: Method) -> Ask:
    return lambda pairs: float(method.estimate(pairs, np.random.default_rng(0)))


def _neighbours(k: int) -> Ask:
    """KSG of columns as they are, without a standard error (forty times faster)."""
    return lambda pairs: float(mutual_information(pairs.x, pairs.y, k, margins="given", groups=pairs.groups))


def _shape(ratio: Callable[[Floats], Floats]) -> Ask:
    """A ratio of sorted columns [n, d] of one variable among neighbours in the other, mean over columns and both."""

    def ask(pairs: Pairs) -> float:
        x, y = pairs.x.continuous, pairs.y.continuous
        return float(ratio(np.sort(np.hstack([_about(x, y), _about(y, x)]), axis=0)).mean())

    return ask


def _about(given: Floats, told: Floats) -> Floats:
    """Values [n, d] less the mean over neighbours in the given [n, e], standardised; 0 where these are equal."""
    near = told[nearest(given, _ABOUT).ids]
    spread = near.std(axis=1)
    return np.divide(told - near.mean(axis=1), spread, out=np.zeros_like(told), where=spread > 0)


def _on(changed: Callable[[Variable], Variable], ask: Ask) -> Ask:
    return lambda pairs: ask(replace(pairs, x=changed(pairs.x), y=changed(pairs.y)))


def _changed(then: Callable[[Floats], Floats]) -> Callable[[Variable], Variable]:
    """How far columns are from their middle, or rows from the centre, whichever way; labels as they are."""
    return lambda side: replace(side, continuous=then(side.continuous)) if side.dim else side


def _numbers_alone(side: Variable) -> Variable:
    return Variable(side.continuous, None, 1)


def _categories_alone(side: Variable) -> Variable:
    return side if side.codes is None else Variable(np.empty((side.n, 0)), side.codes, side.categories)


def _canonical(pairs: Pairs) -> float:
    """-1/2 sum log(1 - correlation²) of the canonical correlations of numbers with labels as columns of 0 and 1."""
    side, codes = (pairs.x, pairs.y.codes) if pairs.x.dim else (pairs.y, pairs.x.codes)
    labels = np.eye(int(codes.max()) + 1)[codes][:, 1:]
    columns = [np.linalg.qr(one - one.mean(axis=0))[0] for one in (side.continuous, labels)]
    found = np.linalg.svd(columns[0].T @ columns[1], compute_uv=False)
    return float(-0.5 * np.log1p(-(np.minimum(found, _LARGEST) ** 2)).sum())
