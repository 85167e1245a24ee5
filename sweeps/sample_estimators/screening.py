"""Which columns of a table depend on its target? The selection of a screen, compared with the truth.

The tables of `infoscope.data.tasks.tables` have numbers, counts, levels, categories and angles, 300 to 5,000 rows, and
some redundant or weakly dependent columns, groups of rows or missing values. Columns are selected at a false discovery
rate of 5 %; the coverage of intervals is measured for columns and the target and, as `pairs`, for all pairs of columns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

from infoscope.checks import one_of
from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.tables import TABLES, KnownTable
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics import screen
from infoscope.tracking import Pack, Profile, Report, Sweep, grid
from sweeps import datasets
from sweeps.checks import require_minimum
from sweeps.sample_estimators.settings import PAIRS, SCREEN, TEST_LEVEL

METHODS = (SCREEN, PAIRS)
LAPTOP = dict(tables=tuple(TABLES), methods=METHODS, sets=2)
PROFILES = {
    "smoke": Profile(tables=("forms-small", "redundant-small"), methods=(SCREEN,), sets=1),
    "laptop": Profile(**LAPTOP),
    "paper": Profile(**LAPTOP | dict(sets=10)),
}


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per table, method and data set."""
    for cell in grid(table=list(profile.tables), method=list(profile.methods), set=list(range(profile.sets))):
        yield cell | {"n": TABLES[cell["table"]].n}


def check(cell: dict) -> None:
    one_of("table", cell["table"], TABLES)
    one_of("method", cell["method"], METHODS)
    require_minimum(cell, {"set": 0})


def cost(cell: dict) -> float:
    """Approximate seconds on one core."""
    columns = len(TABLES[cell["table"]].columns)
    return {SCREEN: 0.1, PAIRS: 0.05 * columns}[cell["method"]] * columns


def screen_metrics(known: KnownTable, table: pd.DataFrame, groups: np.ndarray | None, pairs: bool) -> dict[str, float]:
    """The selection of a screen compared with the truth, and the coverage of its intervals."""
    target = None if pairs else "target"
    found = screen(table, target, groups, angles=known.angles, level=TEST_LEVEL, processes=1)
    truth = {frozenset(pair): nats / NATS_PER_BIT for pair, nats in known.information().items()}
    held = widths = pairs_known = 0.0
    for row in found.table.to_dict("records"):
        true = truth.get(frozenset((row["column"], row["with"])), 0.0)
        if math.isfinite(true):
            pairs_known += 1
            held += row["low_bits"] <= true + 1e-9 and true <= row["high_bits"]
            widths += row["high_bits"] - row["low_bits"]
    counted = {"held": held, "intervals": pairs_known, "mean_width_bits": widths / pairs_known}
    if pairs:
        dependent = found.table[found.table["dependent"]]
        true = sum(frozenset(pair) in truth for pair in zip(dependent["column"], dependent["with"]))
        return counted | {"found": true, "false": len(dependent) - true, "dependent": len(truth)}
    spare, relevant, chosen = set(known.spare), set(found.relevant), set(found.chosen)
    sources = [{name for name, (source, _) in known.columns.items() if source == each} for each in known.effects]
    kept = {"spare_found": len(spare & relevant), "spare_kept": len(spare & chosen)}
    kept |= {"needed_found": sum(map(bool, (names & relevant for names in sources)))}
    kept |= {"needed_kept": sum(map(bool, (names & chosen for names in sources)))}
    return counted | kept | compared(known, relevant)


def compared(known: KnownTable, found: set[str] | list[str]) -> dict[str, float]:
    """Numbers of correctly and falsely selected columns, and of dependent ones."""
    true = len({*found} & {*known.relevant})
    return {"found": true, "false": len({*found}) - true, "dependent": len(known.relevant)}


def trial(pack: Pack, report: Report) -> None:
    """Draws the table of each cell and runs its method."""
    for done, cell in enumerate(pack.cells):
        known = TABLES[cell["table"]]
        table, groups = known.sample(draws(cell["set"], cell["table"], known.n))
        began = time.perf_counter()
        found = screen_metrics(known, table, groups, cell["method"] == PAIRS)
        report.metrics(cell, {"took_seconds": time.perf_counter() - began} | {k: float(v) for k, v in found.items()})
        report.progress((done + 1) / len(pack.cells))


SWEEP = Sweep(
    "screening",
    cells,
    trial,
    PROFILES,
    axes=("tables", "methods"),
    data=lambda cell: (datasets.distribution(f"{cell['table']} (generated)", table=cell["table"], set=cell["set"]),),
    choices={"tables": tuple(TABLES), "methods": METHODS},
    replicates=("set",),
    check=check,
    cost=cost,
)
