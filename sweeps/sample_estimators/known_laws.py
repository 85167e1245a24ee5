"""How accurate are estimates of mutual information, and do their intervals cover the
true value?

All methods for arrays estimate the information of distributions with known truth
(`infoscope.data.tasks.catalogue`) from the same data sets: our methods, formulas of
packages that treat labels as numbers, and as MODULE:NAME your own or a public package's
(`sweeps.sample_estimators.peers`). If a method raises an error, the data set counts as
refused, with the reason. Estimates are never clipped.

Durations are those of one thread. Memory is the largest amount that an estimate adds.
"""

from __future__ import annotations

import functools
import math
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from infoscope.data import data_root
from infoscope.data.tasks import catalogue, resampled
from infoscope.data.tasks.cases import draws
from infoscope.errors import UnknownName, WrongType
from infoscope.estimators import Estimate
from infoscope.estimators.reading.result import METHOD as READING
from infoscope.estimators.reading.result import packaged
from infoscope.tracking import Cell, Pack, Profile, Report, Sweep, grid
from infoscope.tracking.datasets import DataSet
from sweeps import datasets
from sweeps.checks import require_minimum
from sweeps.sample_estimators._methods import (
    accepts,
    all_methods,
    digest_of,
    estimate_by,
    peak_memory,
    require_known,
    seconds,
    warm_up,
)

REFUSED = Estimate(math.nan, math.nan)  # in the place of one that a method refuses


@dataclass(frozen=True, kw_only=True)
class LawCell(Cell):
    law: str  # one of infoscope.data.tasks.catalogue
    sets: int  # data sets
    n: int  # rows
    method: str  # name of a method, critic or formula, or MODULE:NAME
    block: int  # of data sets, from 0
    collection: str  # of the law
    reader: str | None = None  # version of the reader, for the method "reading"
    source: str | None = None  # digest of the file of a method MODULE:NAME


@dataclass(frozen=True)
class LawProfile(Profile):
    collections: tuple[str, ...] = ("beyond-normal", "everyday")
    laws: tuple[str, ...] = ("all",)
    methods: tuple[str, ...] = ("all",)
    sizes: tuple[int, ...] = (500, 1000, 5000, 20_000)  # rows
    most_seconds: float = math.inf  # longer cells are left out
    blocks: tuple[int, ...] = (0,)
    sets: int = 20


PAPER = LawProfile()
LAPTOP = replace(PAPER, sizes=(1000, 5000), most_seconds=10.0, sets=10)
PROFILES = {
    "smoke": replace(
        LAPTOP,
        laws=("1v1-normal-0.75", "sparse-table", "patients"),
        methods=("ksg", "gcmi", "shrinkage"),
        sizes=(500,),
        sets=3,
    ),
    "laptop": LAPTOP,
    "critics": replace(
        PAPER, methods=("infonce-anchor", "smile-5", "infonce"), sizes=(1000,), sets=3
    ),
    "paper": PAPER,
}


def cells(profile: LawProfile) -> Iterator[LawCell]:
    """One cell per distribution, sample size, method that accepts its types, and block
    of data sets.
    """
    methods = all_methods() if profile.methods == ("all",) else profile.methods
    for law, collection, most in available(laws_of(profile)):
        sizes = [n for n in profile.sizes if n <= most]
        suitable = [method for method in methods if accepts(method, law)]
        blocks = list(profile.blocks)
        shared = dict(law=law, sets=profile.sets, collection=collection)
        for cell in grid(LawCell, n=sizes, method=suitable, block=blocks, **shared):
            if cost(cell) > profile.most_seconds:
                continue
            reader = packaged().card["version"] if cell.method == READING else None
            yield replace(cell, reader=reader, source=digest_of(cell.method))


def laws_of(profile: LawProfile) -> dict[str, str]:
    """The distributions of a profile ("all": every one) with their collections.
    ValueError for an unknown one.
    """
    collections = {}
    for name in profile.collections:
        collections |= dict.fromkeys(catalogue.COLLECTIONS[name], name)
    for law in profile.laws:
        if law not in (*collections, "all"):
            raise UnknownName(
                f"laws must be of the collections {', '.join(profile.collections)}, "
                f"got {law!r}."
            )
    if "all" in profile.laws:
        return collections
    return {law: name for law, name in collections.items() if law in profile.laws}


