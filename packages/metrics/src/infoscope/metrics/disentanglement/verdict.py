"""Where each factor is: in one column, in several, in none, or only in several together; in a sentence.

A column holds a factor if it alone carries more than a share `HOLDS` of the factor's bits, by the lower end of an
interval that is valid for all pairs of factor and column at once (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators.result import LEVEL, Estimate, quantile, root_sum_squares
from infoscope.metrics.factor_information.result import OF_ENTROPY, FactorInformation
from infoscope.metrics.report import listed, share

HOLDS = 0.1  # share of a factor's bits beyond which a column holds it
ONE, COPIED, SPREAD, TOGETHER, THROUGH, TRACE, MISSING = (
    "one", "copied", "spread", "together", "through", "trace", "missing"
)  # fmt: skip
SENTENCES = {  # kind -> as a sentence, as a clause after the factor's name
    ONE: ("{factor} is in {columns}", "which is in {columns}"),
    COPIED: ("{factor} is in {first} and again in {others}", "which is in {first} and again in {others}"),
    SPREAD: ("{factor} is spread over {columns}", "which {columns} share"),
    TOGETHER: ("{factor} is only in {columns} together", "which {columns} carry only together"),
    THROUGH: ("{factor} has no column of its own", "which has no column of its own"),
    TRACE: ("of {factor} only {share} is found", "of which only {share} is found"),
    MISSING: ("{factor} is found in no column", "which is found in no column"),
}
MANY = "many columns"  # none of which carries much by itself
OTHERS = "other columns"
Beyond = Callable[[int, int, int], bool]
"""Whether the information of a column l about a factor k goes beyond what k shares with another factor m."""


@dataclass(frozen=True)
class Place:
    """Where one factor is.

    kind     one of the kinds above
    columns  those that hold it, the largest share first; of SPREAD and TOGETHER, in order, also those without which
             some of it is lost
    share    of H(factor) that all columns together carry
    through  column -> the factor through which alone it informs about this one
    """

    factor: str
    kind: str
    columns: tuple[str, ...]
    share: Estimate
    through: Mapping[str, str]

    def written(self, clause: bool = False) -> str:
        """The place as a sentence without its full stop, or as a clause after the factor's name."""
        several = self.kind in (SPREAD, TOGETHER)
        names = [*self.columns, OTHERS] if several and len(self.columns) == 1 else self.columns
        columns = listed(names, 6) or MANY
        parts = {"columns": columns, "first": "", "others": "", "share": share(self.share)}
        if self.kind == COPIED:
            parts |= {"first": self.columns[0], "others": listed(self.columns[1:], 6)}
        return SENTENCES[self.kind][clause].format(factor=self.factor, **parts)


def places_of(information: FactorInformation, beyond: Beyond = lambda k, column, other: True) -> list[Place]:
    """The place of every factor, from shares of H(factor) on held-out items.

    InfoscopeError: a factor without entropy, such as numbers.
    """
    shares, deviations = information.shares()
    count = len(information.latents)
    reach = _reach(len(deviations), len(shares) * (count + 1))
    lower = shares - reach * root_sum_squares(deviations)
    holds, through = _held(shares[:, :count], lower[:, :count] > HOLDS, beyond)
    places = []
    for k, factor in enumerate(information.factors):
        part = _Shares(shares[k], deviations[:, k], reach)
        kind, columns = _kind(part, holds[k], k in through)
        names = tuple(information.latents[column] for column in columns)
        others = {information.latents[column]: information.factors[m] for column, m in through.get(k, {}).items()}
        places.append(Place(factor, kind, names, part.joint(information), others))
    return places


@dataclass(frozen=True, eq=False)
class _Shares:
    """Shares of one factor's bits [2 L + 1], deviations [g, 2 L + 1], and how many standard errors are sure."""

    values: NDArray[np.float64]
    deviations: NDArray[np.float64]
    reach: float

    @property
    def count(self) -> int:
        return len(self.values) // 2

    def surely(self, weights: NDArray[np.float64], least: float = HOLDS) -> bool:
        """Whether a weighted sum of the shares is surely above a value."""
        value = self.values @ weights
        return bool(value - self.reach * root_sum_squares(self.deviations @ weights) > least)

    def joint(self, information: FactorInformation) -> Estimate:
        """The share of all columns together."""
        error = root_sum_squares(self.deviations[:, -1])
        return Estimate(float(self.values[-1]), error, OF_ENTROPY, information.n, information.method)


