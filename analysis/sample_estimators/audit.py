"""Metamorphic checks of our estimators of mutual information and of the installed public ones.

Every estimator gets the same generated data, and only properties that hold for any data are checked: see
`infoscope.metrics.audit`. Nothing is read from MLflow. Packages that are not installed are listed.
"""

import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from threadpoolctl import threadpool_limits

from analysis.common.tables import FOLDER, Result, plus_minus, present, require_writable, spread
from infoscope.command_line import command, option
from infoscope.errors import WrongShape
from infoscope.estimators import classifier, estimate, knn
from infoscope.estimators.arrays import registry
from infoscope.estimators.arrays.fitting import Schedule
from infoscope.estimators.arrays.protocol import CATEGORIES, Described
from infoscope.estimators.arrays.protocol import LABELS as TAKES_LABELS
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.metamorphic import EXACT, FAILS, NOT_OFFERED, STATISTICAL, UNITS, Check, audit

K, STEPS = 5, 30  # nearest neighbours; training steps of a network whose units are checked
LABELS, NUMBERS, BOTH = ("labels",), ("numbers",), ("labels", "numbers")
PATH = FOLDER / "audit"


@dataclass(frozen=True)
class Audited:
    """An estimator: its name, the y it takes, its package, measure(package, x, y), and its checks (None: all)."""

    name: str
    y: tuple[str, ...]
    package: str
    measure: Callable[[ModuleType, NDArray, NDArray], float]
    checks: tuple[str, ...] | None = None


def whole_numbers(y: NDArray) -> bool:
    return y.dtype.kind in "iu"


def one_label(y: NDArray) -> NDArray:
    """Several columns of labels as one, for estimators that take one."""
    return y if y.ndim == 1 else np.unique(y, axis=0, return_inverse=True)[1].reshape(-1)


def one_column(y: NDArray) -> NDArray:
    """y [n] for an estimator that takes one column of numbers."""
    if y.ndim == 2 and y.shape[1] > 1:
        raise WrongShape(f"y must be one column, got {y.shape[1]}")
    return y.reshape(-1)


def columns(values: NDArray) -> NDArray:
    return values if values.ndim == 2 else values[:, None]


def logistic(package: ModuleType, x: NDArray, y: NDArray) -> float:
    return classifier.cross_fit(x, one_label(y)).information("z", "y").value


def nearest_neighbours(package: ModuleType, x: NDArray, y: NDArray) -> float:
    return float(knn.mutual_information(x, knn.Discrete(y) if whole_numbers(y) else y, k=K))


def labels_as_numbers(package: ModuleType, x: NDArray, y: NDArray) -> float:
    return float(knn.mutual_information(knn.Continuous(x), knn.Continuous(y), k=K))


def sklearn_sum(package: ModuleType, x: NDArray, y: NDArray) -> float:
    labels = whole_numbers(y)
    function = mutual_info_classif if labels else mutual_info_regression
    return float(function(x, one_label(y) if labels else one_column(y), n_neighbors=K, random_state=0).sum())


def npeet_mi(package: ModuleType, x: NDArray, y: NDArray) -> float:
    """By NPEET or its fork, which have the same interface; noise from numpy's global state."""
    return float(package.mi(columns(x), columns(y), k=K, base=np.e))


def npeet_micd(package: ModuleType, x: NDArray, y: NDArray) -> float:
    return float(package.micd(columns(x), columns(one_label(y)), k=K, base=np.e))


def infomeasure(package: ModuleType, x: NDArray, y: NDArray) -> float:
    return float(package.mutual_information(columns(x), columns(y), approach="metric", k=K, base="e"))


def ennemi_sum(package: ModuleType, x: NDArray, y: NDArray) -> float:
    labels = whole_numbers(y)
    target = one_label(y) if labels else one_column(y)
    return float(np.sum(package.estimate_mi(target, x, k=K, discrete_y=labels)))


def estimators() -> Iterator[Audited]:
    """Ours, and the public ones as their users call them."""
    yield Audited("infoscope knn", BOTH, "infoscope", nearest_neighbours)
    yield Audited("infoscope classifier (logistic)", LABELS, "infoscope", logistic)
    yield Audited("labels as numbers (KSG)", LABELS, "infoscope", labels_as_numbers)
    yield Audited("sklearn, sum over columns", BOTH, "sklearn", sklearn_sum)
    for name, package in (("NPEET", "npeet.entropy_estimators"), ("npeet-plus", "npeet_plus")):
        yield Audited(f"{name} mi", BOTH, package, npeet_mi)
        yield Audited(f"{name} micd", LABELS, package, npeet_micd)
    yield Audited("infomeasure (metric)", BOTH, "infomeasure", infomeasure)
    yield Audited("ennemi, sum over columns", BOTH, "ennemi", ennemi_sum)
    for name, method in registry.METHODS.items():
        if name != "ksg" and method.takes != CATEGORIES:
            y = LABELS if method.takes == TAKES_LABELS else NUMBERS
            yield Audited(f"infoscope {name}", y, "infoscope", briefly_trained(method), UNITS)


