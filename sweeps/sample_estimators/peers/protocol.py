"""What a peer is: an estimator of a public package, asked in an environment of its own like any method of ours."""

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
from sweeps.sample_estimators.peers._process import Silence, Worker, worker

REPOSITORY = Path(__file__).resolve().parents[3]
ENVIRONMENTS, PINS = REPOSITORY / ".peers", REPOSITORY / "infra" / "peers"
CALLS = PINS / "calls.py"
OURS = ""  # the environment that infoscope runs in
_TO_IMPORT = 300.0  # seconds: packages on torch or jax take half a minute on a cold disk
NO_ERROR = "It gives no error."


@dataclass(frozen=True)
class Peer(Described):
    """An estimator of a public package with its own defaults, as users call it; `estimate(x, y, method=peer)` takes it.

    name         what results call it; with underscores, the function of `calls` that asks it
    takes, limit, cost, source  as of every method
    package      what is installed, by the name that registries know
    environment  a folder of .peers, with its exact versions in infra/peers/ENVIRONMENT.txt; OURS is infoscope's own
    one_column   whether one of the two sides must be one column
    timeout      seconds that a call may take
    calls        the file of functions that ask packages, read in the peer's environment
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
        """The function of `calls` that asks it."""
        return self.name.replace("-", "_")

    @property
    def version(self) -> str:
        """Of the package: the pinned one, or in our own environment that which is there; "" where there is none."""
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
        """Whether its package is there in that version."""
        if self.environment == OURS:
            return bool(self.version)
        told = f"{self.package.replace('-', '_')}-{self.version}.dist-info"
        place = ENVIRONMENTS / self.environment
        return Path(self.python).exists() and any(place.glob(f"lib/python3*/site-packages/{told}"))

    def require(self, pairs: Pairs) -> None:
        """ValueError where it does not take pairs of these types or widths."""
        super().require(pairs)
        widths = _width(pairs.x), _width(pairs.y)
        if self.one_column and min(widths) > 1:
            raise InvalidInput(
                f"x or y must be one column: {self.name} asks of every column of the other side on its own, "
                f"got {widths[0]} and {widths[1]} columns."
            )

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        """I(x; y), nats, as the package gives it, with an interval where it makes one. Labels, or the one-column
        variable, are its y. ValueError: unsupported types or widths, not installed, timeout, a dead process, or the
        package's own error.
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
            found = self._asked(process, request | {"seed": int(generator.integers(2**31))}, self.timeout)
        value, interval = found["value"], found["interval"]
        notes = [] if math.isfinite(value) else [f"{self.name} answers {value:g}."]
        notes += map(_sentence, found["notes"])
        notes += [NO_ERROR] if interval is None else []
        notes += [] if pairs.groups is None else [f"{self.name} knows no groups and takes rows as independent."]
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
        """Places of the columns of x [n, d] that it finds to depend on y [n], and the seconds that it took.

        categories [d] and labels say which hold codes. ValueError: not installed, timeout, or the package's own error.
        """
        process = self.start()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.npz"
            np.savez(path, x=x, y=y[:, None], categories=np.asarray(categories))
            request = {"call": self.call, "data": str(path), "labels": labels, "seed": seed}
            began = time.perf_counter()
            return self._asked(process, request, self.timeout)["selected"], time.perf_counter() - began

    def start(self) -> Worker:
        """Its worker, which has imported its package. ValueError: not installed, or cannot be imported."""
        if not self.installed():
            where = f".peers/{self.environment}" if self.environment else "infoscope's own environment"
            wanted = " ".join(filter(None, (self.package, self.version)))
            raise InvalidInput(
                f"{self.name} must be installed (make peers PEERS={self.package}), got no {wanted} in {where}."
            )
        process = worker(self.python, self.calls)
        self._asked(process, {"make": self.call}, _TO_IMPORT)
        return process

    def _asked(self, process: Worker, request: dict, seconds: float) -> dict:
        try:
            found = process.ask(request, seconds)
        except Silence as silence:
            raise InvalidInput(f"{self.name} must answer, but it {silence}.") from None
        if "error" in found:
            raise InvalidInput(f"{self.name} must answer, got its {found['error'].rstrip('.')}.")
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
