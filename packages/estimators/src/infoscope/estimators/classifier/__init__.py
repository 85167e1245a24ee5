"""One coherent decomposition of information from cross-fitted, calibrated classifiers."""

from infoscope.late import late

# Torch and scikit-learn take seconds to import: only for those who fit a classifier.
_LATE = {
    "Calibration": "classifier.information",
    "Information": "classifier.information",
    "calibrating_slope": "classifier.cross_fitting",
    "cross_fit": "classifier.cross_fitting",
}

__all__ = [*_LATE]
__getattr__ = late("infoscope.estimators", _LATE)
