"""The exam of the advice: how often does an answer hold the truth, how often is there none, and was the choice good?

Laws whose information is known, data sets as people have them. Each is handed to `advise`, as a person would who knows
the types of the columns and nothing else. Kept are the verdict, the answer with its interval, the estimator that was
chosen, and what every candidate said: with the truth at hand, the best of them in hindsight is the oracle choice, and
always the same one is what people do. Seconds are what the advice was told it may take on two idle cores.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from infoscope.data.tasks import exam
from infoscope.data.tasks.known_truth import draws
from infoscope.metrics.advice import ANSWERED, NOTHING, REFUSED, Advice, advise
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, main
from sweeps.checks import require_minimum
from sweeps.sample_estimators._contestants import as_people_have_them
from sweeps.sample_estimators._laws import data_sets, laws_of, there

LAPTOP = dict(
    collections=("beyond-normal", "everyday", "latest"),
    laws=("all",),
    sizes=(1000,),
    within=60.0,
    sets=2,
    blocks=(0,),
)
PROFILES = {
    "smoke": Profile(
        **LAPTOP | dict(laws=("1v1-normal-0.75", "sparse-table"), sizes=(300,), within=10.0, sets=1)
    ),
    "laptop": Profile(**LAPTOP),
    "paper": Profile(
        **LAPTOP | dict(collections=("beyond-normal", "everyday", "late", "later", "latest", "edges"),
                        sizes=(1000, 5000),
                        within=90.0, blocks=tuple(range(10)))
    ),
}  # fmt: skip
NEEDS = 2.0  # times the seconds, on a machine that does other things too


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per law, size and block of data sets; laws of a single pair of variables."""
    collections = {name: exam.COLLECTIONS[name] for name in profile.collections}
    of_law = {law: name for name, laws in laws_of(profile.laws, collections).items() for law in laws}
    for law, most in there((law, law) for law in of_law if exam.law(law).measure == "mi"):
        for cell in grid(law=law, n=list(profile.sizes), block=list(profile.blocks), sets=profile.sets):
            if cell["n"] <= most:
                yield cell | {"collection": of_law[law], "within": profile.within}


def check(cell: dict) -> None:
    exam.law(cell["law"])
    require_minimum(cell, {"n": 200, "sets": 1, "block": 0, "within": 10})


def cost(cell: dict) -> float:
    return NEEDS * cell["sets"] * cell["within"]


def trial(pack: Pack, report: Report) -> None:
    """Asks for advice on every data set of the cells."""
    for done, cell in enumerate(pack.cells):
        law, rows = exam.law(cell["law"]), []
        truth, truth_error = law.truth()
        for number in range(cell["sets"]):
            generator = draws(cell["block"] * cell["sets"] + number, cell["law"], cell["n"])
            (x, y), groups = as_people_have_them(law, law.sample(cell["n"], generator))
            found = advise(x, y, groups, cell["within"], generator=generator)
            rows.append(_row(found))
            report.progress((done + (number + 1) / cell["sets"]) / len(pack.cells))
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        report.table(cell, "sets", columns)
        report.constants(cell, {"truth": truth, "truth_error": truth_error})
        report.metrics(cell, scored(columns, truth))


def _row(found: Advice) -> dict[str, float | str]:
    row = {
        "verdict": found.verdict, "value": found.estimate.value, "low": found.estimate.low, "high": found.estimate.high,
        "chosen": found.chosen, "reason": " ".join(found.reasons), "seconds": found.seconds,
        "families": ", ".join(one.name for one in found.counted), "certified": found.certified.low,
    }  # fmt: skip
    for one in found.candidates:
        row |= {f"value_{one.name}": one.estimate.value, f"low_{one.name}": one.estimate.low,
                f"high_{one.name}": one.estimate.high}  # fmt: skip
    return row


def scored(sets: dict[str, np.ndarray], truth: float) -> dict[str, float]:
    """Counts of data sets by verdict, and errors of answers, of the chosen estimator and of every candidate."""
    answered = sets["verdict"] == ANSWERED
    covered = answered & (sets["low"] <= truth) & (truth <= sets["high"])
    found = {
        "answered": answered.sum(), "nothing": (sets["verdict"] == NOTHING).sum(),
        "refused": (sets["verdict"] == REFUSED).sum(), "covered": covered.sum(),
        "advice_seconds": np.median(sets["seconds"]),
    }  # fmt: skip
    names = [name.removeprefix("value_") for name in sets if name.startswith("value_")]
    if answered.any():
        found["width"] = (sets["high"] - sets["low"])[answered].mean()
        found["squared_error"] = ((sets["value"] - truth)[answered] ** 2).mean()
        chosen = [sets[f"value_{name}"][place] for place, name in enumerate(sets["chosen"]) if name]
        found["squared_error_of_chosen"] = ((np.array(chosen) - truth) ** 2).mean()
        for name in names:
            found[f"squared_error_of_{name}"] = ((sets[f"value_{name}"] - truth)[answered] ** 2).mean()
    for name in names:
        held = (sets[f"low_{name}"] <= truth) & (truth <= sets[f"high_{name}"])
        found |= {f"intervals_of_{name}": np.isfinite(sets[f"low_{name}"]).sum(), f"covered_by_{name}": held.sum()}
    close = np.array([np.abs(sets[f"value_{name}"] - truth) <= max(0.1, 0.25 * truth) for name in names])
    found["hopeless"] = (~answered & ~close.any(axis=0)).sum()  # no candidate was within tolerance
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}


SWEEP = Sweep(
    "advise",
    cells,
    trial,
    PROFILES,
    axes=("collections", "laws", "sizes", "blocks"),
    data=lambda cell: data_sets(cell["law"]),
    choices={"collections": tuple(exam.COLLECTIONS)},
    replicates=("block",),
    check=check,
    cost=cost,
    version=4,  # estimates by neighbours of rounded numbers and of masses
)

if __name__ == "__main__":
    main(SWEEP)
