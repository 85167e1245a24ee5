"""The reader of `estimate(x, y)`: trained on simulated data sets, calibrated on base
families that were held out.

The training data are the stored simulations (figures and true information, in
`docs/results/reading`; more are made by `make sweep-simulations` and `make
table-simulations`). `SET="data=docs/results/reading/triples"` trains the reader of
`estimate(x, y, given=z)` in the same way. Series are among both (series.parquet,
transfers.parquet). Every base family of the prior is held out in turn: networks that
were not trained on a family estimate the information of its distributions, and the 95 %
intervals are calibrated on these estimates. The run records these estimates as a table,
the coverage by family and type as metrics, and the reader as a model. `make promote
ARGS="RUN --package"` makes it the reader of `estimate`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from infoscope.data import prior
from infoscope.data.prior import conditional
from infoscope.errors import TooFew
from infoscope.estimators.reading import (
    figures,
    figures_conditional,
    simulated,
    training,
)
from infoscope.estimators.reading.module import ReaderModule
from infoscope.estimators.reading.reader import A
from infoscope.tracking import Cell, Pack, Profile, Report, Sweep, grid
from infoscope.tracking.datasets import DataSet
from sweeps.checks import require_minimum

RESULTS = Path("docs") / "results" / "reading"
MODEL = "reader"
# whether z is given -> estimators for comparison and the memory of series, and the
# figure with each
COMPARED = {
    False: {"ksg": "ksg_3", "gcmi": "gaussian", "memory": "memory_more"},
    True: {
        "ksg": "conditional_ksg_3",
        "gcmi": "gaussian_given",
        "memory": "memory_more",
    },
}
ALL_SETS = 10_000_000


@dataclass(frozen=True, kw_only=True)
class ReaderCell(Cell):
    data: str  # folder of simulated data sets
    sets: int  # the largest number of data sets
    content: str  # version of the simulated data sets
    prior: int  # version of the prior
    figures: int  # version of the figures
    seed: int  # of the training


@dataclass(frozen=True)
class ReaderProfile(Profile):
    data: str = str(RESULTS)
    sets: int = ALL_SETS
    seeds: tuple[int, ...] = (0,)


PAPER = ReaderProfile()
PROFILES = {"smoke": replace(PAPER, sets=1000), "laptop": PAPER, "paper": PAPER}


def cells(profile: ReaderProfile) -> Iterator[ReaderCell]:
    """One cell per seed, with the version of the stored simulations."""
    content, versions = "none", (prior.VERSION, figures.VERSION)
    if files_in(profile.data):
        simulations = collection(profile.data, profile.sets)
        content = training.card_of(simulations)["version"]
        if simulations.given:
            versions = conditional.VERSION, figures_conditional.VERSION
    yield from grid(
        ReaderCell,
        data=profile.data,
        sets=profile.sets,
        content=content,
        prior=versions[0],
        figures=versions[1],
        seed=list(profile.seeds),
    )


def check(cell: ReaderCell) -> None:
    require_minimum(cell, {"sets": 300, "seed": 0})
    if not files_in(cell.data):
        raise TooFew(
            "data must be a folder with simulated data sets (make "
            f"sweep-simulations), got {cell.data}."
        )


def files_in(folder: str) -> list[Path]:
    """The files of a folder of simulated data sets."""
    return sorted(Path(folder).glob("*.parquet"))


@functools.lru_cache(1)
def collection(folder: str, most: int) -> simulated.Simulated:
    """At most `most` simulated data sets of a folder, those with the lowest numbers."""
    found = simulated.load(files_in(folder))
    return found.where((found.facts["number"].rank() <= most).to_numpy())


def trial(pack: Pack[ReaderCell], report: Report) -> None:
    """Trains, calibrates and reports a reader."""
    for cell in pack.cells:
        simulations = collection(cell.data, cell.sets)
        reader, held_out = training.train(
            simulations,
            np.random.default_rng(cell.seed),
            lambda done, _: report.progress(0.99 * done),
        )
        held_out = held_out.assign(
            **{
                name: simulations.figures[:, reader.kind.NAMES.index(figure)]
                for name, figure in COMPARED[reader.given].items()
            }
        )
        report.table(
            cell, "left-out", {name: held_out[name].to_numpy() for name in held_out}
        )
        report.metrics(cell, scored(held_out))
        for family, rows in held_out.groupby("family"):
            report.metrics(cell, {f"coverage/{family}": float(rows["covered"].mean())})
        example = {
            "figures": simulations.figures[:2],
            "type": np.array(
                [reader.card["types"].index(simulations.facts["type"][0])]
            ),
        }
        report.model([cell], MODEL, ReaderModule.of(reader), example)


def scored(held_out: pd.DataFrame) -> dict[str, float]:
    """Metrics over all distributions whose family was held out."""
    answered = held_out[held_out["grade"] == A]
    found = {
        "coverage": held_out["covered"].mean(),
        "grade_a_share": len(answered) / len(held_out),
        "grade_a_missing_share": 1 - answered["covered"].mean(),
        "grade_a_median_width_nats": (answered["high"] - answered["low"]).median(),
        "rmse_nats": np.sqrt(((held_out["value"] - held_out["truth"]) ** 2).mean()),
        "baseline_rmse_nats": np.sqrt(
            ((held_out["baseline"] - held_out["truth"]) ** 2).mean()
        ),
    }
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}


def data(cell: ReaderCell) -> tuple[DataSet, ...]:
    """The simulated data sets."""
    simulations = collection(cell.data, cell.sets)
    facts = {
        name: simulations.facts[name].to_numpy() for name in ("number", "truth", "n")
    }
    content = {
        "figures": simulations.figures,
        **facts,
        "families": list(simulations.facts["families"]),
    }
    return (
        DataSet("simulated data sets", "drawn from infoscope's prior", lambda: content),
    )


SWEEP = Sweep(
    "reading",
    cells,
    trial,
    PROFILES,
    axes=("seeds",),
    data=data,
    check=check,
    cost=lambda cell: min(cell.sets, ALL_SETS),
    version=3,  # the factors of a held-out family are those of the others
)
