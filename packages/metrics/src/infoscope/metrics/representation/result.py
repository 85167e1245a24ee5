"""The report of a representation: rows of estimates, sentences, and a heat map."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from infoscope.estimators.reading.result import Reading
from infoscope.estimators.result import Estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.leaks import EACH_COLUMN, Unwanted, leaks
from infoscope.metrics.partition import PartitionReport
from infoscope.metrics.pid import ROUNDING
from infoscope.metrics.report import (
    Report,
    ReportRow,
    amount,
    at_most,
    blocks_and_widths,
    cell,
    draw_map,
    listed,
)

TARGET = "target"
DOMAIN = "domain"
ALL = "all blocks"  # the name of them together
# names such as z_d, zd and z_d3, but not z_digit
_PART = re.compile(r"z_?(dy|d|y|x)(?![a-z])", re.IGNORECASE)
# share of a block's information beyond which a sentence calls a part of it almost all
_ALMOST = 0.9
_MEANING = (
    "Usable information is what the two families of predictors use on held-out rows, "
    "a lower bound on the information. "
    "Its interval extends to what more training rows could add, at most to H(target), "
    "the entropy of the target; "
    "if no information is detected, it extends to the upper limit of the reading.",
    "Information: the 95 % interval for the true value, calibrated on simulated data; "
    "grade A: narrow, B: wide, C: the "
    "data differ from everything simulated.",
    "Unique, redundant and synergistic compare a block with all others, by usable "
    "information: the value of Williams & "
    "Beer 2010, and the bounds of every decomposition. Redundant is what both inform "
    "about to the same extent, whether "
    "or not it is the same.",
    "Errors are over rows (or groups of rows) for one trained model; they do not "
    "include other trainings.",
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
        """The interval of the information, nats: of the reading, or from the richer
        family to the ceiling (or inf).
        """
        if not math.isnan(self.reading.low):
            return self.reading.low, self.reading.high
        if self.ceiling is None:
            return self.richer.low, math.inf
        return self.richer.low, self.ceiling.high

    @property
    def quoted(self) -> Estimate:
        """The estimate that sentences quote: the reading, or usable information if the
        reading detects none.
        """
        if math.isnan(self.reading.value):
            return self.richer
        if self.reading.low <= 0.0 < self.richer.low:
            return self.richer
        return self.reading

    @property
    def part(self) -> str:
        """The part of a partition that the block belongs to by its name: "y", "d",
        "dy", "x", or "" of other names.
        """
        match = _PART.match(self.block)
        return match[1].lower() if match else ""

    @property
    def detected(self) -> bool:
        """Whether the block carries any information, by the reading or the richer
        family.
        """
        return self.reading.low > 0.0 or self.richer.low > 0.0

    @property
    def share(self) -> float:
        """Share of the ceiling that the richer family can use; nan without a ceiling."""
        if self.ceiling is None:
            return math.nan
        return float(self.richer) / float(self.ceiling)

    @property
    def information(self) -> Estimate:
        """The reading's best guess with the interval `between`."""
        reading = self.reading
        n = reading.n or self.richer.n
        return Estimate(
            reading.value,
            n=n,
            method=reading.method,
            notes=reading.notes,
            interval=self.between,
        )

    def record(self, target: str) -> list[ReportRow]:
        """Every number, the target by this name; information, what is usable,
        H(target), and what blocks share.
        """
        estimates = {
            "information": self.information,
            "linear": self.linear,
            "richer": self.richer,
        }
        if self.ceiling is not None:
            estimates["H(target)"] = self.ceiling
        estimates |= self.sharing
        of = {"block": self.block, "target": target}
        return [ReportRow(what, estimate, of) for what, estimate in estimates.items()]

    def brief(self, target: str) -> dict[str, str]:
        """The main numbers, bits."""
        share = ""
        if math.isfinite(self.share):
            share = f"{100 * self.share:z.0f} %"
        unique = self.sharing.get("unique", Estimate(math.nan)).bits.value
        return {
            "block": self.block,
            "target": target,
            "usable bits (95 %)": cell(self.richer.bits),
            "of H(target)": share,
            "only there": "" if math.isnan(unique) else f"{unique:z.2f}",
            "information bits (95 %)": self._information(),
            "grade": self.reading.grade if isinstance(self.reading, Reading) else "",
        }

    def _information(self) -> str:
        low, high = (f"{end / NATS_PER_BIT:z.2f}" for end in self.between)
        if not math.isfinite(self.between[1]):
            return f"{low} or more"
        if math.isnan(self.reading.value):
            return f"{low} to {high}"
        return cell(self.information.bits)


