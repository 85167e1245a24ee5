"""What is concluded from estimates.

Of series and runs:
    errors, Errors             bias, variance and mean squared error of a series of estimates
    replicated, Replicated     a figure over independent runs, with its standard error and interval
    correlation                a correlation over independent runs, with its interval
    batch_means_error          the standard error of the mean of a dependent series
Of samples:
    bracket, Bracket           neighbours, a classifier and the ceiling H(y) side by side, and what their order means
    audit, Check               what any estimator of mutual information must not change, and whether it does
Of benchmark pairs, whose labels are known:
    decodable_information, decodable_information_of_items, Decoding    how much of the nominal information can be read
"""

from importlib import import_module
from typing import Any

from infoscope.metrics.accuracy import Errors, Replicated, batch_means_error, correlation, errors, replicated

# scikit-learn and numba take seconds to import: only for those who use them.
_LATE = {"bracket": "bracketing", "Bracket": "bracketing", "audit": "metamorphic", "Check": "metamorphic"}
_LATE |= {name: "decodable" for name in ("Decoding", "decodable_information", "decodable_information_of_items")}

__all__ = [
    "Bracket",
    "Check",
    "Decoding",
    "Errors",
    "Replicated",
    "audit",
    "batch_means_error",
    "bracket",
    "correlation",
    "decodable_information",
    "decodable_information_of_items",
    "errors",
    "replicated",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
