"""Do the intervals of nearest-neighbour estimates cover, and does the verdict know where the truth is missed?

An interval is for the estimator's expectation at its sample size, so it is compared with the mean over all data sets;
where the verdict is "reliable" it is compared with the truth, too. The bootstrap with replacement is not among the
methods: it repeats rows (see `infoscope.estimators.resampling`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from infoscope.data.tasks.known_truth import case, draws
from infoscope.errors import InvalidInput, UnknownName
from infoscope.estimators import uncertainty
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, main
from sweeps import datasets
from sweeps.checks import require_minimum

METHODS = {
    "half-subsamples": uncertainty.subsample,
    "jackknife": uncertainty.jackknife,
    "holmes-nemenman": uncertainty.holmes_nemenman,
}
LAPTOP = dict(
    cases=("gaussian-1", "independent-1", "gaussian-5", "mixture-2", "mixture-12", "mixture-given-2",
           "gaussian-2", "gaussian-given-1", "uniform-beside-label", "zero-inflated-poisson"),
    sizes=(1000, 2000),
    methods=tuple(METHODS),
    blocks=(0, 1, 2, 3),
    sets=50,
    k=5,
)  # fmt: skip
PAPER = LAPTOP | dict(
    cases=(*LAPTOP["cases"], "gaussian-12", "gaussian-24", "independent-12", "mixture-24", "gaussian-given-3",
           "mixture-given-12"),
    sizes=(1000, 2000, 5000),
)  # fmt: skip
PROFILES = {
    "smoke": Profile(**LAPTOP | dict(cases=("gaussian-1", "mixture-2"), sizes=(200,), blocks=(0, 1), sets=4)),
    "laptop": Profile(**LAPTOP),
    "paper": Profile(**PAPER),
}


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per case, size, method and block of data sets."""
    yield from grid(
        case=list(profile.cases),
        n=list(profile.sizes),
        method=list(profile.methods),
        block=list(profile.blocks),
        sets=profile.sets,
        k=profile.k,
    )


def check(cell: dict) -> None:
    if case(cell["case"]).measure == "co-information":
        raise InvalidInput(f"case is {cell['case']!r}; coverage is of mutual information, conditional or not")
    if cell["method"] not in METHODS:
        raise UnknownName(f"method must be one of {', '.join(METHODS)}, got {cell['method']!r}")
    require_minimum(cell, {"n": 100, "sets": 2, "k": 1, "block": 0})


def cost(cell: dict) -> float:
    return cell["sets"] * cell["n"] ** 2


def trial(pack: Pack, report: Report) -> None:
    """Estimates every data set of the cells with its interval."""
    for done, cell in enumerate(pack.cells):
        of, rows = case(cell["case"]), []
        for number in range(cell["sets"]):
            generator = draws(cell["block"] * cell["sets"] + number, cell["case"], cell["n"])
            variables = of.sample(cell["n"], generator)
            rows.append(row(METHODS[cell["method"]](*variables, k=cell["k"], generator=generator)))
            report.progress((done + (number + 1) / cell["sets"]) / len(pack.cells))
        columns = {name: np.array([each[name] for each in rows]) for name in rows[0]}
        report.table(cell, "sets", columns)
        truth, truth_error = of.truth()
        inside = (columns["low"] <= truth) & (truth <= columns["high"])
        report.constants(cell, {"truth": truth, "truth_error": truth_error})
        report.metrics(
            cell,
            {
                "mean": columns["value"].mean(),
                "variance": columns["value"].var(ddof=1),
                "standard_error": columns["standard_error"].mean(),
                "covers_truth": inside.mean(),
            },
        )


def row(found: uncertainty.Uncertain) -> dict[str, Any]:
    """What is kept of one data set."""
    judged = found.judgement
    return {
        "value": found.value,
        "standard_error": found.standard_error,
        "low": found.low,
        "high": found.high,
        "verdict": judged.word if judged else "",
        "truth_low": judged.low if judged else math.nan,
        "truth_high": judged.high if judged else math.nan,
        "predicted_bias": judged.drift.bias if judged else math.nan,
    }


SWEEP = Sweep(
    "coverage",
    cells,
    trial,
    PROFILES,
    axes=("cases", "sizes", "methods", "blocks"),
    pack_by={"cpu": ("case", "n", "block"), "gpu": ("case", "n", "block")},
    data=lambda cell: (datasets.law(f"{cell['case']} (generated)", law=cell["case"]),),
    replicates=("block",),
    check=check,
    cost=cost,
    version=3,  # errors of categories where they share nothing
)

if __name__ == "__main__":
    main(SWEEP)
