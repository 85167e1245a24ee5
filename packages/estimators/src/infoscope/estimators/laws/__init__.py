"""Distributions fitted to typed variables (fitted, mixture, student), whose mutual information can be computed."""

from infoscope.estimators.laws.fitted import (
    ANY,
    MIXTURES,
    STUDENT,
    Law,
    cross_fitted,
    fit,
    held_out,
    log_ratio,
    log_ratios,
)

__all__ = [
    "ANY",
    "MIXTURES",
    "STUDENT",
    "Law",
    "cross_fitted",
    "fit",
    "held_out",
    "log_ratio",
    "log_ratios",
]
