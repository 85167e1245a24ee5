"""A peer: an estimator of a public package, called in its own environment like one of our methods."""

from __future__ import annotations

import functools
import importlib.metadata
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from infoscope.errors import InvalidInput
from infoscope.estimators import Estimate
from infoscope.estimators.arrays.protocol import Described, Pairs
from infoscope.estimators.variables import Variable
from sweeps.sample_estimators.peers._process import NoAnswer, Worker, worker

REPOSITORY = Path(__file__).resolve().parents[3]
ENVIRONMENTS, PINS = REPOSITORY / ".peers", REPOSITORY / "infra" / "peers"
CALLS = PINS / "calls.py"
OURS = ""  # the environment that infoscope runs in
_IMPORT_SECONDS = 300.0  # limit; packages with torch or jax may take half a minute
NO_ERROR = "It gives no error."


@dataclass(frozen=True)
class Peer(Described):
    """An estimator of a public package with its own defaults, for `estimate(x, y, method=peer)`.

    name         its name in results; with underscores, that of its function in `calls`
    takes, limit, cost, source  as for every method
    package      its name in the package index
    environment  a folder of .peers, with exact versions in infra/peers/ENVIRONMENT.txt; OURS: infoscope's own
    one_column   whether x or y must be one column
    timeout      limit for a call, seconds
    calls        the file of functions that call packages, imported in the peer's environment
    """

    name: str
    takes: str
    limit: str
    cost: str
    source: str
    package: str
    environment: str
    one_column: bool = False
    timeout: float = 900.0
    calls: Path = CALLS

    @property
    def call(self) -> str:
        """Its function in `calls`."""
        return self.name.replace("-", "_")

    @property
    def version(self) -> str:
        """The pinned version of the package, or the installed one in our own environment; "" if there is none."""
        if self.environment == OURS:
            return _own_version(self.package)
        return _pinned(self.environment).get(self.package, "")

    @property
    def python(self) -> str:
        """The interpreter of its environment."""
        if self.environment == OURS:
            return sys.executable
        return str(ENVIRONMENTS / self.environment / "bin" / "python")

    def installed(self) -> bool:
        """Whether its package is installed in this version."""
        if self.environment == OURS:
            return bool(self.version)
        folder = f"{self.package.replace('-', '_')}-{self.version}.dist-info"
        place = ENVIRONMENTS / self.environment
        return Path(self.python).exists() and any(place.glob(f"lib/python3*/site-packages/{folder}"))

    def require(self, pairs: Pairs) -> None:
        """Raises ValueError if it does not accept these types or numbers of columns."""
        super().require(pairs)
        widths = _width(pairs.x), _width(pairs.y)
        if self.one_column and min(widths) > 1:
            raise InvalidInput(
                f"x or y must be one column for {self.name}, which estimates each column of the other one separately, "
                f"got {widths[0]} and {widths[1]} columns."
            )

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        """The package's estimate of I(x; y), nats, with its interval if it gives one. Labels, or the variable with one
        column, are its y.

        Raises ValueError for unsupported types or widths, a missing package, a timeout, or an error in the package.
        """
        self.require(pairs)
        process = self.start()
        x, y = pairs.x, pairs.y
        if _is_labels(x) and not _is_labels(y) or self.one_column and _width(y) > 1:
            x, y = y, x
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pairs.npz"
            np.savez(path, x=_array(x), y=_array(y))
            request = {"call": self.call, "data": str(path), "labels": _is_labels(y)}
            found = self._ask(process, request | {"seed": int(generator.integers(2**31))}, self.timeout)
        value, interval = found["value"], found["interval"]
        notes = [] if math.isfinite(value) else [f"{self.name} returns {value:g}."]
        notes += map(_sentence, found["notes"])
        notes += [NO_ERROR] if interval is None else []
        notes += [] if pairs.groups is None else [f"{self.name} supports no groups and treats rows as independent."]
        return Estimate(
            value,
            math.nan,
            n=pairs.n,
            method=self.name,
            notes=tuple(notes),
            settings=f"{self.package} {self.version}",
            interval=interval and tuple(interval),
        )

    def select(
        self, x: np.ndarray, y: np.ndarray, categories: Sequence[bool], labels: bool, seed: int
    ) -> tuple[list[int], float]:
        """Positions of the columns of x [n, d] that it selects as dependent on y [n], and its duration in seconds.

        categories [d], labels: which columns, and whether y, hold codes. ValueError as for `estimate`.
        """
        process = self.start()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.npz"
            np.savez(path, x=x, y=y[:, None], categories=np.asarray(categories))
            request = {"call": self.call, "data": str(path), "labels": labels, "seed": seed}
            began = time.perf_counter()
            return self._ask(process, request, self.timeout)["selected"], time.perf_counter() - began

    def start(self) -> Worker:
        """Its worker, with the package imported. ValueError: not installed, or it cannot be imported."""
        if not self.installed():
            where = f".peers/{self.environment}" if self.environment else "infoscope's own environment"
            wanted = " ".join(filter(None, (self.package, self.version)))
            raise InvalidInput(
                f"{self.name} must be installed (make peers PEERS={self.package}), but {where} has no {wanted}."
            )
        process = worker(self.python, self.calls)
        self._ask(process, {"make": self.call}, _IMPORT_SECONDS)
        return process

    def _ask(self, process: Worker, request: dict, seconds: float) -> dict:
        try:
            found = process.ask(request, seconds)
        except NoAnswer as reason:
            raise InvalidInput(f"{self.name} must return a result, but it {reason}.") from None
        if "error" in found:
            raise InvalidInput(f"{self.name} must return a result, got its {found['error'].rstrip('.')}.")
        return found


def _is_labels(variable: Variable) -> bool:
    return not variable.dim


def _width(variable: Variable) -> int:
    return variable.dim or 1


def _array(variable: Variable) -> np.ndarray:
    """float64 [n, columns]: the numbers, or one column of category codes."""
    return variable.codes[:, None].astype(np.float64) if _is_labels(variable) else variable.continuous


def _sentence(note: str) -> str:
    note = note.strip()
    return note[:1].upper() + note[1:].rstrip(".") + "."


@functools.cache
def _pinned(environment: str) -> dict[str, str]:
    path = PINS / f"{environment}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return dict(line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))


@functools.cache
def _own_version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
