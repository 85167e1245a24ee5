"""How far are estimates of mutual information from the truth, by dimension, kind of variable and sample size?

Every estimator sees the same data sets. Estimators that treat labels as numbers, or subtract entropies of different
scales, are measured as they are used, to show what they cost.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from infoscope.data.tasks.known_truth import CASES, Case, case, draws
from infoscope.estimators import classifier, knn, npeet
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, main
from sweeps.checks import require_minimum
from sweeps.sample_estimators.settings import ESTIMATORS

Estimate = Callable[[Sequence[Any], int], float]  # (variables, k) -> nats


def neighbours(variables: Sequence[Any], k: int) -> float:
    """Ours: every variable by its type."""
    measure = knn.mutual_information if len(variables) == 2 else knn.conditional_mutual_information
    return float(measure(*variables, k=k))


def usable(variables: Sequence[Any], k: int) -> float:
    """A cross-fitted logistic classifier: a lower bound up to sampling error; knows no k."""
    x, y, *given = variables
    labels = {"y": y} | dict(zip("d", given))
    fitted = classifier.cross_fit(np.reshape(x, (len(y), -1)), labels)
    return fitted.information("z", "y", tuple(labels)[1:]).value


def labels_as_numbers(variables: Sequence[Any], k: int) -> float:
    """KSG and Frenzel-Pompe with the label's code as a coordinate, nothing standardised: NPEET's mi and cmi."""
    measure = npeet.mi if len(variables) == 2 else npeet.cmi
    return float(measure(*variables, k=k, base=np.e, compat=True))


def entropy_difference(variables: Sequence[Any], k: int) -> float:
    """|H(x) - sum p(y) H(x | y)|: NPEET's micd."""
    return float(npeet.micd(*variables, k=k, base=np.e, compat=True))


def co_information(variables: Sequence[Any], k: int) -> float:
    return float(knn.co_information(*variables, k=k))


def offered(of: Case) -> dict[str, Estimate]:
    """The estimators of a case, by name."""
    if of.measure == "co-information":
        return {"knn": co_information}
    if of.y == "numbers":
        return {"knn": neighbours}
    mixed = {"knn": neighbours, "labels-as-numbers": labels_as_numbers}
    if of.y == "counts":  # a class of one row can be in no training set
        return mixed
    mixed |= {"classifier": usable}
    return mixed | ({"micd": entropy_difference} if of.measure == "mi" else {})


LAPTOP = dict(cases=tuple(CASES), sizes=(500, 2000, 5000), estimators=tuple(ESTIMATORS), blocks=(0, 1), sets=5, k=5)
PROFILES = {
    "smoke": Profile(
        **LAPTOP | dict(cases=("gaussian-1", "mixture-2", "mixture-given-2", "xor"), sizes=(500,), sets=3)
    ),
    "laptop": Profile(**LAPTOP),
    "paper": Profile(**LAPTOP | dict(sizes=(500, 1000, 2000, 5000, 10000, 20000), blocks=(0, 1, 2, 3), sets=10)),
}


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per case, size, estimator that the case allows, and block of data sets."""
    for name in profile.cases:
        yield from grid(
            case=name,
            n=list(profile.sizes),
            estimator=[name_of for name_of in profile.estimators if name_of in offered(case(name))],
            block=list(profile.blocks),
            sets=profile.sets,
            k=profile.k,
        )


def check(cell: dict) -> None:
    case(cell["case"])
    require_minimum(cell, {"n": 50, "sets": 2, "k": 1, "block": 0})
    if cell["k"] >= cell["n"]:
        raise ValueError(f"k must be below n, {cell['n']}, got {cell['k']}.")


def cost(cell: dict) -> float:
    """Seconds, about: dimension and size for neighbours, classes for the classifier."""
    per_row = 5e-3 if cell["estimator"] == "classifier" else 1e-6 * cell["n"]
    return cell["sets"] * cell["n"] * per_row


def trial(pack: Pack, report: Report) -> None:
    """Estimates every data set of the cells, and reports bias and spread."""
    for done, cell in enumerate(pack.cells):
        of = case(cell["case"])
        estimate, (truth, truth_error) = offered(of)[cell["estimator"]], of.truth()
        values, began = [], time.process_time()
        for number in range(cell["sets"]):
            variables = of.sample(cell["n"], draws(cell["block"] * cell["sets"] + number, cell["case"], cell["n"]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of labels taken as numbers: that is what is measured
                values.append(estimate(variables, cell["k"]))
        values = np.array(values)
        report.table(cell, "estimates", {"estimate": values})
        report.constants(cell, {"truth": truth, "truth_error": truth_error})
        report.metrics(
            cell,
            {
                "mean": values.mean(),
                "bias": values.mean() - truth,
                "variance": values.var(ddof=1),
                "cpu_seconds": (time.process_time() - began) / cell["sets"],
            },
        )
        report.progress((done + 1) / len(pack.cells))


SWEEP = Sweep(
    "measures",
    cells,
    trial,
    PROFILES,
    axes=("cases", "sizes", "estimators", "blocks"),
    pack_by={"cpu": ("case", "n"), "gpu": ("case", "n")},
    tags=lambda cell: {"infoscope.data": f"{cell['case']} (generated)"},
    version=2,  # the logistic classifier is fitted to convergence
    choices={"estimators": ESTIMATORS},
    check=check,
    cost=cost,
)

if __name__ == "__main__":
    main(SWEEP)
