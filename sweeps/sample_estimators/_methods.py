"""The methods of the sweep known-laws: all methods for arrays, formulas that treat
labels as numbers, and any other as MODULE:NAME; the time and memory of an estimate.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from infoscope.data.tasks import catalogue
from infoscope.data.tasks.cases import Case
from infoscope.errors import UnknownName
from infoscope.estimators import Estimate, estimate, npeet
from infoscope.estimators.arrays.protocol import ANY, takes_kinds
from infoscope.estimators.arrays.registry import METHODS, as_method
from infoscope.estimators.knn import Continuous, Discrete
from infoscope.estimators.pairs import as_pairs
from infoscope.notes import Note
from sweeps.sample_estimators.settings import FORMULAS

K = 5  # neighbours
_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # written to clear_refs, it resets the peak of memory (proc(5))
_ROWS = 5000  # for the durations below
_COLUMNS = (2, 20, 200)  # of x and of y, for the durations below
_CRITICS = (  # bounds whose critics are asked as methods
    "infonce-anchor",
    "smile-5",
    "smile-1",
    "smile-inf",
    "infonce",
    "nwj",
    "js",
    "dv",
    "mine",
    "flo",
    "dime-kl",
    "dime-gan",
    "dime-hellinger",
)
NO_ERROR = Note("The formula gives no error.", "no error", "method")
_CRITIC_SECONDS = 12.0
_SECONDS: dict[str, tuple[float, float, float]] = {
    **dict.fromkeys(("gaussian", "gcmi", "reduced-ksg"), (0.04, 0.1, 1.0)),
    **dict.fromkeys(
        ("plug-in", "miller-madow", "grassberger", "chao-shen", "shrinkage"),
        (0.1, 0.1, 0.1),
    ),
    **dict.fromkeys(FORMULAS, (0.1, 2.0, 8.0)),
    "reading": (0.3, 0.5, 2.0),
    "ksg": (0.05, 0.5, 3.0),
    "ksg-2": (0.05, 0.8, 3.5),
    "student-copula": (0.3, 1.5, 32.0),
    "classifier": (0.3, 1.0, 5.0),
    "nsb": (0.5, 0.5, 0.5),
}


def all_methods() -> tuple[str, ...]:
    """The names of all methods, critics and formulas."""
    return (*METHODS, *_CRITICS, *FORMULAS)


def require_known(word: str) -> None:
    """Raises UnknownName unless a word is "all" or the name of a method."""
    if ":" in word:
        as_method(word)
    elif word != "all" and word not in all_methods():
        names = ", ".join(all_methods())
        raise UnknownName(
            f'setting methods must be "all", MODULE:NAME or one of {names}, got {word}'
        )


def digest_of(method: str) -> str | None:
    """The digest of the file of a method MODULE:NAME, so that a changed one is run
    again; None for others.
    """
    if ":" not in method:
        return None
    file = Path(import_module(method.partition(":")[0]).__file__)
    return hashlib.sha256(file.read_bytes()).hexdigest()[:8]


def accepts(method: str, law: str) -> bool:
    """Whether a method accepts variables of a distribution. ValueError for an unknown
    method or distribution.
    """
    case = catalogue.case(law)
    x, y, _ = _kinds(law)
    if method in FORMULAS:
        return case.y in ("labels", "counts") and x == "continuous"
    if case.y == "counts" and method == "classifier":
        return False  # counts that occur once cannot be classes
    return takes_kinds(getattr(as_method(method), "takes", ANY), x, y)


def seconds(method: str, law: str, n: int) -> float:
    """The approximate duration of an estimate on one thread, interpolated from
    measurements on normal columns.
    """
    if ":" in method:
        return 0.0  # unknown, so that no profile excludes it
    if method in (*METHODS, *FORMULAS):
        measured = _SECONDS[method]
        growth = 1.0
    else:
        measured = (_CRITIC_SECONDS,) * len(_COLUMNS)
        growth = 0.5  # steps of critics do not grow with the rows
    columns = max(_COLUMNS[0], _kinds(law)[-1])
    log_seconds = np.interp(math.log(columns), np.log(_COLUMNS), np.log(measured))
    return float(np.exp(log_seconds)) * (n / _ROWS) ** growth


def estimate_by(
    method: str, case: Case, variables: Sequence[Any], generator: np.random.Generator
) -> Estimate:
    """The estimate of a case's information by a method, nats. ValueError: the method
    does not accept the variables.
    """
    if method in FORMULAS:
        return _formula(method, *variables)
    x, y, *groups_or_none = variables
    groups = groups_or_none[0] if case.grouped else None
    return estimate(*_typed(case, x, y), method, groups, generator)


@functools.cache
def warm_up(method: str) -> None:
    """Imports and compiles a method once per process, so that its measured duration
    does not include this.
    """
    case = catalogue.case("multinormal-dense-2-2-0.5")
    generator = np.random.default_rng(0)
    with contextlib.suppress(ValueError):  # it may accept only labels
        estimate_by(method, case, case.sample(200, generator), generator)


def _formula(method: str, x: NDArray, y: NDArray) -> Estimate:
    """NPEET's formulas on label codes: KSG; micd is |H(x) - sum p(y) H(x | y)|."""
    formula = npeet.micd if method == "micd" else npeet.mi
    value = formula(x, y, k=K, base=np.e)
    return Estimate(value, math.nan, n=len(x), method=method, notes=(NO_ERROR,))


def _typed(case: Case, x: Any, y: NDArray) -> tuple[Any, Any]:
    """The variables of a sample with their types, as declared by somebody who knows the
    data.
    """
    if isinstance(x, dict):
        x = pd.DataFrame(x)
    elif case.y == "categories":
        x = Discrete(x)
    else:
        x = Continuous(x)
    return x, Continuous(y) if y.dtype.kind == "f" else Discrete(y)


@functools.cache
def _kinds(law: str) -> tuple[str, str, int]:
    """The kinds of the first two variables of a distribution (`Variable.kind`), and the
    larger number of columns.
    """
    if catalogue.pool_of(law):
        return "continuous", "continuous", _COLUMNS[-1]
    case = catalogue.case(law)
    x, y, *_ = case.sample(200, np.random.default_rng(0))
    pairs = as_pairs(*_typed(case, x, y))
    return pairs.x.kind, pairs.y.kind, max(pairs.x.dim, pairs.y.dim)


@dataclass
class Memory:
    """mib: the largest increase of the resident size, MiB; NaN if the system does not
    provide it.
    """

    mib: float = math.nan


@contextlib.contextmanager
def peak_memory() -> Iterator[Memory]:
    """Measures the largest amount of memory that is added while inside, after releasing
    freed memory.
    """
    memory = Memory()
    with contextlib.suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
    try:
        _CLEAR_REFS.write_text(_RESET_PEAK)
        before = _megabytes("VmRSS")
    except OSError:  # not Linux, or not permitted
        yield memory
        return
    try:
        yield memory
    finally:
        memory.mib = _megabytes("VmHWM") - before


def _megabytes(field: str) -> float:
    """A size of this process, MiB."""
    kilobytes = re.search(rf"^{field}:\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    assert kilobytes is not None
    return int(kilobytes[1]) / 1024
