"""Sampling error of nearest-neighbour estimates, and permutation tests.

Intervals are by half-samples.
"""

from infoscope.estimators.uncertainty.permutation import (
    PermutationTest,
    permutation_test,
)
from infoscope.estimators.uncertainty.subsampling import (
    Resamples,
    Uncertain,
    half_samples,
    leave_one_out,
    subsample,
)

__all__ = [
    "PermutationTest",
    "Resamples",
    "Uncertain",
    "half_samples",
    "leave_one_out",
    "permutation_test",
    "subsample",
]
