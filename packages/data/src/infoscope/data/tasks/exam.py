"""The exam of estimators of mutual information: distributions of known truth by collection.

beyond-normal  the forty of Czyż et al. 2023
everyday       twelve like everyday data
resampled      digits of MNIST paired by their labels at 200 levels (Gowri et al. 2024)
reduction      the same of ten digits, photographs and texts
late, later    held out when written; both have since informed rules of `advise`, which was removed
latest, edges  held out
known-truth    the cases on which the estimators from samples were built
cost           correlated normal columns, 2 to 200 each: for seconds and memory
"""

from __future__ import annotations

import math

from infoscope.data.tasks import (
    beyond_normal,
    edge_laws,
    everyday,
    known_truth,
    late_laws,
    later_laws,
    latest_laws,
    resampled,
)
from infoscope.data.tasks.known_truth import CASES, Case
from infoscope.errors import UnknownName

COST: dict[str, Case] = {f"normal-2-of-{dim}": everyday.coupled(dim, 0.7, pairs=2) for dim in (2, 20, 200)}
COLLECTIONS: dict[str, tuple[str, ...]] = {
    "beyond-normal": beyond_normal.NAMES,
    "everyday": tuple(everyday.LAWS),
    "late": tuple(late_laws.LAWS),
    "later": tuple(later_laws.LAWS),
    "latest": tuple(latest_laws.LAWS),
    "edges": tuple(edge_laws.LAWS),
    "resampled": resampled.NAMES,
    "reduction": tuple(name for pool in ("mnist", "cifar10", "imdb-bert") for name in resampled.level_names(pool, 8)),
    "known-truth": tuple(name for name in CASES if name not in everyday.LAWS),
    "cost": tuple(COST),
}


def law(name: str) -> Case:
    """The distribution of a name of any collection. ValueError for an unknown one."""
    tables = everyday, late_laws, later_laws, latest_laws, edge_laws
    for laws in (*(table.LAWS for table in tables), COST, known_truth.CASES):
        if name in laws:
            return laws[name]
    if "-at-" in name:
        return resampled.law(name)
    if name in beyond_normal.NAMES:
        return beyond_normal.law(name)
    raise UnknownName(
        f"law must be one of the collections {', '.join(COLLECTIONS)} of infoscope.data.tasks.exam, got {name!r}."
    )


def needs_data(name: str) -> bool:
    """Whether a distribution is of items that are read from the folder of INFOSCOPE_DATA."""
    return name in everyday.OF_POOLS or "-at-" in name


def most_rows(name: str) -> float:
    """How many rows a sample can have; infinite where generated. FileNotFoundError: items that are not there."""
    if not needs_data(name):
        return math.inf
    return resampled.most_rows(everyday.OF_POOLS.get(name) or name.rpartition("-at-")[0])
