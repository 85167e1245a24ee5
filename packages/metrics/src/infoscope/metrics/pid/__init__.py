"""Partial information decomposition of what two sources a and b share with a target, nats.

I(target; a, b) is unique + unique + redundant + synergistic; `bounds` hold for every nonnegative definition.

    bounds, Bounds            six bounds from the three informations; co_information
    Decomposition             the four terms of a definition
    broja, williams_beer, discrete_shared_exclusion    of tables of probabilities; discrete_information
    gaussian                  of a covariance, in closed form; gaussian_from_arrays
    broja_from_arrays, discrete_shared_exclusion_from_arrays    of rows, by clusters of each variable
    shared_exclusion, williams_beer_from_arrays    of rows, by nearest neighbours, with local values
    DECOMPOSITIONS            those of rows, by their names in reports
"""

from importlib import import_module
from typing import Any

from infoscope.metrics.pid.terms import (
    APART,
    BRANCHES,
    CROSSED,
    ROUNDING,
    Bounds,
    Decomposition,
    bounds,
    co_information,
    crossing_note,
    either_specific,
    finite,
    is_low,
    least_specific,
)

# Scipy, scikit-learn and numba take long to import: only for those who decompose.
_LATE = {
    "broja": "tables",
    "broja_from_arrays": "clusters",
    "discrete_information": "tables",
    "discrete_shared_exclusion": "tables",
    "discrete_shared_exclusion_from_arrays": "clusters",
    "gaussian": "normal",
    "gaussian_from_arrays": "normal",
    "shared_exclusion": "neighbours",
    "williams_beer": "tables",
    "williams_beer_from_arrays": "neighbours",
}

# Decompositions of rows (a, b, target) by their names in reports.
DECOMPOSITIONS = {
    "gaussian": "gaussian_from_arrays",
    "broja": "broja_from_arrays",
    "shared-exclusion": "shared_exclusion",
    "williams-beer": "williams_beer_from_arrays",
    "discrete-shared-exclusion": "discrete_shared_exclusion_from_arrays",
}

__all__ = [
    "APART", "BRANCHES", "CROSSED", "DECOMPOSITIONS", "ROUNDING", "Bounds", "Decomposition", "bounds", "co_information",
    "crossing_note", "either_specific", "finite", "is_low", "least_specific", *_LATE,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
