"""Decompositions of rows by nearest neighbours, with local values; nats.

Shared exclusions: local redundancy log (f(t, a) + f(t, b)) / (f(t) (f(a) + f(b))) (Ehrlich, Schick-Poland, Makkeh,
Lanfermann, Wollstadt & Wibral 2024), for sources of one unit and dimension; depends on their relative scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from infoscope.errors import OutOfRange, WrongLength, WrongType
from infoscope.estimators.knn.estimators import (
    Settings,
    class_sizes,
    everyone,
    finished,
    of_kept,
    opened,
    pair,
    require_classes,
    without_singletons,
)
from infoscope.estimators.knn.search import count_within, nearest
from infoscope.estimators.result import Estimate
from infoscope.estimators.variables import Variable, join, prepared
from infoscope.metrics.pid.terms import Decomposition, either_specific, from_redundancy, least_specific


def shared_exclusion(
    a: Any, b: Any, target: Any, k: int = 5, margins: str = "rank", groups: Any = None
) -> Decomposition:
    """The decomposition of Ehrlich et al. 2024, Estimates in nats with their local values; terms may be below 0.

    a, b, target  numbers [n] or [n, d], a and b of one d; numbers or categories
    margins  "rank": unchanged by monotone maps of columns; "scaled" or "given" where relative scales matter
    k, groups  as of `knn.mutual_information`

    Local redundancy is psi(k) + psi(n) - psi(n_t) - psi(n_u), for target categories with their size as n_t (Ross 2014).
    ValueError: as `knn.mutual_information`; sources of different dimensions; rows with k others at distance 0.
    """
    known = _Known.of(a, b, target, k, margins, groups)
    a, b, target = known.sides
    for name, source in (("a", a), ("b", b)):
        if source.kind != "continuous":
            raise WrongType(f"{name} must be numbers, got categories; wrap numbers in Continuous.")
    if a.dim != b.dim:
        raise WrongLength(
            f"a and b must have as many columns as one another, got {a.dim} and {b.dim}: densities of different "
            "dimensions have no sum."
        )
    if target.kind == "mixed":
        raise WrongType("target must be numbers or categories, got columns of both.")
    search = {"groups": known.settings.groups}
    radius, own = _radius([join(source, target) for source in (a, b)], k, search)
    if not radius.all():
        raise OutOfRange(
            f"a and b must not repeat values beside the target, got {np.sum(radius == 0)} rows with k = {k} others at "
            "distance 0; of categories make a table of probabilities, or break ties with variables.jitter."
        )
    inside = [count_within(side.continuous, radius, **search) for side in (a, b, join(a, b))]
    if target.dim:
        of_target = 1 + count_within(target.continuous, radius, **search)
    else:
        of_target = class_sizes(target, known.settings.groups)
    values = digamma(own) + digamma(everyone(target.n, known.settings.groups))
    values = values - digamma(of_target) - digamma(1 + inside[0] + inside[1] - inside[2])
    return known.with_redundancy(values, "shared exclusions")


def williams_beer_from_arrays(
    a: Any, b: Any, target: Any, k: int = 5, margins: str = "auto", groups: Any = None
) -> Decomposition:
    """`williams_beer` of sources of any kind and dimension and a target of categories, Estimates in nats.

    After Barà, Antonacci, Iovino, Lazic & Faes 2024, here from the local values of `knn`, whose arguments and errors
    these are. Intervals include the alternatives where a and b carry about equal information.
    """
    known = _Known.of(a, b, target, k, margins, groups)
    target = known.sides[2]
    if target.kind != "discrete":
        raise WrongType(f"target must be categories, got {target.dim} columns of numbers; wrap labels in Discrete.")
    of_a, of_b = (information.local for information in known.informations[:2])
    branches = [np.where(rows, of_b, of_a) for rows in either_specific(of_a, of_b, target.codes)]
    return known.with_redundancy(least_specific(of_a, of_b, target.codes), "least specific information", branches)


@dataclass(frozen=True, eq=False)
class _Known:
    """a, b and the target at common scales, rows without a class of their own left out, and their informations."""

    sides: list[Variable]
    settings: Settings
    margins: str
    notes: tuple[str, ...]
    informations: tuple[Estimate, ...]

    @classmethod
    def of(cls, a: Any, b: Any, target: Any, k: int, margins: str, groups: Any) -> _Known:
        sides, settings = opened({"a": a, "b": b, "target": target}, k, margins, groups)
        kept, notes = without_singletons(join(*sides.values()), settings.groups)
        a, b, target = (prepared(side, margins, name).take(kept) for name, side in sides.items())
        require_classes(kept, a=a, b=b, target=target)
        settings = replace(settings, margins="given", groups=of_kept(settings.groups, kept))
        told = tuple(pair(source, target, settings, local=True) for source in (a, b, join(a, b)))
        return cls([a, b, target], settings, margins, notes, told)

    def with_redundancy(
        self, local: NDArray[np.float64], method: str, branches: Sequence[NDArray[np.float64]] = ()
    ) -> Decomposition:
        """The decomposition of local redundancy [n]; intervals include the plausible branches of kinks."""
        settings = replace(self.settings, margins=self.margins)
        everyone = np.ones(len(local), bool)

        def redundancy(values: NDArray[np.float64]) -> Estimate:
            return finished(values, everyone, settings.k, method, settings, True, self.notes)

        own = redundancy(local)
        apart = [(other, own - other) for other in map(redundancy, branches)]
        possible = [other for other, difference in apart if difference.low <= 0.0 <= difference.high]
        found = from_redundancy(self.informations, own)
        rows = [found, *(from_redundancy(self.informations, other) for other in possible)]
        reached = [
            replace(terms[0], interval=(min(one.low for one in terms), max(one.high for one in terms)))
            for terms in zip(*(row[:4] for row in rows))
        ]
        return Decomposition(*reached, found.gap)


def _radius(joint: list[Variable], k: int, search: dict[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """How far the k-th neighbour in either of two spaces is, at the nearer of its places, and its number [n]: k, or
    fewer where a category has fewer."""
    found = [nearest(side.continuous, k, side.codes, **search) for side in joint]
    ids = np.hstack([one.ids for one in found])
    distances = np.hstack([one.distances for one in found])
    order = np.lexsort((distances, ids))  # of a row that is near in both spaces, the nearer place comes first
    ids, distances = (np.take_along_axis(of, order, axis=1) for of in (ids, distances))
    distances[:, 1:][ids[:, 1:] == ids[:, :-1]] = np.inf
    distances = np.sort(distances, axis=1)
    own = np.minimum(k, np.isfinite(distances).sum(axis=1))
    return np.take_along_axis(distances, own[:, None] - 1, axis=1)[:, 0], own
