"""Which columns of a table depend on its target? Screens of
`infoscope.data.tasks.tables`, compared with the truth.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.tables import TABLES, KnownTable
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics import screen
from infoscope.metrics.screening import Screen
from infoscope.tracking import Cell, Pack, Profile, Report, Sweep, grid
from infoscope.tracking.datasets import DataSet
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
        yield from grid(
            ScreenCell, table=table, set=list(range(profile.sets)), n=TABLES[table].n
        )


def compared(screened: Screen, simulated: KnownTable) -> dict[str, float]:
    """Counts of columns found, of redundant ones chosen, and of intervals that cover
    the true value.
    """
    truth = simulated.information()
    relevant = set(screened.relevant)
    spare = set(simulated.spare)
    covering = 0
    for row in screened.table.to_dict("records"):
        true_bits = truth.get(row["column"], 0.0) / NATS_PER_BIT
        covering += (
            row["low_bits"] <= true_bits + 1e-9 and true_bits <= row["high_bits"]
        )
    counts = {
        "true_discoveries": len(relevant & set(truth)),
        "false_discoveries": len(relevant - set(truth)),
        "dependent_columns": len(truth),
        "covering_intervals": covering,
        "intervals": len(screened.table),
        "redundant_found": len(spare & relevant),
        "redundant_chosen": len(spare & set(screened.chosen)),
    }
    return {name: float(count) for name, count in counts.items()}


def trial(pack: Pack[ScreenCell], report: Report) -> None:
    """Draws the table of each cell and screens it."""
    for done, cell in enumerate(pack.cells):
        simulated = TABLES[cell.table]
        table, groups = simulated.sample(draws(cell.set, cell.table, simulated.n))
        began = time.perf_counter()
        screened = screen(
            table,
            "target",
            groups,
            angles=simulated.angles,
            level=TEST_LEVEL,
            processes=1,
        )
        seconds = time.perf_counter() - began
        report.metrics(
            cell, compared(screened, simulated) | {"screen_seconds": seconds}
        )
        report.progress((done + 1) / len(pack.cells))


def data_sets(cell: ScreenCell) -> tuple[DataSet]:
    """The distribution of a cell."""
    return (
        datasets.distribution(
            f"{cell.table} (generated)", table=cell.table, set=cell.set
        ),
    )


SWEEP = Sweep(
    "screening",
    cells,
    trial,
    PROFILES,
    axes=("tables",),
    choices={"tables": tuple(TABLES)},
    data=data_sets,
    cost=lambda cell: 0.1 * len(TABLES[cell.table].columns),  # seconds on one core
)
