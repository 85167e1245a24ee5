"""Suspicious labels: label_scores, data_map, gather (Evidence), SCORES, flip_labels (noise) and detection."""

from infoscope.late import late
from infoscope.metrics.v_information.label_errors.detection import NOISES, detection, flip_labels, measures
from infoscope.metrics.v_information.label_errors.scores import (
    HELD_OUT,
    IN_SAMPLE,
    SCORES,
    Evidence,
    LabelScore,
    data_map,
    scores_of,
)

_LATE = dict.fromkeys(("gather", "label_scores"), "gathering")

__all__ = [
    "HELD_OUT", "IN_SAMPLE", "NOISES", "SCORES", "Evidence", "LabelScore", "data_map", "detection", "flip_labels",
    "measures", "scores_of", *_LATE,
]  # fmt: skip
__getattr__ = late(__name__, _LATE)
