"""Information measures from nearest neighbours (estimators), and exact neighbour search (search)."""

from infoscope.estimators.knn.estimators import (
    co_information,
    conditional_mutual_information,
    entropy,
    mutual_information,
    total_correlation,
)
from infoscope.estimators.variables import Continuous, Discrete

__all__ = [
    "Continuous",
    "Discrete",
    "co_information",
    "conditional_mutual_information",
    "entropy",
    "mutual_information",
    "total_correlation",
]
