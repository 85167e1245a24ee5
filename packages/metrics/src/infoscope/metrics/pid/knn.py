"""k-nearest-neighbour estimates of decompositions, with local values; nats.

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
    as_sample,
    class_sizes,
    finished,
    of_kept,
    others_and_self,
    pair,
    require_classes,
    without_singletons,
)
from infoscope.estimators.knn.search import count_within, nearest
from infoscope.estimators.result import Estimate
from infoscope.estimators.scales import prepared
from infoscope.estimators.variables import Variable, join
from infoscope.metrics.pid.terms import Decomposition, either_specific, from_redundancy, least_specific


def shared_exclusion(
    a: Any, b: Any, target: Any, k: int = 5, margins: str = "rank", groups: Any = None
) -> Decomposition:
    """The decomposition of Ehrlich et al. 2024, Estimates in nats with their local values; terms may be below 0.

    a, b, target  numbers [n] or [n, d], a and b of one d; numbers or categories
    margins  "rank": unchanged by monotone maps of columns; "scaled" or "given" where relative scales matter
    k, groups  as in `knn.mutual_information`

    Local redundancy is psi(k) + psi(n) - psi(n_t) - psi(n_u); for target categories n_t is their size (Ross 2014).
    ValueError: as `knn.mutual_information`; sources of different dimensions; rows with k others at distance 0.
    """
    known = _Known.of(a, b, target, k, margins, groups)
    a, b, target = known.variables
    for name, source in (("a", a), ("b", b)):
        if source.kind != "continuous":
            raise WrongType(f"{name} must be numbers, got categories; wrap numbers in Continuous.")
    if a.dim != b.dim:
        raise WrongLength(
            f"a and b must have the same number of columns, got {a.dim} and {b.dim}: densities of different "
            "dimensions cannot be added."
        )
    if target.kind == "mixed":
        raise WrongType("target must be numbers or categories, got columns of both.")
    search = {"groups": known.settings.groups}
    radius, own = _radius([join(source, target) for source in (a, b)], k, search)
    if not radius.all():
        raise OutOfRange(
            f"a and b must not have repeated values, got {np.sum(radius == 0)} rows with k = {k} others at distance 0 "
            "in a source and the target. For categories use a table of probabilities; else break ties with "
            "variables.jitter."
        )
    inside = [count_within(one.continuous, radius, **search) for one in (a, b, join(a, b))]
    if target.dim:
        of_target = 1 + count_within(target.continuous, radius, **search)
    else:
        of_target = class_sizes(target, known.settings.groups)
    values = digamma(own) + digamma(others_and_self(target.n, known.settings.groups))
    values = values - digamma(of_target) - digamma(1 + inside[0] + inside[1] - inside[2])
    return known.decomposition(values, "shared exclusions")


def williams_beer_from_arrays(
    a: Any, b: Any, target: Any, k: int = 5, margins: str = "auto", groups: Any = None
) -> Decomposition:
    """`williams_beer` of sources of any type and dimension and a target of categories, Estimates in nats.

    After Barà, Antonacci, Iovino, Lazic & Faes 2024, here from the local values of `knn.mutual_information`, whose
    arguments and errors these are. Where a and b carry about equal information, intervals include both branches of the
    minimum.
    """
    known = _Known.of(a, b, target, k, margins, groups)
    target = known.variables[2]
    if target.kind != "discrete":
        raise WrongType(f"target must be categories, got {target.dim} columns of numbers; wrap labels in Discrete.")
    of_a, of_b = (information.local for information in known.informations[:2])
    branches = [np.where(rows, of_b, of_a) for rows in either_specific(of_a, of_b, target.codes)]
    return known.decomposition(least_specific(of_a, of_b, target.codes), "least specific information", branches)


@dataclass(frozen=True, eq=False)
class _Known:
    """a, b and the target at common scales, without rows alone in their class, and their mutual informations."""

    variables: list[Variable]
    settings: Settings
    margins: str
    notes: tuple[str, ...]
    informations: tuple[Estimate, ...]

    @classmethod
    def of(cls, a: Any, b: Any, target: Any, k: int, margins: str, groups: Any) -> _Known:
        given, settings = as_sample({"a": a, "b": b, "target": target}, k, margins, groups)
        kept, notes = without_singletons(join(*given.values()), settings.groups)
        a, b, target = (prepared(one, margins, name).take(kept) for name, one in given.items())
        require_classes(kept, a=a, b=b, target=target)
        settings = replace(settings, margins="given", groups=of_kept(settings.groups, kept))
        informations = tuple(pair(source, target, settings, local=True) for source in (a, b, join(a, b)))
        return cls([a, b, target], settings, margins, notes, informations)

    def decomposition(
        self, local: NDArray[np.float64], method: str, branches: Sequence[NDArray[np.float64]] = ()
    ) -> Decomposition:
        """The decomposition from local redundancy [n]; intervals include the plausible branches at kinks."""
        settings = replace(self.settings, margins=self.margins)
        everyone = np.ones(len(local), bool)

        def redundancy(values: NDArray[np.float64]) -> Estimate:
            return finished(values, everyone, settings.k, method, settings, True, self.notes)

        own = redundancy(local)
        differences = [(other, own - other) for other in map(redundancy, branches)]
        possible = [other for other, difference in differences if difference.low <= 0.0 <= difference.high]
        found = from_redundancy(self.informations, own)
        rows = [found, *(from_redundancy(self.informations, other) for other in possible)]
        terms_with_hulls = [
            replace(terms[0], interval=(min(one.low for one in terms), max(one.high for one in terms)))
            for terms in zip(*(row[:4] for row in rows))
        ]
        return Decomposition(*terms_with_hulls, found.gap)


def _radius(joint: list[Variable], k: int, search: dict[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Distance of the k-th neighbour over two spaces, of each row the smaller of both, and k [n], or fewer where a
    category has fewer rows."""
    found = [nearest(one.continuous, k, one.codes, **search) for one in joint]
    ids = np.hstack([one.ids for one in found])
    distances = np.hstack([one.distances for one in found])
    order = np.lexsort((distances, ids))  # of a row that is near in both spaces, the smaller distance comes first
    ids, distances = (np.take_along_axis(of, order, axis=1) for of in (ids, distances))
    distances[:, 1:][ids[:, 1:] == ids[:, :-1]] = np.inf
    distances = np.sort(distances, axis=1)
    own = np.minimum(k, np.isfinite(distances).sum(axis=1))
    return np.take_along_axis(distances, own[:, None] - 1, axis=1)[:, 0], own
