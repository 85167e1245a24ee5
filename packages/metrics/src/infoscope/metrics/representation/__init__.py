"""What a representation holds, where, for whom, and how sure that is: one report of any array.

reporting  report: every measure of the house on one representation -> RepresentationReport
result     RepresentationReport: its tables and its page of sentences
sharing    what a block and all other blocks tell about a target: unique, redundant, synergistic
"""

from infoscope.metrics.representation.reporting import report
from infoscope.metrics.representation.result import RepresentationReport, Row

__all__ = ["RepresentationReport", "Row", "report"]
