"""Sampling error of nearest-neighbour estimates: intervals by half-samples, and permutation tests."""

from infoscope.estimators.resampling import Resamples, halves
from infoscope.estimators.uncertainty.permutation import PermutationTest, permutation_test
from infoscope.estimators.uncertainty.subsampling import Uncertain, subsample

__all__ = ["PermutationTest", "Resamples", "Uncertain", "halves", "permutation_test", "subsample"]
