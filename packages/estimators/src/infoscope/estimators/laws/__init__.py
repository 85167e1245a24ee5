"""Laws fitted to typed variables, whose mutual information can be computed: like the data, with a truth.

fitted   fit, log_ratio, cross_fitted; held_out: a lower bound on rows that the law was not fitted to
mixture  Gaussian mixtures of normal scores and categories
student  the copula of a multivariate Student law
"""

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
