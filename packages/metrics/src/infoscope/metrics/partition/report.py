"""What an evaluation of a partition found, as a table, scores, words and plain values; and differences of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from infoscope.errors import Conflict, InvalidInput, OutOfRange, UnknownName
from infoscope.estimators.result import Estimate
from infoscope.metrics.partition.terms import CLASSIFIER, NEIGHBOURS
from infoscope.metrics.partition.words import summary

COLUMNS = [
    "quantity", "route", "value", "standard_error", "low", "high", "unit", "n", "groups", "p_value", "p_holm", "note",
]  # fmt: skip

_DIFFERENCES = [
    "quantity", "a", "b", "difference", "standard_error", "low", "high", "unit", "n", "groups", "p_value",
]  # fmt: skip


@dataclass(frozen=True)
class NullTest:
    """A permutation test of "this information is 0", by the neighbour estimate.

    p_value    of this test alone; NaN where nothing could be exchanged
    p_holm     adjusted for all tests of the report (Holm 1979)
    exchanged  what was permuted
    """

    p_value: float
    p_holm: float
    exchanged: str


@dataclass(frozen=True, eq=False)
class Items:
    """Which items were evaluated: codes of labels and groups, each [n]."""

    y: NDArray[np.int64]
    d: NDArray[np.int64]
    groups: NDArray[np.int64]

    def same(self, other: Items) -> bool:
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ("y", "d", "groups"))


@dataclass(frozen=True, eq=False)
class PartitionReport:
    """The quality of a partition of a representation, by one or more routes.

    blocks    name -> columns, of the blocks that are present
    n, groups rows, and groups of rows that depend on one another
    figures   route -> quantity -> Estimate, nats
    shares    route -> score -> Estimate; most are shares of what there is to know
    tests     quantity -> permutation test of its being 0
    settings  how it was measured
    items     for comparisons; None for an exact law
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
        """The route to believe where there are several: the classifier's, whose terms add up."""
        return CLASSIFIER if CLASSIFIER in self.figures else self.routes[0]

    def scores(self, route: str | None = None) -> dict[str, Estimate]:
        """The scores of a route by name; None is `main`.

        seed, seed_bits         the old sum, of terms in nats or in bits; seed_ceiling: the most it can be, in nats
        unique                  PQ = sqrt(unique_y unique_d), with z_dy counted among the rest
        unique_y, unique_d      PQ_Y and PQ_D; those ending in _raw are not clipped at 0
        ..._without_z_dy        the same as if z_dy did not exist
        leakage_of_..., residual_in_z_x, sufficiency, synergy_of_z_dy, redundancy_of_z_dy     to be read beside them
        unique_low(z_y;Y|D) ... six bounds of partial information, block against rest, nats

        ValueError for a route that was not taken.
        """
        if route is not None and route not in self.shares:
            raise UnknownName(f"route must be one of {list(self.shares)}, got {route!r}.")
        return dict(self.shares[route or self.main])

    def table(self) -> pd.DataFrame:
        """One row for each quantity or score and route, with the columns `COLUMNS`; p values are those of the tests."""
        rows = []
        for route in self.routes:
            for name, figure in (*self.figures[route].items(), *self.shares[route].items()):
                test = self.tests.get(name) if route == NEIGHBOURS else None
                permuted = (f"p by permuting {test.exchanged}.",) if test and test.exchanged else ()
                rows.append([
                    name, route, figure.value, figure.standard_error, figure.low, figure.high, figure.unit, self.n,
                    self.groups, test.p_value if test else np.nan, test.p_holm if test else np.nan,
                    " ".join((*permuted, *figure.notes)),
                ])  # fmt: skip
        return pd.DataFrame(rows, columns=COLUMNS)

    def summary(self) -> str:
        """What was found, in plain words, with what it does not show."""
        return summary(self)

    __str__ = summary

    def to_json(self) -> dict[str, Any]:
        """Everything but the pointwise values, as plain numbers, strings and dicts; None where there is no number."""
        records = self.table().astype(object).to_dict("records")
        plain = [{name: None if _no_number(value) else value for name, value in record.items()} for record in records]
        return {
            "blocks": dict(self.blocks),
            "n": self.n,
            "groups": self.groups,
            "settings": dict(self.settings),
            "rows": plain,
            "summary": self.summary(),
        }


def _no_number(value: Any) -> bool:
    return isinstance(value, float) and not np.isfinite(value)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p values (Holm 1979): the chance that any is falsely below alpha is at most alpha, however they depend.

    NaN stays NaN and is not counted as a test.
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    order = np.argsort(p)[: int(np.isfinite(p).sum())]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    return adjusted


def compare(reports: Mapping[str, PartitionReport]) -> pd.DataFrame:
    """Paired differences of every quantity and score between models that were evaluated on the same items.

    Every pair (a, b) of reports, a - b, by the classifier route: the mean of pointwise differences, its standard error
    robust to groups, a 95 % interval, the two-sided p value of no difference, and that value adjusted over all rows of
    the result (Holm 1979). Never by whether two intervals overlap: the items are the same, so errors are not
    independent. The errors are over items: they say how these trained models differ, not how their training methods
    do, for which models must be trained with several seeds. They leave out the chance in the training sets of the
    classifiers: where neither of two blocks tells anything, .05 is undercut about twice as often as it should be.

    Where either figure has no linearised error (clipped scores), there is no row but that of the raw one; nor where
    the two are the same by construction.

    ValueError: fewer than two reports; other items, labels or groups in one of them; no classifier route; other
    families or folds.
    """
    if len(reports) < 2:
        raise OutOfRange(f"reports must be at least two, got {len(reports)}.")
    first, *rest = reports
    for name, report in reports.items():
        if report.items is None or CLASSIFIER not in report.figures:
            raise InvalidInput(f"report {name!r} must have the classifier route, got {list(report.routes)}.")
    for name in rest:
        if not reports[first].items.same(reports[name].items):
            raise Conflict(f"reports must be of the same rows, but labels or groups of {name!r} differ from {first!r}.")
        for setting in ("family", "folds"):
            ours, theirs = reports[first].settings[setting], reports[name].settings[setting]
            if ours != theirs:
                raise InvalidInput(
                    f"reports must have one {setting}, got {ours!r} in {first!r} and {theirs!r} in {name!r}."
                )
    rows = [row for a, b in combinations(reports, 2) for row in differences(a, b, reports[a], reports[b])]
    found = pd.DataFrame(rows, columns=_DIFFERENCES)
    found["p_holm"] = holm(found["p_value"])
    return found


def differences(name_a: str, name_b: str, a: PartitionReport, b: PartitionReport) -> list[dict[str, Any]]:
    """A row for each figure that both reports have with a linearised error and that does not agree by construction."""
    every_a, every_b = ({**r.figures[CLASSIFIER], **r.shares[CLASSIFIER]} for r in (a, b))
    rows = []
    for quantity in every_a:
        one, other = every_a[quantity], every_b.get(quantity)
        if other is None or one.influence is None or other.influence is None:
            continue
        found = one - other
        if not found.standard_error > 1e-12:  # entropies of labels, gaps of the chain rule: the same for every model
            continue
        rows.append({
            "quantity": quantity, "a": name_a, "b": name_b, "difference": found.value,
            "standard_error": found.standard_error, "low": found.low, "high": found.high, "unit": one.unit, "n": a.n,
            "groups": a.groups,
            "p_value": float(2.0 * stats.t.sf(abs(found.value) / found.standard_error, found.degrees)),
        })  # fmt: skip
    return rows
