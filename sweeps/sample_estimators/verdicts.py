"""How often is a nearest-neighbour estimate wrong that is called reliable, on laws that chose none of its constants?

The 40 laws of Beyond Normal (Czyż et al. 2023) and those of unseen_laws, at sizes that people have. A call is wrong
where its 95 % interval for the truth misses it. Also counted: how many estimates whose interval holds the truth are
called reliable, and what the drift with the sample size alone would have said.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from infoscope.data.tasks import beyond_normal, unseen_laws
from infoscope.data.tasks.known_truth import Case, draws
from infoscope.estimators import uncertainty
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, main
from sweeps import datasets
from sweeps.checks import require_minimum
from sweeps.sample_estimators.coverage import row

COLLECTIONS = {"beyond-normal": beyond_normal.NAMES, "unseen": tuple(unseen_laws.LAWS)}
LAPTOP = dict(
    laws=tuple(name for names in COLLECTIONS.values() for name in names),
    sizes=(1000, 2000, 5000),
    blocks=(0,),
    sets=20,
    k=5,
)
PROFILES = {
    "smoke": Profile(**LAPTOP | dict(laws=("1v1-normal-0.75", "student-identity-2-2-1"), sizes=(500,), sets=4)),
    "laptop": Profile(**LAPTOP),
    "paper": Profile(**LAPTOP | dict(sizes=(500, 1000, 2000, 5000, 10_000), blocks=(0, 1, 2, 3, 4))),
}


def law(name: str) -> Case:
    """The law of a name of either collection; ValueError for an unknown one."""
    return unseen_laws.LAWS[name] if name in unseen_laws.LAWS else beyond_normal.law(name)


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per law, size and block of data sets."""
    for cell in grid(law=list(profile.laws), n=list(profile.sizes), block=list(profile.blocks)):
        collection = next((name for name, laws in COLLECTIONS.items() if cell["law"] in laws), "unknown")
        yield cell | {"collection": collection, "sets": profile.sets, "k": profile.k}


def check(cell: dict) -> None:
    law(cell["law"])
    require_minimum(cell, {"n": 100, "sets": 2, "k": 1, "block": 0})


def cost(cell: dict) -> float:
    return cell["sets"] * cell["n"]


def trial(pack: Pack, report: Report) -> None:
    """Estimates and judges every data set of the cells."""
    for done, cell in enumerate(pack.cells):
        of, rows = law(cell["law"]), []
        for number in range(cell["sets"]):
            generator = draws(cell["block"] * cell["sets"] + number, cell["law"], cell["n"])
            found = uncertainty.subsample(*of.sample(cell["n"], generator), k=cell["k"], generator=generator)
            rows.append(row(found) | {"reason": "; ".join(found.reasons)})
            report.progress((done + (number + 1) / cell["sets"]) / len(pack.cells))
        columns = {name: np.array([each[name] for each in rows]) for name in rows[0]}
        report.table(cell, "sets", columns)
        truth, truth_error = of.truth()
        reliable = columns["verdict"] == uncertainty.RELIABLE
        wrong = reliable & ~((columns["truth_low"] <= truth) & (truth <= columns["truth_high"]))
        report.metrics(
            cell,
            {
                "truth": truth,
                "truth_error": truth_error,
                "mean": columns["value"].mean(),
                "variance": columns["value"].var(ddof=1),
                "covers_truth": ((columns["low"] <= truth) & (truth <= columns["high"])).mean(),
                "reliable": reliable.mean(),
                "reliable_but_wrong": wrong.mean(),
            },
        )


SWEEP = Sweep(
    "verdicts",
    cells,
    trial,
    PROFILES,
    axes=("laws", "sizes", "blocks"),
    data=lambda cell: (datasets.law(f"{cell['law']} (generated)", law=cell["law"]),),
    replicates=("block",),
    check=check,
    cost=cost,
    version=2,  # rare categories are not verified
)

if __name__ == "__main__":
    main(SWEEP)
