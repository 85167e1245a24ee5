"""Partial information decomposition of what two sources a and b share with a target, nats.

I(target; a, b) is unique + unique + redundant + synergistic. `bounds` hold for every nonnegative definition; concrete
ones are of tables (broja, williams_beer, discrete_shared_exclusion), covariances (gaussian) and rows (DECOMPOSITIONS).
"""

from infoscope.late import late
from infoscope.metrics.pid.terms import (
    APART,
    BRANCHES,
    CROSSED,
    ROUNDING,
    TERMS,
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
    "APART", "BRANCHES", "CROSSED", "DECOMPOSITIONS", "ROUNDING", "TERMS", "Bounds", "Decomposition", "bounds",
    "co_information", "crossing_note", "either_specific", "finite", "is_low", "least_specific", *_LATE,
]  # fmt: skip
__getattr__ = late(__name__, _LATE)
