"""Who sits the exam: every method that takes arrays, formulas that treat labels as numbers, installed peers, and a
person's own as MODULE:NAME; what an estimate takes, seconds and memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from infoscope.data.tasks import catalogue
from infoscope.data.tasks.cases import Case
from infoscope.errors import UnknownName
from infoscope.estimators import Estimate, classifier, estimate, knn, methods, npeet
from infoscope.estimators.arrays.protocol import ANY, Method, as_pairs, takes_kinds
from infoscope.estimators.arrays.registry import METHODS, as_method
from infoscope.estimators.knn import Continuous, Discrete
from sweeps.sample_estimators.peers import PEERS
from sweeps.sample_estimators.settings import FORMULAS

K = 5
_STATUS, _FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_PEAK = "5"  # what, written to clear_refs, makes the peak the present size (proc(5))
_CONDITIONAL = ("ksg", "classifier", "labels-as-numbers")  # know I(x; y | z), too
_SIZE = 5000  # rows at which seconds were measured
_COLUMNS = (2, 20, 200)  # of each side, at which they were
_MOST = 12.0  # seconds of what is not listed: critics, densities and flows
_TRAINED = ("certified", "lmi", "njee", "minde", "mmg")  # networks, whose steps do not grow as the rows
_SECONDS: dict[str, tuple[float, float, float]] = {
    **dict.fromkeys(("gaussian", "gcmi", "reduced-ksg"), (0.04, 0.1, 1.0)),
    **dict.fromkeys(("plug-in", "miller-madow", "grassberger", "chao-shen", "shrinkage"), (0.1, 0.1, 0.1)),
    **dict.fromkeys(FORMULAS, (0.1, 2.0, 8.0)),
    "reading": (0.3, 0.5, 2.0),
    "ksg": (0.05, 0.5, 3.0),
    "ksg-2": (0.05, 0.8, 3.5),
    "ksg-lnc": (0.8, 2.0, 30.0),
    "kl-weighted": (0.3, 1.7, 60.0),
    "gaussian-mixture": (3.0, 1.3, 3.0),
    "student-copula": (0.3, 1.5, 32.0),
    "fitted-law": (3.0, 3.0, 35.0),
    "classifier": (0.3, 1.0, 5.0),
    "nsb": (0.5, 0.5, 0.5),
    "certified": (2.3, 2.2, 2.1),
    "lmi": (1.2, 1.1, 3.0),
    "njee": (5.0, 3.0, 12.0),
    "minde": (6.0, 6.0, 20.0),
    "mmg": (6.0, 6.0, 20.0),
    **dict.fromkeys(("npeet-plus", "infomeasure", "ennemi-sum", "sklearn-sum"), (0.3, 1.5, 10.0)),
    "bmi-cca": (0.01, 0.03, 20.0),
    "bmi-ksg": (15.0, 15.0, 300.0),
    **dict.fromkeys(("bmi-mine", "bmi-infonce", "bmi-nwj", "bmi-dv", "latentmi"), (60.0, 60.0, 120.0)),
    **dict.fromkeys(("torch-mist-smile", "torch-mist-mine", "torch-mist-infonce"), (30.0, 30.0, 60.0)),
    "npeet-plus-bootstrap": (300.0, 1500.0, 10_000.0),
}


def contestants() -> tuple[str, ...]:
    """The names of those that can be asked here."""
    return tuple(name for name in every() if name not in PEERS or PEERS[name].installed())


def every() -> tuple[str, ...]:
    """The names of all, of peers also where they are not installed."""
    return (*(method.name for method in methods()), *FORMULAS, *PEERS)


def require_known(word: str) -> None:
    """Raises UnknownName for what is neither "all" nor the name of a method; not every method is imported for that."""
    if ":" in word:
        as_method(word)
    elif word not in ("all", *FORMULAS, *PEERS) and word not in METHODS:
        raise UnknownName(f"setting methods must be of all, {', '.join(every())}, MODULE:NAME of your own, got {word}")


def own_source(method: str) -> dict[str, str]:
    """Of a person's own method, MODULE:NAME, a digest of that module's file, so that a changed one is run again."""
    if ":" not in method:
        return {}
    file = Path(import_module(method.partition(":")[0]).__file__)
    return {"source": hashlib.sha256(file.read_bytes()).hexdigest()[:8]}


def sits(method: str, law: str) -> bool:
    """Whether a method takes variables like those of a law. ValueError for an unknown method or law."""
    case, (x, y, _) = catalogue.case(law), _sides(law)
    if method in FORMULAS:
        mixed = case.y in ("labels", "counts") and x == "continuous"
        return mixed and (method == "labels-as-numbers" or case.measure == "mi")
    takes = getattr(_method(method), "takes", ANY)
    if case.measure == "co-information":
        return method == "ksg"
    if case.measure == "cmi" and method not in _CONDITIONAL or case.y == "counts" and method == "classifier":
        return False  # a count of one row can be in no training set
    return takes_kinds(takes, x, y)


def seconds(method: str, law: str, n: int) -> float:
    """About how long an estimate takes on one thread: measured on normal columns, between which it is interpolated."""
    if ":" in method:
        return 0.0  # not known: no profile leaves it out
    known = _SECONDS.get(method, (_MOST, _MOST, _MOST))
    growth = 0.5 if method in _TRAINED or method not in _SECONDS else 1.0
    columns = max(_COLUMNS[0], _sides(law)[-1])
    return float(np.exp(np.interp(math.log(columns), np.log(_COLUMNS), np.log(known)))) * (n / _SIZE) ** growth


def answer(method: str, case: Case, variables: Sequence[Any], generator: np.random.Generator) -> Estimate:
    """The estimate of a case's information by a method, nats. ValueError: the method cannot be used on them."""
    if method in FORMULAS:
        return _formula(method, variables)
    typed = _typed(case, variables[:-1] if case.grouped else variables)
    if case.measure == "mi":
        return estimate(*typed, _method(method), variables[-1] if case.grouped else None, generator)
    if case.measure == "co-information":
        return knn.co_information(*typed, k=K)
    if method == "ksg":
        return knn.conditional_mutual_information(*typed, k=K)
    x, y, z = variables
    return classifier.cross_fit(np.reshape(x, (len(y), -1)), {"y": y, "z": z}).information("z", "y", ("z",))


