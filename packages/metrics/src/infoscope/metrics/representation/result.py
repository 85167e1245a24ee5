"""The report of a representation: rows of estimates, tables, a heat map, and sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from infoscope.estimators.reading.result import Reading
from infoscope.estimators.result import Estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.factor_information.result import TERMS
from infoscope.metrics.leaks import EACH_COLUMN, Unwanted, leaks
from infoscope.metrics.partition import PartitionReport
from infoscope.metrics.pid import ROUNDING, Bounds
from infoscope.metrics.report import amount, at_most, blocks_and_widths, columns, in_bits, listed
from infoscope.notebook import as_html, axes, heat

TARGET, DOMAIN = "target", "domain"
ALL = "all blocks"  # the name of them together
_COUNTS = ("columns", "classes", "n")
MEASURES = ("reading", "linear", "richer")
_PART = re.compile(r"z_?(dy|d|y|x)(?![a-z])", re.IGNORECASE)  # names such as z_d, zd and z_d3, but not z_digit
_ALMOST = 0.9  # share of a block's information beyond which a sentence calls a part of it almost all
_MEANING = (
    "Usable information is what the two families of predictors use on held-out rows, a lower bound on the information. "
    "Its interval extends to what more training rows could add, at most to H(target), the entropy of the target; where "
    "none is detected, to the upper limit of the information.",
    "Information: the 95 % interval for the true value, calibrated on simulated data; grade A: narrow, B: wide, C: the "
    "data differ from everything simulated.",
    "Unique, redundant and synergistic compare a block with all others, by usable information: the value of Williams & "
    "Beer 2010, and the bounds of every decomposition. Redundant is what both inform about to the same extent, whether "
    "or not it is the same.",
    "Errors are over rows (or groups of rows) for one trained model; they do not include other trainings.",
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
        """The interval of the information, nats: of the reading, or from the richer family to the ceiling (or inf)."""
        if math.isnan(self.reading.low):
            return self.richer.low, math.inf if self.ceiling is None else self.ceiling.high
        return self.reading.low, self.reading.high

    @property
    def quoted(self) -> Estimate:
        """What sentences quote: the reading, or usable information where the reading detects none."""
        only_usable = math.isnan(self.reading.value) or self.reading.low <= 0.0 < self.richer.low
        return self.richer if only_usable else self.reading

    @property
    def part(self) -> str:
        """The part of a partition that the block belongs to by its name: "y", "d", "dy", "x", or "" of other names."""
        match = _PART.match(self.block)
        return match[1].lower() if match else ""

    @property
    def detected(self) -> bool:
        """Whether the block carries any information, by the reading or the richer family."""
        return self.reading.low > 0.0 or self.richer.low > 0.0

    @property
    def share(self) -> float:
        """Of the ceiling, what the richer family can use; nan where there is none."""
        return math.nan if self.ceiling is None else float(self.richer) / float(self.ceiling)

    def figures(self) -> dict[str, object]:
        """All figures by name, nats."""
        found: dict[str, object] = {"block": self.block, "columns": self.columns, "target": self.target}
        found |= {"role": self.role, "classes": self.classes, "n": self.richer.n}
        found |= dict(zip(("information_low", "information_high"), self.between))
        measured = {name: getattr(self, name) for name in (*MEASURES, "ceiling")}
        shared = {name: self.sharing.get(name) for name in (*Bounds._fields, *TERMS)}
        for name, estimate in (measured | shared).items():
            found |= columns(name, estimate)
        notes = [f"{name}: {note}" for name, one in measured.items() if one is not None for note in one.notes]
        crossed = dict.fromkeys(note for one in self.sharing.values() for note in one.notes)
        return found | {"notes": " ".join((*notes, *crossed))}

    def brief(self) -> dict[str, str]:
        """What a reader needs first, bits."""
        one, unique = self.richer.bits, self.sharing.get("unique")
        alone = "" if unique is None or math.isnan(unique.value) else f"{unique.bits.value:z.2f}"
        return {
            "block": self.block,
            "target": self.target,
            "usable bits (95 %)": f"{one.value:z.2f} ({one.low:z.2f} to {one.high:z.2f})",
            "of H(target)": f"{100 * self.share:z.0f} %" if math.isfinite(self.share) else "",
            "only there": alone,
            "information bits (95 %)": self._information("{:z.2f}"),
            "grade": self.reading.grade if isinstance(self.reading, Reading) else "",
        }

    def cells(self) -> dict[str, str]:
        """Every measure in bits, to read; missing results are marked in their cells."""
        ceiling = "none: numbers" if self.ceiling is None else in_bits(self.ceiling, interval=False)
        found = {"block": self.block, "target": self.target, "information": self._information("{:z.3f}")}
        found |= {name: in_bits(getattr(self, name)) for name in MEASURES}
        found["reading"] += f", grade {self.reading.grade}" if isinstance(self.reading, Reading) else ""
        found["at most"] = ceiling
        return found | {name: self._between(name) for name in TERMS}

    def _information(self, form: str) -> str:
        low, high = (form.format(end / NATS_PER_BIT) for end in self.between)
        if not math.isfinite(self.between[1]):
            return f"{low} or more"
        if math.isnan(self.reading.value):
            return f"{low} to {high}"
        return f"{form.format(self.reading.bits.value)} ({low} to {high})"

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
    label       the target that z_y is meant for; "" where there are several
    domain      the name of the domain
    each_column  advice on how to find the columns of a block that leak
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
    domain: str = "the domain"
    each_column: str = EACH_COLUMN

    @property
    def table(self) -> pd.DataFrame:
        """One row for each block x target, bits; nan where there is no figure (see the notes)."""
        table = pd.DataFrame([row.figures() for row in self.rows])
        names = [name for name in table.select_dtypes("number") if name not in _COUNTS]
        table[names] /= NATS_PER_BIT
        return table.rename(columns={name: f"{name}_bits" for name in names})

    @property
    def text(self) -> pd.DataFrame:
        """What a reader needs first of each block and target, bits, with 95 % intervals; `details` has all."""
        return self._named(row.brief() for row in self.rows)

    def _named(self, rows: Iterable[dict[str, str]]) -> pd.DataFrame:
        """Rows as a table in which the domain has its name."""
        return pd.DataFrame(rows).replace({"target": {DOMAIN: self._called(DOMAIN)}})

    def _called(self, target: str) -> str:
        return self.domain if target == DOMAIN else target

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table by its name."""
        found = {"table": self.table, "hardest": self.hardest, "scores": self.scores}
        if self.partition is not None:
            found["partition"] = self.partition.details["Every quantity and score"]
        return found

    def row(self, block: str, target: str) -> Row:
        """Information of a block about a target. KeyError for one that is not there."""
        for row in self.rows:
            if (row.block, row.target) == (block, target):
                return row
        raise KeyError((block, target))

    @property
    def _unwanted(self) -> list[Row]:
        """Rows of blocks with variables that they should not carry, detected or not, the largest information first.

        No block should carry the domain, except one that is meant for it; z_d and z_x should not carry the label. After
        these: a block that carries most of one target should not carry another of which a different block has more.
        """
        rows = sorted((row for row in self.rows if row.block != ALL), key=lambda row: -float(row.quoted))
        most: dict[str, Row] = {}  # target or domain -> the row of the block that carries most of it
        for row in rows:
            if row.detected and (row.target not in most or row.richer > most[row.target].richer):
                most[row.target] = row
        declared, incidental = [], []
        for row in rows:
            if row.role == DOMAIN:
                if not self._meant_for_domain(row, most):
                    declared.append(row)
            elif self.label and row.part:
                if row.target == self.label and row.part in ("d", "x"):
                    declared.append(row)
            elif most.get(row.target, row).block != row.block:
                best_of_another = any(other.role == TARGET and other.block == row.block for other in most.values())
                incidental += [row] * best_of_another
        return declared + incidental

    def _meant_for_domain(self, row: Row, most: Mapping[str, Row]) -> bool:
        """Whether a block is z_d or z_dy, or of several columns that carry most of the domain and of no target."""
        if row.part:
            return row.part in ("d", "dy")
        carries_targets = any(self.row(row.block, target).detected for target in most if target != row.target)
        return row.columns > 1 and most.get(row.target) is row and not carries_targets

    @property
    def leaks(self) -> list[str]:
        """What leaks and what to do about it, or the upper limits where nothing does, in sentences."""
        unwanted = []
        for row in self._unwanted:
            usable = None if row.quoted is row.richer else row.richer.bits
            most = None if row.ceiling is None else row.ceiling.bits
            p_value = getattr(row.reading, "p_value", math.nan)
            unwanted.append(Unwanted(row.block, self._called(row.target), row.quoted.bits, most, usable, p_value))
        single = [block for block, width in self.blocks.items() if width == 1]
        return leaks(unwanted, single, self.each_column)

    @property
    def answers(self) -> list[str]:
        """The first sentences: what could not be measured, what leaks, and where the information on each target is."""
        missing = [f"Not measured: {self._called(name)}: {why}" for name, why in self.unanswered.items()]
        targets = dict.fromkeys(row.target for row in self.rows)
        where = [self._where([row for row in self.rows if row.target == target]) for target in targets]
        return [*missing, *self.leaks, *where]

    def _where(self, rows: Sequence[Row]) -> str:
        """Where the usable information on one target is, given the rows of all blocks."""
        whole = next((row for row in rows if row.block == ALL), rows[0])
        blocks = sorted((row for row in rows if row is not whole), key=lambda row: -float(row.richer))
        about = f"{self._called(whole.target)}: "
        used = [row for row in blocks if row.richer.low > 0.0]
        if not used and whole.richer.low > 0.0:
            used = [whole]
        if not used:
            return f"{about}none is detected; {at_most(whole.richer.bits)} are in {whole.block}."
        first, *others = used
        most = None if first.ceiling is None else first.ceiling.bits
        said = [f"{about}predictors use {amount(first.richer.bits, most)} in {first.block}{_only_there(first)}."]
        unwanted = self._unwanted
        leaking = [row.block for row in blocks if row.detected and row in unwanted]
        if first.block in leaking:
            leaking = []  # the first sentences name the leaks
        if others := [f"{row.block} {amount(row.richer.bits)}" for row in others if row.block not in leaking]:
            said.append(f"Also in {listed(others)}.")
        if leaking:
            said.append(f"{listed(leaking)} leak{'s' * (len(leaking) == 1)} it.")
        if first is not whole and whole.richer.low > first.richer.high:
            said.append(f"All blocks together carry {amount(whole.richer.bits)}.")
        rest = [row for row in blocks if row.richer.low <= 0.0 and row.block not in leaking]
        if rest:
            each = [f"{row.block}{'' if place else ' carries'} {at_most(row.richer.bits)}"
                    for place, row in enumerate(rest)]  # fmt: skip
            said.append(f"{listed(each)}.")
        return " ".join(said)

    def plot(self, ax: Any = None) -> Any:
        """Draws block x target: what the richer family can use, bits, with its 95 % interval; the matplotlib axes.

        Colours are shares of H(target); of numbers, which have none, shares of the largest value of their column.
        """
        rows = {(row.block, row.target): row for row in self.rows}
        blocks, targets = (list(dict.fromkeys(names)) for names in zip(*rows))
        shares = np.empty((len(blocks), len(targets)))
        texts = [["" for _ in targets] for _ in blocks]
        for column, target in enumerate(targets):
            column_rows = [rows[block, target] for block in blocks]
            largest = max(float(row.richer) for row in column_rows)
            for place, row in enumerate(column_rows):
                whole = max(largest, ROUNDING) if row.ceiling is None else float(row.ceiling)
                shares[place, column] = float(row.richer) / whole
                usable = row.richer.bits
                texts[place][column] = f"{usable.value:z.2f}\n{usable.low:z.2f} to {usable.high:z.2f}"
        ax = axes(ax, (1.3 * len(targets) + 1.6, 0.5 * len(blocks) + 0.9))
        heat(ax, shares, texts, blocks, [self._called(name) for name in targets], 1.0, 9)
        ax.set_title("usable information (bits), 95 % interval\ncolour: share of H(target)", fontsize=9)
        return ax

    @property
    def details(self) -> dict[str, pd.DataFrame | list[str]]:
        """What is beyond the answers and `text`, by title: tables and sentences."""
        settings = ", ".join(f"{name}: {value}" for name, value in self.settings.items())
        notes = dict.fromkeys(
            f"{row.block}, {self._called(row.target)}: {note}" for row in self.rows for note in row.reading.notes
        )
        found: dict[str, pd.DataFrame | list[str]] = {
            "What the numbers mean": [*_MEANING, f"Blocks (columns): {blocks_and_widths(self.blocks)}. {settings}."],
            "What to doubt": [*(f"Not measured: {note}" for note in self.notes), *notes],
            "Every measure (bits, 95 % intervals)": self._named(row.cells() for row in self.rows),
            "Hardest items to predict from all blocks (pointwise information, PVI, bits)": self.hardest,
            "Scores of disentanglement, of columns and of blocks": self.scores,
        }
        if self.partition is not None:
            more = self.partition.details
            limits = [*more["The old score"], *more["What is not shown"]]
            found["Partition, by conditional information (bits)"] = [*self.partition.findings, *limits]
            found["Partition, every quantity and score (bits)"] = more["Every quantity and score"]
        return {title: content for title, content in found.items() if len(content)}

    def _repr_html_(self) -> str:
        return as_html(self.answers, self.text, self.details)

    def __str__(self) -> str:
        grouped = f" in {self.groups:,} groups" if self.groups < self.n else ""
        lines = [*self.answers, f"{self.n:,} rows{grouped}:", self.text.to_string(index=False)]
        return "\n".join(
            [*lines, *(line for content in self.details.values() if isinstance(content, list) for line in content)]
        )


def _only_there(row: Row) -> str:
    """How much of a block's information is in no other block."""
    unique = row.sharing.get("unique")
    if unique is None or math.isnan(unique.value):
        return ""
    share = float(unique) / float(row.richer)
    part = "almost all" if share > _ALMOST else f"{unique.bits.value:z.2f}" if share > 1 - _ALMOST else "almost none"
    return f", {part} of it only there"
