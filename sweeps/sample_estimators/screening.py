"""Which columns of a table depend on its target? Screens of `infoscope.data.tasks.tables`, compared with the truth."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.tables import TABLES, KnownTable
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics import screen
from infoscope.metrics.screening import Screen
from infoscope.tracking import Cell, Pack, Profile, Report, Sweep, grid
from sweeps import datasets
from sweeps.sample_estimators.settings import TEST_LEVEL


@dataclass(frozen=True, kw_only=True)
class ScreenCell(Cell):
    method: str = "screen"
    table: str  # one of infoscope.data.tasks.tables.TABLES
    set: int  # number of the data set, from 0
    n: int  # rows


@dataclass(frozen=True)
class ScreenProfile(Profile):
    tables: tuple[str, ...] = tuple(TABLES)
    sets: int = 10  # data sets of each table


PAPER = ScreenProfile()
PROFILES = {
    "smoke": replace(PAPER, tables=("forms-small", "redundant-small"), sets=1),
    "laptop": replace(PAPER, sets=2),
    "paper": PAPER,
}


def cells(profile: ScreenProfile) -> Iterator[ScreenCell]:
    """One cell per table and data set."""
    for table in profile.tables:
        yield from grid(ScreenCell, table=table, set=list(range(profile.sets)), n=TABLES[table].n)


def compared(found: Screen, known: KnownTable) -> dict[str, float]:
    """Counts of columns found, of redundant ones chosen, and of intervals that hold the true value."""
    truth = known.information()
    relevant, spare = set(found.relevant), set(known.spare)
    held = 0
    for row in found.table.to_dict("records"):
        true = truth.get(row["column"], 0.0) / NATS_PER_BIT
        held += row["low_bits"] <= true + 1e-9 and true <= row["high_bits"]
    counts = {
        "true_discoveries": len(relevant & set(truth)),
        "false_discoveries": len(relevant - set(truth)),
        "dependent_columns": len(truth),
    }
    counts |= {"covering_intervals": held, "intervals": len(found.table)}
    counts |= {"redundant_found": len(spare & relevant), "redundant_chosen": len(spare & set(found.chosen))}
    return {name: float(count) for name, count in counts.items()}


def trial(pack: Pack, report: Report) -> None:
    """Draws the table of each cell and screens it."""
    for done, cell in enumerate(pack.cells):
        known = TABLES[cell.table]
        table, groups = known.sample(draws(cell.set, cell.table, known.n))
        began = time.perf_counter()
        found = screen(table, "target", groups, angles=known.angles, level=TEST_LEVEL, processes=1)
        seconds = time.perf_counter() - began
        report.metrics(cell, compared(found, known) | {"screen_seconds": seconds})
        report.progress((done + 1) / len(pack.cells))


SWEEP = Sweep(
    "screening", cells, trial, PROFILES, axes=("tables",), choices={"tables": tuple(TABLES)},
    data=lambda cell: (datasets.distribution(f"{cell.table} (generated)", table=cell.table, set=cell.set),),
    cost=lambda cell: 0.1 * len(TABLES[cell.table].columns),  # seconds on one core
)  # fmt: skip