def _kind(part: _Shares, holds: NDArray[np.bool_], through: bool) -> tuple[str, Sequence[int]]:
    """The kind of a place and its columns."""
    alone, count = part.values[: part.count], part.count
    unit = np.eye(2 * count + 1)
    best = int(alone.argmax())
    more = part.surely(unit[-1] - unit[best])  # others add to the best column
    members = [column for column in alone.argsort()[::-1] if holds[column]]
    if members and not more:
        return (ONE if len(members) == 1 else COPIED), members
    if through and not more:
        return THROUGH, ()
    if not part.surely(unit[-1]):
        return (TRACE if part.surely(unit[-1], 0.0) else MISSING), ()
    if not more and alone[best] >= part.values[-1] / 2:
        return ONE, [best]
    needed = [column for column in range(count) if part.surely(unit[-1] - unit[count + column])]
    if not members and part.surely(unit[-1] - unit[:count].sum(axis=0)):
        return TOGETHER, needed
    return SPREAD, sorted({*members, *needed})


def _reach(units: int, tests: int) -> float:
    """Standard errors of an interval that is valid for all tests at once."""
    degrees = units - 1 if units > 1 else math.inf
    return quantile(degrees, 1.0 - (1.0 - LEVEL) / tests)


def _held(
    alone: NDArray[np.float64], holds: NDArray[np.bool_], beyond: Beyond
) -> tuple[NDArray[np.bool_], dict[int, dict[int, int]]]:
    """Which column holds which factor [K, L], without what follows from another factor; by factor, column -> other."""
    holds, through = holds.copy(), {}
    for column in range(holds.shape[1]):
        for k in alone[:, column].argsort():  # the smallest share first
            others = [m for m in np.flatnonzero(holds[:, column]) if m != k]
            known = next((m for m in others if holds[k, column] and not beyond(int(k), column, int(m))), None)
            if known is not None:
                holds[k, column] = False
                through.setdefault(int(k), {})[column] = int(known)
    return holds, through


def verdict(places: Sequence[Place]) -> str:
    """Where the factors are, in a sentence."""
    alone = [place for place in places if place.kind == ONE]
    others = [place for place in places if place.kind != ONE]
    mixed = mixed_columns(places)
    held = listed(f"{place.factor} in {place.columns[0]}" for place in alone)
    if not others and not mixed:
        return f"Each factor is in one column of its own: {held}."
    if not others:
        return f"Each factor is in one column, but {_mixtures(mixed)}."
    if not alone and len({place.kind for place in others}) == 1 and len(places) > 1:
        return _alike(others)
    if len(alone) > len(others):
        clauses = [f"{place.factor}, {place.written(clause=True)}" for place in others]
        return f"Each factor is in one column but {'; '.join(clauses)}." + _also(mixed)
    if not alone:
        return f"No factor is in one column: {'; '.join(place.written() for place in others)}."
    start = f"{len(alone)} of {len(places)} factors {'is' if len(alone) == 1 else 'are'} in one column ({held})"
    return f"{'; '.join([start, *(place.written() for place in others)])}." + _also(mixed)


def _alike(places: Sequence[Place]) -> str:
    """The sentence on factors that are all in places of one kind."""
    first = places[0]
    if first.kind == MISSING:
        return "No factor is found in the columns."
    if first.kind == SPREAD and len({frozenset(place.columns) for place in places}) == 1:
        return f"No factor is in one column: each is spread over {listed(sorted(first.columns), 6) or MANY}."
    start = "Each factor is in more than one column" if first.kind == COPIED else "No factor is in one column"
    return f"{start}: {'; '.join(place.written() for place in places)}."


def mixed_columns(places: Sequence[Place]) -> dict[str, list[str]]:
    """Columns that hold more than one factor, with these."""
    factors: dict[str, list[str]] = {}
    for place in places:
        for column in place.columns if place.kind != TOGETHER else ():
            factors.setdefault(column, []).append(place.factor)
    return {column: held for column, held in factors.items() if len(held) > 1}


def _mixtures(mixed: dict[str, list[str]]) -> str:
    return "; ".join(f"{column} holds {listed(factors)}" for column, factors in mixed.items())


def _also(mixed: dict[str, list[str]]) -> str:
    return f" {_mixtures(mixed)}." if mixed else ""
