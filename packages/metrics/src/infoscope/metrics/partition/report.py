"""The report of a partition: estimates, scores, tests, a table and sentences; and
differences between models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from infoscope.errors import Conflict, InvalidInput, OutOfRange, UnknownName
from infoscope.estimators.result import LEVEL, Estimate, quantile
from infoscope.metrics.leaks import Unwanted, leaks
from infoscope.metrics.partition.blocks import (
    BOTH,
    LEAKY,
    OWNERS,
    REST,
    SHARED,
    Block,
    Term,
)
from infoscope.metrics.partition.terms import CLASSIFIER, NEIGHBOURS, POSTERIOR
from infoscope.metrics.pid import ROUNDING
from infoscope.metrics.report import Report, ReportRow, blocks_and_widths
from infoscope.notebook import axes, intervals

Codes = NDArray[np.int64]

_DIFFERENCES = [
    "quantity",
    "a",
    "b",
    "difference",
    "standard_error",
    "low",
    "high",
    "unit",
    "n",
    "groups",
    "p_value",
]
# how the score "seed" is printed, where a seed would be taken for a random one
OLD_SUM = "old sum"
SAYS = {  # score -> its meaning, in a few words
    "unique": "each label by its own block alone and nothing else: 0 to 1",
    "unique_y_raw": "of Y, not clipped at 0",
    "unique_d_raw": "of D, not clipped at 0",
    "unique_without_z_dy": "as if z_dy did not exist",
    "sufficiency": "share of H(Y,D) in all blocks together",
    "co-information(z_dy;Y;D)": "above 0: redundancy prevails; below 0: synergy",
    "seed": f"the {OLD_SUM}, of terms in nats",
    "seed_bits": f"the {OLD_SUM}, of terms in bits",
    "seed_ceiling": f"no partition of these labels has a larger {OLD_SUM} in nats",
}
SEED_LIMITS = (
    "The constants of the old score (typical entropy 2.5, three terms) do not depend "
    "on these labels; it rewards "
    "co-information, which cannot exceed I(Y;D); it ignores Y or D alone in z_dy, and "
    "counts an absent block as 0."
)
_POSTERIOR_LIMITS = (
    "Not shown: what predictors that see finite means could use. A draw identifies "
    "its row if the posteriors of rows "
    "do not overlap; every block then carries everything. Other rows: these are the "
    "population, so chance differences "
    "between classes are information, and a block without any is above 0 here. Errors "
    "also include the sampling of "
    "rows, and so are larger than errors over draws alone."
)
_LIMITS = (
    "the bias of nearest-neighbour quantities. It is larger for wide blocks than for "
    "narrow ones, which raises the "
    "score unique. Use the classifier's.",
    "what another family could use. The Shannon information of a deterministic "
    "encoder is all or nothing; "
    "leakage here is the information that this family can use.",
    "what more training rows would add. Learning w weights from m rows or groups "
    "costs up to .72 w / m bits "
    "(Akaike 1974): scores by the classifier can be too low by that, and their "
    "intervals do not include it.",
    "the chance in the training sets of the classifiers. Errors by the classifier can "
    "be 40 % too small for a "
    "block that carries next to nothing: use the permutation tests there.",
    "anything about other trainings of this model: errors are over rows, for one "
    "trained model. Compare models by "
    "`compare`, not by whether intervals overlap.",
)


@dataclass(frozen=True)
class NullTest:
    """A permutation test of zero information, by nearest neighbours; p_holm is adjusted
    for all tests (Holm 1979).
    """

    p_value: float
    p_holm: float
    exchanged: str

    def __str__(self) -> str:
        if not isfinite(self.p_value):
            return f"= 0 could not be tested: {self.exchanged}"
        return (
            f"= 0: p = {self.p_value:.3g}, {self.p_holm:.3g} after Holm (permuting "
            f"{self.exchanged})"
        )


class Items(NamedTuple):
    """Which items were evaluated: codes of labels and groups, each [n]."""

    y: Codes
    d: Codes
    groups: Codes


@dataclass(frozen=True, eq=False, repr=False)
class PartitionReport(Report):
    """The quality of a partition of a representation, by one or more routes.

    figures   route -> quantity -> Estimate, nats
    shares    route -> score -> Estimate; most are shares of H
    tests     quantity -> permutation test of its being 0
    items     for comparisons; None of a posterior
    """

    blocks: Mapping[str, int]
    n: int
    groups: int
    figures: Mapping[str, Mapping[str, Estimate]]
    shares: Mapping[str, Mapping[str, Estimate]]
    tests: Mapping[str, NullTest]
    settings: Mapping[str, Any]
    items: Items | None

    @property
    def routes(self) -> tuple[str, ...]:
        return tuple(self.figures)

    @property
    def main(self) -> str:
        """The route to believe where there are several: the classifier's, whose terms
        add up.
        """
        return CLASSIFIER if CLASSIFIER in self.figures else self.routes[0]

    def scores(self, route: str | None = None) -> dict[str, Estimate]:
        """The scores of a route by name; None is `main`. ValueError for a route that
        was not taken.

        seed, seed_bits         the old sum, of terms in nats or in bits; seed_ceiling: its maximum, in nats
        unique                  PQ = sqrt(unique_y unique_d); names in _raw are not clipped at 0
        ..._without_z_dy        the same as if z_dy did not exist
        """
        if route is not None and route not in self.shares:
            raise UnknownName(
                f"route must be one of {list(self.shares)}, got {route!r}."
            )
        return dict(self.shares[route or self.main])

    @property
    def record(self) -> list[ReportRow]:
        """Every quantity and score by every route; tested nearest-neighbour quantities
        are marked.
        """
        rows = []
        for route in self.routes:
            estimates = {**self.figures[route], **self.shares[route]}
            for name, estimate in estimates.items():
                meaning = SAYS.get(name, "")
                if route == NEIGHBOURS and name in self.tests:
                    meaning = str(self.tests[name])
                rows.append(ReportRow(name, estimate, {"route": route}, meaning))
        return rows

    @property
    def answers(self) -> list[str]:
        """Leaks and remedies in sentences, or upper limits if no leak is detected.

        A leak is information whose 95 % interval lies above 0.
        """
        unwanted = []
        for block in LEAKY:
            information = self._leak_of(block)
            if information is not None:
                target, condition = block.leak
                entropy = self.figures[self.main][Term((), *block.leak).name]
                labels = " and ".join(target.upper())
                if condition:
                    labels += f" given {condition.upper()}"
                unwanted.append(Unwanted(block.name, labels, information, entropy.bits))
        unwanted.sort(key=lambda leak: -leak.information.value)
        single = [block for block, width in self.blocks.items() if width == 1]
        return leaks(unwanted, single)

    def _leak_of(self, block: Block) -> Estimate | None:
        """The unwanted information of a block, bits, by the main route; None without a
        value.

        By nearest neighbours if only these detect any: by the permutation test, and by
        the interval that holds for all quantities of both routes at once (Bonferroni).
        If none is detected, the interval extends to the larger upper limit of the two
        routes.
        """
        name = block.term(block.leak).name
        information = self.figures[self.main].get(name)
        if information is None or not isfinite(information.value):
            return None
        if information.low > ROUNDING:
            return information.bits
        neighbours = self.figures.get(NEIGHBOURS, {}).get(name, information)
        rejected = False
        for part in block.parts:
            test = self.tests.get(block.term(part).name)
            if test is not None and test.p_holm < 1.0 - LEVEL:
                rejected = True
        level = 1.0 - (1.0 - LEVEL) / (2 * len(LEAKY))
        errors = quantile(neighbours.degrees, level)
        if rejected and neighbours.value > errors * neighbours.standard_error:
            return neighbours.bits
        high = max(information.high, neighbours.high)
        return replace(information, interval=(information.low, high)).bits

    @property
    def text(self) -> pd.DataFrame:
        """The scores by the route `main`, and the tests, each with its meaning."""
        cells = {(row.of["route"], row.what): row.cells() for row in self.record}
        scores = [(self.main, name) for name in SAYS]
        tests = [(NEIGHBOURS, name) for name in self.tests]
        return pd.DataFrame(
            [cells[place] for place in (*scores, *tests) if place in cells]
        )

    @property
    def caption(self) -> str:
        """What was measured of which blocks, and how."""
        settings = ", ".join(
            f"{name}: {value}" for name, value in self.settings.items()
        )
        return (
            f"Partition into blocks (columns) {blocks_and_widths(self.blocks)}; "
            f"{settings}; 95 % intervals."
        )

    @property
    def doubts(self) -> list[str]:
        """What the numbers do not show."""
        limits = []
        if NEIGHBOURS in self.routes:
            limits += [f"Not shown: {limit}" for limit in _LIMITS]
        if POSTERIOR in self.routes:
            limits.append(_POSTERIOR_LIMITS)
        return [*limits, SEED_LIMITS]

    @property
    def more(self) -> dict[str, pd.DataFrame]:
        """Every quantity and score by every route."""
        return {"Every quantity and score": super().text}

    def plot(self, ax: Any = None) -> Any:
        """Draws what blocks hold of Y and D by the route `main`, bits, with 95 %
        intervals; the matplotlib axes.
        """
        ax = axes(ax)
        figures = self.figures[self.main]
        terms = []
        for block in OWNERS:
            terms += [block.term(block.wanted), block.term(block.leak)]
        terms += [REST.term(BOTH), SHARED.term(BOTH)]
        names = []
        for term in terms:
            if term.name in figures and isfinite(figures[term.name].value):
                names.append(term.name)
        intervals(ax, names, [figures[name].bits for name in names])
        title = f"{self.main}, n = {self.n:,}"
        if self.groups < self.n:
            title += f" in {self.groups:,} groups"
        ax.set_title(title)
        return ax


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p values (Holm 1979): family-wise error at most alpha under any
    dependence. NaN stays NaN.
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    order = np.argsort(p)[: int(np.isfinite(p).sum())]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def compare(reports: Mapping[str, PartitionReport]) -> pd.DataFrame:
    """Paired differences a - b of every quantity and score between models that were
    evaluated on the same items, by the classifier: error robust to groups, 95 %
    interval, two-sided p value, and Holm-adjusted p. Errors are over items; where
    neither block carries information, p < .05 occurs about twice as often as it should.

    ValueError: fewer than two reports; other items, labels or groups; no classifier
    route; other families or folds.
    """
    if len(reports) < 2:
        raise OutOfRange(f"reports must be at least two, got {len(reports)}.")
    first, *others = reports
    items = {}
    for name, report in reports.items():
        if report.items is None or CLASSIFIER not in report.figures:
            raise InvalidInput(
                f"report {name!r} must have the classifier route, got "
                f"{list(report.routes)}."
            )
        items[name] = report.items
    for name in others:
        if not all(map(np.array_equal, items[first], items[name])):
            raise Conflict(
                f"reports must be of the same rows, but labels or groups of {name!r} "
                f"differ from {first!r}."
            )
        for setting in ("family", "folds"):
            ours = reports[first].settings[setting]
            theirs = reports[name].settings[setting]
            if ours != theirs:
                raise InvalidInput(
                    f"reports must have one {setting}, got {ours!r} in {first!r} and "
                    f"{theirs!r} in {name!r}."
                )
    rows = []
    for a, b in combinations(reports, 2):
        rows += differences(a, b, reports[a], reports[b])
    table = pd.DataFrame(rows, columns=_DIFFERENCES)
    table["p_holm"] = holm(table["p_value"])
    return table


def differences(
    name_a: str, name_b: str, a: PartitionReport, b: PartitionReport
) -> list[dict[str, Any]]:
    """A row for each figure that both reports have with a linearised error and that
    does not agree by construction.
    """
    estimates_a = {**a.figures[CLASSIFIER], **a.shares[CLASSIFIER]}
    estimates_b = {**b.figures[CLASSIFIER], **b.shares[CLASSIFIER]}
    rows = []
    for quantity, of_a in estimates_a.items():
        of_b = estimates_b.get(quantity)
        if of_b is None or of_a.influence is None or of_b.influence is None:
            continue
        difference = of_a - of_b
        error = difference.standard_error
        # entropies of labels, gaps of the chain rule: the same for every model
        if not error > 1e-12:
            continue
        p_value = 2.0 * stats.t.sf(abs(difference.value) / error, difference.degrees)
        values = [
            quantity,
            name_a,
            name_b,
            difference.value,
            error,
            difference.low,
            difference.high,
            of_a.unit,
            a.n,
            a.groups,
            float(p_value),
        ]
        rows.append(dict(zip(_DIFFERENCES, values)))
    return rows
