"""Uncertainty of a nearest-neighbour estimate: intervals (subsampling), movement with the sample size (bias), bias on
simulated data sets (twins), whether it can be taken for the true value (verdict), permutation tests (permutation).
"""

from infoscope.estimators.resampling import Resamples, halves, leave_one_out, partitions
from infoscope.estimators.uncertainty.bias import BiasDiagnostic
from infoscope.estimators.uncertainty.permutation import PermutationTest, permutation_test
from infoscope.estimators.uncertainty.subsampling import (
    Uncertain,
    combine,
    group_bootstrap,
    holmes_nemenman,
    jackknife,
    subsample,
)
from infoscope.estimators.uncertainty.twins import Twins
from infoscope.estimators.uncertainty.verdict import DRIFTING, RELIABLE, UNRELIABLE, UNVERIFIED, Verdict

__all__ = [
    "BiasDiagnostic", "DRIFTING", "PermutationTest", "RELIABLE", "Resamples", "Twins", "UNRELIABLE", "UNVERIFIED",
    "Uncertain", "Verdict", "combine", "group_bootstrap", "halves", "holmes_nemenman", "jackknife",
    "leave_one_out", "partitions", "permutation_test", "subsample",
]  # fmt: skip
