"""Sampling error of nearest-neighbour estimates: intervals by half-samples (subsampling), permutation tests
(permutation).
"""

from typing import Any

from infoscope.estimators.resampling import Resamples, halves
from infoscope.estimators.uncertainty.permutation import PermutationTest, permutation_test
from infoscope.estimators.uncertainty.subsampling import Uncertain, combine, subsample

__all__ = ["PermutationTest", "Resamples", "Uncertain", "combine", "halves", "permutation_test", "subsample"]

_READING = "infoscope.estimators.estimate(x, y) gives a calibrated interval and a grade"
_SUBSAMPLE = "infoscope.estimators.uncertainty.subsample gives the sampling interval by half-samples"
_REMOVED = {
    **dict.fromkeys(
        ("bias", "twins", "verdict", "BiasDiagnostic", "Twins", "Verdict", "DRIFTING", "RELIABLE", "UNRELIABLE",
         "UNVERIFIED"),
        _READING,
    ),
    **dict.fromkeys(("group_bootstrap", "holmes_nemenman", "jackknife", "partitions"), _SUBSAMPLE),
    "leave_one_out": "import it from infoscope.estimators.resampling",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _REMOVED:
        raise ImportError(f"{name} was removed: {_REMOVED[name]}.")  # whose text `from ... import` keeps
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