@dataclass(frozen=True, eq=False, repr=False)
class RepresentationReport(Report):
    """Information of one representation's blocks about targets and domain.

    rows        one for each block (and all together) x target
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
    partition: PartitionReport | None
    settings: Mapping[str, object]
    notes: tuple[str, ...] = field(default=())
    unanswered: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    domain: str = "the domain"
    each_column: str = EACH_COLUMN

    @property
    def record(self) -> list[ReportRow]:
        """Every number: of each block and target, then of the partition."""
        record = []
        for row in self.rows:
            record += row.record(self._called(row.target))
        if self.partition is not None:
            record += self.partition.record
        return record

    @property
    def text(self) -> pd.DataFrame:
        """The main numbers of each block and target, bits, with 95 % intervals;
        `details` has all.
        """
        return pd.DataFrame([row.brief(self._called(row.target)) for row in self.rows])

    @property
    def caption(self) -> str:
        return (
            "What blocks carry about targets, bits. Usable: by predictors on held-out "
            "rows, a lower bound on the "
            "information. Only there: in no other block. Information: best guess and "
            "95 % interval for the true value. "
            "Grade A: narrow, B: wide, C: the data differ from everything simulated. "
            "H(target): its entropy."
        )

    def _called(self, target: str) -> str:
        return self.domain if target == DOMAIN else target

    def row(self, block: str, target: str) -> Row:
        """Information of a block about a target. KeyError for one that is not there."""
        for row in self.rows:
            if (row.block, row.target) == (block, target):
                return row
        raise KeyError((block, target))

    @property
    def _unwanted(self) -> list[Row]:
        """Rows of blocks with variables that they should not carry, detected or not,
        the largest information first.

        No block should carry the domain, except one that is meant for it; z_d and z_x
        should not carry the label. After these: a block that carries most of one target
        should not carry another of which a different block has more.
        """
        rows = [row for row in self.rows if row.block != ALL]
        rows.sort(key=lambda row: -float(row.quoted))
        # target or domain -> the row of the block that carries most of it
        most: dict[str, Row] = {}
        for row in rows:
            if row.detected and row.richer > most.setdefault(row.target, row).richer:
                most[row.target] = row
        declared = []
        incidental = []
        for row in rows:
            if row.role == DOMAIN:
                if not self._meant_for_domain(row, most):
                    declared.append(row)
            elif self.label and row.part:
                if row.target == self.label and row.part in ("d", "x"):
                    declared.append(row)
            elif most.get(row.target, row).block != row.block:
                targets = [best for best in most.values() if best.role == TARGET]
                if row.block in [best.block for best in targets]:
                    incidental.append(row)
        return declared + incidental

    def _meant_for_domain(self, row: Row, most: Mapping[str, Row]) -> bool:
        """Whether a block is z_d or z_dy, or of several columns that carry most of the
        domain and of no target.
        """
        if row.part:
            return row.part in ("d", "dy")
        targets = [target for target in most if target != row.target]
        carries_targets = any(
            self.row(row.block, target).detected for target in targets
        )
        return row.columns > 1 and most.get(row.target) is row and not carries_targets

    @property
    def leaks(self) -> list[str]:
        """Leaks and remedies in sentences, or upper limits if no leak is detected."""
        unwanted = []
        for row in self._unwanted:
            usable = None if row.quoted is row.richer else row.richer.bits
            most = None if row.ceiling is None else row.ceiling.bits
            p_value = getattr(row.reading, "p_value", math.nan)
            unwanted.append(
                Unwanted(
                    row.block,
                    self._called(row.target),
                    row.quoted.bits,
                    most,
                    usable,
                    p_value,
                )
            )
        single = [block for block, width in self.blocks.items() if width == 1]
        return leaks(unwanted, single, self.each_column)

    @property
    def answers(self) -> list[str]:
        """The first sentences: what could not be measured, what leaks, and where the
        information on each target is.
        """
        missing = [
            f"Not measured: {self._called(name)}: {why}"
            for name, why in self.unanswered.items()
        ]
        targets = dict.fromkeys(row.target for row in self.rows)
        where = []
        for target in targets:
            rows = [row for row in self.rows if row.target == target]
            where.append(self._where(rows))
        return [*missing, *self.leaks, *where]

    def _where(self, rows: Sequence[Row]) -> str:
        """Where the usable information on one target is, given the rows of all blocks."""
        together = next((row for row in rows if row.block == ALL), rows[0])
        blocks = [row for row in rows if row is not together]
        blocks.sort(key=lambda row: -float(row.richer))
        about = f"{self._called(together.target)}: "
        used = [row for row in blocks if row.richer.low > 0.0]
        if not used and together.richer.low > 0.0:
            used = [together]
        if not used:
            return (
                f"{about}none is detected; {at_most(together.richer.bits)} are in "
                f"{together.block}."
            )
        first, *others = used
        most = None if first.ceiling is None else first.ceiling.bits
        sentences = [
            f"{about}predictors use {amount(first.richer.bits, most)} in "
            f"{first.block}{_only_there(first)}."
        ]
        unwanted = self._unwanted
        leaking = [row.block for row in blocks if row.detected and row in unwanted]
        if first.block in leaking:
            leaking = []  # the first sentences name the leaks
        also = []
        for row in others:
            if row.block not in leaking:
                also.append(f"{row.block} {amount(row.richer.bits)}")
        if also:
            sentences.append(f"Also in {listed(also)}.")
        if leaking:
            verb = "leaks" if len(leaking) == 1 else "leak"
            sentences.append(f"{listed(leaking)} {verb} it.")
        if first is not together and together.richer.low > first.richer.high:
            sentences.append(
                f"All blocks together carry {amount(together.richer.bits)}."
            )
        verb = " carries"  # only in the first part
        limits = []
        for row in blocks:
            if row.richer.low <= 0.0 and row.block not in leaking:
                limits.append(f"{row.block}{verb} {at_most(row.richer.bits)}")
                verb = ""
        if limits:
            sentences.append(f"{listed(limits)}.")
        return " ".join(sentences)

    def plot(self, ax: Any = None) -> Any:
        """Draws block x target: what the richer family can use, bits, with its 95 %
        interval; the matplotlib axes.

        Colours are shares of H(target); of numbers, which have none, shares of the
        largest value of their column.
        """
        cells = {}
        shares = {}
        for row in self.rows:
            place = row.block, self._called(row.target)
            if row.ceiling is None:
                same_target = [each for each in self.rows if each.target == row.target]
                largest = max(float(each.richer) for each in same_target)
                full_colour = max(largest, ROUNDING)
            else:
                full_colour = float(row.ceiling)
            cells[place] = row.richer.bits
            shares[place] = float(row.richer) / full_colour
        return draw_map(
            ax,
            cells,
            "usable information (bits), 95 % interval\ncolour: share of H(target)",
            shares,
        )

    @property
    def doubts(self) -> list[str]:
        """What was not measured, and the notes of readings."""
        doubts = [f"Not measured: {note}" for note in self.notes]
        notes = []
        for row in self.rows:
            place = f"{row.block}, {self._called(row.target)}"
            notes += [f"{place}: {note}" for note in row.reading.notes]
        return [*doubts, *dict.fromkeys(notes)]

    @property
    def more(self) -> dict[str, pd.DataFrame | list[str]]:
        """What the numbers mean, every measure, the partition."""
        settings = ", ".join(
            f"{name}: {value}" for name, value in self.settings.items()
        )
        every = []
        for row in self.rows:
            record = row.record(self._called(row.target))
            cells = {line.what: cell(line.shown, 3) for line in record}
            every.append({**record[0].of, **cells})
        tables: dict[str, pd.DataFrame | list[str]] = {
            "What the numbers mean": [
                *_MEANING,
                f"Blocks (columns): {blocks_and_widths(self.blocks)}. {settings}.",
            ],
            "Every measure (bits, 95 % intervals)": pd.DataFrame(every).fillna(""),
        }
        if self.partition is not None:
            tables["Partition, by conditional information"] = self.partition.text
            for title, content in self.partition.details.items():
                tables[f"Partition: {title}"] = content
        return tables


def _only_there(row: Row) -> str:
    """How much of a block's information is in no other block."""
    unique = row.sharing.get("unique")
    if unique is None or math.isnan(unique.value):
        return ""
    share = float(unique) / float(row.richer)
    part = f"{unique.bits.value:z.2f}"
    if share > _ALMOST:
        part = "almost all"
    elif not share > 1 - _ALMOST:
        part = "almost none"
    return f", {part} of it only there"
