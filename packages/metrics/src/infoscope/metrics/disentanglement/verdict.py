"""Where each factor is: in one column, in several, in none, or only in several
together; in a sentence.

A column holds a factor if it alone carries more than a share `HOLDS` of the factor's
bits, by the lower end of an interval that is valid for all pairs of factor and column
at once (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators.result import LEVEL, Estimate, quantile, root_sum_squares
from infoscope.metrics.factor_information.result import OF_ENTROPY, FactorInformation
from infoscope.metrics.report import listed, percent

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]

HOLDS = 0.1  # share of a factor's bits beyond which a column holds it
WHOLLY = 0.95  # share from which a factor is wholly in a column
MOSTLY = 0.5
ONE = "in one column"
COPIED = "in several, copied"
SPREAD = "spread"
TOGETHER = "only together"
THROUGH = "through another factor"
TRACE = "a trace"
MISSING = "not found"
SENTENCES = {
    ONE: "{factor} is {first}",
    COPIED: "{factor} is {first}, and {again}",
    SPREAD: "{factor} is spread over {columns}, {joint} in all columns together",
    TOGETHER: "{factor} is only in {names} together ({joint})",
    THROUGH: "{factor} has no column of its own",
    TRACE: "only {joint} of {factor} is found",
    MISSING: "{factor} is found in no column",
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
    joint    share of H(factor) that all columns together carry
    shares   column -> share of H(factor) that it carries alone
    through  column -> the factor through which alone it informs about this one
    """

    factor: str
    kind: str
    columns: tuple[str, ...]
    joint: Estimate
    shares: Mapping[str, Estimate]
    through: Mapping[str, str]

    @property
    def first(self) -> str:
        """The column of the largest share: wholly in z1 (98 %)."""
        share = self.shares[self.columns[0]]
        extent = "partly"
        if share.value >= MOSTLY:
            extent = "mostly"
        if share.value >= WHOLLY:
            extent = "wholly"
        return f"{extent} in {self.columns[0]} ({percent(share)})"

    @property
    def written(self) -> str:
        """The place as a sentence without its full stop."""
        names = list(self.columns)
        columns = [f"{name} ({percent(self.shares[name])})" for name in names]
        if len(names) == 1:
            names.append(OTHERS)
            columns.append(OTHERS)
        again = [
            f"{percent(self.shares[name])} of it again in {name}"
            for name in self.columns[1:]
        ]
        return SENTENCES[self.kind].format(
            factor=self.factor,
            first=self.first if self.columns else "",
            again=listed(again, 6),
            columns=listed(columns, 6) or MANY,
            names=listed(names, 6) or MANY,
            joint=percent(self.joint),
        )


def places_of(
    information: FactorInformation, beyond: Beyond = lambda k, column, other: True
) -> list[Place]:
    """The place of every factor, from shares of H(factor) on held-out items.

    InfoscopeError: a factor without entropy, such as numbers.
    """
    shares, deviations = information.shares()
    latents = information.latents
    count = len(latents)
    errors = _simultaneous_errors(len(deviations), len(shares) * (count + 1))
    lower = shares - errors * root_sum_squares(deviations)
    holds, through = _held(shares[:, :count], lower[:, :count] > HOLDS, beyond)
    places = []
    for k, factor in enumerate(information.factors):
        part = _Shares(shares[k], deviations[:, k], errors)
        kind, columns = _kind(part, holds[k], k in through)
        place = Place(
            factor=factor,
            kind=kind,
            columns=tuple(latents[column] for column in columns),
            joint=part.share(-1, information),
            shares={
                name: part.share(column, information)
                for column, name in enumerate(latents)
            },
            through={
                latents[column]: information.factors[other]
                for column, other in through.get(k, {}).items()
            },
        )
        places.append(place)
    return places


