"""Sampling error of nearest-neighbour estimates: intervals by half-samples, and
permutation tests.
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