@functools.cache
def data_sets(name: str) -> tuple[DataSet, ...]:
    """A distribution, and the items that it pairs, if any."""
    distribution = datasets.distribution(name)
    pool = catalogue.pool_of(name)
    if not pool:
        return (distribution,)
    return distribution, datasets.items(
        pool, resampled.POOLS[pool], "items", synthetic=False
    )


def available(collections: Mapping[str, str]) -> Iterator[tuple[str, str, float]]:
    """Available distributions with their collection and largest number of rows; a
    warning lists missing ones.
    """
    left_out = set()
    missing = set()
    for law, collection in collections.items():
        if catalogue.pool_of(law) and data_root() is None:
            left_out.add(collection)
            continue
        try:
            most = catalogue.most_rows(law)
        except FileNotFoundError as error:
            missing.add(str(error))
            continue
        yield law, collection, most
    if left_out:
        names = ", ".join(sorted(left_out))
        warnings.warn(
            f"INFOSCOPE_DATA is not set: images and texts ({names}) are left out.",
            stacklevel=2,
        )
    for reason in sorted(missing):
        warnings.warn(
            f"Distributions without their data files are left out: {reason}",
            stacklevel=2,
        )


def check(cell: LawCell) -> None:
    catalogue.case(cell.law)
    require_minimum(cell, {"n": 50, "sets": 1, "block": 0})
    if not accepts(cell.method, cell.law):
        raise WrongType(
            f"method must accept the types of {cell.law}, got {cell.method!r}."
        )


def cost(cell: LawCell) -> float:
    return cell.sets * seconds(cell.method, cell.law, cell.n)


def trial(pack: Pack[LawCell], report: Report) -> None:
    """Estimates every data set of the cells; reports bias, variance, coverage, duration
    and memory.
    """
    for done, cell in enumerate(pack.cells):
        distribution = catalogue.case(cell.law)
        warm_up(cell.method)
        truth, truth_error = distribution.truth()
        rows = []
        for number in range(cell.sets):
            seed = cell.block * cell.sets + number
            generator = draws(seed, cell.law, cell.n)
            variables = distribution.sample(cell.n, generator)
            reason = ""
            try:
                with peak_memory() as memory:
                    began = time.perf_counter()
                    estimate = estimate_by(
                        cell.method, distribution, variables, generator
                    )
            except ValueError as error:  # raised by the method
                estimate = REFUSED
                reason = str(error)
            row = {
                name: getattr(estimate, name)
                for name in ("value", "standard_error", "low", "high")
            }
            rows.append(
                row
                | {
                    "reason": reason,
                    "seconds": time.perf_counter() - began,
                    "memory": memory.mib,
                }
            )
            report.progress((done + (number + 1) / cell.sets) / len(pack.cells))
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        report.table(cell, "sets", columns)
        report.constants(cell, {"true_nats": truth, "true_nats_error": truth_error})
        report.metrics(cell, scored(columns, truth))


def scored(sets: dict[str, np.ndarray], truth: float) -> dict[str, float]:
    """The metrics of a method: counts of data sets, and errors over those with a finite
    estimate.
    """
    answered = np.isfinite(sets["value"])
    bounded = np.isfinite(sets["low"])
    covered = bounded & (sets["low"] <= truth) & (truth <= sets["high"])
    figures = {
        "answered": answered.sum(),
        "intervals": bounded.sum(),
        "covering_intervals": covered.sum(),
        "estimate_seconds": np.median(sets["seconds"]),
        "memory_mib": sets["memory"].max(),
    }
    if answered.any():
        errors = sets["value"][answered] - truth
        figures |= {
            "bias_nats": errors.mean(),
            "mse_nats2": (errors**2).mean(),
            "mean_absolute_error_nats": abs(errors).mean(),
        }
    if bounded.any():
        figures["mean_width_nats"] = (sets["high"] - sets["low"])[bounded].mean()
    return {name: float(value) for name, value in figures.items() if np.isfinite(value)}


SWEEP = Sweep(
    "known-laws",
    cells,
    trial,
    PROFILES,
    axes=("collections", "laws", "sizes", "methods", "blocks"),
    data=lambda cell: data_sets(cell.law),
    choices={"methods": require_known, "collections": tuple(catalogue.COLLECTIONS)},
    check=check,
    cost=cost,
    version=4,  # intervals are of sampling error only
)
