"""Linear regression with a penalty, whose errors are those of rows that were left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infoscope.errors import OutOfRange
from infoscope.estimators.families.laws import residual_law, without_input
from infoscope.estimators.families.protocol import NUMBERS, Features
from infoscope.estimators.variables import as_matrix


@dataclass(frozen=True)
class Ridge:
    """Gaussians around linear means of least squared error + penalty * |weights|^2 (Hoerl & Kennard 1970).

    Covariance of leave-one-out residuals (Allen 1974). ValueError for y that the columns give without error.
    """

    penalty: float = 1.0
    outcomes = (NUMBERS,)

    def __post_init__(self) -> None:
        if not self.penalty > 0.0:
            raise OutOfRange(f"penalty must be positive, got {self.penalty!r}.")

    @property
    def name(self) -> str:
        return f"ridge(penalty={self.penalty:g})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if x is None:
            return without_input(y, None)
        inputs = as_matrix("x", x)
        features = Features.of(inputs, 1)
        left, sizes, right = np.linalg.svd(features(inputs), full_matrices=False)
        kept = sizes > 1e-10 * sizes.max(initial=0.0)  # what is below is rounding
        left, sizes, right = left[:, kept], sizes[kept], right[kept]
        centre = y.mean(axis=0)
        pull = left.T @ (y - centre)

        def mean(new: Any) -> np.ndarray:
            return features(new) @ weights + centre

        if len(sizes) < len(y) - 1:  # else every y has a fit without error, which says nothing
            weights = right.T @ (pull / sizes[:, None])
            residual_law(mean, y, y - mean(inputs))
        shares = sizes**2 / (sizes**2 + self.penalty)
        weights = right.T @ ((shares / sizes)[:, None] * pull)
        free = 1.0 - 1.0 / len(y) - (left**2) @ shares
        return residual_law(mean, y, (y - mean(inputs)) / free[:, None])