@dataclass(frozen=True, eq=False)
class _Shares:
    """Shares of one factor's bits [2 L + 1], deviations [g, 2 L + 1], and the
    half-width of intervals in errors.
    """

    values: Values
    deviations: Values
    errors: float

    @property
    def count(self) -> int:
        return len(self.values) // 2

    def surely(self, weights: Values, least: float = HOLDS) -> bool:
        """Whether the interval of a weighted sum of the shares lies above a value."""
        value = self.values @ weights
        margin = self.errors * root_sum_squares(self.deviations @ weights)
        return bool(value - margin > least)

    def share(self, column: int, information: FactorInformation) -> Estimate:
        """The share in a column, or in all columns together (-1)."""
        error = root_sum_squares(self.deviations[:, column])
        return Estimate(
            float(self.values[column]),
            error,
            OF_ENTROPY,
            information.n,
            information.method,
        )


def _kind(part: _Shares, holds: Mask, through: bool) -> tuple[str, Sequence[int]]:
    """The kind of a place and its columns."""
    count = part.count
    alone = part.values[:count]
    unit = np.eye(2 * count + 1)
    joint = unit[-1]
    best = int(alone.argmax())
    more = part.surely(joint - unit[best])  # others add to the best column
    members = [column for column in alone.argsort()[::-1] if holds[column]]
    if members and not more:
        return (ONE if len(members) == 1 else COPIED), members
    if through and not more:
        return THROUGH, ()
    if not part.surely(joint):
        return (TRACE if part.surely(joint, 0.0) else MISSING), ()
    if not more and alone[best] >= part.values[-1] / 2:
        return ONE, [best]
    needed = [
        column for column in range(count) if part.surely(joint - unit[count + column])
    ]
    if not members and part.surely(joint - unit[:count].sum(axis=0)):
        return TOGETHER, needed
    return SPREAD, sorted({*members, *needed})


def _simultaneous_errors(groups: int, tests: int) -> float:
    """Half-width, in standard errors, of an interval that is valid for all tests at
    once (Bonferroni).
    """
    degrees = groups - 1 if groups > 1 else math.inf
    return quantile(degrees, 1.0 - (1.0 - LEVEL) / tests)


def _held(
    alone: Values, holds: Mask, beyond: Beyond
) -> tuple[Mask, dict[int, dict[int, int]]]:
    """Which column holds which factor [K, L], without what follows from another factor;
    by factor, column -> other.
    """
    holds = holds.copy()
    through: dict[int, dict[int, int]] = {}
    for column in range(holds.shape[1]):
        for k in alone[:, column].argsort().tolist():  # the smallest share first
            if not holds[k, column]:
                continue
            for other in np.flatnonzero(holds[:, column]).tolist():
                if other != k and not beyond(k, column, other):
                    holds[k, column] = False
                    through.setdefault(k, {})[column] = other
                    break
    return holds, through


def verdict(places: Sequence[Place]) -> str:
    """Where the factors are, each with its share, in a sentence."""
    alone = [f"{place.factor} {place.first}" for place in places if place.kind == ONE]
    others = [place.written for place in places if place.kind != ONE]
    mixed = "; ".join(
        f"{column} holds {listed(factors)}"
        for column, factors in mixed_columns(places).items()
    )
    if not others:
        but = f", but {mixed}" if mixed else " of its own"
        return f"Each factor is in one column{but}: {listed(alone)}."
    if alone:
        are = "is" if len(alone) == 1 else "are"
        start = (
            f"{len(alone)} of {len(places)} factors {are} in one column: "
            f"{listed(alone)}"
        )
        sentence = f"{'; '.join([start, *others])}."
        return f"{sentence} {mixed}." if mixed else sentence
    kinds = {place.kind for place in places}
    if kinds == {MISSING}:
        return "No factor is found in the columns."
    start = (
        "Each factor is in more than one column"
        if kinds == {COPIED}
        else "No factor is in one column"
    )
    return f"{start}: {'; '.join(others)}."


def mixed_columns(places: Sequence[Place]) -> dict[str, list[str]]:
    """Columns that hold more than one factor, with these."""
    factors: dict[str, list[str]] = {}
    for place in places:
        if place.kind == TOGETHER:
            continue
        for column in place.columns:
            factors.setdefault(column, []).append(place.factor)
    return {column: names for column, names in factors.items() if len(names) > 1}