def briefly_trained(method: Described) -> Callable[[ModuleType, NDArray, NDArray], float]:
    """A method whose networks are trained for a few steps, in which effects of units already show."""
    own = {field.name for field in fields(method)}
    brief = {"steps": STEPS} if "steps" in own else {"schedule": Schedule(epochs=1)} if "schedule" in own else {}
    return lambda _, x, y: float(estimate(x, y, method.with_settings(brief), generator=np.random.default_rng(0)))


def audited(candidates: list[Audited], n: int, repeats: int) -> tuple[Mapping[str, tuple[Check, ...]], list[str]]:
    """The checks of every estimator whose package is installed, and the other packages, each with the reason."""
    found, missing = {}, {}
    for candidate in candidates:
        try:
            measure = partial(candidate.measure, importlib.import_module(candidate.package))
        except ImportError as error:
            missing[candidate.package.split(".")[0]] = str(error).splitlines()[0]
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[candidate.name] = audit(measure, candidate.y, n, repeats, np.random.default_rng(0), candidate.checks)
    return found, [f"{package} ({reason})" for package, reason in missing.items()]


def table(found: Mapping[str, tuple[Check, ...]], missing: list[str], n: int, repeats: int) -> Result:
    """One row per check and type of y, one column per estimator."""
    figures = pd.DataFrame([{"estimator": name, **vars(check)} for name, checks in found.items() for check in checks])
    figures[["violation", "error"]] /= NATS_PER_BIT
    cells = [cell(*row) for row in zip(figures["violation"], figures["error"], figures["verdict"])]
    whole = [name for name, checks in found.items() if not {check.name for check in checks} <= set(UNITS)]
    text = spread(figures, ["y", "name"], "estimator", cells, "not applicable", {name: name for name in whole})
    text = text.rename(columns={"name": "check"})
    units = figures[figures["name"].isin(UNITS) & ~figures["estimator"].isin(whole)]
    failures = figures[figures["verdict"] == FAILS].groupby("estimator").size()
    counts = ", ".join(
        f"{name} {failures.get(name, 0)} of {len(checks)}"
        for name, checks in found.items()
        if name in whole or name in failures
    )
    noted = figures[figures["verdict"].isin([FAILS, NOT_OFFERED]) & (figures["note"] != "")]
    noted = noted.drop_duplicates(["estimator", "verdict", "note"])
    caption = [
        f"Failed: {counts}.",
        f"Violations in bits on {repeats} generated data sets of {n} rows, k = {K}. Identities: the largest over data "
        f"sets, tolerance {EXACT:g} nats. Properties that hold in expectation (duplicate rows, noise columns, "
        "independence, data processing, H(y), chain rule): mean ± one standard error over data sets, tolerance "
        f"{STATISTICAL:g} nats. Failures are marked FAILS.",
        *_units_sentence(units),
        "not offered: the estimator raises an error on such data. not applicable: it does not take such a y.",
        *(
            f"{row.verdict.capitalize()}, {row.estimator}, {row.name}: {row.note[:140]}"
            for row in noted.itertuples(index=False)
        ),
        f"Not installed: {', '.join(missing)}." if missing else "All packages are installed.",
    ]
    return Result("audit", figures, text, caption)


def _units_sentence(figures: pd.DataFrame) -> list[str]:
    if figures.empty:
        return []
    return [
        f"Units of columns, {figures['estimator'].nunique()} more methods of `estimate`, networks after {STEPS} steps "
        f"or an epoch: an estimate changes by {figures['violation'].max():.2g} bits at most."
    ]


def cell(violation: float, error: float, verdict: str) -> str:
    if verdict == NOT_OFFERED:
        return verdict
    number = plus_minus(violation, error, f"{violation:.3f}")
    return f"FAILS {number}" if verdict == FAILS else number


def main(given: SimpleNamespace) -> None:
    torch.set_num_threads(1)  # small products: more threads are slower
    require_writable(PATH)
    with threadpool_limits(1):
        found, missing = audited(list(estimators()), given.n, given.repeats)
    present([table(found, missing, given.n, given.repeats)], lambda result: PATH)


COMMAND = command("audit", main, [
    option("n", type=int, default=600, help="rows of each data set (default: 600)"),
    option("repeats", type=int, default=5, help="data sets of each kind (default: 5)"),
], __doc__)  # fmt: skip
