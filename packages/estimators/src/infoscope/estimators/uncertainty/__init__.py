"""How sure a nearest-neighbour estimate is: an interval, a verdict on its bias, a test against no information.

subsampling  subsample, jackknife, holmes_nemenman, group_bootstrap -> Uncertain; combine
bias         BiasDiagnostic: does the estimate still move with the sample size?
twins        Twins: its bias on laws like the data, whose information is known
verdict      RELIABLE, DRIFTING, UNRELIABLE or UNVERIFIED, with reasons and an interval for the truth
permutation  permutation_test: is there any information at all?
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
