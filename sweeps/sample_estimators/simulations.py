"""Simulated data sets with known mutual information, the training data for the reading
of `estimate(x, y)`.

Every number is a distribution of the prior (`infoscope.data.prior`): base families in
independent subsystems, idle columns, invertible maps and observation (rounding, limits
of detection, counts, levels). From each distribution one data set of 100 to 5,000 rows
is drawn, and its figures are computed (`infoscope.estimators.reading.figures`), without
columns that are computed from others, as `estimate` leaves them out. Cells record
figures and true values. `make table-simulations ARGS="--keep FOLDER"` writes them to
one file, and `make sweep-reading` trains on such files. A number gives the same data
set on every machine, so results of several runs can be combined.
`SET="most_columns=11"` leaves out distributions with more numeric columns, including
those whose first, rejected composition had more; a third of the prior has few columns,
as most real samples do. `SET="only=categories"` keeps one type. `SET="only=triples"`
simulates x, y and z of known I(x; y | z), `only=series` pairs of series
(`data.prior.processes`) with the information of the past of x about y now, and
`only=transfers` their transfer entropy.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infoscope.checks import one_of
from infoscope.data import prior
from infoscope.data.prior import composition, conditional, processes
from infoscope.errors import NoVariation
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.diagnosis import without_derived_columns
from infoscope.estimators.pairs import Pairs, as_pairs
from infoscope.estimators.reading import figures, figures_conditional, lagged
from infoscope.estimators.reading.figures_conditional import Triples, as_conditions
from infoscope.estimators.reading.reader import kind_of
from infoscope.estimators.reading.simulated import format_of
from infoscope.estimators.variables import Variable, factorise
from infoscope.tracking import Cell, Pack, Profile, Report, Sweep, grid
from sweeps import datasets
from sweeps.checks import require_minimum

ROWS = (100, 5000)  # of a data set, log-uniform
SERIES_ROWS = (200, 10_000)  # of a pair of series
ANY, TRIPLES, SERIES, TRANSFERS = "any type", "triples", "series", "transfers"
PRIORS = {
    TRIPLES: conditional.VERSION,
    SERIES: processes.VERSION,
    TRANSFERS: processes.VERSION,
}
ALL_COLUMNS = 8 * composition.MAX_COLUMNS  # more than any distribution has
Facts = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class BlockCell(Cell):
    sets: int  # numbers of a block
    most_columns: int  # numeric columns of x and y
    only: str  # one of infoscope.data.prior.TYPES, ANY, TRIPLES, SERIES or TRANSFERS
    prior: int  # version of the prior
    figures: int  # version of the figures
    block: int  # of numbers, from 0


@dataclass(frozen=True)
class BlockProfile(Profile):
    blocks: tuple[int, ...] = tuple(range(10_000))
    sets: int = 100
    most_columns: int = ALL_COLUMNS
    only: str = ANY


PAPER = BlockProfile()
PROFILES = {
    "smoke": replace(PAPER, blocks=(0, 1, 2), sets=30),
    "laptop": replace(PAPER, blocks=tuple(range(100))),
    "paper": PAPER,
}


def cells(profile: BlockProfile) -> Iterator[BlockCell]:
    """One cell per block of numbers."""
    kind = kind_of(has_conditions(profile.only))
    yield from grid(
        BlockCell,
        sets=profile.sets,
        most_columns=profile.most_columns,
        only=profile.only,
        prior=PRIORS.get(profile.only, prior.VERSION),
        figures=kind.VERSION,
        block=list(profile.blocks),
    )


def check(cell: BlockCell) -> None:
    require_minimum(cell, {"block": 0, "sets": 1, "most_columns": 2})
    one_of("only", cell.only, (ANY, *PRIORS, *prior.TYPES))


def has_conditions(only: str) -> bool:
    """Whether these data sets are of x, y and z."""
    return only in (TRIPLES, TRANSFERS)


def trial(pack: Pack[BlockCell], report: Report) -> None:
    """Simulates the data sets of the cells and reports their figures and true values."""
    for done, cell in enumerate(pack.cells):
        rows = []
        for number in range(cell.block * cell.sets, (cell.block + 1) * cell.sets):
            # no row has a rare class: nothing to estimate
            with contextlib.suppress(NoVariation):
                row = data_set(number, cell.most_columns, cell.only)
                if row is not None:
                    rows.append(row)
            report.progress(
                (done + (number + 1) / cell.sets - cell.block) / len(pack.cells)
            )
        kind, facts = format_of(has_conditions(cell.only))
        columns = {
            name: np.array([row[name] for row in rows])
            for name in (*facts, *kind.NAMES)
        }
        report.table(cell, "sets", columns)
        seconds = [row["seconds"] for row in rows]
        means = {
            "figures_seconds": float(np.mean(seconds)),
            "mean_true_nats": float(np.mean(columns["truth"])),
        }
        report.metrics(cell, means)


def data_set(number: int, most_columns: int, only: str) -> Facts | None:
    """Facts and figures of one data set; None for another type or more columns."""
    if only == TRIPLES:
        return simulated_given(number)
    if only in (SERIES, TRANSFERS):
        return simulated_series(number, only == TRANSFERS)
    return simulated(number, most_columns, only)


def simulated(
    number: int, most_columns: int = ALL_COLUMNS, only: str = ANY
) -> Facts | None:
    """Facts and figures of one data set, and the seconds of computing the figures.

    None for another type or more columns.
    """
    if only not in (ANY, composition.type_of(number)):
        return None
    if composition.first_columns(number) > most_columns:
        return None
    distribution = prior.distribution(number)
    x, y = distribution.sample(2, np.random.default_rng(0))
    if x.numbers.shape[1] + y.numbers.shape[1] > most_columns:
        return None
    generator = np.random.default_rng([prior.VERSION, number, 1])
    n = _rows(ROWS, generator)
    x, y = distribution.sample(n, generator)
    pairs = without_derived_columns(as_sample(x, y))
    began = time.perf_counter()
    values = figures.figures(pairs, generator)
    facts = _facts(distribution, n, began)
    return facts | dict(zip(figures.NAMES, values))


def simulated_given(number: int) -> Facts:
    """Facts and figures of one data set of x, y and z, whose truth is I(x; y | z).

    NoVariation: x, y or z has one value.
    """
    distribution = conditional.conditional_distribution(number)
    generator = np.random.default_rng([conditional.VERSION, number, 1, 1])
    n = _rows(ROWS, generator)
    x, y, z = distribution.sample(n, generator)
    pairs = without_derived_columns(as_sample(x, y))
    columns = []
    for column in z.numbers.T:
        if np.ptp(column) > 0:
            columns.append(Variable(column[:, None], None, 1))
    for codes in z.labels.T:
        if np.ptp(codes) > 0:
            columns.append(Variable(np.empty((n, 0)), *factorise(codes)))
    if not columns:
        raise NoVariation("z must vary, got one value in all rows.")
    triples = Triples(pairs, as_conditions(columns))
    began = time.perf_counter()
    values = figures_conditional.figures(triples, generator)
    facts = _facts(distribution, n, began)
    facts["columns_z"] = distribution.columns[2]
    return facts | dict(zip(figures_conditional.NAMES, values))


def simulated_series(number: int, transfer: bool) -> Facts:
    """Facts and figures of two series.

    The truth is the transfer entropy of x to y, or I(past of x; y now).
    """
    process = processes.process(number)
    generator = np.random.default_rng([processes.VERSION, number, 1, 2])
    n = _rows(SERIES_ROWS, generator)
    x, y = process.sample(n, generator)
    lags = range(1, process.history + 1)
    units = np.zeros(n, np.intp)
    sample = lagged.lagged(as_series(x), as_series(y), lags, units)
    began = time.perf_counter()
    values = lagged.figures_of(sample, transfer, generator)
    truth = process.truth.information
    error = process.truth.information_error
    if transfer:
        truth = process.truth.transfer_entropy
        error = process.truth.transfer_entropy_error
    facts = {
        "number": number,
        "n": n,
        "type": sample.type,
        "families": process.family,
        "columns_x": process.columns[0] * process.history,
        "columns_y": process.columns[1],
        "columns_z": process.columns[1] * process.history,
        "tied": False,
        "idle": 0,
        "truth": truth,
        "truth_error": error,
        "seconds": time.perf_counter() - began,
    }
    return facts | dict(zip(kind_of(transfer).NAMES, values))


def _rows(limits: tuple[int, int], generator: np.random.Generator) -> int:
    """A number of rows, log-uniform between the limits."""
    return round(math.exp(generator.uniform(*np.log(limits))))


def as_series(sample: prior.Sample) -> Variable:
    """A simulated series as a checked variable. NoVariation: all values are the same."""
    if sample.labels.shape[1]:
        codes, categories = factorise(sample.labels[:, 0])
        if categories < 2:
            raise NoVariation("a series must vary, got one category.")
        return Variable(np.empty((len(codes), 0)), codes, categories)
    if not np.ptp(sample.numbers, axis=0).all():
        raise NoVariation("a series must vary, got one value.")
    return Variable(sample.numbers, None, 1)


def _facts(distribution: prior.Distribution, n: int, began: float) -> Facts:
    """Facts of one data set of n rows, and the seconds since `began`."""
    return {
        "number": distribution.number,
        "n": n,
        "type": distribution.type,
        "families": "+".join(distribution.families),
        "columns_x": distribution.columns[0],
        "columns_y": distribution.columns[1],
        "tied": distribution.tied,
        "idle": sum(distribution.idle),
        "truth": distribution.truth,
        "truth_error": distribution.truth_error,
        "seconds": time.perf_counter() - began,
    }


def as_sample(x: prior.Sample, y: prior.Sample) -> Pairs:
    """Two simulated variables as a checked sample for estimators."""
    return as_pairs(_columns(x), _columns(y))


def _columns(sample: prior.Sample) -> Any:
    """The numbers or labels of a simulated variable, or a list of both."""
    columns = []
    if sample.numbers.shape[1]:
        columns.append(Continuous(sample.numbers))
    if sample.labels.shape[1]:
        columns.append(Discrete(sample.labels))
    return columns[0] if len(columns) == 1 else columns


SWEEP = Sweep(
    "simulations",
    cells,
    trial,
    PROFILES,
    axes=("blocks",),
    data=lambda cell: (datasets.distribution("prior", version=cell.prior),),
    check=check,
    cost=lambda cell: cell.sets,
)
