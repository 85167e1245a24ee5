"""Scores of the course of a training on the very items, after every epoch; larger = more suspicious, [n]."""

from __future__ import annotations

import numpy as np
import pandas as pd

from infoscope.metrics.v_information.label_errors.evidence import Evidence, margins, own

EARLY = 0.1  # of the epochs, after which EL2N is read: 20 of 200 in the paper


def aum(evidence: Evidence) -> np.ndarray:
    """-area under the margin: the mean over epochs of the largest other logit - the own one (Pleiss et al. 2020)."""
    return margins(evidence.courses, evidence.codes).mean(axis=(0, 1))


def confidence(evidence: Evidence) -> np.ndarray:
    """-confidence: the mean over epochs of q(y | x), with its sign turned (Swayamdipta et al. 2020, section 2)."""
    return -np.exp(own(evidence.courses, evidence.codes)).mean(axis=(0, 1))


def forgetting(evidence: Evidence) -> np.ndarray:
    """How often an item predicted right was wrong one epoch later (Toneva et al. 2019); never right: all epochs."""
    right = _right(evidence)
    events = (right[:, :-1] & ~right[:, 1:]).sum(axis=1)
    return np.where(right.any(axis=1), events, right.shape[1]).mean(axis=0)


def el2n(evidence: Evidence) -> np.ndarray:
    """The length of q(. | x) - the indicator of y after a tenth of the epochs (Paul et al. 2021)."""
    early = np.exp(evidence.courses[:, max(1, round(EARLY * evidence.courses.shape[1])) - 1])
    return np.linalg.norm(early - np.eye(early.shape[-1])[evidence.codes], axis=-1).mean(axis=0)


def data_map(evidence: Evidence) -> pd.DataFrame:
    """Data map (Swayamdipta et al. 2020) over epochs: confidence, mean of q(y | x); variability; correctness.

    ValueError: evidence of a family that is not trained by epochs.
    """
    q = np.exp(own(evidence.courses, evidence.codes))
    return pd.DataFrame(
        {
            "confidence": q.mean(axis=(0, 1)),
            "variability": q.std(axis=1).mean(axis=0),
            "correctness": _right(evidence).mean(axis=(0, 1)),
        }
    )


def _right(evidence: Evidence) -> np.ndarray:
    """Whether y is predicted, bool [trainings, epochs, n]."""
    return evidence.courses.argmax(axis=-1) == evidence.codes
