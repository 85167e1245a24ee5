"""Suspicious labels: label_scores, data_map, gather (Evidence), SCORES, flip_labels (noise) and detection."""

from infoscope.late import exports
from infoscope.metrics.v_information.label_errors.detection import detection as detection  # not the module of that name

__getattr__, __dir__, __all__ = exports(__name__)
