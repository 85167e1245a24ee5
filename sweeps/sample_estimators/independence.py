"""What are the size and the power of tests of (conditional) independence?

The settings of `infoscope.data.tasks.independence` have a null hypothesis, an alternative and a sample size each. All
tests use the same data sets. Compared are permutations without reuse of rows, the published algorithm with its settings
(Runge 2018: a fifth of the rows as neighbours, and a row's x may be used twice), and `independence_test`, which
correlates smooth functions of ranks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from infoscope.checks import one_of
from infoscope.data.tasks.cases import Generator, draws
from infoscope.data.tasks.independence import SETTINGS, setting
from infoscope.estimators.independence import IndependenceTest, independence_test
from infoscope.estimators.uncertainty import PermutationTest, permutation_test
from infoscope.tracking import Pack, Profile, Report, Sweep, grid
from sweeps import datasets
from sweeps.checks import require_minimum
from sweeps.sample_estimators.settings import TEST_LEVEL

Test = Callable[[tuple[Any, ...], int, Generator], PermutationTest | IndependenceTest]


def published(variables: tuple[Any, ...], permutations: int, generator: Generator) -> PermutationTest:
    k = max(1, len(variables[0]) // 5)
    return permutation_test(*variables, k=k, permutations=permutations, generator=generator, reuse=True)


TESTS: dict[str, Test] = {
    "permutation": lambda variables, b, g: permutation_test(*variables, permutations=b, generator=g),
    "local-permutation": lambda variables, b, g: permutation_test(*variables, permutations=b, generator=g),
    "local-permutation-published": published,
    "smooth": lambda variables, b, g: independence_test(*variables),
    "smooth-beyond": lambda variables, b, g: independence_test(*variables),
}
UNCONDITIONAL = ("permutation", "smooth")
LAPTOP = dict(laws=tuple(SETTINGS), tests=tuple(TESTS), blocks=(0,), sets=400, large_sets=25, permutations=39)
PROFILES = {
    "smoke": Profile(**LAPTOP | dict(laws=("number-and-label-0", "linear-1-of-100", "mixed-condition-2"), sets=5)),
    "laptop": Profile(**LAPTOP),
    "paper": Profile(**LAPTOP | dict(large_sets=400, permutations=199)),
}
LARGE = 1000  # rows; for at least so many the number of data sets is `large_sets`


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per setting, null or alternative, suitable test, and block of data sets."""
    for cell in grid(law=list(profile.laws), test=list(profile.tests), dependent=[0, 1], block=list(profile.blocks)):
        case = setting(cell["law"])
        if (case.columns == 0) == (cell["test"] in UNCONDITIONAL):
            sets = profile.sets if case.rows < LARGE else profile.large_sets
            yield cell | {"columns": case.columns, "n": case.rows, "sets": sets, "permutations": profile.permutations}


def check(cell: dict) -> None:
    setting(cell["law"])
    one_of("test", cell["test"], TESTS)
    least = round(1 / TEST_LEVEL) - 1
    require_minimum(cell, {"sets": 2, "block": 0, "permutations": least, "n": 50})


def cost(cell: dict) -> float:
    """Approximate seconds on one core, for comparing distances or matrix products."""
    n = cell["n"]
    each = {"smooth": 0.0, "smooth-beyond": 0.05}.get(cell["test"], 8e-9 * n**2 * cell["permutations"])
    return cell["sets"] * (0.01 + each)


def trial(pack: Pack, report: Report) -> None:
    """Tests every data set of the cells and reports the number of rejections."""
    for done, cell in enumerate(pack.cells):
        case, rows = setting(cell["law"]), []
        for number in range(cell["sets"]):
            seed = cell["block"] * cell["sets"] + number
            generator = draws(seed, f"{cell['law']} {cell['dependent']}", cell["n"])
            x, y, *z = case.sample(cell["n"], generator, bool(cell["dependent"]))
            variables = (x, y, *(pd.DataFrame(side) if isinstance(side, dict) else side for side in z))
            began = time.perf_counter()
            found = TESTS[cell["test"]](variables, cell["permutations"], generator)
            rows.append({"p_value": found.p_value, "value": found.observed.value,
                         "seconds": time.perf_counter() - began})  # fmt: skip
            report.progress((done + (number + 1) / cell["sets"]) / len(pack.cells))
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        report.table(cell, "sets", columns)
        truth = case.information if cell["dependent"] else 0.0
        if np.isfinite(truth):
            report.constants(cell, {"information": truth})
        report.metrics(
            cell,
            {
                "rejected": float((columns["p_value"] <= TEST_LEVEL).sum()),
                "mean_p_value": columns["p_value"].mean(),
                "test_seconds": float(np.median(columns["seconds"])),
            },
        )


SWEEP = Sweep(
    "independence",
    cells,
    trial,
    PROFILES,
    axes=("laws", "tests", "blocks"),
    data=lambda cell: (
        datasets.distribution(f"{cell['law']} (generated)", law=cell["law"], dependent=cell["dependent"]),
    ),
    choices={"laws": tuple(SETTINGS), "tests": tuple(TESTS)},
    replicates=("block",),
    check=check,
    cost=cost,
    version=2,  # permutation_test uses a tenth of the rows as neighbours
)
