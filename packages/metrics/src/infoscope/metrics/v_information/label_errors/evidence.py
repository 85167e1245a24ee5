"""What is known of items and their labels, of which every score is a function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infoscope.errors import InvalidInput

HELD_OUT, IN_SAMPLE = "held out", "in sample"


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


def own(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The values of the own class: [..., n, classes] -> [..., n]."""
    return values[..., np.arange(len(codes)), codes]


def margins(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The largest of the other classes' values less the own one's: [..., n, classes] -> [..., n]."""
    others = values.copy()
    others[..., np.arange(len(codes)), codes] = -np.inf
    return others.max(axis=-1) - own(values, codes)
