"""How cleanly a representation in parts keeps class and domain apart.

evaluation  evaluate, evaluate_posterior, enumerate_outcomes -> PartitionReport
report      PartitionReport; compare
terms       the terms of which everything is made, by neighbours and by a classifier
scores      quantities and scores of the blocks
posterior   terms by exact log-marginals
published   the published way to measure, beside ours
words       what a report says
"""

from infoscope.metrics.partition.evaluation import enumerate_outcomes, evaluate, evaluate_posterior
from infoscope.metrics.partition.report import NullTest, PartitionReport, compare, holm

__all__ = [
    "NullTest", "PartitionReport", "compare", "enumerate_outcomes", "evaluate", "evaluate_posterior", "holm",
]  # fmt: skip