@functools.cache
def warm(method: str) -> None:
    """Imports and compiles, once in a process: not what an estimate takes."""
    if method in PEERS:
        PEERS[method].start()
        return
    case, generator = catalogue.case("gaussian-2"), np.random.default_rng(0)
    with contextlib.suppress(ValueError):  # it takes labels alone
        answer(method, case, case.sample(200, generator), generator)


def _method(name: str) -> Method:
    return PEERS[name] if name in PEERS else as_method(name)


def _formula(method: str, variables: Sequence[Any]) -> Estimate:
    """NPEET's formulas on label codes: KSG, Frenzel & Pompe; micd is |H(x) - sum p(y) H(x | y)|."""
    asked = {("labels-as-numbers", 2): npeet.mi, ("labels-as-numbers", 3): npeet.cmi, ("micd", 2): npeet.micd}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of labels taken as numbers: that is what is measured
        value = float(asked[method, len(variables)](*variables, k=K, base=np.e, compat=True))
    return Estimate(value, math.nan, n=len(variables[0]), method=method, notes=("The formula gives no error.",))


def _typed(case: Case, variables: Sequence[Any]) -> list[Any]:
    """The variables of a sample as a person who knows their data types them."""
    typed = []
    for place, one in enumerate(variables):
        if isinstance(one, dict):
            typed.append(pd.DataFrame(one))
        elif one.dtype.kind in "iuU" and (place or case.measure == "co-information" or case.y == "categories"):
            typed.append(Discrete(one))
        else:
            typed.append(Continuous(one))
    return typed


@functools.cache
def _sides(law: str) -> tuple[str, str, int]:
    """The kinds of the first two variables of a law (`Variable.kind`), and the columns of the wider."""
    if catalogue.needs_data(law):
        return "continuous", "continuous", _COLUMNS[-1]
    case = catalogue.case(law)
    typed = _typed(case, case.sample(int(min(200, catalogue.most_rows(law))), np.random.default_rng(0)))
    pairs = as_pairs(*typed[:2])
    return pairs.x.kind, pairs.y.kind, max(pairs.x.dim, pairs.y.dim)


@dataclass
class Memory:
    """mib: how far the resident size rose above what it was at first, MiB; nan where the system does not tell."""

    mib: float = math.nan


@contextlib.contextmanager
def peak_of() -> Iterator[Memory]:
    """Measures the most memory that a `with` block adds, after what earlier work has freed was given back."""
    found = Memory()
    with contextlib.suppress(OSError, AttributeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)
    try:
        _FORGET.write_text(_PEAK)
        before = _megabytes("VmRSS")
    except OSError:  # not Linux, or not allowed
        yield found
        return
    try:
        yield found
    finally:
        found.mib = _megabytes("VmHWM") - before


def _megabytes(field: str) -> float:
    """A size of this process, MiB."""
    lines = _STATUS.read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024
