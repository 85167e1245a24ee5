"""Every score of label errors by its key; add a new one, a function of `Evidence`, at the end of SCORES."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from infoscope.checks import one_of
from infoscope.metrics.v_information.label_errors import held_out, in_sample
from infoscope.metrics.v_information.label_errors.evidence import HELD_OUT, IN_SAMPLE, Evidence


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
        LabelScore("pvi", "PVI", held_out.pvi, HELD_OUT, "Ethayarajh et al. 2022"),
        LabelScore("self_confidence", "self-confidence", held_out.self_confidence, HELD_OUT, "Northcutt et al. 2021"),
        LabelScore("margin", "normalised margin", held_out.margin, HELD_OUT, "Northcutt et al. 2021"),
        LabelScore("confident_joint", "confident joint", held_out.confident_joint, HELD_OUT, "Northcutt et al. 2021"),
        LabelScore("aum", "AUM", in_sample.aum, IN_SAMPLE, "Pleiss et al. 2020"),
        LabelScore("confidence", "data-map confidence", in_sample.confidence, IN_SAMPLE, "Swayamdipta et al. 2020"),
        LabelScore("forgetting", "forgetting events", in_sample.forgetting, IN_SAMPLE, "Toneva et al. 2019"),
        LabelScore("el2n", "EL2N", in_sample.el2n, IN_SAMPLE, "Paul et al. 2021"),
    )
}


def scores_of(evidence: Evidence) -> pd.DataFrame:
    """Every score that the evidence allows, a column each [n]."""
    return pd.DataFrame(
        {key: score.function(evidence) for key, score in SCORES.items() if score.kind in evidence.kinds}
    )
