"""Scores of wrong labels: functions of `Evidence` -> [n], larger = more suspicious. New ones go to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from infoscope.checks import one_of
from infoscope.errors import InvalidInput
from infoscope.estimators.units import NATS_PER_BIT

HELD_OUT, IN_SAMPLE = "held out", "in sample"
EL2N_EPOCH_SHARE = 0.1  # of the epochs, after which EL2N is read: 20 of 200 in the paper


@dataclass(frozen=True, eq=False)
class Evidence:
    """Log probabilities, nats, of n items.

    codes   int64 [n], the labels
    logs    [n, classes], held out
    null    [n], of the own class without input
    epochs  [trainings, epochs, n, classes], of trainings on all items; None without epochs
    """

    codes: np.ndarray
    logs: np.ndarray
    null: np.ndarray
    epochs: np.ndarray | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which kinds of score can be had."""
        return (HELD_OUT,) if self.epochs is None else (HELD_OUT, IN_SAMPLE)

    @property
    def courses(self) -> np.ndarray:
        """`epochs`; ValueError where there are none."""
        if self.epochs is None:
            raise InvalidInput(
                "family must be one that is trained by epochs, such as mlp, for what is asked in sample."
            )
        return self.epochs

    @property
    def right(self) -> np.ndarray:
        """Whether y is predicted, bool [trainings, epochs, n]."""
        return self.courses.argmax(axis=-1) == self.codes


def own(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The values of the own class: [..., n, classes] -> [..., n]."""
    return values[..., np.arange(len(codes)), codes]


def margins(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The largest of the other classes' values less the own one's: [..., n, classes] -> [..., n]."""
    others = values.copy()
    others[..., np.arange(len(codes)), codes] = -np.inf
    return others.max(axis=-1) - own(values, codes)


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


def aum(evidence: Evidence) -> np.ndarray:
    """-area under the margin: the mean over epochs of the largest other logit - the own one (Pleiss et al. 2020)."""
    return margins(evidence.courses, evidence.codes).mean(axis=(0, 1))


def confidence(evidence: Evidence) -> np.ndarray:
    """-confidence: the mean over epochs of q(y | x), with its sign turned (Swayamdipta et al. 2020, section 2)."""
    return -np.exp(own(evidence.courses, evidence.codes)).mean(axis=(0, 1))


def forgetting(evidence: Evidence) -> np.ndarray:
    """How often an item predicted right was wrong one epoch later (Toneva et al. 2019); never right: all epochs."""
    right = evidence.right
    events = (right[:, :-1] & ~right[:, 1:]).sum(axis=1)
    return np.where(right.any(axis=1), events, right.shape[1]).mean(axis=0)


def el2n(evidence: Evidence) -> np.ndarray:
    """The length of q(. | x) - the indicator of y after a tenth of the epochs (Paul et al. 2021)."""
    early = np.exp(evidence.courses[:, max(1, round(EL2N_EPOCH_SHARE * evidence.courses.shape[1])) - 1])
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
            "correctness": evidence.right.mean(axis=(0, 1)),
        }
    )


@dataclass(frozen=True)
class LabelScore:
    """One score: function Evidence -> [n], larger = more suspicious; kind "held out" or "in sample"."""

    key: str
    title: str
    function: Callable[[Evidence], np.ndarray]
    kind: str
    source: str

    def __post_init__(self) -> None:
        one_of("kind", self.kind, (HELD_OUT, IN_SAMPLE))


SCORES = {
    score.key: score
    for score in (
        LabelScore("pvi", "PVI", pvi, HELD_OUT, "Ethayarajh et al. 2022"),
        LabelScore("self_confidence", "self-confidence", self_confidence, HELD_OUT, "Northcutt et al. 2021"),
        LabelScore("margin", "normalised margin", margin, HELD_OUT, "Northcutt et al. 2021"),
        LabelScore("confident_joint", "confident joint", confident_joint, HELD_OUT, "Northcutt et al. 2021"),
        LabelScore("aum", "AUM", aum, IN_SAMPLE, "Pleiss et al. 2020"),
        LabelScore("confidence", "data-map confidence", confidence, IN_SAMPLE, "Swayamdipta et al. 2020"),
        LabelScore("forgetting", "forgetting events", forgetting, IN_SAMPLE, "Toneva et al. 2019"),
        LabelScore("el2n", "EL2N", el2n, IN_SAMPLE, "Paul et al. 2021"),
    )
}


def scores_of(evidence: Evidence) -> pd.DataFrame:
    """Every score that the evidence allows, a column each [n]."""
    return pd.DataFrame(
        {key: score.function(evidence) for key, score in SCORES.items() if score.kind in evidence.kinds}
    )
