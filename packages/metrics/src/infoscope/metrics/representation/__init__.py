"""What a representation holds, where and for whom: report(...) -> RepresentationReport."""

from infoscope.metrics.representation.reporting import report
from infoscope.metrics.representation.result import RepresentationReport, Row

__all__ = ["RepresentationReport", "Row", "report"]
