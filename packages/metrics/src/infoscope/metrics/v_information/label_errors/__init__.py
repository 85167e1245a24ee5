"""Suspicious labels: label_scores, data_map, gather (Evidence), SCORES, flip_labels (noise) and detection."""

from importlib import import_module
from typing import Any

from infoscope.metrics.v_information.label_errors.detection import detection, measures
from infoscope.metrics.v_information.label_errors.evidence import HELD_OUT, IN_SAMPLE, Evidence
from infoscope.metrics.v_information.label_errors.in_sample import data_map
from infoscope.metrics.v_information.label_errors.noise import NOISES, flip_labels
from infoscope.metrics.v_information.label_errors.registry import SCORES, LabelScore, scores_of

_LATE = ("gather", "label_scores")  # they fit families: torch and scikit-learn take seconds to import

__all__ = [
    "HELD_OUT", "IN_SAMPLE", "NOISES", "SCORES", "Evidence", "LabelScore", "data_map", "detection", "flip_labels",
    "measures", "scores_of", *_LATE,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.gathering"), name)
