"""Separation of label and domain in the blocks of a representation: evaluate, evaluate_posterior, enumerate_outcomes ->
PartitionReport; compare.
"""

from infoscope.metrics.partition.evaluation import enumerate_outcomes, evaluate, evaluate_posterior
from infoscope.metrics.partition.report import NullTest, PartitionReport, compare, holm

__all__ = [
    "NullTest", "PartitionReport", "compare", "enumerate_outcomes", "evaluate", "evaluate_posterior", "holm",
]  # fmt: skip
