"""Scores of predictions by members that have not seen the item; larger = more suspicious, [n]."""

from __future__ import annotations

import numpy as np

from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.v_information.label_errors.evidence import Evidence, margins, own


def pvi(evidence: Evidence) -> np.ndarray:
    """-PVI, bits (Ethayarajh et al. 2022)."""
    return (evidence.null - own(evidence.logs, evidence.codes)) / NATS_PER_BIT


def self_confidence(evidence: Evidence) -> np.ndarray:
    """-log2 q(y | x), bits: items in the order of the least q(y | x) (Northcutt et al. 2021)."""
    return -own(evidence.logs, evidence.codes) / NATS_PER_BIT


def margin(evidence: Evidence) -> np.ndarray:
    """The largest q of another class - q(y | x): the normalised margin of Northcutt et al. 2021."""
    return margins(np.exp(evidence.logs), evidence.codes)


def confident_joint(evidence: Evidence) -> np.ndarray:
    """Items off the diagonal of the confident joint first, each part by its margin (Northcutt et al. 2021, section 3).

    An item is in the class of largest q that is at least that class's mean q; off the diagonal margins get 2 more.
    """
    q = np.exp(evidence.logs)
    labelled = np.eye(q.shape[1])[evidence.codes]
    thresholds = (q * labelled).sum(axis=0) / labelled.sum(axis=0)
    counted = np.where(q >= thresholds, q, -1.0)
    off = (counted.max(axis=1) >= 0.0) & (counted.argmax(axis=1) != evidence.codes)
    return 2.0 * off + margin(evidence)
