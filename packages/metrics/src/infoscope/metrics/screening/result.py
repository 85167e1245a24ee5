"""The result of a screen: a table of pairs of columns, a figure, and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from infoscope.estimators.reading.sentences import SERIES_HEADLINE
from infoscope.estimators.result import BITS, Estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.report import DOUBTS, amount, listed
from infoscope.names import in_figure
from infoscope.notebook import InNotebook, as_html, axes, heat, intervals

MAX_ROWS = 60  # of the table to read
MAX_BARS = 40  # of the figure of a target
BARS_BEYOND = 5  # columns without a dependence that the figure shows for comparison
MAX_WRITTEN = 16  # columns of a heat map up to which the bits are written into it
# columns whose information is that of a correlation beyond this are in a cluster
CLUSTER_CORRELATION = 0.5
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
    """Dependence of the columns of a table, on a target or on each other; printed, in
    sentences.

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
        if not self.given:
            return ""
        return f" given {listed(self.given)}"

    @property
    def _dependent(self) -> pd.DataFrame:
        """The rows of `table` that are called dependent."""
        return self.table[self.table["dependent"]]

    @property
    def relevant(self) -> list[str]:
        """Columns that depend on the target, or on any other."""
        names = list(self._dependent["column"])
        if not self.target:
            names += list(self._dependent["with"])
        return list(dict.fromkeys(names))

    @property
    def chosen(self) -> list[str]:
        """Columns that each add information about the target to the others, in the
        order of the choice.
        """
        if not self.target:
            return []
        chosen = self.table.dropna(subset="chosen")
        return list(chosen.sort_values("chosen")["column"])

    def matrix(self, value: str = "bits") -> pd.DataFrame:
        """A column of `table` as a matrix of every column by every other (or by the
        target), nan where there is none; neighbours are alike.
        """
        if self.target:
            column = self.table.set_index("column")[[value]]
            return column.rename(columns={value: self.target})
        names = sum(self._clusters(2.0), [])
        dtype = float if pd.api.types.is_float_dtype(self.table[value]) else object
        matrix = pd.DataFrame(np.nan, names, names, dtype)
        for x, y, entry in self.table[["column", "with", value]].itertuples(
            index=False
        ):
            matrix.loc[x, y] = entry
            matrix.loc[y, x] = entry
        return matrix

    @property
    def clusters(self) -> list[list[str]]:
        """Groups of columns that share on average as much as normal variables of
        correlation 0.5; for all pairs.
        """
        if self.target:
            return []
        clusters = self._clusters(1 - CLUSTER_CORRELATION)
        return [names for names in clusters if len(names) > 1]

    def _clusters(self, distance: float) -> list[list[str]]:
        from scipy.cluster.hierarchy import fcluster, leaves_list, linkage

        names = list(dict.fromkeys([*self.table["column"], *self.table["with"]]))
        distances = pd.DataFrame(1.0, names, names)
        for row in self._dependent.to_dict("records"):
            # 0 for nan, where there is no reading
            information = max(0.0, row["bits"]) * NATS_PER_BIT
            correlation = math.sqrt(-math.expm1(-2 * information))
            x = row["column"]
            y = row["with"]
            distances.loc[x, y] = 1 - correlation
            distances.loc[y, x] = 1 - correlation
        if len(names) < 2:
            return [names]
        above_diagonal = np.triu_indices(len(names), 1)
        tree = linkage(
            distances.to_numpy()[above_diagonal], "average", optimal_ordering=True
        )
        cluster = fcluster(tree, distance, "distance")
        clusters: dict[int, list[str]] = {}
        for place in leaves_list(tree):
            clusters.setdefault(cluster[place], []).append(names[place])
        return list(clusters.values())

    @property
    def answers(self) -> list[str]:
        """The first sentences: how many columns depend, which share most, and which to
        keep.
        """
        what = f"on {self.target or 'each other'}{self.beyond}"
        dependent = self._dependent
        unit = "columns depend" if self.target else "pairs of columns depend"
        rows = f"n = {self.n:,}"
        if self.groups:
            rows += f" in {self.groups:,} groups"
        rate = f"{100 * self.level:.0f} %"
        others = len(self.table) - self.series
        counted = (
            f"{len(dependent):,} of {others:,} {unit} {what} at a false discovery "
            f"rate of {rate} ({rows})"
        )
        if self.series and others:
            counted = (
                f"{SERIES_HEADLINE} for {self.series:,} of {len(self.table):,}; of "
                f"the others, {counted}"
            )
        elif self.series:
            each = "column" if self.target else "pair"
            counted = (
                f"{SERIES_HEADLINE}: no {each} is called dependent or independent "
                f"({rows})"
            )
        candidates = dependent if others else self.table
        readings = candidates.dropna(subset="bits")
        if readings.empty:
            return [f"{counted}."]
        top = readings.iloc[0]
        most = Estimate(
            top["bits"], unit=BITS, interval=(top["low_bits"], top["high_bits"])
        )
        first = (
            f"{top['column']} shares"
            if self.target
            else f"{top['column']} and {top['with']} share"
        )
        lines = [f"{counted}; {first} most, {amount(most)}, grade {top['grade']}."]
        if self.chosen:
            sentence = (
                f"Keep {listed(self.chosen)}: each adds information to the others."
            )
            redundant = list(self.table.dropna(subset="like")["column"])
            if redundant:
                verb = "adds" if len(redundant) == 1 else "add"
                sentence += f" {listed(redundant)} {verb} nothing detectable to these."
            lines.append(sentence)
        clusters = [listed(names) for names in self.clusters[:8]]
        if clusters:
            lines.append(f"Groups of columns that share most: {'; '.join(clusters)}.")
        return lines

    @property
    def details(self) -> dict[str, Any]:
        """The meaning of the numbers and reasons to doubt, by title."""
        meaning = [
            f"Bits: the best guess of the information that both share{self.beyond}, "
            "with a 95 % interval for the true "
            "value; grade A: narrow, B: wide, C: the data differ from everything "
            "simulated.",
            "q: the false discovery rate at which a pair is called dependent "
            "(Benjamini & Hochberg 1995), here at "
            f"most {self.level:g}.",
        ]
        if np.any(self.table["dependent"] & (self.table["low_bits"] <= 0)):
            meaning.append(
                "An interval that begins at 0 with a small q: the test detects a weak "
                "dependence, of at most the upper "
                "limit."
            )
        if self.chosen:
            meaning.append(
                "Chosen: 1, 2, ... in the order of the choice; each adds information "
                "to the others. Like: the chosen "
                "column that this one depends on most; it adds nothing detectable "
                f"about {self.target} to the chosen "
                "ones. Adds: information beyond the (other) chosen columns, as of "
                "normal variables; columns are "
                "chosen by a test, so this interval may begin below 0."
            )
        details = {"What the numbers mean": meaning}
        if self.notes:
            details[DOUBTS] = list(self.notes)
        return details

    @property
    def text(self) -> pd.DataFrame:
        """The first rows of `table` to read, at most 60: bits with 95 % intervals, of a
        target with what is chosen.
        """
        shown = self.table.head(MAX_ROWS)
        columns: dict[str, Any] = {"column": shown["column"]}
        if self.target:
            columns["type"] = shown["kind"]
        else:
            columns["with"] = shown["with"]
        columns["bits (95 %)"] = _with_intervals(shown, "bits")
        columns["grade"] = shown["grade"]
        if np.any(self.table["n"] < self.n):
            columns["n"] = shown["n"].map("{:,}".format)
        columns["q"] = shown["q"].map(lambda q: "" if math.isnan(q) else f"{q:.2g}")
        if self.target:
            similar = (
                shown["like"].map("like {}".format).where(shown["like"].notna(), "")
            )
            places = shown["chosen"].map("{:.0f}".format)
            columns["chosen"] = places.where(shown["chosen"].notna(), similar)
            columns["adds bits (95 %)"] = _with_intervals(shown, "adds_bits", "adds_")
        return pd.DataFrame(columns)

    def _repr_html_(self) -> str:
        return as_html(self.answers, self.text, self.details)

    def __str__(self) -> str:
        return "\n".join([*self.answers, *self.notes])

    __repr__ = __str__

    def plot(self, ax: Any = None) -> Any:
        """Draws a bar with its interval for each column, or a heat map of the pairs,
        bits, on matplotlib axes.
        """
        if self.target:
            return self._bars(ax)
        matrix = self.matrix()
        names = list(matrix)
        values = matrix.to_numpy()
        are_finite = np.isfinite(values)
        texts = np.full(values.shape, "", object)
        cell_size = 0.2  # inches
        if len(names) <= MAX_WRITTEN:
            texts[are_finite] = [f"{bits:.2f}" for bits in values[are_finite]]
            cell_size = 0.4
        size = max(4.0, cell_size * len(names) + 2)
        ax = axes(ax, (size + 1, size))
        largest = float(values.max(initial=1e-9, where=are_finite))
        image = heat(ax, values, texts.tolist(), names, names, largest)
        ax.tick_params(axis="x", rotation=90)
        ax.figure.colorbar(
            image, ax=ax, label=f"information{self.beyond} (bits)", aspect=40
        )
        ax.set_title(
            "what each pair shares; columns that share much are neighbours; n = "
            f"{self.n:,}",
            fontsize="small",
        )
        return ax

    def _bars(self, ax: Any) -> Any:
        shown = self.table.head(min(MAX_BARS, len(self._dependent) + BARS_BEYOND))
        depends = shown["dependent"].astype(bool)
        chosen = shown["chosen"].notna()
        no_dependence = "no dependence detected"
        if self.series:
            no_dependence += ", or not tested (rows in sequence)"
        kinds = {
            "adds to the other blue ones": ("C0", chosen),
            "depends, adds nothing detectable": ("C7", depends & ~chosen),
            no_dependence: ("#bbbbbb", ~depends & ~chosen),
        }
        estimates = []
        for row in shown.to_dict("records"):
            interval = row["low_bits"], row["high_bits"]
            estimates.append(Estimate(row["bits"], unit=BITS, interval=interval))
        colours = np.where(chosen, "C0", np.where(depends, "C7", "#bbbbbb")).tolist()
        ax = axes(ax, (5.0, 1.2 + 0.24 * len(shown)))
        intervals(ax, list(shown["column"]), estimates, colours)
        target = in_figure(f"{self.target}{self.beyond}")
        ax.set_xlabel(
            f"information about {target} (bits), 95 % interval", parse_math=False
        )
        for label, (colour, of) in kinds.items():
            if of.any():
                ax.plot([], [], "o", color=colour, label=label)
        ax.legend(fontsize="small", loc="lower right")
        if len(shown) < len(self.table):
            ax.set_title(
                f"first {len(shown)} of {len(self.table):,} columns", fontsize="small"
            )
        return ax


def _with_intervals(rows: pd.DataFrame, of: str, prefix: str = "") -> list[str]:
    """Bits of rows as 0.24 (0.15 to 0.45); an empty text for nan."""
    texts = []
    for value, low, high in zip(
        rows[of], rows[f"{prefix}low_bits"], rows[f"{prefix}high_bits"]
    ):
        text = ""
        if not math.isnan(value):
            text = f"{value:z.2f} ({low:z.2f} to {high:z.2f})"
        texts.append(text)
    return texts


def ordered(rows: list[Mapping[str, object]]) -> pd.DataFrame:
    """Rows as a table with the columns of `COLUMNS`, those of most information first."""
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.sort_values(
        ["dependent", "bits"], ascending=False, kind="stable", ignore_index=True
    )
