"""Information measures from nearest neighbours, and exact neighbour search."""

from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.knn.estimators import (
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
