from infoscope.estimators.classifier.cross_fitting import (
    calibrating_slope as calibrating_slope,
)
from infoscope.estimators.classifier.cross_fitting import cross_fit as cross_fit
from infoscope.estimators.classifier.information import Calibration as Calibration
from infoscope.estimators.classifier.information import Information as Information
