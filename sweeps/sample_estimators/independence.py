"""What are the size and the power of tests of (conditional) independence, on
`infoscope.data.tasks.independence`?
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.independence import SETTINGS
from infoscope.estimators.independence import independence_test
from infoscope.estimators.uncertainty import permutation_test
from infoscope.tracking import Cell, Pack, Profile, Report, Sweep, grid
from infoscope.tracking.datasets import DataSet
from sweeps import datasets
from sweeps.checks import require_minimum
from sweeps.sample_estimators.settings import TEST_LEVEL

# by whether there is a z
TESTS = {False: ("smooth", "permutation"), True: ("smooth-beyond", "local-permutation")}
LARGE = 1000  # rows; for at least so many the number of data sets is `large_sets`


@dataclass(frozen=True, kw_only=True)
class IndependenceCell(Cell):
    law: str  # one of infoscope.data.tasks.independence.SETTINGS
    test: str  # one of TESTS
    dependent: int  # 0: a draw of the null hypothesis, 1: of the alternative
    block: int  # of data sets, from 0
    columns: int  # of the condition z
    n: int  # rows
    sets: int  # data sets
    permutations: int


@dataclass(frozen=True)
class IndependenceProfile(Profile):
    laws: tuple[str, ...] = tuple(SETTINGS)
    blocks: tuple[int, ...] = (0,)
    sets: int = 400
    large_sets: int = 400  # data sets of at least LARGE rows
    permutations: int = 199


PAPER = IndependenceProfile()
LAPTOP = replace(PAPER, large_sets=25, permutations=39)
PROFILES = {
    "smoke": replace(
        LAPTOP,
        laws=("number-and-label-0", "linear-1-of-100", "mixed-condition-2"),
        sets=5,
    ),
    "laptop": LAPTOP,
    "paper": PAPER,
}


def cells(profile: IndependenceProfile) -> Iterator[IndependenceCell]:
    """One cell per setting, suitable test, null or alternative, and block of data sets."""
    for law in profile.laws:
        setting = SETTINGS[law]
        yield from grid(
            IndependenceCell,
            law=law,
            test=list(TESTS[setting.columns > 0]),
            dependent=[0, 1],
            block=list(profile.blocks),
            columns=setting.columns,
            n=setting.rows,
            sets=profile.sets if setting.rows < LARGE else profile.large_sets,
            permutations=profile.permutations,
        )


def check(cell: IndependenceCell) -> None:
    require_minimum(
        cell, {"sets": 2, "block": 0, "permutations": round(1 / TEST_LEVEL) - 1}
    )


def p_value(cell: IndependenceCell, seed: int) -> float:
    """The p-value of a cell's test in a data set."""
    generator = draws(seed, f"{cell.law} {cell.dependent}", cell.n)
    x, y, *z = SETTINGS[cell.law].sample(cell.n, generator, bool(cell.dependent))
    condition: list[Any]
    condition = [pd.DataFrame(side) if isinstance(side, dict) else side for side in z]
    if cell.test.startswith("smooth"):
        return independence_test(x, y, *condition).p_value
    return permutation_test(
        x, y, *condition, permutations=cell.permutations, generator=generator
    ).p_value


def trial(pack: Pack[IndependenceCell], report: Report) -> None:
    """Tests every data set of the cells and reports the number of rejections."""
    for done, cell in enumerate(pack.cells):
        began = time.perf_counter()
        seeds = range(cell.block * cell.sets, (cell.block + 1) * cell.sets)
        p_values = np.array([p_value(cell, seed) for seed in seeds])
        seconds = (time.perf_counter() - began) / cell.sets
        report.table(cell, "sets", {"p_value": p_values})
        information = SETTINGS[cell.law].information
        if cell.dependent and np.isfinite(information):
            report.constants(cell, {"true_nats": information})
        rejected = float((p_values <= TEST_LEVEL).sum())
        report.metrics(
            cell,
            {
                "rejected": rejected,
                "mean_p_value": p_values.mean(),
                "test_seconds": seconds,
            },
        )
        report.progress((done + 1) / len(pack.cells))


def data(cell: IndependenceCell) -> tuple[DataSet]:
    name = f"{cell.law} (generated)"
    return (datasets.distribution(name, law=cell.law, dependent=cell.dependent),)


SWEEP = Sweep(
    "independence",
    cells,
    trial,
    PROFILES,
    axes=("laws", "blocks"),
    choices={"laws": tuple(SETTINGS)},
    data=data,
    check=check,
    # seconds, at most
    cost=lambda cell: cell.sets * (0.01 + 8e-9 * cell.n**2 * cell.permutations),
    version=2,
)
