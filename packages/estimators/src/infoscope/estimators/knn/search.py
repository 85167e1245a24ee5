"""Exact nearest neighbours and range counts in the maximum norm, within strata.

    numba  SIMD over the leaves of a k-d tree; the default on a CPU
    torch  brute force on a device ("cuda", "cuda:1", "cpu"); the default for tensors on a GPU, and without numba

All give the same numbers: a distance is max |a - b| in float64, and `within` is strict. Memory is linear in n.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from infoscope.errors import InvalidInput, UnknownName

try:
    from infoscope.estimators.knn import _numba
except ImportError:  # numba lags behind new Python versions
    _numba = None


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest others of each point, in its stratum: `distances` float64 [n, k], ascending, inf where there are
    fewer; `ids` intp [n, k], their rows, -1 there; `ties` intp [n], further points exactly as far as the k-th.
    """

    distances: np.ndarray
    ids: np.ndarray
    ties: np.ndarray


def nearest(
    points: np.ndarray,
    k: int,
    codes: np.ndarray | None = None,
    engine: str = "auto",
    workers: int = 1,
    groups: np.ndarray | None = None,
) -> Neighbours:
    """The k nearest others of every row of `points` [n, d] float64 among the rows of the same `codes` [n].

    Rows of the same `groups` [n] (codes) are excluded. ValueError: unknown engine.
    """
    match resolve(engine):
        case "numba":
            found = _numba.nearest(points, k, codes, workers, groups)
        case device:
            found = _on_torch().nearest(points, k, codes, device, groups)
    return Neighbours(*found)


def count_within(
    points: np.ndarray,
    radius: np.ndarray,
    codes: np.ndarray | None = None,
    engine: str = "auto",
    workers: int = 1,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """How many others [n] of the same `codes` are nearer than `radius` [n], strictly. Arguments as in `nearest`."""
    if groups is not None:  # all there are, less those of the same group, which is one more stratum
        within = groups if codes is None else codes.astype(np.int64) * (int(groups.max()) + 1) + groups
        everyone = count_within(points, radius, codes, engine, workers)
        return everyone - count_within(points, radius, np.unique(within, return_inverse=True)[1], engine, workers)
    match resolve(engine):
        case "numba":
            return _numba.count_within(points, radius, codes, workers)
        case device:
            return _on_torch().count_within(points, radius, codes, device)


def resolve(engine: str) -> str:
    """numba or a torch device; ValueError if it is neither or not there."""
    if engine == "auto":
        return "cpu" if _numba is None else "numba"
    if engine == "numba" and _numba is None:
        raise InvalidInput("engine must be auto or a torch device where numba is not installed, got 'numba'.")
    if engine == "numba" or _on_torch().is_device(engine):
        return engine
    raise UnknownName(f"engine must be auto, numba or a torch device that is there, got {engine!r}.")


def _on_torch() -> ModuleType:
    """The search on torch, which takes seconds to import: only for those who need it."""
    from infoscope.estimators.knn import _torch

    return _torch
