"""One coherent decomposition of information from cross-fitted, calibrated classifiers.

cross_fitting  cross_fit: every term from the same joint classifiers; permutation_test
information    Information, Calibration: the terms, and what they are read from
inputs         blocks, labels, groups and folds
calibration    calibration by factors on the evidence
"""

from infoscope.estimators.classifier.calibration import calibrating_slope
from infoscope.estimators.classifier.cross_fitting import PermutationTest, cross_fit, permutation_test
from infoscope.estimators.classifier.information import Calibration, Information

__all__ = [
    "Calibration", "Estimate", "Information", "PermutationTest", "calibrating_slope", "cross_fit", "permutation_test",
]  # fmt: skip
