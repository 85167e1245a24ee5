"""What a report of a representation found: rows of estimates, tables, and a page of sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from infoscope.estimators.reading.result import Reading
from infoscope.estimators.result import Estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.factor_information.result import TERMS
from infoscope.metrics.partition import PartitionReport
from infoscope.metrics.pid import Bounds
from infoscope.metrics.writing import blocks_and_widths, columns, in_bits
from infoscope.notebook import as_html, axes, heat

TARGET, DOMAIN = "target", "domain"
ALL = "all blocks"  # the name of them together
MEASURES = ("reading", "linear", "richer")
_MAX_LISTED_BLOCKS = 4  # blocks that a summary names
_LIMITS = (
    "Usable information is what these families can read, from rows they were not fitted to: a lower bound on what is "
    "there. Bounds and shares of blocks are of usable information, and so hold for these families.",
    "An interval of usable information reaches to where more training rows lead at the slowest, at most to H(target); "
    "where none is detected, to the upper limit of the information. That interval is of the reading, for the true "
    "value, calibrated on simulated data (grade A: narrow, C: unlike everything simulated).",
    "Unique, redundant and synergistic: between the bounds for every decomposition; the concrete value is that of "
    "Williams & Beer 2010, who call redundant what the sources tell to the same extent, be it the same or not.",
    "Not shown: anything about other trainings of the same model. Errors are over rows (or groups of them).",
)


@dataclass(frozen=True, eq=False)
class Row:
    """Information of one block, or all of them, about one target; nats.

    role        target, or domain (leakage)
    classes     values that the target takes; None of numbers
    reading     the calibrated estimate, with an interval for the true value (`infoscope.estimators.reading`)
    linear, richer  usable by a linear family, and by a mixture with another
    ceiling     H(target); None of numbers
    sharing     six bounds and three concrete values against all other blocks; may be empty
    """

    block: str
    columns: int
    target: str
    role: str
    classes: int | None
    reading: Estimate
    linear: Estimate
    richer: Estimate
    ceiling: Estimate | None
    sharing: Mapping[str, Estimate]

    @property
    def between(self) -> tuple[float, float]:
        """The interval of the information, nats: of the reading, or without one from the richer family up; at most the
        ceiling (inf without either).
        """
        most = math.inf if self.ceiling is None else self.ceiling.high
        if math.isnan(self.reading.low):
            return self.richer.low, most
        return self.reading.low, max(min(self.reading.high, most), self.reading.low)

    @property
    def share(self) -> float:
        """Of the ceiling, what the richer family can use; nan where there is none."""
        return math.nan if self.ceiling is None else float(self.richer) / float(self.ceiling)

    def figures(self) -> dict[str, object]:
        """One line of `RepresentationReport.table`."""
        found: dict[str, object] = {"block": self.block, "columns": self.columns, "target": self.target}
        found |= {"role": self.role, "classes": self.classes, "n": self.richer.n}
        found |= dict(zip(("information_low", "information_high"), self.between))
        measured = {name: getattr(self, name) for name in (*MEASURES, "ceiling")}
        for name, one in measured.items():
            found |= columns(name, one)
        for name in (*Bounds._fields, *TERMS):
            found |= columns(name, self.sharing.get(name))
        notes = [f"{name}: {note}" for name, one in measured.items() if one is not None for note in one.notes]
        crossed = dict.fromkeys(note for one in self.sharing.values() for note in one.notes)
        return found | {"notes": " ".join((*notes, *crossed))}

    def cells(self) -> dict[str, str]:
        """The same to read, in bits; missing results are marked in their cells."""
        ceiling = "none: numbers" if self.ceiling is None else in_bits(self.ceiling, interval=False)
        domain = " (domain)" if self.role == DOMAIN and self.target != DOMAIN else ""
        found = {"block": self.block, "target": self.target + domain}
        low, high = (end / NATS_PER_BIT for end in self.between)
        found["information"] = f"{low:z.3f} to {high:z.3f}" if math.isfinite(high) else f"{low:z.3f} or more"
        found |= {name: in_bits(getattr(self, name)) for name in MEASURES}
        found["reading"] += f", grade {self.reading.grade}" if isinstance(self.reading, Reading) else ""
        found["at most"] = ceiling
        return found | {name: self._between(name) for name in TERMS}

    def _between(self, term: str) -> str:
        if not self.sharing:
            return "no other block"
        if any(math.isnan(one) for one in self.sharing.values()):
            return in_bits(self.sharing[term])
        low, high = (self.sharing[f"{term}_{side}"].bits for side in ("low", "high"))
        value, bounds = self.sharing[term].bits, "bounds" if low.value <= high.value else "bounds that cross,"
        return f"{value:z.3f}, {bounds} {low:z.3f} to {high:z.3f} [{low.low:z.3f}, {high.high:z.3f}]"


@dataclass(frozen=True, eq=False)
class RepresentationReport:
    """Information of one representation's blocks about targets and domain.

    rows        one for each block (and all together) x target
    hardest     the items of least PVI for each target: target, item, label, pvi_bits, prediction
    scores      disentanglement; may be empty (see notes)
    partition   scores of named blocks, or None
    unanswered  target (or domain) -> why there is no result
    label       the target that z_y is meant for, where there is a partition
    """

    blocks: Mapping[str, int]
    n: int
    groups: int
    rows: Sequence[Row]
    hardest: pd.DataFrame
    scores: pd.DataFrame
    partition: PartitionReport | None
    settings: Mapping[str, object]
    notes: tuple[str, ...] = field(default=())
    unanswered: Mapping[str, str] = field(default_factory=dict)
    label: str = ""

    @property
    def table(self) -> pd.DataFrame:
        """One row for each block x target, nats; nan where there is no figure (see the notes)."""
        return pd.DataFrame([row.figures() for row in self.rows])

    @property
    def text(self) -> pd.DataFrame:
        """The same to read, in bits, with 95 % intervals."""
        return pd.DataFrame([row.cells() for row in self.rows])

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table by its name."""
        found = {"table": self.table, "hardest": self.hardest, "scores": self.scores}
        return found | ({} if self.partition is None else {"partition": self.partition.table()})

    def row(self, block: str, target: str) -> Row:
        """Information of a block about a target. KeyError for one that is not there."""
        for row in self.rows:
            if (row.block, row.target) == (block, target):
                return row
        raise KeyError((block, target))

    @property
    def summary(self) -> tuple[str, ...]:
        """What leaks; then a sentence for each target and the domain: what can be read of it, where, and where nothing
        sure can.
        """
        targets = dict.fromkeys(row.target for row in self.rows)
        told = [_in_short([row for row in self.rows if row.target == target]) for target in targets]
        return (*self.leaks, *told)

    @property
    def leaks(self) -> tuple[str, ...]:
        """Of a partition, a sentence for z_y and z_d: what they hold of what the other is meant for, by the reading."""
        wrong = {"z_d": self.label, "z_y": DOMAIN} if self.label else {}
        found = [row for row in self.rows if wrong.get(row.block) == row.target]
        return tuple(
            f"{row.block} leaks {_called(row)}: it holds {in_bits(row.reading)} bits of what is for the other block."
            if row.reading.low > 0.0
            else f"No leak of {_called(row)} in {row.block} can be shown: at most {row.reading.bits.high:.3f} bits."
            for row in found
            if math.isfinite(row.reading.value)
        )

    @property
    def answers(self) -> list[str]:
        """The first sentences of the report: what could not be estimated, leaks, and one sentence for each target."""
        unsaid = (f"Nothing is said about {name}, which was asked for: {why}" for name, why in self.unanswered.items())
        return [*unsaid, *self.summary]

    def plot(self, ax: Any = None) -> Any:
        """Draws block x target: what the richer family can use, bits, with its interval and its share of what there is
        to know; the matplotlib axes.
        """
        rows = {(row.block, row.target): row for row in self.rows}
        blocks, targets = (list(dict.fromkeys(names)) for names in zip(*rows))
        bits = np.array([[rows[block, target].richer.bits.value for target in targets] for block in blocks])

        def written(block: str, target: str) -> str:
            row, one = rows[block, target], rows[block, target].richer.bits
            share = f"\n{100 * row.share:z.0f} % of H" if math.isfinite(row.share) else ""
            return f"{one.value:z.2f}\n[{one.low:z.2f}, {one.high:z.2f}]{share}"

        texts = [[written(block, target) for target in targets] for block in blocks]
        ax = axes(ax, (2.0 * len(targets) + 2.5, 0.7 * len(blocks) + 1.6))
        image = heat(ax, bits, texts, blocks, targets, max(float(bits.max()), 1e-9))
        ax.tick_params(labelsize="medium", length=3.5)
        ax.tick_params(axis="x", rotation=20)
        ax.figure.colorbar(image, ax=ax, label="usable information (bits)")
        return ax

    def _repr_html_(self) -> str:
        tables = self.tables
        hardest, scores, partition = (tables.get(name) for name in ("hardest", "scores", "partition"))
        return as_html(self.answers, self.text, {
            "Hardest items (bits)": hardest, "Scores of disentanglement": scores, "Partition (nats)": partition,
            "In sentences": str(self).splitlines()[len(self.answers) :],
        })  # fmt: skip

    def __str__(self) -> str:
        grouped = f" in {self.groups:,} groups" if self.groups < self.n else ""
        lines = [
            *self.answers,
            f"{self.n:,} rows{grouped}; blocks (columns) {blocks_and_widths(self.blocks)}. Bits; brackets are 95 % "
            "intervals. " + ", ".join(f"{name}: {value}" for name, value in self.settings.items()) + ".",
            *(_sentence(row) for row in self.rows),
        ]  # fmt: skip
        for target, part in self.hardest.groupby("target", sort=False):
            items = ", ".join(f"{item} ({bits:.2f})" for item, bits in zip(part["item"], part["pvi_bits"]))
            lines.append(f"Hardest for {target}, by PVI in bits: {items}.")
        lines += [
            f"Score {score['score']}: {score['value']:.3f} ± {score['standard_error']:.3f} ({score['unit']})."
            if math.isfinite(score["value"]) else f"Score {score['score']}: none ({score['notes']})"
            for score in self.scores.to_dict("records")
        ]  # fmt: skip
        lines += [] if self.partition is None else ["Partition, in nats (1.44 bits each):", str(self.partition)]
        return "\n".join([*lines, *(f"Not said: {note}" for note in self.notes), *_LIMITS])


