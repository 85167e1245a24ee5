"""Information measures from nearest neighbours, for continuous, discrete and mixed variables.

estimators  entropy, (conditional) mutual information, total correlation, co-information, in one formula
search      nearest neighbours and range counts, exact, by one of three engines
"""

from infoscope.estimators.knn.estimators import (
    Continuous,
    Discrete,
    co_information,
    conditional_mutual_information,
    entropy,
    mutual_information,
    total_correlation,
)

__all__ = [
    "Continuous",
    "Discrete",
    "co_information",
    "conditional_mutual_information",
    "entropy",
    "mutual_information",
    "total_correlation",
]
