"""Separation of label and domain in the blocks of a representation: evaluate,
evaluate_posterior, compare.
"""

from infoscope.metrics.partition.evaluation import evaluate, evaluate_posterior
from infoscope.metrics.partition.report import NullTest, PartitionReport, compare, holm

__all__ = [
    "NullTest",
    "PartitionReport",
    "compare",
    "evaluate",
    "evaluate_posterior",
    "holm",
]
