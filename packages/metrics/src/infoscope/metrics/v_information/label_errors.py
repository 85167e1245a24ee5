"""Scores of wrong labels, functions Evidence -> [n] (larger: more suspicious), and their detection of flipped labels.

`gather` fits a family and returns Evidence, `scores_of` every score. Add new scores at the end of SCORES.
`labels.report` ranks a user's own items, and counts the wrong labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.metrics import average_precision_score, roc_auc_score

from infoscope.checks import one_of, require_int
from infoscope.errors import InvalidInput, MissingValues, NoVariation, OutOfRange, WrongType
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.units import NATS_PER_BIT

NOISES = ("symmetric", "pair")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Log probabilities, nats, of n items.

    codes   int64 [n], the labels
    logs    [n, classes], held out
    null    [n], of the own class without input
    epochs  [trainings, epochs, n, classes], from trainings on all items; None for a family without epochs
    """

    codes: np.ndarray
    logs: np.ndarray
    null: np.ndarray
    epochs: np.ndarray | None = None

    @property
    def courses(self) -> np.ndarray:
        """`epochs`; InvalidInput if None."""
        if self.epochs is None:
            raise InvalidInput(
                "family must be trained by epochs, such as mlp, in one training or more, for a data map."
            )
        return self.epochs

    @property
    def right(self) -> np.ndarray:
        """Whether the prediction is correct, bool [trainings, epochs, n]."""
        return self.courses.argmax(axis=-1) == self.codes


def own(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The values of the own class: [..., n, classes] -> [..., n]."""
    return values[..., np.arange(len(codes)), codes]


def pvi(evidence: Evidence) -> np.ndarray:
    """-PVI, bits (Ethayarajh et al. 2022)."""
    return (evidence.null - own(evidence.logs, evidence.codes)) / NATS_PER_BIT


def self_confidence(evidence: Evidence) -> np.ndarray:
    """The held-out loss -log2 q(y | x), bits, which orders items as self-confidence does (Northcutt et al. 2021)."""
    return -own(evidence.logs, evidence.codes) / NATS_PER_BIT


def data_map(evidence: Evidence) -> pd.DataFrame:
    """Data map (Swayamdipta et al. 2020) over epochs: confidence, mean of q(y | x); variability; correctness.

    InvalidInput: evidence without epochs.
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
    """One score: function Evidence -> [n], larger: more suspicious."""

    key: str
    title: str
    function: Callable[[Evidence], np.ndarray]
    source: str


SCORES = {
    score.key: score
    for score in (
        LabelScore("pvi", "PVI", pvi, "Ethayarajh et al. 2022"),
        LabelScore("self_confidence", "self-confidence", self_confidence, "Northcutt et al. 2021"),
    )
}


def scores_of(evidence: Evidence) -> pd.DataFrame:
    """Every score of `SCORES`, a column each [n]."""
    return pd.DataFrame({key: score.function(evidence) for key, score in SCORES.items()})


@aligns("x", "y", "groups")
def gather(
    family: Any,
    x: Any,
    y: ArrayLike,
    *,
    trainings: int = 1,
    folds: int = 10,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    between: Callable[[float], None] = lambda done: None,
) -> Evidence:
    """Evidence for the scores of label errors.

    trainings  on all items after every epoch, for `data_map`, by a family with epochs; 0: none

    Other arguments and errors as `pvi.pointwise`, for classes. ValueError also for a diverged training.
    """
    from infoscope.estimators.families.protocol import Epochwise, as_outcome  # with scikit-learn, which takes seconds
    from infoscope.estimators.families.registry import as_family
    from infoscope.metrics.v_information.predictions import FLOOR, cross_fitted

    family = as_family(family)
    outcome = as_outcome(family, y)
    if outcome.classes is None:
        raise WrongType("y must be classes, got numbers.")
    require_int("trainings", trainings, 0)
    generator = generator_or_default(generator)
    found = cross_fitted(family, x, outcome, folds, groups, FLOOR, generator)
    if not (trainings and isinstance(family, Epochwise)):
        return Evidence(outcome.values, found.logs, found.null)
    courses = []
    for number in range(trainings):
        between((folds + number) / (folds + trainings))
        members = family.epochs_of(x, outcome.values, outcome.classes, generator)
        courses.append([member.log_probabilities(x).astype(np.float32) for member in members])
    epochs = np.array(courses)
    if not np.isfinite(epochs).all():
        raise MissingValues(f"{family.name} diverged: a log probability is not finite; lower its learning rate.")
    return Evidence(outcome.values, found.logs, found.null, epochs)


def flip_labels(
    labels: ArrayLike, share: float, generator: np.random.Generator, noise: str = "symmetric"
) -> tuple[np.ndarray, np.ndarray]:
    """Labels [n] with a random `share` replaced, and a mask [n] of those.

    "symmetric": by any other label; "pair": by the next one (Han et al. 2018). ValueError: a share outside (0, 1), or
    of no label; one label only; an unknown noise.
    """
    labels = np.asarray(labels)
    values, codes = np.unique(labels, return_inverse=True)
    count = round(share * len(labels))
    if not 0.0 < share < 1.0 or not count:
        raise OutOfRange(f"share must be between 0 and 1 and flip at least one of {len(labels)} labels, got {share!r}.")
    if len(values) < 2:
        raise NoVariation(f"labels must take at least two values, got {values.tolist()!r}.")
    one_of("noise", noise, NOISES)
    flipped = np.zeros(len(labels), dtype=bool)
    flipped[generator.choice(len(labels), count, replace=False)] = True
    steps = generator.integers(1, len(values), count) if noise == "symmetric" else 1
    codes[flipped] = (codes[flipped] + steps) % len(values)
    return values[codes], flipped


def measures(values: np.ndarray, mask: np.ndarray) -> dict[str, float]:
    """How well values [n] find the items of a mask [n]: AUROC, average precision, and the precision of the largest
    values, as many as there are such items.
    """
    return {
        "auroc": float(roc_auc_score(mask, values)),
        "average_precision": float(average_precision_score(mask, values)),
        "precision": precision(values, mask, int(mask.sum())),
    }


def precision(values: np.ndarray, mask: np.ndarray, k: int) -> float:
    """The share of the mask among the k largest values; the mean share for items tied at the k-th value."""
    least = np.partition(values, len(values) - k)[len(values) - k]
    above, tied = values > least, values == least
    return float((mask[above].sum() + (k - above.sum()) * mask[tied].mean()) / k)
