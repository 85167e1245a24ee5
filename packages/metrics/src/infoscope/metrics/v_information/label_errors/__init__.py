"""Which labels look wrong, by what held-out members and the course of a training say of them.

label_scores   every score of items and their labels, in one table; data_map, the course of a training by item
gather         what they are made of: Evidence
SCORES, LabelScore     what the study and its table know of each score; add one there
held_out       scores of cross-fitted predictions: PVI, self-confidence, margin, confident joint
in_sample      scores of a training on all items: area under the margin, confidence, forgetting events, EL2N
flip_labels    noise of a known kind and rate
detection      how well scores find the labels that were flipped
"""

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
