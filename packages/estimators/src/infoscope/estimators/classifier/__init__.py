"""One coherent decomposition of information from cross-fitted, calibrated classifiers."""

from importlib import import_module
from typing import Any

# Torch and scikit-learn take seconds to import: only for those who fit a classifier.
_LATE = {
    "Calibration": "information",
    "Information": "information",
    "PermutationTest": "cross_fitting",
    "calibrating_slope": "calibration",
    "cross_fit": "cross_fitting",
    "permutation_test": "cross_fitting",
}

__all__ = [*_LATE]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
