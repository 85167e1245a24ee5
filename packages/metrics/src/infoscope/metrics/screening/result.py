"""The result of a screen: a table of pairs of columns, a figure, and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from infoscope.estimators.reading.sentences import SERIES_HEADLINE
from infoscope.estimators.result import BITS, Estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.report import amount, listed
from infoscope.names import in_figure
from infoscope.notebook import InNotebook, as_html, axes, heat, intervals

MAX_ROWS = 60  # of the table to read
MAX_BARS = 40  # of the figure of a target
BARS_BEYOND = 5  # columns without a dependence that the figure shows for comparison
MAX_WRITTEN = 16  # columns of a heat map up to which the bits are written into it
CLUSTER_CORRELATION = 0.5  # columns whose information is that of a correlation beyond this are in a cluster
COLUMNS = {  # of `table`, in bits where the name says so
    "column": "its name", "with": "the target, or the other column", "kind": "its type",
    "bits": "information, the reading's best guess", "low_bits": "its 95 % interval", "high_bits": "its other end",
    "grade": "of the reading: A narrow, B wide, C unlike everything simulated", "n": "rows that are known in both",
    "rows_read": "rows that the reading took",
    "p": "of independence; none where rows follow one another, or where the test given conditions is not decided",
    "q": "the false discovery rate at which it is called dependent (Benjamini & Hochberg 1995)",
    "dependent": "whether q is at most the level", "chosen": "its place among the columns that each add something",
    "adds_bits": "information beyond the (other) chosen ones", "adds_low_bits": "its 95 % interval",
    "adds_high_bits": "its other end", "p_beyond": "of independence given the (other) chosen ones",
    "like": "the chosen column that it depends on most, if it adds nothing to the chosen",
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Screen(InNotebook):
    """Dependence of the columns of a table, on a target or on each other; printed, in sentences.

    table   one row for each pair, those of most information first; see `COLUMNS` for what its columns are
    target  the name of the target; empty: every pair
    level   of the false discovery rate
    groups  how many groups of dependent rows; 0: every row is its own
    notes   what was left out, and what to doubt
    series  pairs whose rows follow one another, which have no p-value
    given   names of the conditions of every test and reading
    """

    table: pd.DataFrame
    target: str
    level: float
    n: int
    groups: int
    notes: tuple[str, ...] = ()
    series: int = 0
    given: tuple[str, ...] = ()

    @property
    def beyond(self) -> str:
        """The conditions in words: " given age and sex"; empty without any."""
        return f" given {listed(self.given)}" if self.given else ""

    @property
    def relevant(self) -> list[str]:
        """Columns that depend on the target, or on any other."""
        found = self.table[self.table["dependent"]]
        return list(dict.fromkeys([*found["column"], *([] if self.target else found["with"])]))

    @property
    def chosen(self) -> list[str]:
        """Columns that each add information about the target to the others, in the order of the choice."""
        return list(self.table.dropna(subset="chosen").sort_values("chosen")["column"]) if self.target else []

    def matrix(self, value: str = "bits") -> pd.DataFrame:
        """A column of `table` as a matrix of every column by every other (or by the target), nan where there is none;
        neighbours are alike.
        """
        if self.target:
            return self.table.set_index("column")[[value]].rename(columns={value: self.target})
        names = [name for cluster in self._clusters(2.0) for name in cluster]
        found = pd.DataFrame(np.nan, names, names, float if pd.api.types.is_float_dtype(self.table[value]) else object)
        for first, second, one in self.table[["column", "with", value]].itertuples(index=False):
            found.loc[first, second] = found.loc[second, first] = one
        return found

    @property
    def clusters(self) -> list[list[str]]:
        """Groups of columns that share on average as much as normal variables of correlation 0.5; for all pairs."""
        return [] if self.target else [names for names in self._clusters(1 - CLUSTER_CORRELATION) if len(names) > 1]

    def _clusters(self, distance: float) -> list[list[str]]:
        from scipy.cluster.hierarchy import fcluster, leaves_list, linkage

        names = list(dict.fromkeys([*self.table["column"], *self.table["with"]]))
        apart = pd.DataFrame(1.0, names, names)
        for row in self.table[self.table["dependent"]].to_dict("records"):
            close = math.sqrt(-math.expm1(-2 * max(0.0, row["bits"]) * NATS_PER_BIT))  # nan, where not read: 0
            apart.loc[row["column"], row["with"]] = apart.loc[row["with"], row["column"]] = 1 - close
        if len(names) < 3:
            return [names]
        tree = linkage(apart.to_numpy()[np.triu_indices(len(names), 1)], "average", optimal_ordering=True)
        cluster = fcluster(tree, distance, "distance")
        found: dict[int, list[str]] = {}
        for place in leaves_list(tree):
            found.setdefault(cluster[place], []).append(names[place])
        return list(found.values())

    @property
    def answers(self) -> list[str]:
        """The first sentences: how many columns depend, which share most, and which to keep."""
        what = f"on {self.target or 'each other'}{self.beyond}"
        found = self.table[self.table["dependent"]]
        unit = "columns depend" if self.target else "pairs of columns depend"
        rows = f"n = {self.n:,}{f' in {self.groups:,} groups' if self.groups else ''}"
        rate = f"{self.level:.0%}".replace("%", " %")
        others = len(self.table) - self.series
        counted = f"{len(found):,} of {others:,} {unit} {what} at a false discovery rate of {rate} ({rows})"
        if self.series and others:
            counted = f"{SERIES_HEADLINE} for {self.series:,} of {len(self.table):,}; of the others, {counted}"
        elif self.series:
            each = "column" if self.target else "pair"
            counted = f"{SERIES_HEADLINE}: no {each} is called dependent or independent ({rows})"
        known = (found if others else self.table).dropna(subset="bits")
        if known.empty:
            return [f"{counted}."]
        top = known.iloc[0]
        most = Estimate(top["bits"], unit=BITS, interval=(top["low_bits"], top["high_bits"]))
        first = f"{top['column']} shares" if self.target else f"{top['column']} and {top['with']} share"
        lines = [f"{counted}; {first} most, {amount(most)}, grade {top['grade']}."]
        if self.chosen:
            lines.append(f"Keep {listed(self.chosen)}: each adds information to the others.")
            if spare := list(self.table.dropna(subset="like")["column"]):
                lines[-1] += f" {listed(spare)} add{'s' * (len(spare) == 1)} nothing detectable to these."
        if self.clusters:
            lines.append(f"Groups of columns that share most: {'; '.join(map(listed, self.clusters[:8]))}.")
        return lines

    @property
    def details(self) -> dict[str, Any]:
        """What the figures mean and what to doubt, by title."""
        meaning = [
            f"Bits: the best guess of the information that both share{self.beyond}, with a 95 % interval for the true "
            "value; grade A: narrow, B: wide, C: the data differ from everything simulated.",
            f"q: the false discovery rate at which a pair is called dependent (Benjamini & Hochberg 1995), here at "
            f"most {self.level:g}.",
        ]
        if (self.table["dependent"] & (self.table["low_bits"] <= 0)).any():
            meaning.append(
                "An interval that begins at 0 with a small q: the test detects a weak dependence, of at most the upper "
                "limit."
            )
        if self.chosen:
            meaning.append(
                "Chosen: 1, 2, ... in the order of the choice; each adds information to the others. Like: the chosen "
                f"column that this one depends on most; it adds nothing detectable about {self.target} to the chosen "
                "ones. Adds: information beyond the (other) chosen columns, as of normal variables; columns are "
                "chosen by a test, so this interval may begin below 0."
            )
        return {"What the numbers mean": meaning} | ({"What to doubt": list(self.notes)} if self.notes else {})

    @property
    def text(self) -> pd.DataFrame:
        """The first rows of `table` to read, at most 60: bits with 95 % intervals, of a target with what is chosen."""
        shown, target = self.table.head(MAX_ROWS), bool(self.target)
        columns: dict[str, Any] = {
            "column": shown["column"],
            **({"type": shown["kind"]} if target else {"with": shown["with"]}),
            "bits (95 %)": _with_intervals(shown, "bits"),
            "grade": shown["grade"],
            **({"n": shown["n"].map("{:,}".format)} if (self.table["n"] < self.n).any() else {}),
            "q": shown["q"].map(lambda q: "" if math.isnan(q) else f"{q:.2g}"),
        }
        if target:
            columns["chosen"] = [
                f"{place:.0f}" if place > 0 else f"like {like}" if isinstance(like, str) else ""
                for place, like in zip(shown["chosen"], shown["like"])
            ]
            columns["adds bits (95 %)"] = _with_intervals(shown, "adds_bits", "adds_")
        return pd.DataFrame(columns)

    def _repr_html_(self) -> str:
        return as_html(self.answers, self.text, self.details)

    def __str__(self) -> str:
        return "\n".join([*self.answers, *self.notes])

    __repr__ = __str__

    def plot(self, ax: Any = None) -> Any:
        """Draws a bar with its interval for each column, or a heat map of the pairs, bits, on matplotlib axes."""
        if self.target:
            return self._bars(ax)
        matrix = self.matrix()
        names, values = list(matrix), matrix.to_numpy()
        few = len(names) <= MAX_WRITTEN
        size = max(4.0, (0.4 if few else 0.2) * len(names) + 2)
        ax = axes(ax, (size + 1, size))
        texts = [["" if not few or math.isnan(one) else f"{one:.2f}" for one in row] for row in values]
        known = values[np.isfinite(values)]
        image = heat(ax, values, texts, names, names, max(float(known.max(initial=0.0)), 1e-9))
        ax.tick_params(axis="x", rotation=90)
        ax.figure.colorbar(image, ax=ax, label=f"information{self.beyond} (bits)", aspect=40)
        ax.set_title(f"what each pair shares; columns that share much are neighbours; n = {self.n:,}", fontsize="small")
        return ax

    def _bars(self, ax: Any) -> Any:
        found = self.table
        shown = found.head(min(MAX_BARS, int(found["dependent"].sum()) + BARS_BEYOND))
        depends, chosen = shown["dependent"].astype(bool), shown["chosen"].notna()
        kinds = {
            "adds to the other blue ones": ("C0", chosen),
            "depends, adds nothing detectable": ("C7", depends & ~chosen),
            ("not tested, rows in sequence" if self.series else "no dependence detected"): (
                "#bbbbbb",
                ~depends & ~chosen,
            ),
        }
        estimates = [
            SimpleNamespace(value=row["bits"], low=row["low_bits"], high=row["high_bits"], unit=BITS)
            for row in shown.to_dict("records")
        ]
        colours = np.where(chosen, "C0", np.where(depends, "C7", "#bbbbbb")).tolist()
        ax = axes(ax, (5.0, 1.2 + 0.24 * len(shown)))
        intervals(ax, list(shown["column"]), estimates, colours)
        target = in_figure(f"{self.target}{self.beyond}")
        ax.set_xlabel(f"information about {target} (bits), 95 % interval", parse_math=False)
        for label, (colour, of) in kinds.items():
            if of.any():
                ax.plot([], [], "o", color=colour, label=label)
        ax.legend(fontsize="small", loc="lower right")
        if len(shown) < len(found):
            ax.set_title(f"first {len(shown)} of {len(found):,} columns", fontsize="small")
        return ax


def _with_intervals(rows: pd.DataFrame, of: str, prefix: str = "") -> list[str]:
    """Figures of rows as 0.24 (0.15 to 0.45); no text where there is none."""
    each = zip(rows[of], rows[f"{prefix}low_bits"], rows[f"{prefix}high_bits"])
    return ["" if math.isnan(one) else f"{one:z.2f} ({low:z.2f} to {high:z.2f})" for one, low, high in each]


def ordered(rows: list[Mapping[str, object]]) -> pd.DataFrame:
    """Rows as a table with the columns of `COLUMNS`, those of most information first."""
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.sort_values(["dependent", "bits"], ascending=False, kind="stable", ignore_index=True)