def _in_short(rows: Sequence[Row]) -> str:
    """The sentence on one target, given the rows of all blocks: usable by the richer family, in bits."""
    whole = next((row for row in rows if row.block == ALL), rows[0])
    blocks = sorted((row for row in rows if row is not whole), key=lambda row: -float(row.richer))
    of_all = "" if whole.ceiling is None else f" of {float(whole.ceiling.bits):.3f}"
    source = "all blocks together" if whole.block == ALL else whole.block
    bits = f"{in_bits(whole.richer)}{of_all} bits"
    said = [f"{bits} can be read from {source}" if whole.richer.low > 0.0 else f"nothing sure from {source}: {bits}"]
    sure = [row for row in blocks if row.richer.low > 0.0]
    for place, row in enumerate(sure[:_MAX_LISTED_BLOCKS]):
        unique = row.sharing.get("unique")
        alone = "" if unique is None or math.isnan(unique.value) else f", {float(unique.bits):z.3f} in no other"
        said.append(f"{'then' if place else 'most'} from {row.block}, {in_bits(row.richer)}{alone}")
    if len(sure) > _MAX_LISTED_BLOCKS:
        said.append(f"less from {len(sure) - _MAX_LISTED_BLOCKS} more")
    unsure = [f"{row.block} (at most {row.richer.bits.high:z.3f})" for row in blocks if not row.richer.low > 0.0]
    if unsure:
        more = f" and {len(unsure) - _MAX_LISTED_BLOCKS} more" if len(unsure) > _MAX_LISTED_BLOCKS else ""
        said.append(f"nothing sure from {', '.join(unsure[:_MAX_LISTED_BLOCKS])}{more}")
    return f"Of {_called(whole)}, {'; '.join(said)}."


def _called(row: Row) -> str:
    return "the domain" if row.role == DOMAIN else row.target


def _sentence(row: Row) -> str:
    """Information of one block about one target, in words and bits."""
    cells = row.cells()
    several = "" if row.block == ALL else "s"
    whole = f", {100 * row.share:z.0f} % of {cells['at most']}" if math.isfinite(row.share) else ""
    said = (
        f"{row.block} tell{several} about {_called(row)} {cells['information']} bits: reading "
        f"{cells['reading'].rstrip('.')}; usable "
        f"{cells['richer']}{whole}, by a linear family {cells['linear']}."
    )
    if row.sharing:
        said += " Beside the other blocks " + ", ".join(f"{term} {cells[term]}" for term in TERMS) + "."
    return " ".join((said, *row.reading.notes)) if math.isfinite(row.reading.value) else said
