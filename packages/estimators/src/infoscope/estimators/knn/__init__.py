"""Information measures from nearest neighbours (estimators), and exact neighbour search
(search).
"""

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
